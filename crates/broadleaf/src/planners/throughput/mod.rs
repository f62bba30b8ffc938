//! Planners for the steady state: one tree through which many segments flow, judged by how soon the next
//! segment can follow (paper 1). All work on the same `graph`.

mod child_order;
mod drop_edges;
mod edge_exchange;
mod graph;
mod grow;
mod grow_multiport;
mod lp_grow;
mod lp_prune;
mod optimal_loads;
mod prim;
mod prune_refined;
mod prune_refined_multiport;
mod prune_simple;
mod single_tree;
mod tree_loads;

pub(crate) use grow::Grow;
pub(crate) use grow_multiport::GrowMultiport;
pub use lp_grow::LpGrow;
pub use lp_prune::LpPrune;
pub use optimal_loads::{optimal_loads, EdgeLoads};
pub(crate) use prune_refined::PruneRefined;
pub(crate) use prune_refined_multiport::PruneRefinedMultiport;
pub(crate) use prune_simple::PruneSimple;
pub(crate) use single_tree::SingleTree;
