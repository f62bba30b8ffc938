//! `BROADLEAF_TRACE`: every rank's sends and receives, as a file for Perfetto and chrome://tracing.
//!
//! While a broadcast runs, a [`Watch`] notes when each send and each receive begins and ends (`moves` keeps the notes
//! of a process short). In `MPI_Finalize` the clocks of all ranks are aligned with rank 0's (`c/trace.c`), the notes
//! are gathered there, and `document` turns them into tracks, flows and counters.

mod document;
mod moves;
mod watch;

pub use document::write;
pub use moves::{collected_text, Side};
pub use watch::{Tracer, Watch};

use crate::smpi;

/// Seconds of this machine's steady clock, which all processes of it share; of the simulated one under SMPI.
pub fn now_s() -> f64 {
    if let Some(simulated_s) = smpi::now_s() {
        return simulated_s;
    }
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the address is of a local timespec. The clock is one that every Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}
