//! BottomUp: next the cluster that would finish last even if reached as early as possible:
//! max over j in B of min over i in A of RT_i + g_ij + L_ij + T_j.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 5.3, which prints it without
//! RT_i although its formalism needs it; [`BOTTOM_UP_AS_PRINTED`] is the rule as printed.
//! Complexity: O(n²) where clusters differ at random, O(n³) in the worst case. Guarantee: none.

use super::frontier::Frontier;
use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::lightest_edge::LightestEdges;
use super::sends::ClusterSend;
use crate::planners::{Card, Profile};

/// The planner `bottom-up`.
pub static BOTTOM_UP: Heuristic = Heuristic {
    card: &Card {
        name: "bottom-up",
        summary: "next the cluster that would be done last, from the sender that gets it there earliest",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 5.3",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²) at random, O(n³) at worst",
        profile: PROFILE,
    },
    rule: sends,
};

/// The planner `bottom-up-as-printed`: BottomUp without ready times.
pub static BOTTOM_UP_AS_PRINTED: Heuristic = Heuristic {
    card: &Card {
        name: "bottom-up-as-printed",
        summary: "bottom-up without the senders' ready times",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 5.3, the formula as printed",
        objective: "comparison with the paper",
        guarantee: "none",
        complexity: "O(n²)",
        // A sender that is busy for long counts as free; worse than `bottom-up` where senders are busy.
        profile: Profile { is_baseline: true, ..PROFILE },
    },
    rule: sends_as_printed,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    let mut frontier = Frontier::new(grid);
    loop {
        // A maximum cannot rest on a bound that may have risen: all must be exact.
        frontier.settle_all();
        let done_last = |kind: usize| last_first(frontier.arrival_s(kind), grid.kind_local_s(kind));
        let Some(kind) = frontier.waiting().least(done_last) else { return frontier.into_sends() };
        frontier.send_to(kind);
    }
}

fn sends_as_printed(grid: &Grid) -> Vec<ClusterSend> {
    let mut nearest = LightestEdges::new(grid, Grid::kind_edge_s);
    while let Some(kind) =
        nearest.waiting().least(|kind| last_first(nearest.weight_s(kind), grid.kind_local_s(kind)))
    {
        nearest.send_to(kind);
    }
    nearest.into_sends()
}

/// Smaller for clusters that finish later; a cluster that cannot be reached yet has to wait.
fn last_first(arrival_s: f64, local_s: f64) -> f64 {
    if arrival_s.is_finite() {
        -(arrival_s + local_s)
    } else {
        f64::INFINITY
    }
}
