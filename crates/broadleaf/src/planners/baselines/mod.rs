//! Paper 3's planners over matrices of all pairs of hosts, kept for comparison.

pub mod annealing;
mod mateescu;
mod pairs;

pub(crate) use annealing::Annealing;
pub use mateescu::tree as mateescu_tree;
pub(crate) use mateescu::Mateescu;
pub use pairs::Pairs;
