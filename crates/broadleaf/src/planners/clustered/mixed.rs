//! The mixed strategy: ECEF-LA up to 10 clusters, ECEF-LAT beyond, where its hit rate stays high.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 6, which suggests it without
//! naming the number of clusters; its figures change from small grids to large at 10.
//! Complexity: O(n² log n). Guarantee: none.

use super::ecef_ahead::{ECEF_LA, ECEF_LAT_MAX};
use super::grid::Grid;
use super::heuristic::{Heuristic, PROFILE};
use super::sends::ClusterSend;
use crate::planners::Card;

/// The largest grid that counts as small.
const SMALL_CLUSTERS: usize = 10;

pub(crate) static MIXED: Heuristic = Heuristic {
    card: &Card {
        name: "mixed",
        summary: "ecef-la up to 10 clusters, ecef-lat-max beyond",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 6",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n² log n)",
        profile: PROFILE,
    },
    rule: sends,
};

fn sends(grid: &Grid) -> Vec<ClusterSend> {
    if grid.len() <= SMALL_CLUSTERS {
        ECEF_LA.sends(grid)
    } else {
        ECEF_LAT_MAX.sends(grid)
    }
}
