//! The flat tree between clusters: the root sends to every cluster in list order (ECO, MagPIe).
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 4.1. Only for experiments:
//! on platforms this is the planner `magpie`, and `flat` over nodes.

use super::grid::Grid;
use super::sends::ClusterSend;

/// The root's cluster sends to every other one, in order of their numbers.
pub fn flat_sends(grid: &Grid) -> Vec<ClusterSend> {
    let root = grid.root() as u32;
    (0..grid.len() as u32).filter(|&to| to != root).map(|to| ClusterSend { from: root, to }).collect()
}
