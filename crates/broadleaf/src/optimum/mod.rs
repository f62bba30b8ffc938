//! Bounds of all plans: the steady-state throughput optimum over any number of trees, with its proof.
//!
//! A long message in equal segments goes over spanning trees, each carrying a share. A segment over an edge
//! occupies resources for the windows of [`crate::model::occupation`]; no resource may be busy for more
//! than a second a second. The most that trees can carry together is
//!
//! max Σ x_t with Σ_t x_t · load_t(r) ≤ 1 for every resource r,
//!
//! which is the value of program (2) of Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous
//! platforms* (by Edmonds' theorem on disjoint branchings). The proof is a price p_r ≥ 0 for each resource:
//! every tree costs at least the cheapest arborescence under these prices, so no packing carries more than
//! Σ p / cheapest. [`certificate::check`] verifies both sides and shares no code with the solver.
//!
//! ```
//! use broadleaf::optimum::{solve, Limits};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! // The chain keeps every in-port busy all the time, and nothing receives faster.
//! let optimum = solve(&platform, nodes[0], 10, 1e-6, Limits::default()).unwrap();
//! assert!((optimum.throughput_bytes_per_s - 100.0).abs() < 1e-3);
//! assert!(optimum.upper_bound_bytes_per_s < 100.001);
//! ```

mod all_reduce_bound;
mod arborescence;
mod balance_loads;
mod block_trees;
pub mod certificate;
mod cheapest_from;
mod collective_bound;
mod column_generation;
mod cut_relaxation;
mod demand;
mod drawn_trees;
mod enclose;
mod equal_trees;
mod error;
mod exchanged_parents;
mod gateways;
mod inverse;
mod makespan_bound;
mod occupation_table;
mod replaced_trees;
mod simplex;
mod solution;
mod solve;
mod switch_paths;

pub use all_reduce_bound::allreduce_bound_s;
pub(crate) use arborescence::{Arborescence, Digraph};
pub use block_trees::{allgather_trees, scatter_trees, BlockTrees};
pub use collective_bound::collective_bound_s;
pub use enclose::Limits;
pub use equal_trees::{equal_trees, rates_by_trees};
pub use error::OptimumError;
pub use makespan_bound::{allgather_bound_s, makespan_bound_s, makespan_bound_within, scatter_bound_s};
pub use occupation_table::{link_count, MOST_LINKS};
pub use solution::{BoundOnly, Optimum, WeightedTree};
pub use solve::{solve, solve_collective, solve_within};
