//! One rule of an MPI's rules file.

use super::algorithm::Algorithm;
use crate::plan::Collective;

/// What an MPI is told for one range of nodes and sizes, each from here to the next rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// What is moved.
    pub collective: Collective,
    /// From this number of nodes on, up to the next rule's.
    pub nodes: u64,
    /// From this size on, bytes; 0 for the first rule of its nodes.
    pub from_bytes: u64,
    /// What the MPI is told to use.
    pub algorithm: Algorithm,
    /// 0: not segmented.
    pub segment_bytes: u64,
    /// What it costs to use this instead of the algorithm chosen: expected times' ratio, ≥ 1, at the worst of the
    /// sizes that the rule was made from.
    pub worst_ratio: f64,
}

/// The rules of one collective, by nodes.
pub(super) fn by_nodes(rules: &[Rule], collective: Collective) -> Vec<&[Rule]> {
    let at = rules.partition_point(|rule| rule.collective < collective);
    let end = rules.partition_point(|rule| rule.collective <= collective);
    rules[at..end].chunk_by(|a, b| a.nodes == b.nodes).collect()
}
