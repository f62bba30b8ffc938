//! FEF, fastest edge first: next the link of smallest weight out of the clusters that hold the message.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast operations on grid
//! environments*, section 4.2, after Bhat et al. The weight is the latency L_ij, as in the text; ready times are
//! ignored, so a sender may be chosen long before it has the message. Complexity: O(n²). Guarantee: none.

use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lightest_edge;
use super::sends::ClusterSend;
use crate::planners::Card;

/// The planner `fef`.
pub static FEF: Heuristic = Heuristic {
    card: &Card {
        name: "fef",
        summary: "fastest edge first: next the link of smallest latency from a cluster that has the message to one that has not",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.2 (after Bhat et al.), weight L_ij",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    lightest_edge::fastest_edge_first(grid, Grid::kind_latency_s)
}
