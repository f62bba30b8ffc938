//! The outcome of planning: plans with their predictions, and the planners that were not tried.

use super::timing::Timing;
use super::tuned::Tuned;
use crate::budget::Budget;
use crate::optimum::collective_bound_s;
use crate::plan::{Collective, Interval, Plan, PlanError, Predicted, Rehearsed};
use crate::planners::Instance;

/// A planner's plan with its best segment size.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The planner's name.
    pub name: &'static str,
    /// The best segment size found.
    pub segment_bytes: u64,
    /// Predicted: simulated in full where [`Tried::is_simulated`], else extended from short simulations.
    pub makespan_s: f64,
    /// The makespan by which plans are compared, with the hosts' time to handle each message; `None` where it is
    /// [`Tried::makespan_s`].
    pub handled_s: Option<f64>,
    /// Its interval from rehearsed broadcasts ([`Rehearsed`]); absent where none were, and for other collectives.
    pub interval: Option<Interval>,
    /// Whether the whole plan was simulated.
    pub is_simulated: bool,
    /// The load bound, [`throughput`](crate::plan::throughput), bytes/s; infinite where nothing limits.
    pub throughput_bytes_per_s: f64,
}

/// A planner that was not tried, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The planner's name.
    pub name: &'static str,
    /// Why, in a few words.
    pub reason: String,
}

/// A plan with its predictions filled in, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The fastest.
    pub plan: Plan,
    /// The planners that were tried, in the order of [`PLANNERS`](crate::planners::PLANNERS).
    pub tried: Vec<Tried>,
    /// Their plans, in the same order.
    pub plans: Vec<Plan>,
    /// The planners that were not tried, in the same order.
    pub passed_over: Vec<PassedOver>,
    /// Whether a time limit ended the search early: on another machine the plan may differ.
    pub is_cut_by_time: bool,
}

/// The error of a planner that follows the order of ids, where some host cannot send to the next one.
pub(super) fn unsupported(planner: &str, error: PlanError) -> PlanError {
    match error {
        PlanError::NoPath { from, to } => PlanError::Unsupported {
            planner: planner.to_string(),
            reason: format!("it sends from \"{from}\" to \"{to}\", where no path leads"),
        },
        other => other,
    }
}

impl Tried {
    /// The time by which plans are compared, s.
    pub fn compared_s(&self) -> f64 {
        self.handled_s.unwrap_or(self.makespan_s)
    }
}

/// Fills in the predictions of the plan itself, whose load bound is known.
pub(super) fn finish(
    instance: &Instance,
    name: &'static str,
    tuned: &Tuned,
    (throughput_bytes_per_s, is_simulated): (f64, bool),
    budget: &Budget,
) -> Result<(Plan, Tried), PlanError> {
    let mut plan = tuned.plan.clone();
    let is_timed_apart = Timing::is_apart(instance);
    let handled_s = is_timed_apart.then_some(tuned.makespan_s);
    let makespan_s = match is_timed_apart {
        true => tuned.on(Timing::of_run(instance), is_simulated, budget)?,
        false => tuned.makespan_s,
    };
    let finite = throughput_bytes_per_s.is_finite().then_some(throughput_bytes_per_s);
    let is_bcast = instance.collective == Collective::Bcast;
    let rehearsed = is_bcast.then(|| Rehearsed::of(instance.platform)).flatten();
    let interval = rehearsed.and_then(|rehearsed| rehearsed.interval(instance.message_bytes, makespan_s));
    plan.predicted = Predicted {
        makespan_s: Some(makespan_s),
        handled_s,
        interval,
        throughput_bytes_per_s: finite,
        ..Predicted::default()
    };
    let segment_bytes = plan.segment_bytes;
    let tried =
        Tried { name, segment_bytes, makespan_s, handled_s, interval, is_simulated, throughput_bytes_per_s };
    Ok((plan, tried))
}

impl Outcome {
    /// Fills in the bound, unless it is known, and whether the time limit of `budget` ended the search.
    pub(super) fn with_bound(mut self, instance: &Instance, budget: &Budget) -> Outcome {
        let Instance { platform, root, message_bytes, collective, weights, .. } = *instance;
        let bound_s = || collective_bound_s(platform, collective, root, message_bytes, weights, budget);
        self.plan.predicted.bound_s = self.plan.predicted.bound_s.or_else(|| Some(bound_s()));
        self.is_cut_by_time = budget.was_cut_by_time();
        self
    }
}
