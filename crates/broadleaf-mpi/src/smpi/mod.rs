//! Simulated time: SimGrid's SMPI runs every rank of a job in one process, with a simulated clock.
//!
//! There is one switch, [`is_on`]: it is on if the C part, compiled for SMPI, provides a clock.

mod decode_cache;
mod port;

use crate::mpi::{Mpi, WaitUntil};
use std::sync::OnceLock;

pub use decode_cache::{DecodeCache, Encoded};
pub use port::{Port, Turn};

static CLOCK: OnceLock<Option<WaitUntil>> = OnceLock::new();

/// Time is simulated in this process, if the MPI has such a clock.
pub fn switch(mpi: &Mpi) {
    CLOCK.get_or_init(|| mpi.simulated_clock());
}

/// Whether time is simulated.
pub fn is_on() -> bool {
    clock().is_some()
}

fn clock() -> Option<WaitUntil> {
    CLOCK.get().copied().flatten()
}

/// The simulated time, seconds; `None` where time is not simulated.
pub fn now_s() -> Option<f64> {
    clock().map(|wait_until| wait_until(0.0))
}
