//! The ring of slots: a leader writes each part of the message once, and all other ranks of its host copy it out
//! while the next part is written or received.

use super::copy::{copy, Writes};
use super::layout::{Announcement, Area, Content, Member, SLOTS, SLOT_BYTES};
use super::signal::has_reached;
use super::wait::Waiter;
use crate::error::{CallError, Malformed};

/// The most slots that are published to the readers at once, so that ranks switch less often.
const BATCH: u32 = 2;

/// A short message goes in smaller pieces, so that reading overlaps writing.
const LEAST_PIECE: u64 = 8 << 10;

/// The same where ranks outnumber cores: each piece is another chance to lose the core.
const LEAST_PIECE_CROWDED: u64 = 32 << 10;

/// The ring at the leader of a call.
pub struct Writer {
    /// The ranks that it waits for.
    pub readers: Vec<usize>,
    /// Slots written since the group was opened.
    written: u32,
    /// The slowest reader's count, as last read.
    slowest: u32,
    has_claimed: bool,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { readers: Vec::new(), written: 0, slowest: 0, has_claimed: false }
    }

    /// Starts the next call; returns where its data begins.
    pub fn begin(&mut self, area: &Area, readers: impl Iterator<Item = usize>) -> u32 {
        self.written = area.common().written.value();
        self.slowest = self.written.wrapping_sub(SLOTS);
        self.readers.clear();
        self.readers.extend(readers);
        self.written
    }

    /// Called before the first part is written, when no rank reads the ring.
    pub fn claim(&mut self, waiter: &Waiter) -> Result<(), CallError> {
        if !self.has_claimed {
            waiter.claim_ring()?;
            self.has_claimed = true;
            self.slowest = self.written.wrapping_sub(SLOTS);
        }
        Ok(())
    }

    /// After the last part: waits until all have read it. Whether the ring was used.
    pub fn end(&mut self, own: &Member, waiter: &Waiter) -> Result<bool, CallError> {
        if own.read.value() != self.written {
            own.read.set_for_one(self.written);
        }
        if !self.has_claimed {
            return Ok(false);
        }
        for &reader in &self.readers {
            waiter.wait(&waiter.area.member(reader).read, self.written)?;
        }
        self.has_claimed = false;
        waiter.area.release_ring();
        Ok(true)
    }

    /// Puts as much of a part of the message into the ring as there is room for; returns the bytes written.
    ///
    /// # Safety
    /// `from` holds `bytes` bytes.
    pub unsafe fn offer(&mut self, area: &Area, offset: u64, from: *const u8, bytes: u64) -> u64 {
        self.offer_pieces(area, offset, from, bytes, SLOT_BYTES as u64)
    }

    unsafe fn offer_pieces(
        &mut self,
        area: &Area,
        offset: u64,
        from: *const u8,
        bytes: u64,
        piece: u64,
    ) -> u64 {
        let batch = if piece < SLOT_BYTES as u64 { 1 } else { BATCH };
        let mut done = 0;
        let first = self.written;
        let common = area.common();
        while done < bytes && self.has_room(area, self.written) {
            let position = self.written;
            let length = (bytes - done).min(piece);
            copy(from.add(done as usize), area.slot(position), length as usize, Writes::Cached);
            let content = common.contents[(position % SLOTS) as usize].get();
            content.write(Content { offset: offset + done, bytes: length });
            done += length;
            self.written = position.wrapping_add(1);
            if self.written.wrapping_sub(first).is_multiple_of(batch) {
                common.written.set(self.written);
            }
        }
        if !self.written.wrapping_sub(first).is_multiple_of(batch) {
            common.written.set(self.written);
        }
        done
    }

    /// Whether every reader has finished with a position's slot. Reading other ranks' counters is slow, so they are
    /// read as seldom as possible.
    fn has_room(&mut self, area: &Area, position: u32) -> bool {
        let needed = position.wrapping_add(1).wrapping_sub(SLOTS);
        if has_reached(self.slowest, needed) {
            return true;
        }
        let reads = self.readers.iter().map(|&other| area.member(other).read.value());
        let behind = |read: &u32| std::cmp::Reverse(position.wrapping_sub(*read));
        self.slowest = reads.min_by_key(behind).unwrap_or(position);
        has_reached(self.slowest, needed)
    }

    /// Puts a part of the message into the ring, waiting for the readers to make room.
    ///
    /// # Safety
    /// `from` holds `bytes` bytes.
    pub unsafe fn put(
        &mut self,
        waiter: &Waiter,
        offset: u64,
        from: *const u8,
        bytes: u64,
    ) -> Result<(), CallError> {
        let least = if waiter.patience.looks() > 0 { LEAST_PIECE } else { LEAST_PIECE_CROWDED };
        let piece = (bytes / u64::from(SLOTS)).next_multiple_of(64).clamp(least, SLOT_BYTES as u64);
        let mut done = 0;
        loop {
            let (next, left) = (from.add(done as usize), bytes - done);
            done += self.offer_pieces(waiter.area, offset + done, next, left, piece);
            if done == bytes {
                return Ok(());
            }
            // Waits for room for several slots, so that no rank wakes up for a single one.
            let needed = self.written.wrapping_add(BATCH).wrapping_sub(SLOTS);
            for &other in &self.readers {
                waiter.wait(&waiter.area.member(other).read, needed)?;
            }
        }
    }
}

/// Copies the announced message out of the ring to `message`, or only skips it where that is null.
///
/// # Safety
/// `message` is null or holds the announced bytes.
pub unsafe fn take(
    waiter: &Waiter,
    own: &Member,
    announced: &Announcement,
    message: *mut u8,
    writes: Writes,
) -> Result<(), CallError> {
    let (area, common) = (waiter.area, waiter.area.common());
    let mut position = announced.base;
    let mut left = announced.bytes;
    while left > 0 {
        waiter.wait(&common.written, position.wrapping_add(1))?;
        let written = common.written.value();
        while position != written && left > 0 {
            let content = common.contents[(position % SLOTS) as usize].get().read();
            let is_inside =
                content.offset.checked_add(content.bytes).is_some_and(|end| end <= announced.bytes);
            if !is_inside || content.bytes > left || content.bytes > SLOT_BYTES as u64 {
                return Err(Malformed("part of a message").into());
            }
            if !message.is_null() {
                let to = message.add(content.offset as usize);
                copy(area.slot(position), to, content.bytes as usize, writes);
            }
            left -= content.bytes;
            position = position.wrapping_add(1);
            own.read.set_for_one(position);
        }
    }
    Ok(())
}
