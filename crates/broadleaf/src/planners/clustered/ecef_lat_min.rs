//! ECEF-LAt: ECEF with the look-ahead F_j = min over k in B∖{j} of g_jk + L_jk + T_k.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 5.1.
//! Complexity: O(n² log n). Guarantee: none.

use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lookahead::{earliest_completion, Extreme};
use super::sends::ClusterSend;
use crate::planners::Card;

/// The planner `ecef-lat-min`.
pub static ECEF_LAT_MIN: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-lat-min",
        summary: "ECEF plus the earliest that the receiver could have another cluster done (the paper's ECEF-LAt)",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 5.1",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n² log n)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    earliest_completion(grid, Extreme::new(grid, false, true))
}
