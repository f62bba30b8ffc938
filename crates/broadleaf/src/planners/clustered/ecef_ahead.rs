//! ECEF with a look-ahead F_j: next the send of least RT_i + g_ij + L_ij + F_j. Five rules that differ in F_j.
//!
//! - `ecef-la`: min over k in B∖{j} of g_jk + L_jk (section 4.4, after Bhat et al.), O(n² log n);
//! - `ecef-la-average`: mean over k in B∖{j} of g_jk + L_jk (Bhat et al., cited there), O(n²);
//! - `ecef-la-senders`: mean over i in A ∪ {j}, k in B∖{j} of g_ik + L_ik (Bhat et al., cited there), O(n²);
//! - `ecef-lat-min`: ECEF-LAt: min over k in B∖{j} of g_jk + L_jk + T_k (section 5.1), O(n² log n);
//! - `ecef-lat-max`: ECEF-LAT: max over k in B∖{j} of g_jk + L_jk + T_k (section 5.2), O(n² log n).
//!
//! Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics …*. Guarantee of all: none.

use super::heuristic::{Heuristic, PROFILE};
use super::lookahead::{earliest_completion, Extreme, Mean, SendersMean};
use crate::planners::Card;

const OBJECTIVE: &str = "makespan of one message between clusters, then inside them";

/// The planner `ecef-la`.
pub static ECEF_LA: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-la",
        summary: "ECEF plus how fast the receiver reaches its nearest waiting cluster",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.4 (after Bhat et al.)",
        objective: OBJECTIVE,
        guarantee: "none",
        complexity: "O(n² log n)",
        profile: PROFILE,
    },
    rule: |grid| earliest_completion(grid, Extreme::new(grid, false, false)),
};

/// The planner `ecef-la-average`.
pub(crate) static ECEF_LA_AVERAGE: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-la-average",
        summary: "ECEF plus the receiver's mean cost to the waiting clusters",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.4 (Bhat et al., average look-ahead)",
        objective: OBJECTIVE,
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: |grid| earliest_completion(grid, Mean::new(grid)),
};

/// The planner `ecef-la-senders`.
pub(crate) static ECEF_LA_SENDERS: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-la-senders",
        summary: "ECEF plus the mean cost from all senders, the receiver among them, to the waiting clusters",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 4.4 (Bhat et al., sender-set average look-ahead)",
        objective: OBJECTIVE,
        guarantee: "none",
        complexity: "O(n²)",
        profile: PROFILE,
    },
    rule: |grid| earliest_completion(grid, SendersMean::new(grid)),
};

/// The planner `ecef-lat-min`.
pub static ECEF_LAT_MIN: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-lat-min",
        summary: "ECEF plus the earliest that the receiver could have another cluster done (the paper's ECEF-LAt)",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 5.1",
        objective: OBJECTIVE,
        guarantee: "none",
        complexity: "O(n² log n)",
        profile: PROFILE,
    },
    rule: |grid| earliest_completion(grid, Extreme::new(grid, false, true)),
};

/// The planner `ecef-lat-max`.
pub static ECEF_LAT_MAX: Heuristic = Heuristic {
    card: &Card {
        name: "ecef-lat-max",
        summary: "ECEF plus the latest that the receiver could have another cluster done (the paper's ECEF-LAT)",
        reference: "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast operations on grid environments, section 5.2",
        objective: OBJECTIVE,
        guarantee: "none",
        complexity: "O(n² log n)",
        profile: PROFILE,
    },
    rule: |grid| earliest_completion(grid, Extreme::new(grid, true, true)),
};
