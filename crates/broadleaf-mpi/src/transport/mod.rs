//! The [`Transport`] over MPI: a plan's messages as nonblocking sends and receives on the communicator's
//! private side.
//!
//! Where the executor announces its receives, a segment is one message that lands where it belongs. Where it
//! cannot (combined transfers, rendezvous), a small *frame* says what comes, and the data follows it.
//! Besides, the transport finishes what the call's header started: the other parents' headers, and a plan for
//! the next call, travel while the data does.

pub mod control;
mod feed;
mod framed;
pub mod header;
mod passing;
mod preposted;
mod reorder;

use crate::error::CallError;
use crate::mpi::{Done, Mpi};
use crate::observe::advice::passive::Timing;
use crate::observe::trace::{Side, Watch};
use crate::rank_plan::carried::Carried;
use crate::rank_plan::Edge;
use crate::smpi::pace::Pace;
use crate::tags::salt;
use broadleaf::execute::{Completion, Kind, Message, Receive, Transport};
use broadleaf::plan::{NodeProgram, Plan};
use broadleaf::platform::NodeId;
use control::Forward;
use feed::Feed;
use framed::Expected;
use passing::segment_buffer;
use reorder::Reorder;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What a request under way is for.
#[derive(Debug)]
pub(crate) enum Request {
    Free,
    /// A segment that needs no frame.
    SegmentOut {
        to: NodeId,
        _relayed: Option<Vec<u8>>,
    },
    SegmentIn {
        from: NodeId,
        tag: u32,
        segment: u64,
        bytes: u64,
        /// Its place among the receives of its channel.
        turn: u64,
        relay: Option<(Relayed, Vec<u8>)>,
    },
    FrameIn {
        from: NodeId,
        frame: Vec<u8>,
    },
    /// The data a frame spoke of, and where it goes if not in place.
    DataIn {
        from: NodeId,
        items: Vec<(u32, u64)>,
        bytes: u64,
        /// Its place among the data that follows this peer's frames.
        turn: u64,
        packed: Option<Vec<u8>>,
    },
    /// One of the parts of an outgoing framed message; the memory must outlive the send.
    PartOut {
        message: u32,
        _bytes: Vec<u8>,
    },
    /// A header beside the data.
    Control {
        _bytes: Vec<u8>,
    },
    PlanOut {
        _plan: Carried,
    },
    PlanIn {
        bytes: Vec<u8>,
    },
    /// A header for which data receives are posted already ([`preposted`]).
    HeaderIn {
        bytes: Vec<u8>,
    },
}

/// The channel of framed messages from a peer, whatever their items.
pub(crate) const FRAMED: u32 = u32::MAX;

/// A segment that is only passed on: tree, end of the edge, segment.
pub(crate) type Relayed = (u32, NodeId, u64);

/// One call's messages.
pub struct MpiTransport<'a> {
    pub(crate) mpi: &'a Mpi,
    /// The packed message; one allocation or the program's own memory. Null: segments are only passed on.
    base: *mut u8,
    /// Segments that are passed on, by tree and number, and to how many they still go.
    passing: HashMap<(u32, u64), (Vec<u8>, usize)>,
    /// How many blocks it consists of, one behind the other; a broadcast's is one.
    pub(crate) blocks: u64,
    pub(crate) plan: &'a Plan,
    pub(crate) program: NodeProgram,
    pub(crate) requests: Vec<Request>,
    pub(crate) free: Vec<u32>,
    /// Parts left of each outgoing framed message, by request-like number.
    pub(crate) parts: HashMap<u32, (NodeId, u32)>,
    pub(crate) next_message: u32,
    pub(crate) relayed: HashMap<Relayed, Vec<u8>>,
    pub(crate) expected: HashMap<NodeId, Expected>,
    /// By sender and channel.
    pub(crate) reorder: HashMap<(NodeId, u32), Reorder>,
    feed: Option<Feed<'a>>,
    pub(crate) forward: Option<Forward>,
    /// The plan that arrived beside the data.
    pub(crate) arrived_plan: Option<Carried>,
    pub(crate) control_messages: u32,
    events: Vec<Done>,
    /// Where links are timed.
    pub timing: Option<Timing>,
    /// Added to the tag of every segment ([`crate::tags::salt`]).
    pub(crate) salt: u32,
    /// In the order of their arrival.
    pub(crate) headers: VecDeque<Vec<u8>>,
    /// What came in while a header was waited for.
    pub(crate) early: Vec<Completion>,
    pub(crate) watch: Option<Watch>,
    pub(crate) pace: Option<Pace>,
}

impl<'a> MpiTransport<'a> {
    /// # Safety
    /// `base` must point to `plan.message_bytes` bytes that nothing else touches while this lives. It is null at a
    /// rank, other than the root, that has no place for them.
    pub unsafe fn new(mpi: &'a Mpi, base: *mut u8, plan: &'a Plan, program: NodeProgram) -> Self {
        MpiTransport { salt: salt(plan), ..MpiTransport::of_blocks(mpi, base, plan, program, 1) }
    }

    /// For a collective of as many blocks as there are ranks.
    ///
    /// # Safety
    /// `base` must point to `blocks` times `plan.message_bytes` bytes that nothing else touches while this lives.
    pub unsafe fn of_blocks(
        mpi: &'a Mpi,
        base: *mut u8,
        plan: &'a Plan,
        program: NodeProgram,
        blocks: u64,
    ) -> Self {
        MpiTransport {
            mpi,
            base,
            passing: HashMap::new(),
            blocks,
            plan,
            program,
            requests: Vec::new(),
            free: Vec::new(),
            parts: HashMap::new(),
            next_message: 0,
            relayed: HashMap::new(),
            expected: HashMap::new(),
            reorder: HashMap::new(),
            feed: None,
            forward: None,
            arrived_plan: None,
            control_messages: 0,
            events: Vec::new(),
            timing: None,
            salt: 0,
            headers: VecDeque::new(),
            early: Vec::new(),
            watch: None,
            pace: None,
        }
    }

    /// From now on, sends and receives are noted.
    pub fn watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// From now on, sends wait for the port where the network does not see to it.
    pub fn pace(&mut self, edges: &Arc<Vec<Vec<Edge>>>) {
        self.pace = Pace::of(self.mpi, edges);
    }

    /// After the executor is done: passes the rest on, and waits for what travels beside the data. Gives the plan that came.
    pub fn finish(&mut self) -> Result<Option<Carried>, CallError> {
        self.pass_on_rest()?;
        let mut done = Vec::new();
        while self.control_messages > 0 || self.expected.values().any(|expected| expected.readies > 0) {
            self.progress(&mut done, true)?;
        }
        Ok(self.arrived_plan.take())
    }

    pub(crate) fn number(&mut self, request: Request) -> u32 {
        if let Some(number) = self.free.pop() {
            self.requests[number as usize] = request;
            return number;
        }
        self.requests.push(request);
        self.requests.len() as u32 - 1
    }

    /// The address of a segment in the packed message, and its length.
    pub(crate) fn place(&self, segment: u64) -> (*mut u8, u64) {
        let (block, segment) = (segment % self.blocks, segment / self.blocks);
        let (start, length) = self.plan.segment_range(segment);
        let start = block * self.plan.message_bytes + start;
        (self.base.wrapping_add(start as usize), length)
    }

    /// Waits for something, or only looks, and says what of it concerns the executor.
    pub(crate) fn progress(&mut self, done: &mut Vec<Completion>, patient: bool) -> Result<(), CallError> {
        let mut events = std::mem::take(&mut self.events);
        self.mpi.wait_some(&mut events, patient)?;
        for event in events.drain(..) {
            if event.error != 0 {
                return Err(CallError::Mpi(event.error));
            }
            if let Some(watch) = &mut self.watch {
                watch.end(event.request);
            }
            let request = std::mem::replace(&mut self.requests[event.request as usize], Request::Free);
            self.free.push(event.request);
            match request {
                Request::Free => return Err(CallError::Internal("a request finished twice".to_string())),
                Request::SegmentOut { to, .. } => done.push(Completion::Sent { to }),
                Request::SegmentIn { from, tag, segment, bytes, turn, relay } => {
                    self.check_length(from, bytes, event.bytes)?;
                    if let Some(timing) = &mut self.timing {
                        timing.came(from, bytes);
                    }
                    if let Some((key, data)) = relay {
                        self.keep(key, data);
                    }
                    let arrived = Completion::Received { from, kind: Kind::Data, tag, segment };
                    let channel = self.reorder.entry((from, tag)).or_default();
                    channel.arrive(turn, std::iter::once(arrived), done);
                }
                Request::FrameIn { from, frame } => {
                    let length = (event.bytes as usize).min(frame.len());
                    self.take_frame(from, &frame[..length], done)?;
                }
                Request::DataIn { from, items, bytes, turn, packed } => {
                    self.check_length(from, bytes, event.bytes)?;
                    self.unpack(from, &items, packed);
                    let item =
                        |&(tag, segment)| Completion::Received { from, kind: Kind::Data, tag, segment };
                    let channel = self.reorder.entry((from, FRAMED)).or_default();
                    channel.arrive(turn, items.iter().map(item), done);
                }
                Request::PartOut { message, .. } => {
                    let (to, left) = self.parts[&message];
                    if left > 1 {
                        self.parts.insert(message, (to, left - 1));
                    } else {
                        self.parts.remove(&message);
                        done.push(Completion::Sent { to });
                    }
                }
                Request::Control { .. } | Request::PlanOut { .. } => self.control_messages -= 1,
                Request::PlanIn { bytes } => self.take_plan(bytes)?,
                Request::HeaderIn { bytes } => {
                    self.control_messages -= 1;
                    self.headers.push_back(bytes);
                }
            }
        }
        self.events = events;
        Ok(())
    }

    pub(crate) fn check_length(&self, from: NodeId, expected: u64, got: u64) -> Result<(), CallError> {
        if expected == got {
            return Ok(());
        }
        Err(CallError::Internal(format!("rank {from} sent {got} bytes where the plan has {expected}")))
    }

    pub(crate) fn take_relayed(&mut self, key: Relayed) -> Result<Vec<u8>, CallError> {
        let nothing = || CallError::Internal("a relay sends what it never received".to_string());
        self.relayed.remove(&key).ok_or_else(nothing)
    }
}

impl Transport for MpiTransport<'_> {
    type Error = CallError;

    fn send(&mut self, message: &Message) -> Result<(), CallError> {
        if self.is_framed() {
            return self.send_framed(message);
        }
        let item = message.first;
        let (mut pointer, length) = self.place(item.segment);
        let mut relayed = None;
        if item.relayed {
            let mut bytes = self.take_relayed((item.tree, item.target, item.segment))?;
            pointer = bytes.as_mut_ptr();
            relayed = Some(bytes);
        } else if self.only_passes() {
            let mut bytes = self.take_passing(item.tree, item.segment)?;
            pointer = bytes.as_mut_ptr();
            relayed = Some(bytes);
        }
        if let Some(pace) = &mut self.pace {
            pace.wait_for_port(self.mpi, &item, length as f64 / self.plan.segment_bytes as f64);
        }
        let number = self.number(Request::SegmentOut { to: message.to, _relayed: relayed });
        if let Some(watch) = &mut self.watch {
            watch.begin(Side::Send, number, message.to.0, (item.tree, item.segment), 1, length);
        }
        let tag = (item.tag + self.salt) as i32;
        Ok(self.mpi.isend(pointer, length, message.to.0, tag, number)?)
    }

    fn post_receive(&mut self, receive: &Receive) -> Result<(), CallError> {
        let item = receive.item;
        let (mut pointer, bytes) = self.place(item.segment);
        let mut relay = None;
        if item.relayed || self.only_passes() {
            let mut data = segment_buffer(bytes)?;
            pointer = data.as_mut_ptr();
            relay = Some(((item.tree, item.target, item.segment), data));
        }
        let (from, tag) = (receive.from, item.tag);
        let turn = self.reorder.entry((from, tag)).or_default().next();
        let number = self.number(Request::SegmentIn { from, tag, segment: item.segment, bytes, turn, relay });
        if let Some(watch) = &mut self.watch {
            watch.begin(Side::Receive, number, from.0, (item.tree, item.segment), 1, bytes);
        }
        Ok(self.mpi.irecv(pointer, bytes, Some(from.0), (tag + self.salt) as i32, number)?)
    }

    fn wait(&mut self, done: &mut Vec<Completion>) -> Result<(), CallError> {
        done.append(&mut self.early);
        while done.is_empty() {
            let waits = self.pass_on();
            self.progress(done, !waits)?;
            if waits && done.is_empty() {
                std::thread::yield_now();
            }
        }
        self.queue(done)
    }
}
