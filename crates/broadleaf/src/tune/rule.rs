//! One rule of an MPI's rules file.

use super::algorithm::Algorithm;
use crate::plan::Collective;

/// An MPI's algorithm for one range of nodes and sizes, each from this rule's to the next rule's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The collective.
    pub collective: Collective,
    /// From this number of nodes on, up to the next rule's.
    pub nodes: u64,
    /// From this size on, bytes; 0 for the first rule of its nodes.
    pub from_bytes: u64,
    /// The algorithm to use.
    pub algorithm: Algorithm,
    /// 0: not segmented.
    pub segment_bytes: u64,
    /// The cost of this algorithm relative to the chosen one: the largest ratio of their expected times, ≥ 1, over the
    /// sizes from which the rule was made.
    pub worst_ratio: f64,
}

/// The rules of one collective, by nodes.
pub(super) fn by_nodes(rules: &[Rule], collective: Collective) -> Vec<&[Rule]> {
    let at = rules.partition_point(|rule| rule.collective < collective);
    let end = rules.partition_point(|rule| rule.collective <= collective);
    rules[at..end].chunk_by(|a, b| a.nodes == b.nodes).collect()
}
