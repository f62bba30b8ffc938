//! The makespan of a long message from two short ones.

use super::{run, static_order};
use crate::plan::{Plan, PlanError, Programs};
use crate::platform::Platform;
use std::sync::Arc;

/// Segments of the longer of the two simulations, at least.
const FULL_SEGMENTS: u64 = 128;

/// The simulated makespan of a valid plan, seconds; for a message of many segments, simulated at two
/// lengths and extended along the steady state between them.
///
/// A pipeline settles after about as many segments as it is deep; both lengths lie beyond that, and are
/// whole numbers of the trees' (or the period's) cycles, so that they cut it at the same phase.
pub fn estimate(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    estimate_from(platform, plan, FULL_SEGMENTS)
}

/// [`estimate`] from simulations of about `segments / 2` and `segments` segments: the fewer, the quicker
/// and the rougher.
pub fn estimate_from(platform: &Platform, plan: &Plan, segments: u64) -> Result<f64, PlanError> {
    let count = plan.segment_count();
    let depth = plan.trees.iter().map(|tree| tree.depth(plan.root_of(tree))).max().unwrap_or(0) as u64;
    let cycle = match &plan.period {
        Some(period) => u64::from(period.segments),
        None => plan.trees.len() as u64,
    };
    let short = (segments / 2).max(2 * depth.min(segments)).next_multiple_of(cycle.max(1));
    if count <= 2 * short + cycle {
        return makespan(platform, plan.clone());
    }
    let tail = plan.message_bytes - (count - 1) * plan.segment_bytes;
    let of_length = |segments: u64| plan.resized((segments - 1) * plan.segment_bytes + tail);
    // The same phase of the cycle at the end as the whole message has.
    let phase = count % cycle.max(1);
    let first_s = makespan(platform, of_length(short + phase))?;
    let second_s = makespan(platform, of_length(2 * short + phase))?;
    let each_s = (second_s - first_s) / short as f64;
    Ok(second_s + each_s * (count - 2 * short - phase) as f64)
}

/// The makespan that [`simulate`](super::simulate) finds, without a trace and without a check, seconds.
pub fn makespan(platform: &Platform, plan: Plan) -> Result<f64, PlanError> {
    if let Some(makespan_s) = static_order::makespan_s(platform, &plan) {
        return Ok(makespan_s);
    }
    let programs = Programs::for_platform(&Arc::new(plan), platform)?;
    run(platform, &programs, false).map(|trace| trace.makespan_s)
}
