//! The ranks of one host in one communicator.

use super::choose::{Allowed, CopyMethod};
use super::cooperative;
use super::copy::{copy, copy_from_process, Writes};
use super::join;
use super::layout::{Announcement, Area, Content, SLOTS, SLOT_BYTES, TURNS};
use super::signal::{has_reached, Patience};
use super::times::{self, now_ns};
use crate::error::CallError;
use crate::error::Malformed;
use crate::mpi::Mpi;
use std::sync::atomic::Ordering;

/// What goes on inside a host in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The leader passes the message on through shared memory.
    SharedMemory,
    /// Every rank takes part in the plan by itself.
    Messages,
    /// All ranks use the MPI's own broadcast.
    Native,
}

impl Delivery {
    const ALL: [Delivery; 3] = [Delivery::SharedMemory, Delivery::Messages, Delivery::Native];
}

/// Slots that are shown to the readers at once, at most: fewer turns of fewer ranks.
const BATCH: u32 = 2;

/// A short message goes in smaller pieces, so that reading does not have to wait for all writing.
const LEAST_PIECE: u64 = 8 << 10;

/// The same where ranks outnumber cores: each piece is one more chance of losing the core.
const LEAST_PIECE_CROWDED: u64 = 32 << 10;

/// The host's ranks as one of them sees them.
pub struct HostGroup {
    area: Area,
    me: usize,
    ranks: Vec<u32>,
    /// Lies in this rank's own memory, for the others to prove that they can read it.
    mark: Box<u64>,
    /// Slots written, as the leader of the current call counts.
    written: u32,
    /// The slowest reader's count when it was last looked at.
    slowest: u32,
    /// Turns that every other rank had done with when this rank last looked.
    all_done: u32,
    /// Whom the leader of the current call waits for.
    readers: Vec<usize>,
    patience: Patience,
    arrived_ns: u64,
    /// Announced calls so far.
    turn: u64,
    /// The way of all messages that it can take.
    always: Option<CopyMethod>,
}

impl HostGroup {
    /// Collective over `ranks`, ascending, of one host. `None` on all of them: they cannot share memory.
    pub fn open(
        mpi: &Mpi,
        rank: u32,
        ranks: Vec<u32>,
        always: Option<CopyMethod>,
    ) -> Result<Option<HostGroup>, CallError> {
        let me = ranks.iter().position(|&other| other == rank).unwrap_or(0);
        let area = if me == 0 { join::create(mpi, &ranks)? } else { join::join(mpi, ranks[0], ranks.len())? };
        let Some(area) = area else { return Ok(None) };
        let patience = Patience::of(ranks.len());
        let mark = Box::new(area.common().mark.load(Ordering::Relaxed));
        let mut group = HostGroup {
            area,
            me,
            ranks,
            mark,
            written: 0,
            slowest: 0,
            all_done: 0,
            readers: Vec::new(),
            patience,
            arrived_ns: 0,
            turn: 0,
            always,
        };
        group.introduce(mpi)?;
        Ok(Some(group))
    }

    /// Finds out whether this rank can read the others' memory. Nobody waits for the result; a leader looks
    /// how many have succeeded.
    fn introduce(&mut self, mpi: &Mpi) -> Result<(), CallError> {
        let own = self.area.member(self.me);
        own.mark.store(&*self.mark as *const u64 as u64, Ordering::Relaxed);
        own.pid.store(std::process::id() as i32, Ordering::Relaxed);
        own.introduced.set(1);
        let mut can_read = true;
        for other in self.others() {
            let member = self.area.member(other);
            member.introduced.wait(1, self.patience, || mpi.progress())?;
            let mut found = 0u64;
            let (pid, address) = (member.pid.load(Ordering::Relaxed), member.mark.load(Ordering::Relaxed));
            let to = (&mut found as *mut u64).cast();
            // SAFETY: eight bytes of our own.
            can_read &= unsafe { copy_from_process(pid, address, to, 8) } && found == *self.mark;
        }
        self.area.common().can_read.fetch_add(can_read.into(), Ordering::AcqRel);
        Ok(())
    }

    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.ranks.len()).filter(|&other| other != self.me)
    }

    fn can_read_directly(&self) -> bool {
        let common = self.area.common();
        common.can_read.load(Ordering::Acquire) as usize == self.ranks.len()
            && common.direct_failed.load(Ordering::Relaxed) == 0
    }

    /// This rank has come to a call.
    pub fn arrive(&mut self) {
        self.arrived_ns = now_ns();
    }

    /// The quickest known way for the whole message to the others of the host, who are all there are.
    pub fn choose_way(&self, bytes: u64) -> CopyMethod {
        let together = self.patience.looks() > 0;
        // Without that right, MPICH's own broadcast fails.
        let direct = self.can_read_directly();
        let allowed = Allowed { direct, together, own: direct };
        match self.always.filter(|&way| allowed.permits(way, bytes)) {
            Some(way) => way,
            None => self.area.common().trials.choose(bytes, allowed),
        }
    }

    /// The leader of a call tells the others. The call's number, root, bytes and the plan's part are given.
    pub fn announce(&mut self, mpi: &Mpi, inside: Delivery, given: Announcement) -> Result<(), CallError> {
        let turn = self.turn;
        self.make_place(mpi, turn)?;
        let common = self.area.common();
        self.written = common.written.value();
        self.slowest = self.written.wrapping_sub(SLOTS);
        self.readers.clear();
        self.readers.extend((0..self.ranks.len()).filter(|&other| other != self.me));
        let (leader, inside, base) = (self.me as u32, inside as u32, self.written);
        let announcement = Announcement { turn, leader, inside, base, ..given };
        let place = common.announcements[turn as usize % TURNS as usize].get();
        // SAFETY: every rank has done with what stood here TURNS turns ago, and none looks until it is announced.
        unsafe { place.write(announcement) };
        common.announced.set((turn as u32).wrapping_add(1));
        Ok(())
    }

    /// Waits until every rank has done with the announcement whose place a turn's will take. What others write
    /// is slow to look at, so it is looked at as seldom as can be.
    fn make_place(&mut self, mpi: &Mpi, turn: u64) -> Result<(), CallError> {
        let needed = (turn as u32).wrapping_sub(TURNS - 1);
        if !has_reached(self.all_done, needed) {
            let mut furthest_behind = 0;
            for other in self.others() {
                let done = &self.area.member(other).done;
                done.wait(needed, self.patience, || mpi.progress())?;
                furthest_behind = furthest_behind.max((turn as u32).wrapping_sub(done.value()));
            }
            self.all_done = (turn as u32).wrapping_sub(furthest_behind);
        }
        Ok(())
    }

    /// Waits for the announcement of a call that another rank leads.
    pub fn hear(&mut self, mpi: &Mpi) -> Result<Announcement, CallError> {
        let common = self.area.common();
        common.announced.wait((self.turn as u32).wrapping_add(1), self.patience, || mpi.progress())?;
        // SAFETY: it was written before it was announced, and stays until this rank has done with it.
        let announcement = unsafe { common.announcements[self.turn as usize % TURNS as usize].get().read() };
        // Whatever went through the ring before, this rank has it or needs it no longer.
        let own = self.area.member(self.me);
        if own.read.value() != announcement.base {
            own.read.set_for_one(announcement.base);
        }
        Ok(announcement)
    }

    pub fn inside(announcement: &Announcement) -> Result<Delivery, CallError> {
        Delivery::ALL.get(announcement.inside as usize).copied().ok_or(Malformed("announcement").into())
    }

    /// Puts a part of the message into the ring as far as there is room; gives the bytes that went in.
    ///
    /// # Safety
    /// `from` holds `bytes` bytes.
    pub unsafe fn offer(&mut self, offset: u64, from: *const u8, bytes: u64) -> u64 {
        self.offer_pieces(offset, from, bytes, SLOT_BYTES as u64)
    }

    unsafe fn offer_pieces(&mut self, offset: u64, from: *const u8, bytes: u64, piece: u64) -> u64 {
        let batch = if piece < SLOT_BYTES as u64 { 1 } else { BATCH };
        let mut done = 0;
        let first = self.written;
        while done < bytes && self.has_room(self.written) {
            let position = self.written;
            let length = (bytes - done).min(piece);
            let common = self.area.common();
            copy(from.add(done as usize), self.area.slot(position), length as usize, Writes::Cached);
            let content = common.contents[(position % SLOTS) as usize].get();
            content.write(Content { offset: offset + done, bytes: length });
            done += length;
            self.written = position.wrapping_add(1);
            if self.written.wrapping_sub(first).is_multiple_of(batch) {
                common.written.set(self.written);
            }
        }
        if !self.written.wrapping_sub(first).is_multiple_of(batch) {
            self.area.common().written.set(self.written);
        }
        done
    }

    /// Whether every reader has done with what stands in a position's slot.
    fn has_room(&mut self, position: u32) -> bool {
        let needed = position.wrapping_add(1).wrapping_sub(SLOTS);
        if has_reached(self.slowest, needed) {
            return true;
        }
        let reads = self.readers.iter().map(|&other| self.area.member(other).read.value());
        let behind = |read: &u32| std::cmp::Reverse(position.wrapping_sub(*read));
        self.slowest = reads.min_by_key(behind).unwrap_or(position);
        has_reached(self.slowest, needed)
    }

    /// Puts a part of the message into the ring, waiting for `readers` to make room.
    ///
    /// # Safety
    /// `from` holds `bytes` bytes.
    pub unsafe fn put(
        &mut self,
        mpi: &Mpi,
        offset: u64,
        from: *const u8,
        bytes: u64,
    ) -> Result<(), CallError> {
        let least = if self.patience.looks() > 0 { LEAST_PIECE } else { LEAST_PIECE_CROWDED };
        let piece = (bytes / u64::from(SLOTS)).next_multiple_of(64).clamp(least, SLOT_BYTES as u64);
        let mut done = 0;
        loop {
            done += self.offer_pieces(offset + done, from.add(done as usize), bytes - done, piece);
            if done == bytes {
                return Ok(());
            }
            // Some room, so that nobody is woken for a single slot.
            let needed = self.written.wrapping_add(BATCH).wrapping_sub(SLOTS);
            for &other in &self.readers {
                self.area.member(other).read.wait(needed, self.patience, || mpi.progress())?;
            }
        }
    }

    /// The leader's part for a message that it holds whole.
    ///
    /// # Safety
    /// `message` holds the announced bytes.
    pub unsafe fn give(
        &mut self,
        mpi: &Mpi,
        way: CopyMethod,
        message: *const u8,
        bytes: u64,
    ) -> Result<(), CallError> {
        let turn = self.turn;
        // The others are busy with the data when this rank looks at what they have written.
        match way {
            CopyMethod::Ring | CopyMethod::StreamedRing => self.put(mpi, 0, message, bytes)?,
            CopyMethod::Native => mpi.broadcast(message.cast_mut(), bytes, self.ranks[self.me])?,
            CopyMethod::Direct => {}
            CopyMethod::Cooperative => {
                let looks = self.patience.looks();
                if !cooperative::help(&self.area, &self.readers, turn, message, bytes, looks) {
                    self.area.common().direct_failed.store(1, Ordering::Relaxed);
                }
            }
        }
        times::judge(&self.area, self.ranks.len(), turn, self.patience.looks() == 0);
        if !way.is_direct() {
            return Ok(());
        }
        for other in self.others() {
            self.area
                .member(other)
                .copied
                .wait((turn as u32).wrapping_add(1), self.patience, || mpi.progress())?;
        }
        let area = &self.area;
        self.readers.retain(|&other| area.member(other).failed_turn.load(Ordering::Relaxed) == turn + 1);
        if self.readers.is_empty() {
            return Ok(());
        }
        // These take it from the ring, and nothing of the kind is tried again.
        self.area.common().direct_failed.store(1, Ordering::Relaxed);
        self.slowest = self.written.wrapping_sub(SLOTS);
        self.put(mpi, 0, message, bytes)
    }

    /// Copies the announced message to `message`, or only lets it pass where that is null: this rank's length is
    /// another.
    ///
    /// # Safety
    /// `message` is null or holds the announced bytes.
    pub unsafe fn take(
        &mut self,
        mpi: &Mpi,
        announced: &Announcement,
        message: *mut u8,
    ) -> Result<(), CallError> {
        let way = CopyMethod::ALL.get(announced.way as usize).copied().ok_or(Malformed("announcement"))?;
        if way == CopyMethod::Native {
            // The others were promised the announced length.
            let mut scratch = vec![0u8; if message.is_null() { announced.bytes as usize } else { 0 }];
            let to = if message.is_null() { scratch.as_mut_ptr() } else { message };
            return Ok(mpi.broadcast(to, announced.bytes, announced.root)?);
        }
        if way.is_direct() {
            let own = self.area.member(self.me);
            let pid = self.area.member(announced.leader as usize).pid.load(Ordering::Relaxed);
            let is_here = if message.is_null() {
                true
            } else if way == CopyMethod::Cooperative {
                cooperative::take(mpi, own, pid, announced, message, self.patience)?
            } else {
                copy_from_process(pid, announced.address, message, announced.bytes)
            };
            if !is_here {
                own.failed_turn.store(announced.turn + 1, Ordering::Relaxed);
            }
            own.copied.set_for_one((announced.turn as u32).wrapping_add(1));
            if is_here {
                return Ok(());
            }
        }
        let writes = if way == CopyMethod::StreamedRing { Writes::Streamed } else { Writes::Cached };
        self.take_from_ring(mpi, announced, message, writes)
    }

    unsafe fn take_from_ring(
        &mut self,
        mpi: &Mpi,
        announced: &Announcement,
        message: *mut u8,
        writes: Writes,
    ) -> Result<(), CallError> {
        let common = self.area.common();
        let own = self.area.member(self.me);
        let mut position = announced.base;
        let mut left = announced.bytes;
        while left > 0 {
            common.written.wait(position.wrapping_add(1), self.patience, || mpi.progress())?;
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
                    copy(self.area.slot(position), to, content.bytes as usize, writes);
                }
                left -= content.bytes;
                position = position.wrapping_add(1);
                own.read.set_for_one(position);
            }
        }
        Ok(())
    }

    /// This rank has done with an announced call: after its last use of the announcement.
    pub fn finish(&mut self, led: bool) {
        let turn = self.turn;
        self.turn += 1;
        let own = self.area.member(self.me);
        if led && own.read.value() != self.written {
            own.read.set_for_one(self.written);
        }
        let stamp = &own.stamps[turn as usize % TURNS as usize];
        stamp.arrived_ns.store(self.arrived_ns, Ordering::Relaxed);
        stamp.finished_ns.store(now_ns(), Ordering::Relaxed);
        stamp.turn.store(turn + 1, Ordering::Release);
        own.done.set_in_passing((turn as u32).wrapping_add(1));
    }
}
