//! Passes the message on to the other ranks of this host through shared memory while it arrives.

use super::buffer::Buffer;
use crate::error::CallError;
use crate::intranode::HostGroup;
use crate::mpi::Mpi;
use std::collections::VecDeque;

/// What this rank passes on to the others of its host, in the order in which it comes in.
pub(super) struct Feed<'a> {
    group: &'a mut HostGroup,
    waiting: VecDeque<Waiting>,
}

/// Bytes of the message from `offset` on; the first `gone` have been passed on.
struct Waiting {
    offset: u64,
    gone: u64,
    buffer: Buffer,
}

impl Waiting {
    fn next(&self) -> (u64, *const u8, u64) {
        let at = self.buffer.at().wrapping_add(self.gone as usize);
        (self.offset + self.gone, at, self.buffer.bytes() - self.gone)
    }
}

/// Bytes written into shared memory between two polls of the network.
const FEED_BYTES: u64 = 256 << 10;

impl<'a> Feed<'a> {
    pub fn new(group: &'a mut HostGroup) -> Feed<'a> {
        Feed { group, waiting: VecDeque::new() }
    }

    /// # Safety
    /// What the buffer lends stays as it is until it has been passed on.
    pub unsafe fn add(&mut self, offset: u64, buffer: Buffer) {
        self.waiting.push_back(Waiting { offset, gone: 0, buffer });
    }

    /// Passes on as much as there is room for; whether something still waits.
    pub fn pass_on(&mut self) -> bool {
        if let Some(first) = self.waiting.front_mut() {
            let (offset, at, bytes) = first.next();
            // SAFETY: the buffer has these bytes, by the contract of `add`.
            first.gone += unsafe { self.group.offer(offset, at, bytes.min(FEED_BYTES)) };
            if first.gone == first.buffer.bytes() {
                self.waiting.pop_front();
            }
        }
        !self.waiting.is_empty()
    }

    /// Waits until the others of this host have room for the rest.
    pub fn pass_on_rest(&mut self, mpi: &Mpi) -> Result<(), CallError> {
        while let Some(first) = self.waiting.pop_front() {
            let (offset, at, bytes) = first.next();
            // SAFETY: as in `pass_on`.
            unsafe { self.group.put(mpi, offset, at, bytes)? };
        }
        Ok(())
    }
}
