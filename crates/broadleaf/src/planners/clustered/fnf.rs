//! FNF, fastest node first: next the waiting cluster of smallest mean outgoing g + L, from the cluster that
//! gets the message there earliest.
//!
//! Reference: Banikazemi, Moorthy, Panda, as cited in Barchet-Steffenel and Mounié, *Scheduling
//! heuristics …*, section 2. The mean is over all other clusters and never changes.
//! Complexity: O(n²). Guarantee: none.

use super::frontier::Frontier;
use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::sends::ClusterSend;
use crate::planners::Card;

pub(crate) static FNF: Heuristic = Heuristic {
    card: &Card {
        name: "fnf",
        summary: "fastest node first: next the cluster that sends fastest on average, from the sender that gets it there earliest",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 2 (Banikazemi et al.)",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    let mean_s: Vec<f64> = (0..grid.kinds()).map(|kind| mean_outgoing_s(grid, kind)).collect();
    let mut frontier = Frontier::new(grid);
    // A cluster that cannot be reached yet has to wait.
    let turn = |frontier: &Frontier, kind: usize| {
        if frontier.arrival_s(kind).is_finite() {
            mean_s[kind]
        } else {
            f64::INFINITY
        }
    };
    while let Some(kind) = frontier.waiting().least(|kind| turn(&frontier, kind)) {
        frontier.send_to(kind);
    }
    frontier.into_sends()
}

/// The mean g + L from a cluster of that kind to each other one it has a link to.
fn mean_outgoing_s(grid: &Grid, kind: usize) -> f64 {
    let (mut sum_s, mut links) = (0.0, 0);
    for (other, &edge_s) in grid.edges_from(kind).iter().enumerate() {
        let count = grid.members(other).len() - usize::from(other == kind);
        if count > 0 && edge_s.is_finite() {
            sum_s += count as f64 * edge_s;
            links += count;
        }
    }
    // Clusters without links out come last of those that can be reached.
    if links == 0 {
        f64::MAX
    } else {
        sum_s / links as f64
    }
}
