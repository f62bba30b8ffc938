//! The engine behind the preloaded `MPI_Bcast`. It knows no MPI header: the C files in `c/` are compiled by
//! each MPI's own `mpicc`, linked with this crate, and lend it their MPI through a table of functions ([`mpi`]).
//!
//! One broadcast, seen from here:
//!
//! 1. The root has a plan for (communicator, root, size class) or makes one ([`planning`]), for the platform's
//!    nodes that the communicator's ranks sit on ([`topology`]), and expands it to ranks ([`rank_plan`]).
//! 2. A small *header* runs down the plan's own edges ahead of the data ([`transport`]): whoever gets one knows
//!    the call, the root's length and the plan version, before it posts a single receive. The plan itself follows
//!    the header the first time, or early, for the next call, when a better one has been found. So all ranks
//!    always run one and the same plan, no rank waits for an extra round, and a rank whose own length is wrong
//!    learns it without disturbing the others ([`session`]).
//! 3. The executor that the simulator drives too moves the data ([`transport`]).
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
mod whole_file;
mod wire;

#[global_allocator]
static ALLOCATOR: reserve::WithReserve = reserve::WithReserve;
