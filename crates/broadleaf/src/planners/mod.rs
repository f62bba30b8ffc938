//! Planners: every algorithm is a function from (platform, root, size) to a plan, an [`Instance`] to a
//! [`Plan`](crate::plan::Plan).
//!
//! Adding a planner is one new file with a [`Card`] and one line in [`PLANNERS`]; the command line,
//! Python, the MPI runtime, the documentation and the conformance test all iterate that slice.

mod all_reduce;
mod anneal;
pub mod baselines;
pub mod clustered;
mod exchange;
mod instance;
mod optimal;
mod pipelines;
mod planner;
mod profile;
mod registry;
mod shapes;
pub mod throughput;
mod time_needed;

pub(crate) use exchange::longest_way_s;
pub use instance::Instance;
pub use optimal::{with_period, OptimalTrees};
pub use pipelines::{RoundRobin, TwoTree};
pub use planner::{Card, Planner, Unsupported};
pub use profile::{Pace, Profile, Segmentation};
pub(crate) use registry::all_gather_of;
pub use registry::{collectives_of, find, finish_with, plan_with, supports, BEST, PLANNERS};
pub(crate) use time_needed::to_plan as has_time_to_plan;

/// Platforms of more nodes are searched with less effort.
pub(crate) const LARGE_NODES: usize = 500;
