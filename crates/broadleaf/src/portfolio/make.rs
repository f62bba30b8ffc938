//! The one entry to planning that the command line, Python and the MPI runtime call.

use super::best;
use super::outcome::{finish, unsupported, Outcome};
use super::request::{Effort, SegmentChoice};
use super::segment_search::{routed, search};
use super::settings::{BOUND_PART, FULL_TRANSFERS};
use super::timing::Timing;
use super::tuned::Tuned;
use crate::budget::Budget;
use crate::plan::{throughput, Plan, PlanError};
use crate::planners::{find, finish_with, supports, Instance, Planner, BEST};

/// Plans `instance` with the planner of that name, or with `best`: all that support it, the fastest kept.
///
/// Sets every field of [`Predicted`](crate::plan::Predicted) that is known. Fails for an unknown name, and for a planner that does
/// not support the instance.
///
/// # Errors
/// A planner that is unknown or does not support the instance, or a segment size out of range.
pub fn make(
    instance: &Instance,
    planner: &str,
    segment: SegmentChoice,
    effort: Effort,
    budget: &Budget,
) -> Result<Outcome, PlanError> {
    let searching = &budget.without_last(BOUND_PART);
    if planner == BEST {
        return best::plan(instance, segment, effort, searching)
            .map(|made| made.with_bound(instance, budget));
    }
    let planner = find(planner)?;
    must_support(planner, instance)?;
    alone(instance, planner, segment, effort, searching)
        .map(|made| made.with_bound(instance, budget))
        .map_err(|error| unsupported(planner.card().name, error))
}

/// The plan of a planner in segments of that size, or the nearest that it supports, without predictions.
///
/// # Errors
/// Those of [`make`], and [`PlanError::OutOfTime`].
pub fn planned(
    instance: &Instance,
    planner: &str,
    segment_bytes: u64,
    budget: &Budget,
) -> Result<Plan, PlanError> {
    planned_by(instance, find(planner)?, segment_bytes, budget)
}

/// As [`planned`], by a planner that need not have a name of its own.
///
/// # Errors
/// As [`planned`].
pub fn planned_by(
    instance: &Instance,
    planner: &dyn Planner,
    segment_bytes: u64,
    budget: &Budget,
) -> Result<Plan, PlanError> {
    must_support(planner, instance)?;
    let sized = SegmentChoice::Bytes(segment_bytes).applied(instance)?;
    routed(planner, &sized, budget).map_err(|error| unsupported(planner.card().name, error))
}

fn must_support(planner: &dyn Planner, instance: &Instance) -> Result<(), PlanError> {
    match supports(planner, instance) {
        Ok(()) => Ok(()),
        Err(unsupported) => Err(PlanError::Unsupported {
            planner: planner.card().name.to_string(),
            reason: unsupported.to_string(),
        }),
    }
}

/// The outcome of one planner.
fn alone(
    instance: &Instance,
    planner: &dyn Planner,
    segment: SegmentChoice,
    effort: Effort,
    budget: &Budget,
) -> Result<Outcome, PlanError> {
    let sized = segment.applied(instance)?;
    let profile = &planner.card().profile;
    let mut tuned = match segment.searched_from() {
        Some(least_bytes) if profile.is_segmentable() => {
            search(instance, planner, least_bytes, effort, budget)?
        }
        _ => Tuned::estimated(Timing::of(instance), routed(planner, &sized, budget)?, budget)?,
    };
    tuned = tuned.or_through_roots(Timing::of(instance), budget)?;
    if effort == Effort::Thorough && !budget.is_late() {
        if let Some(finished) = finish_with(planner, instance, &tuned.plan) {
            tuned.plan = finished.routed(instance.platform)?;
        }
    }
    let transfers = tuned.plan.segment_count().saturating_mul(instance.platform.node_count() as u64);
    let mut is_simulated = false;
    if effort == Effort::Thorough && transfers <= FULL_TRANSFERS {
        if let Some(simulated) = tuned.simulated(Timing::of(instance), budget)? {
            (tuned, is_simulated) = (simulated, true);
        }
    }
    let bytes_per_s = throughput(instance.platform, &tuned.plan)?;
    let (plan, tried) = finish(instance, planner.card().name, &tuned, (bytes_per_s, is_simulated), budget)?;
    let (tried, plans) = (vec![tried], vec![plan.clone()]);
    Ok(Outcome { plan, tried, plans, passed_over: Vec::new(), is_cut_by_time: false })
}
