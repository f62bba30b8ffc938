//! The memory that the ranks of one host share for one communicator, and what lies where in it.
//!
//! It has no name that could be left behind or found by others: one rank makes it, the others open it through
//! `/proc`, which asks for the same rights as a debugger's look does, and the system takes it back with the last
//! of them, however they end.

use super::choose::Trials;
use super::signal::Signal;
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// The ring's slots hold this much each: enough that passing one on costs little beside copying it. All of them
/// together must stay in a core's own cache beside what is copied: with 32 slots, 8 ranks took up to twice as long
/// as with 8.
pub const SLOT_BYTES: usize = 64 << 10;
pub const SLOTS: u32 = 8;

/// Announced calls, which are counted as turns, whose announcements and times are kept. A leader is never further
/// ahead of its slowest rank.
pub const TURNS: u32 = 16;

/// What the leader of a call tells the others of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Announcement {
    pub call: u64,
    /// The announcements before this one.
    pub turn: u64,
    pub root: u32,
    /// The leader's place in the group.
    pub leader: u32,
    pub bytes: u64,
    /// `Delivery` as a number.
    pub inside: u32,
    /// `CopyMethod` as a number.
    pub way: u32,
    /// Whether the time of this call is to be noted for that way.
    pub timed: u32,
    /// Where in the ring this call's data begins.
    pub base: u32,
    /// Of the message, in the leader's memory.
    pub address: u64,
    /// What the statistics tell of the plan.
    pub segment_bytes: u64,
    pub trees: u32,
    pub version: u32,
    pub planner: [u8; 24],
}

/// Which part of the message a slot holds.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Content {
    pub offset: u64,
    pub bytes: u64,
}

/// When a rank came to an announced call and when it was done, by the host's clock.
#[repr(C)]
pub struct Stamp {
    pub arrived_ns: AtomicU64,
    pub finished_ns: AtomicU64,
    /// The turn, counted from 1.
    pub turn: AtomicU64,
}

/// What one rank says of itself.
#[repr(C, align(64))]
pub struct Member {
    /// Announcements that it needs no longer.
    pub done: Signal,
    /// Slots of the ring that it needs no longer.
    pub read: Signal,
    /// The last turn whose data it has copied from the leader's memory, counted from 1.
    pub copied: Signal,
    /// The last turn, counted from 1, in which that failed.
    pub failed_turn: AtomicU64,
    /// Of a message that the leader copies to this rank as well: the turn, counted from 1,
    /// and the next part that nobody copies yet.
    pub claims: AtomicU64,
    /// Where it goes in this rank's memory.
    pub to: AtomicU64,
    /// The last turn, counted from 1, in which the leader copies nothing more to this rank.
    pub helped: Signal,
    /// The last one in which the leader could not.
    pub help_failed: AtomicU64,
    /// 1 when the two below are there.
    pub introduced: Signal,
    pub pid: AtomicI32,
    /// The address of this group's mark in its own memory.
    pub mark: AtomicU64,
    pub stamps: [Stamp; TURNS as usize],
}

/// What all have in common.
#[repr(C, align(64))]
pub struct Common {
    /// Tells this memory from any other.
    pub mark: AtomicU64,
    /// Ranks that can read all others' memory.
    pub can_read: AtomicU32,
    /// A copy from another rank's memory has failed.
    pub direct_failed: AtomicU32,
    /// The first turn whose time has not been looked at.
    pub unjudged: AtomicU64,
    /// Turns announced.
    pub announced: Signal,
    /// Slots of the ring that hold data.
    pub written: Signal,
    pub trials: Trials,
    pub announcements: [UnsafeCell<Announcement>; TURNS as usize],
    pub contents: [UnsafeCell<Content>; SLOTS as usize],
}

/// The mapped memory.
pub struct Area {
    base: *mut u8,
    ranks: usize,
}

const fn ring_offset(ranks: usize) -> usize {
    const PAGE: usize = 4096;
    (size_of::<Common>() + ranks * size_of::<Member>()).next_multiple_of(PAGE)
}

const fn total_bytes(ranks: usize) -> usize {
    ring_offset(ranks) + SLOTS as usize * SLOT_BYTES
}

impl Area {
    /// New memory for that many ranks, all zeros, and the file that others can open it by.
    pub fn create(ranks: usize) -> io::Result<(Area, File)> {
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
        // Another host's process of that number may have any file there; what is beyond a file's end would kill.
        // SAFETY: all zeros is a valid `stat`, which the call fills.
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
            libc::mmap(
                std::ptr::null_mut(),
                total_bytes(ranks),
                access,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.0,
                0,
            )
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

    /// The memory of a position's slot.
    pub fn slot(&self, position: u32) -> *mut u8 {
        let at = ring_offset(self.ranks) + (position % SLOTS) as usize * SLOT_BYTES;
        // SAFETY: inside the mapping.
        unsafe { self.base.add(at) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to it outlives `self`.
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
            // SAFETY: ours, and closed once.
            unsafe { libc::close(self.0) };
        }
    }
}
