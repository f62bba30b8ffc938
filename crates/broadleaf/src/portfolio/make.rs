//! The one entry to planning that the command line, Python and the MPI runtime call.

use super::best;
use super::segment_search::{search, Tuned};
use crate::budget::Budget;
use crate::optimum::{allgather_bound_s, makespan_bound_s};
use crate::plan::{throughput, Collective, Interval, Plan, PlanError, Predicted};
use crate::planners::{find, plan_with, supports, Instance, Planner, BEST};
use crate::platform::Quartiles;
use crate::simulate::interval;

/// Which segment size a plan gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SegmentChoice {
    /// Searched for the least predicted makespan.
    #[default]
    Auto,
    /// That many bytes, at most the whole message. Planners whose plan fixes its own size keep theirs.
    Bytes(u64),
}

impl SegmentChoice {
    /// The instance with the segment size that was asked for, if one was.
    pub(super) fn applied<'a>(self, instance: &Instance<'a>) -> Result<Instance<'a>, PlanError> {
        match self {
            SegmentChoice::Auto => Ok(*instance),
            SegmentChoice::Bytes(0) => {
                Err(PlanError::BadRequest("a segment of 0 bytes; give at least 1 byte, or auto".to_string()))
            }
            SegmentChoice::Bytes(bytes) => Ok(instance.segmented(bytes)),
        }
    }
}

/// How much work planning may do, apart from its [`Budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Effort {
    /// Every planner that supports the instance, fine segment search, the final plans simulated in full.
    #[default]
    Thorough,
    /// At most about 100 ms for 100 nodes: the quick planners, few segment sizes, short simulations. The
    /// work is counted, not timed, so the same instance always gives the same plan.
    Quick,
}

/// A planner's plan with its best segment size.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The planner's name.
    pub name: &'static str,
    /// The best segment size found.
    pub segment_bytes: u64,
    /// Predicted: simulated in full where [`Tried::is_simulated`], else extended from short simulations.
    pub makespan_s: f64,
    /// What a measured spread of the links makes of it; absent where none was measured, or time is short.
    pub interval: Option<Interval>,
    /// Whether the whole plan was simulated.
    pub is_simulated: bool,
    /// Steady state, bytes/s; infinite where nothing limits.
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
    /// What was tried, in the order of [`PLANNERS`](crate::planners::PLANNERS).
    pub tried: Vec<Tried>,
    /// What was not tried, in the same order.
    pub passed_over: Vec<PassedOver>,
}

/// What a planner that goes by the order of ids finds out only when its plan meets the platform: that some
/// host cannot send to the next one.
pub(super) fn unsupported(planner: &str, error: PlanError) -> PlanError {
    match error {
        PlanError::NoPath { from, to } => PlanError::Unsupported {
            planner: planner.to_string(),
            reason: format!("it sends from \"{from}\" to \"{to}\", where no path leads"),
        },
        other => other,
    }
}

/// Plans `instance` with the planner of that name, or with `best`: all that support it, the fastest kept.
///
/// Sets every field of [`Predicted`] that is known. Fails for an unknown name, and for a planner that does
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
    if planner == BEST {
        return best::plan(instance, segment, effort, budget);
    }
    let planner = find(planner)?;
    supports(planner, instance).map_err(|unsupported| PlanError::Unsupported {
        planner: planner.card().name.to_string(),
        reason: unsupported.to_string(),
    })?;
    alone(instance, planner, segment, effort, budget).map_err(|error| unsupported(planner.card().name, error))
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
    let mut tuned = match segment {
        SegmentChoice::Auto if profile.is_segmentable() => search(instance, planner, effort, budget)?,
        _ => Tuned::estimated(instance.platform, plan_with(planner, &sized, budget)?)?,
    };
    if let (Effort::Thorough, Some(finish)) = (effort, profile.finish) {
        tuned.plan = Plan { protocol: instance.protocol, ..finish(instance, tuned.plan) };
    }
    let transfers = tuned.plan.segment_count().saturating_mul(instance.platform.node_count() as u64);
    let is_simulated = effort == Effort::Thorough && transfers <= FULL_TRANSFERS;
    if is_simulated {
        tuned = Tuned::simulated(instance.platform, tuned.plan)?;
    }
    let quartiles = quartiles(instance, effort);
    let (plan, tried) = finish(instance, planner.card().name, &tuned, is_simulated, quartiles.as_ref())?;
    let plan = with_bounds(instance, plan);
    Ok(Outcome { plan, tried: vec![tried], passed_over: Vec::new() })
}

/// Most transfers of a plan that is simulated from end to end; a longer one keeps its estimate.
const FULL_TRANSFERS: u64 = 2_000_000;

/// What predictions get an interval from, if there is anything, and time for it.
pub(super) fn quartiles(instance: &Instance, effort: Effort) -> Option<Quartiles> {
    match effort {
        Effort::Thorough => Quartiles::of(instance.platform),
        Effort::Quick => None,
    }
}

/// Fills in what the plan itself predicts.
pub(super) fn finish(
    instance: &Instance,
    name: &'static str,
    tuned: &Tuned,
    is_simulated: bool,
    quartiles: Option<&Quartiles>,
) -> Result<(Plan, Tried), PlanError> {
    let Tuned { plan, makespan_s } = tuned;
    let (mut plan, makespan_s) = (plan.clone(), *makespan_s);
    let throughput_bytes_per_s = throughput(instance.platform, &plan)?;
    let finite = throughput_bytes_per_s.is_finite().then_some(throughput_bytes_per_s);
    let interval = quartiles.map(|quartiles| interval(quartiles, &plan, makespan_s)).transpose()?;
    plan.predicted = Predicted {
        makespan_s: Some(makespan_s),
        interval,
        throughput_bytes_per_s: finite,
        ..Predicted::default()
    };
    let segment_bytes = plan.segment_bytes;
    Ok((plan, Tried { name, segment_bytes, makespan_s, interval, is_simulated, throughput_bytes_per_s }))
}

/// Fills in what no plan can beat.
pub(super) fn with_bounds(instance: &Instance, mut plan: Plan) -> Plan {
    plan.predicted.bound_s = match instance.collective {
        Collective::Bcast => Some(makespan_bound_s(instance.platform, instance.root, instance.message_bytes)),
        Collective::Allgather => Some(allgather_bound_s(instance.platform, instance.message_bytes)),
        // Nobody has argued one.
        Collective::Scatter => None,
    };
    plan
}
