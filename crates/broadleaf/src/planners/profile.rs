//! The properties by which the portfolio runs a planner, as data on the planner's card.

use super::{Instance, LARGE_NODES};
use crate::budget::Budget;
use crate::optimum::link_count;
use crate::plan::Plan;

/// When a planner's turn comes, and how many segments its plans may have; its functions see outward instances only.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// By the instance: most planners are quick on small platforms only.
    pub pace: fn(&Instance) -> Pace,
    /// How many segments its plans may have.
    pub segments: Segmentation,
    /// Whether it is kept only for comparison: `best` skips it.
    pub is_baseline: bool,
    /// A planning time that no budget can shorten, foreseen from sizes, seconds; 0 where it is too short to matter.
    pub least_s: fn(&Instance) -> f64,
    /// Improves a plan once its number of segments is final, for planners that can.
    pub finish: Option<fn(&Instance, Plan) -> Plan>,
}

/// When a planner's turn comes in the portfolio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As quick as [`Pace::Quick`], and likely to win: must run before the deadline.
    First,
    /// Among many nodes only, after those and before the quick ones, except in a quick search: likely to win, in some
    /// tenths of a second.
    Early,
    /// About a millisecond a plan, so that it may be made inside a program's first broadcast.
    Quick,
    /// After the quick ones, while there is time.
    Slow,
    /// Excluded from `best` for its time or memory, or since the simulator cannot rank it; select it by name.
    ByName,
}

/// How many segments the plans of a planner may have.
#[derive(Clone, Copy, Debug)]
pub enum Segmentation {
    /// As many as the plan has, whatever the requested size.
    Fixed,
    /// Any number.
    Free,
    /// As many as the planner chooses.
    Guided {
        /// The nearest number of segments that makes whole cycles.
        whole: fn(&Instance, u64) -> u64,
        /// The best number of segments, up to a maximum, by the planner's own model; used where plans are too large
        /// to be simulated at many sizes.
        modelled: fn(&Instance, u64, &Budget) -> Option<u64>,
    },
}

impl Profile {
    /// A plan in about a millisecond, in segments of any size.
    pub const QUICK: Profile = Profile {
        pace: |_| Pace::Quick,
        segments: Segmentation::Free,
        is_baseline: false,
        least_s: |_| 0.0,
        finish: None,
    };

    /// When the planner's turn comes.
    pub fn pace_of(&self, instance: &Instance) -> Pace {
        (self.pace)(&instance.outward())
    }

    /// Whether the planner's turn comes before the slow ones'.
    pub fn is_quick(&self, instance: &Instance) -> bool {
        matches!(self.pace_of(instance), Pace::First | Pace::Early | Pace::Quick)
    }

    /// Whether the segment size may be chosen.
    pub fn is_segmentable(&self) -> bool {
        !matches!(self.segments, Segmentation::Fixed)
    }
}

impl Pace {
    /// Quick if it is, else slow.
    pub fn quick_if(is_quick: bool) -> Pace {
        if is_quick {
            Pace::Quick
        } else {
            Pace::Slow
        }
    }

    /// The pace of planners that do not count their work: quick if `is_quick`, else slow; by name only among many
    /// nodes.
    pub(super) fn uncounted(instance: &Instance, is_quick: bool) -> Pace {
        match instance.platform.node_count() > LARGE_NODES {
            true => Pace::ByName,
            false => Pace::quick_if(is_quick),
        }
    }

    /// The pace of planners that solve the throughput optimum: slow; by name only beyond a number of links that takes
    /// many seconds and gigabytes.
    pub(super) fn of_optimum(instance: &Instance) -> Pace {
        const MANY_LINKS: usize = 100_000;
        if link_count(instance.platform) > MANY_LINKS {
            Pace::ByName
        } else {
            Pace::Slow
        }
    }
}

impl Segmentation {
    /// The nearest number of segments that suits the planner.
    pub fn whole(&self, instance: &Instance, count: u64) -> u64 {
        match self {
            Segmentation::Guided { whole, .. } => whole(&instance.outward(), count),
            _ => count,
        }
    }

    /// The number of segments, at most `most`, that is best by the planner's own model, if it has one. A model that
    /// makes plans gets half of a time limit, for at least one; without a limit it compares all.
    pub fn modelled(&self, instance: &Instance, most: u64, budget: &Budget) -> Option<u64> {
        let budget = if budget.is_timed() { budget.divided(2) } else { Budget::UNLIMITED };
        match self {
            Segmentation::Guided { modelled, .. } => modelled(&instance.outward(), most, &budget),
            _ => None,
        }
    }
}
