//! ECEF-LA with the average: F_j = mean over k in B∖{j} of g_jk + L_jk.
//!
//! Reference: Bhat et al., as cited in Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 4.4.
//! Complexity: O(n²). Guarantee: none.

use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lookahead::{earliest_completion, Mean};
use super::sends::ClusterSend;
use crate::planners::Card;

pub(crate) static ECEF_LA_AVERAGE: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-la-average",
        summary: "ECEF plus the receiver's mean cost to the waiting clusters",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.4 (Bhat et al., average look-ahead)",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    earliest_completion(grid, Mean::new(grid))
}
