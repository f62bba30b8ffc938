//! Scatter and all-gather, as `c/collectives.h` declares them.

use super::{given, guarded, lent, Verdict};
use crate::collectives::Collectives;
use crate::mpi::Ops;
use crate::outcome::Outcome;
use broadleaf::plan::Collective;
use std::ffi::{c_char, c_int, c_void, CStr};

/// # Safety
/// As `bl_session_open`.
#[no_mangle]
pub unsafe extern "C" fn bl_collectives_open(
    ops: *const Ops,
    comm: *mut c_void,
    rank: c_int,
    size: c_int,
    host: *const c_char,
    host_index: u32,
    outcome: *mut Verdict,
) -> *mut Collectives {
    let place = (CStr::from_ptr(host).to_string_lossy().into_owned(), host_index);
    let mpi = lent(ops, comm);
    let opened = guarded(Err(Outcome::Internal), || {
        Collectives::open(mpi, rank as u32, size as u32, place).map_err(|error| Outcome::from_error(&error))
    });
    given(opened, outcome)
}

/// # Safety
/// `collectives` is null or came from [`bl_collectives_open`] and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn bl_collectives_close(collectives: *mut Collectives) {
    if !collectives.is_null() {
        guarded((), || drop(Box::from_raw(collectives)));
    }
}

/// # Safety
/// `packed` points to a block of `bytes` for every rank that nothing else touches during the call.
#[no_mangle]
pub unsafe extern "C" fn bl_collectives_scatter(
    collectives: *mut Collectives,
    packed: *mut u8,
    bytes: u64,
    root: c_int,
) -> Verdict {
    let collectives = &mut *collectives;
    let run = || collectives.run(Collective::Scatter, packed, bytes, root as u32);
    guarded(Outcome::Internal, run).into()
}

/// # Safety
/// As [`bl_collectives_scatter`].
#[no_mangle]
pub unsafe extern "C" fn bl_collectives_allgather(
    collectives: *mut Collectives,
    packed: *mut u8,
    bytes: u64,
) -> Verdict {
    let collectives = &mut *collectives;
    // Without a root; planners start from rank 0's node.
    guarded(Outcome::Internal, || collectives.run(Collective::Allgather, packed, bytes, 0)).into()
}
