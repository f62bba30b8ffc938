//! Settings of the portfolio's searches. A part is a ratio of predicted times; a count has no unit.
//!
//! Where no source is given the value is a choice and not a measurement; changing it changes plans, which
//! `tests/digests/plans.py` shows.

/// The most segments tried: with more, even a pipeline 80 nodes deep gains less than half a per cent (by the makespan
/// (d + k)/k of k segments through d nodes).
pub(crate) const MOST_SEGMENTS: u64 = 16_384;
/// Halvings of the step around the best count: the last step is 2^(1/16), where a minimum as flat as a pipeline's is
/// missed by less than 0.1 %.
pub(super) const HALVINGS: u32 = 4;
/// Minima of the bracket around which the search is refined: more than one, for gap tables with steps.
pub(super) const REFINED_MINIMA: usize = 2;
/// A bracket's second minimum further from the best than this part is not refined.
pub(super) const WORTH_REFINING: f64 = 1.1;
/// A timetable turned round is dropped where the plan without it takes less than this part of its time.
pub(super) const WORTH_LEAVING: f64 = 0.9;
/// A pipeline through all n nodes needs more segments than this many times n.
pub(super) const DEEP_SEGMENTS_PER_NODE: u64 = 8;
/// Trees made for this many times fewer segments may differ.
pub(super) const OTHER_TREES: u64 = 4;
/// The number of equal parts of a slow planner's search of which one is for its first plan; between plans it varies the
/// segment size.
pub(super) const FIRST_PLAN_PART: u32 = 3;
/// The same for the second plan, in the best segments of the first, which is mostly the one that is kept; a third one has
/// what is left.
pub(super) const FURTHER_PLAN_PART: u32 = 2;
/// The first plan has this many units of work, however small the budget: half of [`LATE_S`](crate::budget::LATE_S).
pub(super) const FIRST_PLAN: u64 = 25_000;

/// Factors between the segment counts of a sketch, and those on platforms of more than
/// [`LARGE_NODES`](crate::planners::LARGE_NODES) nodes.
pub(super) const SKETCH_FACTOR: u64 = 4;
pub(super) const LARGE_SKETCH_FACTOR: u64 = 64;
/// Segments of the longer of the two simulations of a sketch, besides the depth of its trees.
pub(super) const SKETCH_SEGMENTS: u64 = 4;
/// Segments of the longer of the two simulations of a rough estimate.
pub(super) const ROUGH_SEGMENTS: u64 = 16;

/// The number of equal parts of a time limit, of which the last is reserved for the bound; before slow planners
/// enter, a bound of the same time limit judges their gain.
pub(super) const BOUND_PART: u32 = 8;

/// The number of equal parts of the search, of which the last is reserved for the slow planners: close looks at the
/// many quick ones would use up the budget.
pub(super) const SLOW_PART: u32 = 2;

/// Entrants that `best` examines together: a constant, so that the outcome does not depend on the machine's cores.
pub(super) const ENTRANTS_TOGETHER: usize = 4;
/// The most closer looks of `best`: about two for each planner, where all are near the top.
pub(super) const MOST_LOOKS: usize = 64;
/// The most plans that are simulated after the search, each for a second or so.
pub(super) const MOST_CONFIRMED: usize = 3;
/// A sketch's segment size is accurate to a factor of 4; tuning may make a plan faster by this factor.
pub(super) const TUNING_GAIN: f64 = 1.25;
/// The same, together with a planner's last step, which needs the final number of segments: of few segments, it may
/// save a third of the time.
pub(super) const FINISHING_GAIN: f64 = 1.5;
/// Simulated from end to end, trees that compete for ports may be faster than their estimate by this factor.
pub(super) const SIMULATION_GAIN: f64 = 1.15;
/// The most segments of a plan that is simulated for that: about ten times the work of its estimate.
pub(super) const SHORT_SEGMENTS: u64 = 2_048;
/// Slow planners enter only if they could gain more than this over the quick ones' best.
pub(super) const WORTH_SEARCHING: f64 = 1.05;
/// Where a planner over clusters of equal hosts takes part, planners of single nodes enter up to this many nodes: among
/// more, most take longer than all of planning may. Chosen.
pub(super) const MOST_NODES_ONE_BY_ONE: usize = 2_000;
/// The most transfers of a plan that is simulated from end to end; a longer one keeps its estimate.
pub(super) const FULL_TRANSFERS: u64 = 2_000_000;
