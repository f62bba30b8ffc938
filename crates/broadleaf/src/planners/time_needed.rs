//! Refusals of what cannot end within a time limit, before it begins.
//!
//! A step that cannot be stopped takes a time that follows from sizes: of the network, or of the plan. Where that is longer
//! than what is left of the limit, the planner is refused with the time that it needs.

use super::{Instance, Pace, Planner};
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError};
use crate::platform::Platform;

/// Edges of an all-gather's trees, one for each host, that are made and summed up in a second. Measured: 1.2 to 1.7 µs each
/// (`benches/time_limits.py clusters-2000 multi-port-400 --collective allgather`).
const BLOCK_EDGES_PER_S: f64 = 7e5;

/// Edges of all trees of a plan that are made, routed, and their loads summed up, in a second. Measured: 2 to 3 µs each on a
/// sparse random network of 300 nodes, by the machine (`benches/time_limits.py random-300`), less where hosts have links.
const EDGES_PER_S: f64 = 3.3e5;

/// Nodes and links that searches of paths pass in a second. Measured: 0.3 ms for a search of a sparse random network of
/// 1,000 nodes, and the same for one of 2,000 nodes in 40 clusters (`benches/time_limits.py random-1000 clusters-2000`); a third
/// is added for slower machines.
const SEARCHED_PER_S: f64 = 3e7;

/// Whether the planner can make `count` plans in time, by what its card foresees.
///
/// # Errors
/// A time limit that is too short.
pub(crate) fn to_plan(
    planner: &dyn Planner,
    count: usize,
    instance: &Instance,
    budget: &Budget,
) -> Result<(), PlanError> {
    if !budget.is_timed() {
        return Ok(());
    }
    let card = planner.card();
    let least_s = count as f64 * (card.profile.least_s)(&instance.outward());
    // On a busy machine `best` would be left without its likely winner once that has chosen its segments.
    let is_too_short = match card.profile.pace_of(instance) {
        Pace::First => budget.was_too_short_for(least_s),
        _ => budget.is_too_short_for(least_s),
    };
    refused_if(is_too_short, card.name, "planning", least_s)
}

/// The least time to list an all-gather's trees, seconds: one for each host; 0 for other collectives.
pub(super) fn of_block_trees_s(instance: &Instance) -> f64 {
    match instance.collective {
        Collective::Allgather => (instance.platform.hosts().count() as f64).powi(2) / BLOCK_EDGES_PER_S,
        _ => 0.0,
    }
}

/// Whether the edges of a plan can be routed and added up `times` times: those of a regular plan's many trees, or those
/// without a link, whose senders each need a search of paths.
///
/// # Errors
/// A time limit that is too short.
pub(super) fn to_route(
    plan: &Plan,
    times: usize,
    platform: &Platform,
    budget: &Budget,
) -> Result<(), PlanError> {
    if !budget.is_timed() {
        return Ok(());
    }
    let routing_takes = |once_s: f64| {
        let least_s = times as f64 * once_s;
        refused_if(budget.is_too_short_for(least_s), &plan.planner, "only to route its trees", least_s)
    };
    if plan.pattern.is_some() {
        routing_takes((plan.trees.len() * plan.nodes.len()) as f64 / EDGES_PER_S)?;
    }
    routing_takes(of_searches_s(platform, plan.senders_without_link(platform)))
}

/// The time of that many searches of paths, each from one host, seconds.
pub(super) fn of_searches_s(platform: &Platform, searches: usize) -> f64 {
    (searches * platform.search_size()) as f64 / SEARCHED_PER_S
}

fn refused_if(is_too_short: bool, planner: &str, work: &str, least_s: f64) -> Result<(), PlanError> {
    if !is_too_short {
        return Ok(());
    }
    let reason = format!("{work} takes longer than the time limit; give it {least_s:.1} s");
    Err(PlanError::Unsupported { planner: planner.to_string(), reason })
}
