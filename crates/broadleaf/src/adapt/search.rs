//! The advisor's search, the same in the service and in a replay.
//!
//! The faster by estimate of `makespan`'s plan (see `benches/searches.py`) and the quick planners' best, then in larger
//! segments than the model's optimum: predictions lack the cost of a message on a busy machine, on which a plan with
//! few messages hardly depends.

use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Instance, BEST};
use crate::platform::{NodeId, Platform};
use crate::portfolio::{coarsened, make, Coarsening, Effort, SegmentChoice};
use crate::simulate::estimate;

/// The plan to use. Without a time limit it depends only on the arguments; with one the quick planners' best is used
/// if there was no time for more.
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
/// An unknown planner, or one that does not support the platform, or a root or a size that it refuses.
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
