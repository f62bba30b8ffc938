//! The engine behind the preloaded `MPI_Bcast`. It knows no MPI header: the C files in `c/` are compiled by
//! each MPI's own `mpicc`, linked with this crate, and lend it their MPI through a table of functions ([`abi`]).
//!
//! One broadcast, seen from here:
//!
//! 1. The root has a plan for (communicator, root, size class) or makes one ([`planning`]), for the platform's
//!    nodes that the communicator's ranks sit on ([`placement`]), and expands it to ranks ([`ranks`]).
//! 2. A small *header* runs down the plan's own edges ahead of the data ([`wire`]): whoever gets one knows the
//!    call, the root's length and the plan version, before it posts a single receive. The plan itself follows
//!    the header the first time, or early, for the next call, when a better one has been found. So all ranks
//!    always run one and the same plan, no rank waits for an extra round, and a rank whose own length is wrong
//!    learns it without disturbing the others ([`session`]).
//! 3. The executor that the simulator drives too moves the data ([`transport`]).

pub mod abi;
mod adjust;
mod advice;
mod ahead;
mod alike;
mod asides;
mod book;
pub mod collectives;
mod framed;
pub mod hosts;
mod in_turn;
pub mod inner;
mod latest;
pub mod memory;
pub mod outcome;
mod pace;
pub mod placement;
pub mod planning;
pub mod probe;
mod rank_collectives;
pub mod ranks;
pub mod report;
pub mod search;
pub mod seats;
pub mod session;
pub mod settings;
mod short;
pub mod stats;
pub mod trace;
pub mod transport;
pub mod wire;
