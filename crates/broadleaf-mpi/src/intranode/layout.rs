//! The memory that the ranks of one host share for one communicator, and its layout.
//!
//! It has no name that could be left behind or found by others. One rank makes it; the others open it through
//! `/proc`, which takes the same rights as debugging. The system frees it with the last process, however the
//! processes end. Pages exist from their first use on: a page or two for the ranks' counters, and the ring's only
//! while it is in use ([`super::reclaim`]).

use super::signal::Signal;
use crate::whole_file::may_grow_to;
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The size of a ring slot: large enough that handing over a slot costs little compared with copying it. All slots
/// together must fit in a core's own cache beside the copied data: with 32 slots, 8 ranks took up to twice as long as
/// with 8 slots.
pub const SLOT_BYTES: usize = 64 << 10;
pub const SLOTS: u32 = 8;
const PAGE: usize = 4096;

/// A leader's announcement of a call to the other ranks of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Announcement {
    pub call: u64,
    pub root: u32,
    /// The leader's place in the group.
    pub leader: u32,
    pub bytes: u64,
    /// `Delivery` as a number.
    pub delivery: u32,
    /// `CopyMethod` as a number.
    pub method: u32,
    /// The announcements before this one.
    pub turn: u64,
    /// Of the message, in the leader's memory.
    pub address: u64,
    /// Where in the ring this call's data begins.
    pub base: u32,
    /// The plan's fields in the statistics; no planner where there is no plan.
    pub segment_bytes: u64,
    pub version: u32,
    pub trees: u32,
    pub planner: [u8; 24],
}

/// Which part of the message a slot holds.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Content {
    pub offset: u64,
    pub bytes: u64,
}

/// One rank's state. Turns are counted from 1, in signals modulo 2³².
#[repr(C, align(64))]
pub struct Member {
    /// Announcements that this rank has finished with.
    pub done: Signal,
    /// Ring slots that this rank has finished with.
    pub read: Signal,
    /// The last turn whose data it has copied from the leader's memory, or could not.
    pub copied: Signal,
    /// The last turn in which it could not.
    pub failed_turn: AtomicU64,
    /// 1 when the fields below are set.
    pub introduced: Signal,
    pub pid: AtomicI32,
    /// When the process started ([`super::peers::Process`]).
    pub started: AtomicU64,
    /// The address of this group's mark in its own memory.
    pub mark: AtomicU64,
    /// Of a message that the leader copies to this rank as well: where it goes in this rank's memory, and the turn
    /// with the next unclaimed part.
    pub to: AtomicU64,
    pub claims: AtomicU64,
    /// The last turn in which the leader copies nothing more to this rank.
    pub helped: Signal,
    /// The last one in which the leader could not.
    pub help_failed: AtomicU64,
}

/// State that all ranks share.
#[repr(C, align(64))]
pub struct Common {
    /// A mark that distinguishes this memory from any other.
    pub mark: AtomicU64,
    /// Ranks that can read all others' memory.
    pub can_read: AtomicU32,
    /// A copy between processes has failed.
    pub direct_failed: AtomicU32,
    /// A rank has ended in the midst of a call.
    pub has_lost_rank: AtomicU32,
    /// 1: a leader uses the ring, or a process is releasing its memory.
    ring_in_use: AtomicU32,
    /// Turns announced.
    pub announced: Signal,
    /// Slots of the ring that hold data.
    pub written: Signal,
    pub announcement: UnsafeCell<Announcement>,
    pub contents: [UnsafeCell<Content>; SLOTS as usize],
}

/// The mapped memory.
pub struct Area {
    base: *mut u8,
    ranks: usize,
}

// SAFETY: it consists of atomics, and of cells to which the ranks' protocol ([`super::group`]) gives one thread of
// one process access at a time.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

const fn ring_offset(ranks: usize) -> usize {
    (size_of::<Common>() + ranks * size_of::<Member>()).next_multiple_of(PAGE)
}

const RING_BYTES: usize = SLOTS as usize * SLOT_BYTES;

const fn total_bytes(ranks: usize) -> usize {
    ring_offset(ranks) + RING_BYTES
}

impl Area {
    /// New memory for that many ranks, all zeros, and the file that others can open it by.
    pub fn create(ranks: usize) -> io::Result<(Area, File)> {
        may_grow_to(total_bytes(ranks) as u64)?;
        // SAFETY: a name, flags; the result is looked at.
        let file = File(unsafe { libc::memfd_create(c"broadleaf".as_ptr(), libc::MFD_CLOEXEC) });
        // SAFETY: no memory is passed.
        if file.0 < 0 || unsafe { libc::ftruncate(file.0, total_bytes(ranks) as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((Area::map(&file, ranks)?, file))
    }

    /// The memory behind another process's file.
    pub fn open(pid: i32, file: i32, ranks: usize) -> io::Result<Area> {
        let path = CString::new(format!("/proc/{pid}/fd/{file}"))?;
        // SAFETY: a zero-terminated path; the result is looked at.
        let file = File(unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) });
        if file.0 < 0 {
            return Err(io::Error::last_os_error());
        }
        // A process with this number on another host may have any file there; an access beyond a file's end would
        // kill this process. SAFETY: all zeros is a valid `stat`, which the call fills.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let is_whole =
            unsafe { libc::fstat(file.0, &mut found) } == 0 && found.st_size as usize == total_bytes(ranks);
        if !is_whole {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Area::map(&file, ranks)
    }

    fn map(file: &File, ranks: usize) -> io::Result<Area> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which nothing else knows.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), total_bytes(ranks), access, libc::MAP_SHARED, file.0, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Area { base: base.cast(), ranks })
    }

    pub fn common(&self) -> &Common {
        // SAFETY: the mapping is larger, page-aligned, was zeroed by the system, and its fields may all be zero.
        unsafe { &*self.base.cast::<Common>() }
    }

    pub fn member(&self, at: usize) -> &Member {
        assert!(at < self.ranks, "rank {at} of {} on a host", self.ranks);
        // SAFETY: as in `common`; the members follow it.
        unsafe { &*self.base.add(size_of::<Common>()).cast::<Member>().add(at) }
    }

    /// The slot of a position, for the rank that has claimed the ring, and its readers.
    pub fn slot(&self, position: u32) -> *mut u8 {
        let at = (position % SLOTS) as usize * SLOT_BYTES;
        // SAFETY: inside the mapping.
        unsafe { self.ring().add(at) }
    }

    fn ring(&self) -> *mut u8 {
        // SAFETY: inside the mapping.
        unsafe { self.base.add(ring_offset(self.ranks)) }
    }

    /// Takes the ring for a call or to release its memory; false if another rank has it.
    pub fn claim_ring(&self) -> bool {
        let claimed = self.common().ring_in_use.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        claimed.is_ok()
    }

    /// Called by the rank that has the ring, after its last reader.
    pub fn release_ring(&self) {
        self.common().ring_in_use.store(0, Ordering::Release);
    }

    /// Returns the ring's memory to the system, unless it is in use. Later writes get new pages.
    pub fn give_back(&self) {
        if self.claim_ring() {
            // SAFETY: whole, unused pages of the mapping. Where the system cannot release them, they stay.
            unsafe { libc::madvise(self.ring().cast(), RING_BYTES, libc::MADV_REMOVE) };
            self.release_ring();
        }
    }

    /// The ring's bytes that have memory.
    #[cfg(test)]
    pub fn resident_bytes(&self) -> usize {
        let mut pages = vec![0u8; RING_BYTES / PAGE];
        // SAFETY: a byte for every page of the ring.
        assert_eq!(unsafe { libc::mincore(self.ring().cast(), RING_BYTES, pages.as_mut_ptr()) }, 0);
        pages.iter().filter(|&&page| page & 1 == 1).count() * PAGE
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: `self` owns the mapping, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.base.cast(), total_bytes(self.ranks)) };
    }
}

/// An open file.
pub struct File(libc::c_int);

impl File {
    pub fn number(&self) -> i32 {
        self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.0 >= 0 {
            // SAFETY: `self` owns the file, and it is closed once.
            unsafe { libc::close(self.0) };
        }
    }
}
