//! Planners for the steady state: one tree for many segments, judged by its period (paper 1). All work on the same
//! `graph`.

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
mod tree_rule;

pub(crate) use grow::GROW;
pub(crate) use grow_multiport::GROW_MULTIPORT;
pub use lp_grow::LpGrow;
pub use lp_prune::LpPrune;
pub use optimal_loads::{optimal_loads, EdgeLoads};
pub(crate) use prune_refined::PRUNE_REFINED;
pub(crate) use prune_refined_multiport::PRUNE_REFINED_MULTIPORT;
pub(crate) use prune_simple::PRUNE_SIMPLE;
pub(crate) use single_tree::SingleTree;
