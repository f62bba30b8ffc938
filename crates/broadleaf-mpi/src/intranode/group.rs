//! The ranks of one host in one communicator.
//!
//! A leader announces a call when all ranks have finished with the announcement before it, and stays until all have
//! the message. So one announcement and one ring are enough, and a rank that has left a call needs nothing more from
//! it.

use super::choose::{Ability, CopyMethod};
use super::copy::{copy_from_process, Writes};
use super::direct;
use super::join::{self, Joined};
use super::layout::{Announcement, Area, Member};
use super::peers::Process;
use super::reclaim;
use super::ring::{self, Writer};
use super::signal::{Patience, Signal};
use super::wait::Waiter;
use crate::error::{CallError, Malformed};
use crate::mpi::Mpi;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// How a message gets to the ranks of a host in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The leader passes it on through shared memory.
    SharedMemory,
    /// Every rank takes part in the plan by itself.
    Messages,
    /// All ranks use the MPI's own broadcast.
    Native,
}

impl Delivery {
    const ALL: [Delivery; 3] = [Delivery::SharedMemory, Delivery::Messages, Delivery::Native];

    pub fn of(announcement: &Announcement) -> Result<Delivery, CallError> {
        Delivery::ALL.get(announcement.delivery as usize).copied().ok_or(Malformed("announcement").into())
    }
}

/// The ranks of a host, from the view of one of them.
pub struct HostGroup {
    area: Arc<Area>,
    me: usize,
    ranks: Vec<u32>,
    /// A mark in this rank's own memory; the others test whether they can read it.
    mark: Box<u64>,
    writer: Writer,
    peers: Vec<Process>,
    patience: Patience,
    /// Announced calls so far.
    turn: u64,
    /// The method for all messages that a leader holds whole, where it is possible.
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
        let joined =
            if me == 0 { join::create(mpi, &ranks)? } else { join::join(mpi, ranks[0], ranks.len())? };
        let Some(Joined { area, cores }) = joined else { return Ok(None) };
        let area = Arc::new(area);
        let patience = Patience::of(ranks.len(), cores);
        let mark = Box::new(area.common().mark.load(Ordering::Relaxed));
        let (writer, peers) = (Writer::new(), Vec::new());
        let mut group = HostGroup { area, me, ranks, mark, writer, peers, patience, turn: 0, always };
        group.introduce(mpi)?;
        Ok(Some(group))
    }

    /// Finds out which of the others this rank sees, and whether it can read their memory. No rank waits for the
    /// result; a leader checks how many have succeeded.
    fn introduce(&mut self, mpi: &Mpi) -> Result<(), CallError> {
        let (own, process) = (self.own(), Process::own());
        own.mark.store(&*self.mark as *const u64 as u64, Ordering::Relaxed);
        own.pid.store(process.pid, Ordering::Relaxed);
        own.started.store(process.started, Ordering::Relaxed);
        own.introduced.set(1);
        let (mut can_read, mut peers) = (true, Vec::new());
        for other in self.others() {
            let member = self.area.member(other);
            self.waiter(mpi).wait(&member.introduced, 1)?;
            let (pid, started) = (member.pid.load(Ordering::Relaxed), member.started.load(Ordering::Relaxed));
            peers.extend(Some(Process { pid, started }).filter(|peer| peer.is_visible()));
            let mut found = 0u64;
            let (address, to) = (member.mark.load(Ordering::Relaxed), (&mut found as *mut u64).cast());
            // SAFETY: eight bytes of this process.
            can_read &= unsafe { copy_from_process(pid, address, to, 8) } && found == *self.mark;
        }
        self.peers = peers;
        self.area.common().can_read.fetch_add(can_read.into(), Ordering::AcqRel);
        Ok(())
    }

    fn own(&self) -> &Member {
        self.area.member(self.me)
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let me = self.me;
        (0..self.ranks.len()).filter(move |&other| other != me)
    }

    fn waiter<'a>(&'a self, mpi: &'a Mpi) -> Waiter<'a> {
        Waiter { mpi, area: &self.area, peers: &self.peers, patience: self.patience }
    }

    /// The number of this call's turn, from 1.
    fn number(&self) -> u32 {
        (self.turn as u32).wrapping_add(1)
    }

    /// For a whole message to the other ranks of the host, which are all ranks of the communicator.
    pub fn method(&self, bytes: u64) -> CopyMethod {
        let common = self.area.common();
        let direct = common.can_read.load(Ordering::Acquire) as usize == self.ranks.len()
            && common.direct_failed.load(Ordering::Relaxed) == 0;
        let ability = Ability { direct, has_cores: self.patience.looks() > 0 };
        CopyMethod::of(bytes, ability, self.always)
    }

    /// The leader announces a call to the others: its number, root, bytes, method and the plan's part.
    pub fn announce(&mut self, mpi: &Mpi, delivery: Delivery, given: Announcement) -> Result<(), CallError> {
        let turn = self.turn;
        for other in self.others() {
            self.waiter(mpi).wait(&self.area.member(other).done, turn as u32)?;
        }
        self.waiter(mpi).look(0)?;
        let base = self.writer.begin(&self.area, self.others());
        if delivery == Delivery::SharedMemory && given.method != CopyMethod::Direct as u32 {
            self.claim_ring(mpi)?;
        }
        let common = self.area.common();
        let announcement =
            Announcement { turn, leader: self.me as u32, delivery: delivery as u32, base, ..given };
        // SAFETY: every rank has finished with the previous announcement, and none reads this one before it is
        // announced.
        unsafe { common.announcement.get().write(announcement) };
        common.announced.set(self.number());
        Ok(())
    }

    fn claim_ring(&mut self, mpi: &Mpi) -> Result<(), CallError> {
        let waiter = Waiter { mpi, area: &self.area, peers: &self.peers, patience: self.patience };
        self.writer.claim(&waiter)
    }

    /// Waits for the announcement of a call that another rank leads.
    pub fn hear(&mut self, mpi: &Mpi) -> Result<Announcement, CallError> {
        let common = self.area.common();
        self.waiter(mpi).wait(&common.announced, self.number())?;
        // SAFETY: it was written before it was announced, and stays until this rank has finished with it.
        let announcement = unsafe { common.announcement.get().read() };
        // This rank needs nothing more of earlier calls from the ring.
        if self.own().read.value() != announcement.base {
            self.own().read.set_for_one(announcement.base);
        }
        Ok(announcement)
    }

    /// Puts a part of the message into the ring as far as there is room; gives the bytes that went in.
    ///
    /// # Safety
    /// `from` holds `bytes` bytes.
    pub unsafe fn offer(&mut self, offset: u64, from: *const u8, bytes: u64) -> u64 {
        self.writer.offer(&self.area, offset, from, bytes)
    }

    /// Puts a part of the message into the ring, waiting for room.
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
        let waiter = Waiter { mpi, area: &self.area, peers: &self.peers, patience: self.patience };
        self.writer.put(&waiter, offset, from, bytes)
    }

    /// The leader's part for a message that it holds whole.
    ///
    /// # Safety
    /// `message` holds the announced bytes.
    pub unsafe fn give(
        &mut self,
        mpi: &Mpi,
        method: CopyMethod,
        message: *const u8,
        bytes: u64,
    ) -> Result<(), CallError> {
        if method != CopyMethod::Direct {
            return self.put(mpi, 0, message, bytes);
        }
        let (turn, common) = (self.turn, self.area.common());
        let looks = self.patience.looks();
        if !direct::help(&self.area, &self.writer.readers, turn, message, bytes, looks) {
            common.direct_failed.store(1, Ordering::Relaxed);
        }
        for &other in &self.writer.readers {
            self.waiter(mpi).wait(&self.area.member(other).copied, self.number())?;
        }
        let area = &self.area;
        let has_failed = |other: usize| area.member(other).failed_turn.load(Ordering::Relaxed) == turn + 1;
        self.writer.readers.retain(|&other| has_failed(other));
        if self.writer.readers.is_empty() {
            return Ok(());
        }
        // These readers use the ring, and direct copies are not tried again.
        common.direct_failed.store(1, Ordering::Relaxed);
        self.claim_ring(mpi)?;
        self.put(mpi, 0, message, bytes)
    }

    /// Copies the announced message to `message`, or only skips it where that is null: this rank's length differs.
    ///
    /// # Safety
    /// `message` is null or holds the announced bytes.
    pub unsafe fn take(
        &mut self,
        mpi: &Mpi,
        announced: &Announcement,
        message: *mut u8,
    ) -> Result<(), CallError> {
        let (own, waiter) = (self.own(), self.waiter(mpi));
        let method =
            CopyMethod::ALL.get(announced.method as usize).copied().ok_or(Malformed("announcement"))?;
        if method == CopyMethod::Direct {
            let pid = self.area.member(announced.leader as usize).pid.load(Ordering::Relaxed);
            let is_here = message.is_null() || direct::take(own, pid, announced, message, &waiter)?;
            if !is_here {
                own.failed_turn.store(announced.turn + 1, Ordering::Relaxed);
            }
            own.copied.set_for_one(self.number());
            if is_here {
                return Ok(());
            }
        }
        let writes = if method == CopyMethod::StreamedRing { Writes::Streamed } else { Writes::Cached };
        ring::take(&waiter, own, announced, message, writes)
    }

    /// Ends this rank's part in a call that another rank leads; the announcement must not be used afterwards.
    pub fn finish(&mut self) {
        self.turn += 1;
        let done: &Signal = &self.own().done;
        done.set_for_one(self.turn as u32);
    }

    /// Ends a call at its leader: waits until all ranks have read the ring.
    pub fn finish_led(&mut self, mpi: &Mpi) -> Result<(), CallError> {
        let waiter = Waiter { mpi, area: &self.area, peers: &self.peers, patience: self.patience };
        if self.writer.end(self.area.member(self.me), &waiter)? {
            reclaim::used(&self.area);
        }
        self.finish();
        Ok(())
    }
}
