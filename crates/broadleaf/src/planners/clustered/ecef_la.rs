//! ECEF-LA: ECEF with the look-ahead F_j = min over k in B∖{j} of g_jk + L_jk.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 4.4, after Bhat et al.
//! Complexity: O(n² log n). Guarantee: none.

use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lookahead::{earliest_completion, Extreme};
use super::sends::ClusterSend;
use crate::planners::Card;

/// The planner `ecef-la`.
pub static ECEF_LA: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-la",
        summary: "ECEF plus how fast the receiver reaches its nearest waiting cluster",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.4 (after Bhat et al.)",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n² log n)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    earliest_completion(grid, Extreme::new(grid, false, false))
}
