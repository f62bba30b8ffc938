//! The advisor's search, the same in the service and in a replay.
//!
//! `makespan` (see `benches/searches.py`) and the quick planners beside it, the faster by estimate, then in larger
//! segments than the model would have: a prediction does not know what a message costs a machine that has other things to
//! do, and a plan of few messages hardly depends on it.

use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Instance, BEST};
use crate::platform::{NodeId, Platform};
use crate::portfolio::{coarsened, make, Coarsening, Effort, SegmentChoice};
use crate::simulate::estimate;

/// The plan to use. Without a limit to its time it depends on nothing but the arguments; with one the quick planners'
/// best is used where there was no time for more.
///
/// # Errors
/// No planner that supports the platform, or a root or a size that it refuses.
pub fn search(
    platform: &Platform,
    root: NodeId,
    bytes: u64,
    coarsening: Coarsening,
    budget: &Budget,
) -> Result<Plan, PlanError> {
    let instance = Instance::new(platform, root, bytes)?;
    let segment = SegmentChoice::AtLeast(coarsening.least_bytes);
    let best = make(&instance, BEST, segment, Effort::Quick, budget)?.plan;
    let chosen = if budget.is_spent() { best } else { faster(&instance, best, segment, budget)? };
    coarsened(platform, chosen, coarsening)
}

/// The plan of one planner, in segments as [`search`] has them.
///
/// # Errors
/// A planner that there is not, or that does not support the platform, or a root or a size that it refuses.
pub fn planned_by(
    planner: &str,
    platform: &Platform,
    root: NodeId,
    bytes: u64,
    coarsening: Coarsening,
    budget: &Budget,
) -> Result<Plan, PlanError> {
    let instance = Instance::new(platform, root, bytes)?;
    let segment = SegmentChoice::AtLeast(coarsening.least_bytes);
    coarsened(platform, make(&instance, planner, segment, Effort::Quick, budget)?.plan, coarsening)
}

/// `makespan`'s plan, if that is faster.
fn faster(
    instance: &Instance,
    best: Plan,
    segment: SegmentChoice,
    budget: &Budget,
) -> Result<Plan, PlanError> {
    let made = make(instance, "makespan", segment, Effort::Quick, budget);
    let Ok(other) = made else { return Ok(best) };
    let is_faster = estimate(instance.platform, &other.plan)? < estimate(instance.platform, &best)?;
    Ok(if is_faster { other.plan } else { best })
}
