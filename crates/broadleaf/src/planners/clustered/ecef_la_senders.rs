//! ECEF-LA with the average of all senders: F_j = mean over i in A ∪ {j}, k in B∖{j} of g_ik + L_ik.
//!
//! Reference: Bhat et al., as cited in Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 4.4.
//! Complexity: O(n²). Guarantee: none.

use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lookahead::{earliest_completion, SendersMean};
use super::sends::ClusterSend;
use crate::planners::Card;

pub(crate) static ECEF_LA_SENDERS: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-la-senders",
        summary: "ECEF plus the mean cost from all senders, the receiver among them, to the waiting clusters",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.4 (Bhat et al., sender-set average look-ahead)",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    earliest_completion(grid, SendersMean::new(grid))
}
