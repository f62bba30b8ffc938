//! What only simulated time needs: SimGrid's SMPI runs every rank of a job in one process, by a clock of its own.
//!
//! There is one switch, [`is_on`]: the C part compiled for SMPI lends a clock.

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
