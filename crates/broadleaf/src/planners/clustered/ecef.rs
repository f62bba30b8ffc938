//! ECEF, early completion edge first: next the send that arrives earliest, min RT_i + g_ij + L_ij.
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*, section 4.3, after Bhat et al.
//! Complexity: O(n²), O(n · kinds) where clusters are alike. Guarantee: none.
//!
//! ```
//! use broadleaf::planners::clustered::{makespan_s, Grid, ClusterSend, ECEF};
//! use broadleaf::platform::LocalStart;
//!
//! // Cluster 1 is near, 2 is far from 0 but near to 1.
//! let gap_s = [0.0, 1.0, 5.0, 1.0, 0.0, 2.0, 5.0, 2.0, 0.0];
//! let grid = Grid::from_matrices(&gap_s, &[0.5; 9], &[0.0; 3], 0, LocalStart::OnArrival).unwrap();
//! let sends = ECEF.sends(&grid);
//! // 0 has it at 1 at 1.5; over 1 it is at 2 at 1.5 + 2.5, straight from 0 only at 1 + 5.5.
//! assert_eq!(sends, [ClusterSend { from: 0, to: 1 }, ClusterSend { from: 1, to: 2 }]);
//! assert_eq!(makespan_s(&grid, &sends), 4.0);
//! ```

use super::frontier::earliest_arrival_first;
use super::heuristic::{Heuristic, PROFILE};
use crate::planners::Card;

/// The planner `ecef`.
pub static ECEF: Heuristic = Heuristic {
    card: &Card {
        name: "ecef",
        summary: "early completion edge first: next the send that arrives earliest",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.3 (after Bhat et al.)",
        objective: "makespan of one message between clusters, then inside them",
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: earliest_arrival_first,
};
