//! The message at this rank: the place of each segment, and copies of segments that are still to be forwarded.
//!
//! A relaying rank keeps copies of the segments that it relays. A rank without memory for the message, or called with
//! another length, keeps copies of all segments, and so still sends to the ranks below it. If it is the source of
//! blocks and lacks them, the message is *hollow*: all its messages are empty from then on, and so are
//! those of every rank that has received one. In a scatter from the root, an all-gather, a reduce-scatter and an
//! all-reduce this informs all ranks, in a gather and a reduction the root. In a gather, where a block may also have a
//! length that the root does not expect, a hollow message's own length is the reason.

mod heads;

use super::buffer::Buffer;
use crate::error::CallError;
use crate::mpi::Mpi;
use crate::rank_plan::part::Part;
use broadleaf::execute::Item;
use broadleaf::plan::{Collective, Source};
use broadleaf::platform::NodeId;
use heads::Sums;
use std::collections::{BTreeMap, HashMap};

/// A segment that is only passed on: tree, lower end of the edge, segment.
type Relayed = (u32, NodeId, u64);

/// Why a rank has no blocks to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    Memory,
    /// Of a gather: its block does not have the length that the root expects.
    Length,
}

impl Lack {
    /// The bytes sent in place of `bytes` bytes of data, always fewer. In a gather that is one byte for a lack of
    /// memory; where the data are but one byte, that lack too is reported as one of length.
    fn sent(self, collective: Collective, bytes: u64) -> u64 {
        u64::from(self == Lack::Memory && collective == Collective::Gather && bytes > 1)
    }

    /// The reason that a message of `got` bytes in place of `expected` stands for, if it is hollow.
    fn received(collective: Collective, expected: u64, got: u64) -> Option<Lack> {
        let reasons: &[Lack] = match collective {
            Collective::Bcast => &[],
            Collective::Gather => &[Lack::Length, Lack::Memory],
            _ => &[Lack::Memory],
        };
        reasons.iter().copied().find(|reason| got < expected && got == reason.sent(collective, expected))
    }
}

/// One rank's memory of the message.
pub(super) struct MessageMemory<'a> {
    mpi: &'a Mpi,
    /// Null: the message has no place here.
    base: *mut u8,
    part: Part,
    relayed: HashMap<Relayed, Vec<u8>>,
    /// Without memory for the message: segments by tree and number, each with the number of sends left.
    passing: HashMap<(u32, u64), (Vec<u8>, usize)>,
    /// Contributions to a segment of a tree that wait for those of earlier children.
    partial: HashMap<(u32, u64), Contributions>,
    /// At a head of an exchange, by tree and segment.
    sums: HashMap<(u32, u64), Sums>,
    /// Hollow, and why.
    lack: Option<Lack>,
}

/// Contributions to one segment in one tree: how many children's have been combined, and those that wait, by the
/// child's position.
#[derive(Default)]
struct Contributions {
    combined: usize,
    waiting: BTreeMap<usize, Vec<u8>>,
}

impl<'a> MessageMemory<'a> {
    /// # Safety
    /// `base` is null, or points to all blocks of the message, which nothing else touches while this lives.
    pub unsafe fn new(mpi: &'a Mpi, base: *mut u8, part: Part) -> MessageMemory<'a> {
        MessageMemory {
            mpi,
            base,
            part,
            relayed: HashMap::new(),
            passing: HashMap::new(),
            partial: HashMap::new(),
            sums: HashMap::new(),
            lack: None,
        }
    }

    pub fn only_passes(&self) -> bool {
        self.base.is_null()
    }

    /// Makes the message hollow: nothing more is kept or sent. The first reason stays.
    pub fn hollow_out(&mut self, lack: Lack) {
        self.lack.get_or_insert(lack);
    }

    /// Notes whether a message of `got` bytes is hollow.
    pub fn look_at(&mut self, expected: u64, got: u64) {
        if let Some(lack) = Lack::received(self.part.transfers().collective, expected, got) {
            self.hollow_out(lack);
        }
    }

    /// Why the message is hollow, if it is.
    pub fn lack(&self) -> Option<Lack> {
        self.lack
    }

    /// All of it.
    pub fn whole(&self) -> Buffer {
        Buffer::lent(self.base, self.part.programs().total_bytes())
    }

    /// The address of a segment and its length; not valid without memory for the message.
    fn place(&self, segment: u64) -> (*mut u8, u64) {
        let (start, bytes) = self.part.programs().place(segment);
        (self.base.wrapping_add(start as usize), bytes)
    }

    /// A segment's offset in the message.
    pub fn offset(&self, segment: u64) -> u64 {
        self.part.programs().place(segment).0
    }

    /// The memory of segments that follow each other in the message, if all these do and belong there.
    fn run(&self, items: &[Item]) -> Option<Buffer> {
        if self.only_passes() || items.iter().any(|item| item.relayed || item.exchanged) {
            return None;
        }
        let (start, mut bytes) = self.place(items.first()?.segment);
        for item in &items[1..] {
            let (at, length) = self.place(item.segment);
            if at != start.wrapping_add(bytes as usize) {
                return None;
            }
            bytes += length;
        }
        Some(Buffer::lent(start, bytes))
    }

    /// The bytes to send for these segments.
    pub fn outgoing(&mut self, items: &[Item]) -> Result<Buffer, CallError> {
        if let Some(lack) = self.lack {
            let bytes = items.iter().map(|item| self.place(item.segment).1).sum();
            let sent = lack.sent(self.part.transfers().collective, bytes);
            return Ok(if sent == 0 { Buffer::lent(std::ptr::null(), 0) } else { Buffer::own(vec![0]) });
        }
        if let Some(run) = self.run(items) {
            return Ok(run);
        }
        if let [item] = items {
            return self.kept(item).map(Buffer::own);
        }
        let mut packed = Vec::new();
        for item in items {
            if item.relayed || item.exchanged || self.only_passes() {
                packed.extend(self.kept(item)?);
            } else {
                let (at, bytes) = self.place(item.segment);
                // SAFETY: inside the message.
                packed.extend_from_slice(unsafe { std::slice::from_raw_parts(at, bytes as usize) });
            }
        }
        Ok(Buffer::own(packed))
    }

    /// The buffer to receive these segments in. A segment of an all-reduce returns to the memory that this rank's
    /// part is sent from. Its receive may be posted before that part has left, or is complete: the returning data
    /// contains that part, so its bytes have been read by then.
    pub fn incoming(&self, items: &[Item]) -> Result<Buffer, CallError> {
        let bytes = || items.iter().map(|item| self.place(item.segment).1).sum();
        let is_beside = items.iter().any(|item| item.combines);
        self.run(items).filter(|_| !is_beside).map_or_else(|| Buffer::room(bytes()), Ok)
    }

    /// Takes a message with these segments, received in the buffer of [`Self::incoming`].
    pub fn arrived(&mut self, items: &[Item], buffer: Buffer) -> Result<(), CallError> {
        let Some(packed) = buffer.into_own().filter(|_| self.lack.is_none()) else { return Ok(()) };
        if let [item] = items {
            if item.combines {
                return self.combine(item, packed);
            }
            self.keep(item, packed);
            return Ok(());
        }
        let mut rest = &packed[..];
        for item in items {
            let (at, bytes) = self.place(item.segment);
            let (segment, after) = rest.split_at(bytes as usize);
            rest = after;
            if item.combines {
                self.combine(item, segment.to_vec())?;
            } else if item.relayed || self.only_passes() {
                self.keep(item, segment.to_vec());
            } else {
                // SAFETY: inside the message, and `segment` is a separate allocation.
                unsafe { std::ptr::copy_nonoverlapping(segment.as_ptr(), at, segment.len()) };
            }
        }
        Ok(())
    }

    /// Children are combined in a fixed order, so that a plan gives the same bits in every call. The executor
    /// forwards a segment when all contributions are in.
    fn combine(&mut self, item: &Item, data: Vec<u8>) -> Result<(), CallError> {
        if item.exchanged {
            return self.exchange(item, data);
        }
        let inputs = self.part.program().inputs.iter().filter(|input| input.combines && !input.is_exchanged);
        let children = inputs.filter(|input| input.tree == item.tree && input.target == item.target);
        let Some(place) = children.clone().position(|input| input.child == item.child) else {
            return Err(CallError::Internal("a contribution comes from no child".to_string()));
        };
        let count = children.count();
        let at = self.place(item.segment).0;
        let segment = self.partial.entry((item.tree, item.segment)).or_default();
        segment.waiting.insert(place, data);
        while let Some(data) = segment.waiting.remove(&segment.combined) {
            // SAFETY: inside the message.
            unsafe { self.mpi.combine(&data, at)? };
            segment.combined += 1;
        }
        if segment.combined == count {
            self.partial.remove(&(item.tree, item.segment));
            return self.sum_is_complete(item);
        }
        Ok(())
    }

    fn keep(&mut self, item: &Item, data: Vec<u8>) {
        if item.relayed {
            self.relayed.insert((item.tree, item.child, item.segment), data);
            return;
        }
        // The host's other ranks count as one receiver, even where there are none: a segment may arrive before that
        // is known.
        let (program, (block, _)) =
            (self.part.program(), self.part.programs().segments().split(item.segment));
        let carries = |at: usize| program.output_blocks.get(at).is_none_or(|blocks| blocks.contains(&block));
        let outputs = program.outputs.iter().enumerate();
        let held = outputs.filter(|(_, output)| output.tree == item.tree && output.source == Source::Held);
        let sent = held.filter(|&(at, _)| carries(at)).count();
        self.passing.insert((item.tree, item.segment), (data, sent + 1));
    }

    fn kept(&mut self, item: &Item) -> Result<Vec<u8>, CallError> {
        if item.exchanged {
            return self.sum_sent(item);
        }
        if !item.relayed {
            return self.passing(item.tree, item.segment);
        }
        let nothing = || CallError::Internal("a relay sends what it never received".to_string());
        self.relayed.remove(&(item.tree, item.child, item.segment)).ok_or_else(nothing)
    }

    /// A segment of a message without memory here, for one of the ranks that it is sent to.
    pub fn passing(&mut self, tree: u32, segment: u64) -> Result<Vec<u8>, CallError> {
        let nothing = || CallError::Internal(format!("segment {segment} is sent on before it came"));
        let (data, takers) = self.passing.get_mut(&(tree, segment)).ok_or_else(nothing)?;
        *takers -= 1;
        if *takers > 0 {
            return Ok(data.clone());
        }
        self.passing.remove(&(tree, segment)).map(|(data, _)| data).ok_or_else(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hollow_message_tells_its_reason_from_two_bytes_on() {
        for bytes in [2, 3, 1 << 20] {
            for lack in [Lack::Memory, Lack::Length] {
                let sent = lack.sent(Collective::Gather, bytes);
                assert_eq!(Lack::received(Collective::Gather, bytes, sent), Some(lack), "{bytes} bytes");
            }
        }
        // One byte of data is no reason, and nothing is expected in place of nothing.
        assert_eq!(Lack::received(Collective::Gather, 1, 1), None);
        assert_eq!(Lack::received(Collective::Gather, 0, 0), None);
        assert_eq!(Lack::received(Collective::Gather, 1, 0), Some(Lack::Length));
        assert_eq!(Lack::received(Collective::Reduce, 8, 0), Some(Lack::Memory));
        // A wrong length, of which the caller makes an error.
        assert_eq!(Lack::received(Collective::Reduce, 8, 1), None);
    }
}
