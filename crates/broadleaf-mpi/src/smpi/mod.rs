//! Simulated time: SimGrid's SMPI runs every rank of a job in one process, with a simulated clock.
//!
//! There is one switch, [`is_on`]: it is on if the C part, compiled for SMPI, provides a clock.

mod decode_cache;
mod port;

use crate::mpi::Mpi;
use std::sync::atomic::{AtomicBool, Ordering};

pub use decode_cache::{DecodeCache, Encoded};
pub use port::{Port, Turn};

static ON: AtomicBool = AtomicBool::new(false);

/// Time is simulated in this process, if the MPI has such a clock.
pub fn switch(mpi: &Mpi) {
    ON.store(mpi.simulated_clock().is_some(), Ordering::Relaxed);
}

/// Whether time is simulated.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}
