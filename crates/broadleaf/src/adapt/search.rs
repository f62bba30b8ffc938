//! The advisor's search: the plan that it makes when one is wanted, in the service and in a replay alike.
//!
//! `makespan` (see `benches/searches.py`) and the quick planners beside it, the faster by estimate, then in larger
//! segments than the model would have: a prediction does not know what a message costs a machine that has other things to
//! do, and a plan of few messages hardly depends on it.

use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Instance, BEST};
use crate::platform::{NodeId, Platform};
use crate::portfolio::{make, Effort, SegmentChoice};
use crate::simulate::estimate;

/// How large a plan's segments are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segments {
    /// None are smaller, but for a message that is.
    pub least_bytes: u64,
    /// None are made larger than this.
    pub most_bytes: u64,
    /// What fewer, larger ones may cost, as a part of the predicted time.
    pub worth: f64,
}

impl Segments {
    /// Where machines have nothing to do but to broadcast: a start-up that costs nothing makes the best size as small as
    /// may be, and hardly better than one twenty times as large, which is far less work for every host on the way.
    pub const COARSE: Segments = Segments { least_bytes: 1, most_bytes: u64::MAX, worth: 0.003 };
    /// Where they are busy with a program, as the MPI runtime has it (planning.rs, adjust.rs): smaller segments are mostly
    /// headers on the wire.
    pub const ROBUST: Segments = Segments { least_bytes: 2048, most_bytes: 64 << 10, worth: 0.04 };
}

/// The plan to use. Without a limit to its time it depends on nothing but the arguments; with one the quick planners'
/// best serves where there was no time for more.
///
/// # Errors
/// No planner that supports the platform, or a root or a size that it refuses.
pub fn search(
    platform: &Platform,
    root: NodeId,
    bytes: u64,
    segments: Segments,
    budget: &Budget,
) -> Result<Plan, PlanError> {
    let instance = Instance::new(platform, root, bytes)?;
    let best = make(&instance, BEST, SegmentChoice::Auto, Effort::Quick, budget)?.plan;
    let chosen = if budget.is_spent() { best } else { faster(&instance, best, budget)? };
    coarse(platform, chosen, segments)
}

/// `makespan`'s plan, if that is faster.
fn faster(instance: &Instance, best: Plan, budget: &Budget) -> Result<Plan, PlanError> {
    let made = make(instance, "makespan", SegmentChoice::Auto, Effort::Quick, budget);
    let Ok(other) = made else { return Ok(best) };
    let is_faster = estimate(instance.platform, &other.plan)? < estimate(instance.platform, &best)?;
    Ok(if is_faster { other.plan } else { best })
}

/// The plan in the largest segments that are predicted to cost next to nothing.
///
/// # Errors
/// A plan that cannot be simulated on the platform.
pub fn coarse(platform: &Platform, plan: Plan, segments: Segments) -> Result<Plan, PlanError> {
    let most_bytes = segments.most_bytes.min(plan.message_bytes);
    let mut chosen = plan;
    let mut next_bytes = 2 * chosen.segment_bytes;
    let least_bytes = segments.least_bytes.min(chosen.message_bytes);
    if chosen.segment_bytes < least_bytes {
        chosen = in_segments(platform, &chosen, least_bytes)?;
        next_bytes = 2 * least_bytes;
    }
    let allowed_s = (1.0 + segments.worth) * estimate(platform, &chosen)?;
    while chosen.segment_bytes < most_bytes {
        let coarser = in_segments(platform, &chosen, next_bytes.min(most_bytes))?;
        // A planner may know only some sizes.
        if coarser.segment_bytes <= chosen.segment_bytes || estimate(platform, &coarser)? > allowed_s {
            break;
        }
        next_bytes = 2 * coarser.segment_bytes;
        chosen = coarser;
    }
    Ok(chosen)
}

/// The same in segments of another size; a timetable, or what combines segments, is made anew for them.
fn in_segments(platform: &Platform, plan: &Plan, segment_bytes: u64) -> Result<Plan, PlanError> {
    if plan.period.is_none() && plan.pattern.is_none() && !plan.combine {
        return Ok(Plan { segment_bytes, ..plan.clone() });
    }
    let instance = Instance::new(platform, plan.root, plan.message_bytes)?;
    let segment = SegmentChoice::Bytes(segment_bytes);
    make(&instance, &plan.planner, segment, Effort::Quick, &Budget::UNLIMITED).map(|made| made.plan)
}
