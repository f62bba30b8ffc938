//! The [`Transport`] over MPI: a plan's messages as nonblocking sends and receives on the communicator's
//! private side.
//!
//! Where the executor announces its receives, a segment is one message, received in place. Where it cannot (combined
//! transfers, rendezvous), a small *frame* announces the data that follows. The transport also receives the other
//! parents' headers and a plan for the next call, while the data travels.

mod buffer;
mod control;
mod feed;
mod framed;
pub mod header;
mod message;
mod preposted;
mod reorder;
mod requests;

use crate::error::CallError;
use crate::intranode::HostGroup;
use crate::mpi::{Done, Mpi};
use crate::observe::advice::passive::Timing;
use crate::observe::trace::Watch;
use crate::rank_plan::carried::Carried;
use crate::rank_plan::part::Part;
use crate::smpi::Port;
use crate::tags::salt;
use broadleaf::adapt::switch::Header;
use broadleaf::execute::{drive, Completion, Item, Kind, Message, NodeExecutor, Receive, Transport};
use broadleaf::plan::{Collective, Protocol};
use broadleaf::platform::NodeId;
use buffer::Buffer;
use control::Control;
use feed::Feed;
use framed::{Frames, FRAMED};
use message::MessageMemory;
use reorder::Reorder;
use requests::{Purpose, Requests};
use std::slice::from_ref;

pub use control::Forward;
pub use framed::IN_FRAME_BYTES;
pub use message::Lack;

/// One call's messages.
pub struct MpiTransport<'a> {
    part: Part,
    memory: MessageMemory<'a>,
    requests: Requests<'a>,
    reorder: Reorder,
    frames: Frames,
    control: Control,
    feed: Option<Feed<'a>>,
    /// Some where links are timed.
    timing: Option<Timing>,
    port: Port,
    /// Added to the tag of every segment.
    salt: u32,
    /// Completions that arrived during the wait for a header.
    early: Vec<Completion>,
    events: Vec<Done>,
}

impl<'a> MpiTransport<'a> {
    /// `call` is the same on all ranks, and `watch` notes sends and receives.
    ///
    /// # Safety `base` points to the message's bytes, all blocks of it, that nothing else touches while this lives.
    /// It is null at a rank without memory for them; if that rank has blocks to send, it must call
    /// [`Self::send_nothing`].
    pub unsafe fn new(mpi: &'a Mpi, base: *mut u8, part: Part, call: u64, watch: Option<Watch>) -> Self {
        MpiTransport {
            memory: MessageMemory::new(mpi, base, part.clone()),
            requests: Requests::new(mpi, watch),
            reorder: Reorder::default(),
            frames: Frames::default(),
            control: Control::default(),
            feed: None,
            timing: None,
            port: Port::default(),
            salt: salt(part.transfers(), call),
            early: Vec::new(),
            events: Vec::new(),
            part,
        }
    }

    pub fn send_header(&mut self, to: u32, header: &Header) -> Result<(), CallError> {
        self.control.send_header(&mut self.requests, self.part.program().node.0, to, header)
    }

    /// Receives a header that repeats a known one, and drops it.
    pub fn drop_header(&mut self, from: u32, call: u64) -> Result<(), CallError> {
        self.control.expect_header(&mut self.requests, Some(from), call)
    }

    pub fn send_plan(&mut self, to: u32, plan: Carried) -> Result<(), CallError> {
        self.control.send_plan(&mut self.requests, to, plan)
    }

    /// Receives the next call's plan and passes it on.
    pub fn receive_plan(&mut self, forward: Forward) -> Result<(), CallError> {
        self.control.receive_plan(&mut self.requests, forward)
    }

    /// From now on, arriving data is passed on to the others of this host as well; at the root, the whole message.
    pub fn feed(&mut self, group: &'a mut HostGroup) {
        let mut feed = Feed::new(group);
        if self.part.program().is_root {
            // SAFETY: the message's memory is there as long as this is.
            unsafe { feed.add(0, self.memory.whole()) };
        }
        self.feed = Some(feed);
    }

    /// This rank lacks the blocks that it has to send.
    pub fn send_nothing(&mut self, lack: Lack) {
        self.memory.hollow_out(lack);
    }

    /// Why some rank has sent empty messages, if one has: the received data is then invalid on all ranks.
    pub fn lack(&self) -> Option<Lack> {
        self.memory.lack()
    }

    /// From now on, links are timed.
    pub fn time_links(&mut self) {
        self.timing = Some(Timing::new(self.part.programs(), self.part.program()));
    }

    /// What [`Self::time_links`] has found.
    pub fn take_timing(&mut self) -> Option<Timing> {
        self.timing.take()
    }

    /// Runs this rank's part to its end, and waits for the messages beside the data. Returns the plan that came.
    pub fn run(&mut self, executor: &mut NodeExecutor) -> Result<Option<Carried>, CallError> {
        if !executor.is_announced() {
            self.expect_frames()?;
        }
        drive(executor, self)?;
        self.finish()
    }

    /// What [`Self::run`] does after the data, where there is none.
    pub fn finish(&mut self) -> Result<Option<Carried>, CallError> {
        if let Some(feed) = &mut self.feed {
            feed.pass_on_rest(self.requests.mpi())?;
        }
        let mut done = Vec::new();
        while self.control.is_under_way() || self.frames.await_answers() {
            self.progress(&mut done, true)?;
        }
        Ok(self.control.take_plan())
    }

    /// Waits for a completion, or only polls, and returns those that concern the executor.
    fn progress(&mut self, done: &mut Vec<Completion>, patient: bool) -> Result<(), CallError> {
        let mut events = std::mem::take(&mut self.events);
        self.requests.wait(&mut events, patient)?;
        for event in events.drain(..) {
            let (purpose, buffer) = self.requests.end(&event)?;
            self.take(purpose, buffer, event.bytes, done)?;
        }
        self.events = events;
        Ok(())
    }

    /// Handles a finished message of `bytes` bytes.
    fn take(
        &mut self,
        purpose: Purpose,
        buffer: Buffer,
        bytes: u64,
        done: &mut Vec<Completion>,
    ) -> Result<(), CallError> {
        let received = |from: NodeId, item: &Item| Completion::Received {
            from,
            kind: Kind::Data,
            tag: item.tag,
            segment: item.segment,
        };
        match purpose {
            Purpose::Out { to } => done.push(Completion::Sent { to }),
            Purpose::Segment { from, item, turn } => {
                self.check_length(from, buffer.bytes(), bytes)?;
                if let Some(timing) = &mut self.timing {
                    timing.came(from, bytes);
                }
                self.memory.arrived(from_ref(&item), buffer)?;
                let channel = (from, item.tag);
                self.reorder.arrive(channel, turn, std::iter::once(received(from, &item)), done);
            }
            Purpose::Frame { from } => {
                let frame = buffer.into_own().unwrap_or_default();
                let length = (bytes as usize).min(frame.len());
                self.take_frame(from, &frame[..length], done)?;
            }
            Purpose::FramedData { from, items, turn } => {
                self.check_length(from, buffer.bytes(), bytes)?;
                self.memory.arrived(&items, buffer)?;
                let arrived = items.iter().map(|item| received(from, item));
                self.reorder.arrive((from, FRAMED), turn, arrived, done);
            }
            Purpose::Beside { .. } => self.control.ended(),
            Purpose::NextPlan => self.control.plan_arrived(&mut self.requests, buffer)?,
            Purpose::Header => self.control.header_arrived(buffer)?,
        }
        Ok(())
    }

    /// In simulated time, waits for the message's turn at this rank's port.
    fn wait_for_port(&mut self, message: &Message, buffer: &Buffer) {
        let Some(output) = message.output else { return };
        let part_of_segment = buffer.bytes() as f64 / self.part.transfers().segment_bytes as f64;
        let edge = self.part.edge(&self.part.program().outputs[output as usize]);
        self.port.wait(self.requests.mpi(), edge.turn, part_of_segment);
    }

    fn check_length(&mut self, from: NodeId, expected: u64, got: u64) -> Result<(), CallError> {
        self.memory.look_at(expected, got);
        if expected == got || self.memory.lack().is_some() {
            return Ok(());
        }
        if self.part.transfers().collective != Collective::Bcast {
            return Err(CallError::WrongLength);
        }
        Err(CallError::Internal(format!("rank {from} sent {got} bytes where the plan has {expected}")))
    }

    /// Passes arrived parts of the message on to the others of this host.
    fn serve_host(&mut self, done: &[Completion]) -> Result<(), CallError> {
        if self.feed.is_none() && !self.memory.only_passes() {
            return Ok(());
        }
        let program = self.part.program();
        for completion in done {
            let Completion::Received { from, kind: Kind::Data, tag, segment } = *completion else { continue };
            let input = program.inputs[program.input(from, tag)];
            if input.target != program.node {
                continue;
            }
            let item = Item::received(&input, program.node, segment);
            let (offset, buffer) = (self.memory.offset(segment), self.memory.outgoing(from_ref(&item))?);
            if let Some(feed) = &mut self.feed {
                // SAFETY: as in `feed`.
                unsafe { feed.add(offset, buffer) };
            }
        }
        Ok(())
    }
}

impl Transport for MpiTransport<'_> {
    type Error = CallError;

    fn send(&mut self, message: &Message) -> Result<(), CallError> {
        let transfers = self.part.transfers();
        if transfers.combine || transfers.protocol == Protocol::Rendezvous {
            return self.send_framed(message);
        }
        let (to, item) = (message.to, message.first);
        let buffer = self.memory.outgoing(from_ref(&item))?;
        self.wait_for_port(message, &buffer);
        let tag = (item.tag + self.salt) as i32;
        let noted = Some((item.tree, item.segment, 1));
        self.requests.send(Purpose::Out { to }, buffer, to.0, tag, noted)
    }

    fn post_receive(&mut self, receive: &Receive) -> Result<(), CallError> {
        let Receive { from, item } = *receive;
        let buffer = self.memory.incoming(from_ref(&item))?;
        let turn = self.reorder.next((from, item.tag));
        let noted = Some((item.tree, item.segment, 1));
        let tag = (item.tag + self.salt) as i32;
        self.requests.receive(Purpose::Segment { from, item, turn }, buffer, Some(from.0), tag, noted)
    }

    fn wait(&mut self, done: &mut Vec<Completion>) -> Result<(), CallError> {
        done.append(&mut self.early);
        while done.is_empty() {
            let waits = self.feed.as_mut().is_some_and(Feed::pass_on);
            self.progress(done, !waits)?;
            if waits && done.is_empty() {
                std::thread::yield_now();
            }
        }
        self.serve_host(done)
    }
}
