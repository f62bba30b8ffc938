//! The message on its way through shared memory to the other ranks of this host, while it comes in.

use super::MpiTransport;
use crate::error::CallError;
use crate::intranode::HostGroup;
use broadleaf::execute::{Completion, Kind};
use std::collections::VecDeque;

/// What this rank passes on to the others of its host, in the order in which it comes in.
pub(super) struct Feed<'a> {
    group: &'a mut HostGroup,
    waiting: VecDeque<Waiting>,
}

/// Bytes of the message for the others of this host.
struct Waiting {
    offset: u64,
    bytes: u64,
    at: *const u8,
    /// Where they are not in the message's memory.
    _own: Option<Vec<u8>>,
}

/// Bytes that go into shared memory between two looks at the network.
const FEED_BYTES: u64 = 256 << 10;

impl<'a> MpiTransport<'a> {
    /// From now on, what arrives is passed on to the others of this host as well; at the root, all there is.
    pub fn feed(&mut self, group: &'a mut HostGroup) {
        let mut waiting = VecDeque::new();
        if self.program.is_root {
            let (offset, bytes) = (0, self.plan.message_bytes);
            waiting.push_back(Waiting { offset, bytes, at: self.base, _own: None });
        }
        self.feed = Some(Feed { group, waiting });
    }

    /// Passes on what there is room for; whether something still waits.
    pub(super) fn pass_on(&mut self) -> bool {
        let Some(feed) = &mut self.feed else { return false };
        if let Some(part) = feed.waiting.front_mut() {
            // SAFETY: a part of the message that is here, in the memory promised for it or its own.
            unsafe {
                let done = feed.group.offer(part.offset, part.at, part.bytes.min(FEED_BYTES));
                part.at = part.at.add(done as usize);
                part.offset += done;
                part.bytes -= done;
            }
            if part.bytes == 0 {
                feed.waiting.pop_front();
            }
        }
        !feed.waiting.is_empty()
    }

    /// What of the message has come in goes to the others of this host, if there are any.
    pub(super) fn queue(&mut self, done: &[Completion]) -> Result<(), CallError> {
        if self.feed.is_none() && !self.only_passes() {
            return Ok(());
        }
        for completion in done {
            let Completion::Received { from, kind: Kind::Data, tag, segment } = *completion else { continue };
            let input = self.program.inputs[self.program.input(from, tag)];
            if input.target != self.program.node {
                continue;
            }
            let (offset, bytes) = self.plan.segment_range(segment);
            let own = self.only_passes().then(|| self.take_passing(input.tree, segment)).transpose()?;
            let at =
                own.as_ref().map_or(self.base.wrapping_add(offset as usize).cast_const(), |own| own.as_ptr());
            if let Some(feed) = &mut self.feed {
                feed.waiting.push_back(Waiting { offset, bytes, at, _own: own });
            }
        }
        Ok(())
    }

    /// Waits until the others of this host have room for the rest.
    pub(super) fn pass_on_rest(&mut self) -> Result<(), CallError> {
        let Some(feed) = &mut self.feed else { return Ok(()) };
        while let Some(part) = feed.waiting.pop_front() {
            // SAFETY: as in `pass_on`.
            unsafe { feed.group.put(self.mpi, part.offset, part.at, part.bytes)? };
        }
        Ok(())
    }
}
