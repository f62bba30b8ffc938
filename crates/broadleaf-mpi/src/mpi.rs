//! The MPI, as a table of functions that C lends (`bl_ops` in `c/engine.h`).

use crate::error::{CallError, MpiError};
use std::ffi::{c_int, c_void};

/// One finished request (`bl_done`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub request: u32,
    pub source: i32,
    pub bytes: u64,
    /// MPI error code.
    pub error: i32,
    reserved: u32,
}

/// Waits until that time of the MPI's clock, s; returns the time.
pub type WaitUntil = extern "C" fn(f64) -> f64;

/// The MPI operations lent by C (`bl_ops`).
#[repr(C)]
pub struct Ops {
    gather: extern "C" fn(*mut c_void, *const c_void, u64, *mut c_void) -> c_int,
    share: extern "C" fn(*mut c_void, *mut c_void, u64, c_int) -> c_int,
    isend: extern "C" fn(*mut c_void, *const c_void, u64, c_int, c_int, u32) -> c_int,
    irecv: extern "C" fn(*mut c_void, *mut c_void, u64, c_int, c_int, u32) -> c_int,
    wait_some: extern "C" fn(*mut c_void, *mut *const Done, *mut u32, c_int) -> c_int,
    withdraw: extern "C" fn(*mut c_void, u32, *mut c_int) -> c_int,
    progress: extern "C" fn(*mut c_void) -> c_int,
    wait_until: Option<WaitUntil>,
    combine: extern "C" fn(*mut c_void, *const c_void, *mut c_void, u64) -> c_int,
    abandon: extern "C" fn(*mut c_void),
    intranode_from: u64,
    process_failed: c_int,
}

/// An MPI process. Simulated ones share a process of the system, but each has its own copy of the C part, so the address
/// of its table is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process(usize);

/// The private side of one communicator.
#[derive(Clone, Copy)]
pub struct Mpi {
    ops: &'static Ops,
    comm: *mut c_void,
}

fn checked(code: c_int) -> Result<(), MpiError> {
    match code {
        0 => Ok(()),
        code => Err(MpiError(code)),
    }
}

const ANY_RANK: c_int = -1;

/// Null for no bytes: the address of an empty vector is 1, which is Open MPI's `MPI_IN_PLACE`.
fn address(bytes: &mut [u8]) -> *mut u8 {
    if bytes.is_empty() {
        std::ptr::null_mut()
    } else {
        bytes.as_mut_ptr()
    }
}

impl Mpi {
    /// # Safety
    /// `comm` is what the functions of `ops` expect, and outlives this.
    pub(crate) unsafe fn new(ops: &'static Ops, comm: *mut c_void) -> Mpi {
        Mpi { ops, comm }
    }

    /// The MPI process that calls.
    pub fn process(&self) -> Process {
        Process(std::ptr::from_ref(self.ops) as usize)
    }

    /// Only where time is simulated.
    pub fn simulated_clock(&self) -> Option<WaitUntil> {
        self.ops.wait_until
    }

    /// Every rank's `mine`, all of one length, in rank order; empty on all ranks but 0.
    pub fn gather(&self, mine: &[u8], size: usize, rank: usize) -> Result<Vec<u8>, MpiError> {
        let mut all = vec![0u8; if rank == 0 { mine.len() * size } else { 0 }];
        let (from, to) = (mine.as_ptr().cast(), address(&mut all).cast());
        checked((self.ops.gather)(self.comm, from, mine.len() as u64, to))?;
        Ok(all)
    }

    /// Rank 0's bytes to all.
    pub fn share(&self, bytes: &mut [u8]) -> Result<(), MpiError> {
        // SAFETY: nothing else uses the memory during this call.
        unsafe { self.broadcast(bytes.as_mut_ptr(), bytes.len() as u64, 0) }
    }

    /// The root's bytes to all, by the MPI's own broadcast.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes that nothing else accesses meanwhile.
    pub unsafe fn broadcast(&self, data: *mut u8, bytes: u64, root: u32) -> Result<(), MpiError> {
        checked((self.ops.share)(self.comm, data.cast(), bytes, root as c_int))
    }

    /// The memory must stay as it is until the request is done.
    pub fn isend(
        &self,
        from: *const u8,
        bytes: u64,
        to: u32,
        tag: i32,
        request: u32,
    ) -> Result<(), MpiError> {
        checked((self.ops.isend)(self.comm, from.cast(), bytes, to as c_int, tag, request))
    }

    /// From one rank or any. The memory must stay untouched until the request is done.
    pub fn irecv(
        &self,
        to: *mut u8,
        bytes: u64,
        from: Option<u32>,
        tag: i32,
        request: u32,
    ) -> Result<(), MpiError> {
        let from = from.map_or(ANY_RANK, |rank| rank as c_int);
        checked((self.ops.irecv)(self.comm, to.cast(), bytes, from, tag, request))
    }

    /// Waits until something is done and appends it; only looks, if not `patient`.
    pub fn wait_some(&self, events: &mut Vec<Done>, patient: bool) -> Result<(), MpiError> {
        let mut done = std::ptr::null();
        let mut count = 0;
        checked((self.ops.wait_some)(self.comm, &mut done, &mut count, patient.into()))?;
        if count > 0 {
            // SAFETY: C has just filled `count` entries there and keeps them until the next operation.
            events.extend_from_slice(unsafe { std::slice::from_raw_parts(done, count as usize) });
        }
        Ok(())
    }

    /// Takes back a receive under way; whether its message had come already.
    pub fn withdraw(&self, request: u32) -> Result<bool, MpiError> {
        let mut has_come = 0;
        checked((self.ops.withdraw)(self.comm, request, &mut has_come))?;
        Ok(has_come != 0)
    }

    /// Whether ranks of one host may share memory: not where time is simulated, since it costs none there.
    pub fn shares_memory(&self) -> bool {
        self.simulated_clock().is_none()
    }

    /// From this length on, bytes, shared memory is faster inside a host than this MPI's own broadcast.
    pub fn intranode_from(&self) -> u64 {
        self.ops.intranode_from
    }

    /// The MPI's error code for a communicator one of whose processes has failed.
    pub fn process_failed(&self) -> i32 {
        self.ops.process_failed
    }

    /// Drives the MPI's progress, for a rank that waits for something else.
    pub fn progress(&self) -> Result<(), MpiError> {
        checked((self.ops.progress)(self.comm))
    }

    /// Receives exactly `to.len()` bytes, with nothing else under way; returns the sender.
    pub fn receive(&self, to: &mut [u8], from: Option<u32>, tag: i32) -> Result<u32, CallError> {
        self.irecv(to.as_mut_ptr(), to.len() as u64, from, tag, 0)?;
        let done = self.only()?;
        if done.bytes != to.len() as u64 {
            let sender = done.source;
            let fact = format!("rank {sender} sent {} bytes instead of {}", done.bytes, to.len());
            return Err(CallError::Internal(fact));
        }
        Ok(done.source as u32)
    }

    /// Sends bytes, with nothing else under way.
    pub fn send(&self, bytes: &[u8], to: u32, tag: i32) -> Result<(), CallError> {
        self.isend(bytes.as_ptr(), bytes.len() as u64, to, tag, 0)?;
        self.only().map(|_| ())
    }

    fn only(&self) -> Result<Done, CallError> {
        let mut events = Vec::with_capacity(1);
        self.wait_some(&mut events, true)?;
        match events[0] {
            done if done.error == 0 => Ok(done),
            done => Err(CallError::Mpi(done.error)),
        }
    }

    /// Combines another rank's bytes into this rank's, by the operation of the call.
    ///
    /// # Safety
    /// `into` points to as many bytes, whole elements, that nothing else touches meanwhile.
    pub unsafe fn combine(&self, came: &[u8], into: *mut u8) -> Result<(), MpiError> {
        checked((self.ops.combine)(self.comm, came.as_ptr().cast(), into.cast(), came.len() as u64))
    }

    /// Gives up every request under way.
    pub fn abandon(&self) {
        (self.ops.abandon)(self.comm);
    }
}

#[cfg(test)]
impl Mpi {
    /// One rank by itself, which sends nothing.
    pub(crate) fn alone() -> Mpi {
        extern "C" fn gather(_: *mut c_void, mine: *const c_void, bytes: u64, all: *mut c_void) -> c_int {
            // SAFETY: `all` has room for every rank's bytes, and there is one rank.
            unsafe { std::ptr::copy_nonoverlapping(mine.cast::<u8>(), all.cast(), bytes as usize) };
            0
        }
        extern "C" fn share(_: *mut c_void, _: *mut c_void, _: u64, _: c_int) -> c_int {
            0
        }
        extern "C" fn isend(_: *mut c_void, _: *const c_void, _: u64, _: c_int, _: c_int, _: u32) -> c_int {
            1
        }
        extern "C" fn irecv(_: *mut c_void, _: *mut c_void, _: u64, _: c_int, _: c_int, _: u32) -> c_int {
            1
        }
        extern "C" fn wait_some(_: *mut c_void, _: *mut *const Done, _: *mut u32, _: c_int) -> c_int {
            1
        }
        extern "C" fn withdraw(_: *mut c_void, _: u32, _: *mut c_int) -> c_int {
            1
        }
        extern "C" fn progress(_: *mut c_void) -> c_int {
            0
        }
        extern "C" fn combine(_: *mut c_void, _: *const c_void, _: *mut c_void, _: u64) -> c_int {
            1
        }
        extern "C" fn abandon(_: *mut c_void) {}
        static OPS: Ops = Ops {
            gather,
            share,
            isend,
            irecv,
            wait_some,
            withdraw,
            progress,
            wait_until: None,
            combine,
            abandon,
            intranode_from: 0,
            process_failed: 0,
        };
        Mpi { ops: &OPS, comm: std::ptr::null_mut() }
    }
}
