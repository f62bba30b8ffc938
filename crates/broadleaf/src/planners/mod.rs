//! Planners: every algorithm is a function from (platform, root, size) to a plan, an [`Instance`] to a
//! [`Plan`](crate::plan::Plan).
//!
//! Adding a planner is one new file with a [`Card`] and one line in [`PLANNERS`]; the command line,
//! Python, the MPI runtime, the documentation and the conformance test all iterate that slice.

pub mod baselines;
pub mod clustered;
mod instance;
mod optimal;
mod pipelines;
mod registry;
mod shapes;
pub mod throughput;

use registry::has_many_links;

pub use instance::Instance;
pub use pipelines::{RoundRobin, TwoTree};
pub use registry::{find, plan_with, supports, Card, Planner, Unsupported, BEST, PLANNERS};

/// Platforms of more nodes are searched with less effort.
pub(crate) const LARGE_NODES: usize = 1000;
