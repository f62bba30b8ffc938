//! What the portfolio has to know of a planner before it runs it, as data on the planner's card.

use super::{Instance, LARGE_NODES};
use crate::optimum::link_count;
use crate::plan::Plan;

/// When a planner's turn comes, and how many segments its plans may have; its functions see outward instances only.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// By the instance: most planners are quick on small platforms only.
    pub pace: fn(&Instance) -> Pace,
    /// How many segments its plans may have.
    pub segments: Segmentation,
    /// Whether it is kept only to compare with: `best` passes it over.
    pub is_baseline: bool,
    /// What a plan becomes whose segment size is settled, where the planner can improve on it for just that many.
    pub finish: Option<fn(&Instance, Plan) -> Plan>,
}

/// When a planner's turn comes in the portfolio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As quick as [`Pace::Quick`], and likely to win: must have had its turn when the time is up.
    First,
    /// About a millisecond a plan, so that it may be made inside a program's first broadcast.
    Quick,
    /// After the quick ones, while there is time.
    Slow,
    /// Takes so long or so much memory that it runs only when asked for by name.
    ByName,
}

/// How many segments the plans of a planner may have.
#[derive(Clone, Copy, Debug)]
pub enum Segmentation {
    /// As many as the plan itself has, whatever size is asked for.
    Fixed,
    /// Any number.
    Free,
    /// As many as the planner chooses.
    Guided {
        /// The nearest number of segments without an unfinished cycle.
        whole: fn(&Instance, u64) -> u64,
        /// The number of segments, at most so many, that the planner's own model asks for; used where plans are too
        /// large to be simulated at many sizes.
        modelled: fn(&Instance, u64) -> Option<u64>,
    },
}

impl Profile {
    /// A plan in about a millisecond, in segments of any size.
    pub const QUICK: Profile =
        Profile { pace: |_| Pace::Quick, segments: Segmentation::Free, is_baseline: false, finish: None };

    /// When the planner's turn comes.
    pub fn pace_of(&self, instance: &Instance) -> Pace {
        (self.pace)(&instance.outward())
    }

    /// Whether the planner's turn comes before the slow ones'.
    pub fn is_quick(&self, instance: &Instance) -> bool {
        matches!(self.pace_of(instance), Pace::First | Pace::Quick)
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

    /// Of planners that do not count their work: quick if it is, else slow, and many seconds among so many nodes.
    pub(super) fn uncounted(instance: &Instance, is_quick: bool) -> Pace {
        match instance.platform.node_count() > LARGE_NODES {
            true => Pace::ByName,
            false => Pace::quick_if(is_quick),
        }
    }

    /// Of planners that solve the throughput optimum: slow, and many seconds and gigabytes beyond so many links.
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
    /// The nearest number of segments that the planner likes.
    pub fn whole(&self, instance: &Instance, count: u64) -> u64 {
        match self {
            Segmentation::Guided { whole, .. } => whole(&instance.outward(), count),
            _ => count,
        }
    }

    /// The number of segments, at most `most`, that the planner's own model asks for, if it has one.
    pub fn modelled(&self, instance: &Instance, most: u64) -> Option<u64> {
        match self {
            Segmentation::Guided { modelled, .. } => modelled(&instance.outward(), most),
            _ => None,
        }
    }
}
