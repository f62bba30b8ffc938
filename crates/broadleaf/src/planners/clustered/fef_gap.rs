//! FEF with the whole cost of a link as its weight: next the link of smallest g_ij + L_ij.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 4.2, after Bhat et al., whose
//! edge weight T_ij is this sum rather than the latency alone.
//! Complexity: O(n²). Guarantee: none.

use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lightest_edge;
use super::sends::ClusterSend;
use crate::planners::Card;

pub(crate) static FEF_GAP: Heuristic = Heuristic {
    card: &Card {
        name: "fef-gap",
        summary: "fastest edge first with g + L as the weight of a link",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.2 (after Bhat et al.), weight g_ij(m) + L_ij",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    lightest_edge::fastest_edge_first(grid, Grid::kind_edge_s)
}
