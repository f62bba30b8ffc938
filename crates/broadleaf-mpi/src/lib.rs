//! The engine behind the preloaded `MPI_Bcast`. It uses no MPI header: the C files in `c/` are compiled with each
//! MPI's own `mpicc`, linked with this crate, and give it access to the MPI through a table of functions ([`mpi`]).
//!
//! One broadcast:
//!
//! 1. The root has a plan for (communicator, root, size class) or makes one ([`planning`]), for the platform's
//!    nodes that the communicator's ranks sit on ([`topology`]), and expands it to ranks ([`rank_plan`]).
//! 2. A small *header* runs down the plan's own edges ahead of the data ([`transport`]): it holds the call, the
//!    root's length and the plan version, and arrives before a rank posts its receives. The plan itself follows the
//!    header the first time, or early, for the next call, when a better one has been found. So all ranks always run
//!    the same plan, no rank waits for an extra round, and a rank with a wrong length finds out without disturbing
//!    the others ([`session`]).
//! 3. The executor, which the simulator also drives, moves the data ([`transport`]).
//!
//! Modules below, from the top down; each uses those after it only.

mod ffi;

mod probe;
mod session;

mod planning;

mod transport;

mod observe;

mod rank_plan;

mod topology;

mod settings;

mod intranode;

mod smpi;

mod error;
mod mpi;
mod outcome;
mod report;
mod reserve;
mod tags;
#[cfg(test)]
mod test_platforms;
mod whole_file;
mod wire;

#[global_allocator]
static ALLOCATOR: reserve::WithReserve = reserve::WithReserve;
