//! What the portfolio's searches are set to. A part is a ratio of predicted times; a count has no unit.
//!
//! Where no source is given the value is a choice and not a measurement; changing it changes plans, which
//! `tests/digests/plans.py` shows.

/// Most segments tried: with more, even a pipeline 80 nodes deep gains less than half a per cent (by the makespan
/// (d + k)/k of k segments through d nodes).
pub(crate) const MOST_SEGMENTS: u64 = 16_384;
/// Halvings of the step around the best count: the last step is 2^(1/16), where a minimum as flat as a pipeline's is
/// missed by less than 0.1 %.
pub(super) const HALVINGS: u32 = 4;
/// Minima of the bracket around which the search is refined: more than one, for gap tables with steps.
pub(super) const REFINED_MINIMA: usize = 2;
/// A bracket's second minimum further from the best than this part is not refined.
pub(super) const WORTH_REFINING: f64 = 1.1;
/// A pipeline through all of n nodes wants more segments than this many times n.
pub(super) const DEEP_SEGMENTS_PER_NODE: u64 = 8;
/// Trees made for so many times fewer segments may be others.
pub(super) const OTHER_TREES: u64 = 4;
/// Plans that the search of a slow planner makes at most; between them it varies their segment sizes.
pub(super) const VARIED_PLANS: u32 = 3;
/// The first of them has so many units of work, however small the budget: half of the 50 ms by which a time limit may be
/// overrun.
pub(super) const FIRST_PLAN: u64 = 25_000;

/// Factors between the segment counts of a sketch, and those on platforms of more than
/// [`LARGE_NODES`](crate::planners::LARGE_NODES) nodes.
pub(super) const SKETCH_FACTOR: u64 = 4;
pub(super) const LARGE_SKETCH_FACTOR: u64 = 64;
/// Segments of the longer of the two simulations of a sketch, but for the depth of its trees.
pub(super) const SKETCH_SEGMENTS: u64 = 4;
/// Segments of the longer of the two simulations of a rough estimate.
pub(super) const ROUGH_SEGMENTS: u64 = 16;

/// The last of so many equal parts of a time limit is kept for the bound; before `best` lets slow planners enter, their
/// gain is judged by one that takes no longer.
pub(super) const BOUND_PART: u32 = 8;

/// The last of so many equal parts of the search is kept for the slow planners: those that are quick to enter are many,
/// and would look closer at each other until nothing is left.
pub(super) const SLOW_PART: u32 = 2;

/// Entrants that `best` looks at together: a constant, so that the outcome does not depend on the machine's cores.
pub(super) const ENTRANTS_TOGETHER: usize = 4;
/// Closer looks of `best` at most: about two for each planner, where all are near the top.
pub(super) const MOST_LOOKS: usize = 64;
/// A sketch knows the segment size to a factor of 4 only; tuned, a plan may come out faster by this much.
pub(super) const TUNING_GAIN: f64 = 1.25;
/// No slow planner enters where it could gain no more than this over what the quick ones found.
pub(super) const WORTH_SEARCHING: f64 = 1.05;
/// Most transfers of a plan that is simulated from end to end; a longer one keeps its estimate.
pub(super) const FULL_TRANSFERS: u64 = 2_000_000;
