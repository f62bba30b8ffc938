//! The messages of one call that are under way, each with what it is for and the bytes that it reads or writes.

use super::buffer::Buffer;
use crate::error::CallError;
use crate::mpi::{Done, Mpi};
use crate::observe::trace::{Side, Watch};
use crate::rank_plan::carried::Carried;
use broadleaf::execute::Item;
use broadleaf::platform::NodeId;

/// What a request under way is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A message of the executor's; of a framed one the last part.
    Out { to: NodeId },
    /// A segment that needs no frame, and its place among the receives of its channel.
    Segment { from: NodeId, item: Item, turn: u64 },
    /// What the data of a framed message will be.
    Frame { from: NodeId },
    /// The data that a frame announced, and its place among the data that follows this peer's frames.
    FramedData { from: NodeId, items: Vec<Item>, turn: u64 },
    /// A header, frame or plan; only the end of the call waits for it.
    Beside { _plan: Option<Carried> },
    /// The plan of the next call.
    NextPlan,
    /// A header for which data receives are posted already ([`super::preposted`]).
    Header,
}

/// A message's fields in a trace: tree, first segment and number of segments.
pub(super) type Noted = (u32, u64, u64);

/// The requests of one call.
pub(super) struct Requests<'a> {
    mpi: &'a Mpi,
    under_way: Vec<Option<(Purpose, Buffer)>>,
    free: Vec<u32>,
    watch: Option<Watch>,
}

impl<'a> Requests<'a> {
    /// `watch` notes those that carry segments.
    pub fn new(mpi: &'a Mpi, watch: Option<Watch>) -> Requests<'a> {
        Requests { mpi, under_way: Vec::new(), free: Vec::new(), watch }
    }

    pub fn mpi(&self) -> &'a Mpi {
        self.mpi
    }

    pub fn send(
        &mut self,
        purpose: Purpose,
        buffer: Buffer,
        to: u32,
        tag: i32,
        noted: Option<Noted>,
    ) -> Result<(), CallError> {
        let (at, bytes) = (buffer.at(), buffer.bytes());
        let number = self.add(purpose, buffer);
        self.note(Side::Send, number, to, noted, bytes);
        Ok(self.mpi.isend(at, bytes, to, tag, number)?)
    }

    pub fn receive(
        &mut self,
        purpose: Purpose,
        buffer: Buffer,
        from: Option<u32>,
        tag: i32,
        noted: Option<Noted>,
    ) -> Result<(), CallError> {
        let (at, bytes) = (buffer.at(), buffer.bytes());
        let number = self.add(purpose, buffer);
        // Messages from any rank carry no segments.
        self.note(Side::Receive, number, from.unwrap_or_default(), noted, bytes);
        Ok(self.mpi.irecv(at, bytes, from, tag, number)?)
    }

    /// Notes segments that came in a message for another purpose.
    pub fn note_received(&mut self, from: u32, noted: Noted, bytes: u64) {
        let unused = self.under_way.len() as u32;
        self.note(Side::Receive, unused, from, Some(noted), bytes);
        if let Some(watch) = &mut self.watch {
            watch.end(unused);
        }
    }

    /// Waits until something is done; only polls if not `patient`.
    pub fn wait(&self, events: &mut Vec<Done>, patient: bool) -> Result<(), CallError> {
        Ok(self.mpi.wait_some(events, patient)?)
    }

    /// The purpose and buffer of a finished request.
    pub fn end(&mut self, done: &Done) -> Result<(Purpose, Buffer), CallError> {
        if done.error != 0 {
            return Err(CallError::Mpi(done.error));
        }
        if let Some(watch) = &mut self.watch {
            watch.end(done.request);
        }
        self.free.push(done.request);
        let twice = || CallError::Internal("a request finished twice".to_string());
        self.under_way[done.request as usize].take().ok_or_else(twice)
    }

    /// Withdraws all receives; returns those whose message had come already.
    pub fn withdraw(&mut self) -> Result<Vec<(Purpose, Buffer)>, CallError> {
        let mut come = Vec::new();
        for number in 0..self.under_way.len() {
            let Some(request) = self.under_way[number].take() else { continue };
            if self.mpi.withdraw(number as u32)? {
                come.push(request);
            }
        }
        Ok(come)
    }

    fn add(&mut self, purpose: Purpose, buffer: Buffer) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u32 - 1
        });
        self.under_way[number as usize] = Some((purpose, buffer));
        number
    }

    fn note(&mut self, side: Side, number: u32, peer: u32, noted: Option<Noted>, bytes: u64) {
        if let (Some(watch), Some((tree, segment, count))) = (&mut self.watch, noted) {
            watch.begin(side, number, peer, (tree, segment), count, bytes);
        }
    }
}
