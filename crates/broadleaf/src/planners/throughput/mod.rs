//! Planners for the steady state: one tree through which many segments flow, judged by how soon the next
//! segment can follow (paper 1). All work on the same `graph`.

mod exchange;
mod graph;
mod grow;
mod grow_multiport;
mod growing;
mod loads;
mod lp_grow;
mod lp_prune;
mod network;
mod order;
mod prune_refined;
mod prune_refined_multiport;
mod prune_simple;
mod pruning;
mod single_tree;

pub use grow::Grow;
pub use grow_multiport::GrowMultiport;
pub use loads::{optimal_loads, EdgeLoads};
pub use lp_grow::LpGrow;
pub use lp_prune::LpPrune;
pub use prune_refined::PruneRefined;
pub use prune_refined_multiport::PruneRefinedMultiport;
pub use prune_simple::PruneSimple;
pub use single_tree::SingleTree;
