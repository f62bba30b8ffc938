//! `best`: not a planner with an opinion. It runs the supported ones, tunes each one's segment size, simulates,
//! and keeps the fastest.

use super::make::{finish, tune, with_bounds};
use super::segment_search::Tuned;
use super::{supports, Effort, Instance, Outcome, PassedOver, Planner, SegmentChoice, PLANNERS};
use crate::plan::PlanError;
use rayon::prelude::*;
use std::time::Instant;

/// The name that stands for all planners.
pub(super) const NAME: &str = "best";

/// What became of one planner.
enum Attempt {
    Tuned(Tuned),
    PassedOver(String),
}

/// Plans with every planner that supports the instance and keeps the plan of the least makespan; of equal
/// ones the earlier planner's.
///
/// With a `deadline`, planners that have not begun by then are passed over, except the first supported
/// one; without, the result depends on nothing but the arguments.
pub(super) fn plan(
    instance: &Instance,
    segment: SegmentChoice,
    effort: Effort,
    deadline: Option<Instant>,
) -> Result<Outcome, PlanError> {
    // The cheap ones first, so that a deadline cuts off the expensive ones.
    let (quick, slow): (Vec<usize>, Vec<usize>) =
        (0..PLANNERS.len()).partition(|&at| PLANNERS[at].is_quick(instance));
    let first = quick.iter().chain(&slow).copied().find(|&at| supports(PLANNERS[at], instance).is_ok());
    let attempt = |&at: &usize| {
        let must = Some(at) == first;
        (at, attempt(instance, PLANNERS[at], segment, effort, deadline, must))
    };
    let mut attempts: Vec<(usize, Result<Attempt, PlanError>)> = quick.par_iter().map(attempt).collect();
    attempts.par_extend(slow.par_iter().map(attempt));
    attempts.sort_by_key(|&(at, _)| at);
    let mut tuned = Vec::new();
    let mut passed_over = Vec::new();
    for (at, attempt) in attempts {
        match attempt? {
            Attempt::Tuned(found) => tuned.push((at, found)),
            Attempt::PassedOver(reason) => {
                passed_over.push(PassedOver { name: PLANNERS[at].card().name, reason });
            }
        }
    }
    let finished: Result<Vec<_>, PlanError> =
        tuned.into_par_iter().map(|(at, tuned)| finish(instance, PLANNERS[at], tuned, effort)).collect();
    let (mut plans, tried): (Vec<_>, Vec<_>) = finished?.into_iter().unzip();
    let fastest = (0..plans.len()).min_by(|&a, &b| tried[a].makespan_s.total_cmp(&tried[b].makespan_s));
    let Some(fastest) = fastest else {
        let reason = passed_over.first().map_or(String::new(), |first| first.reason.clone());
        return Err(PlanError::Unsupported { planner: NAME.to_string(), reason });
    };
    Ok(Outcome { plan: with_bounds(instance, plans.swap_remove(fastest)), tried, passed_over })
}

fn attempt(
    instance: &Instance,
    planner: &dyn Planner,
    segment: SegmentChoice,
    effort: Effort,
    deadline: Option<Instant>,
    must: bool,
) -> Result<Attempt, PlanError> {
    if let Err(unsupported) = supports(planner, instance) {
        return Ok(Attempt::PassedOver(unsupported.to_string()));
    }
    if !must && effort == Effort::Quick && !planner.is_quick(instance) {
        return Ok(Attempt::PassedOver("takes longer than a quick search may".to_string()));
    }
    if !must && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Ok(Attempt::PassedOver("the time limit was reached before its turn".to_string()));
    }
    match tune(instance, planner, segment, effort, deadline) {
        // Some only find out while they plan, e.g. that a proof takes too long.
        Err(PlanError::Unsupported { reason, .. }) => Ok(Attempt::PassedOver(reason)),
        tuned => tuned.map(Attempt::Tuned),
    }
}
