//! The network in simulated time: the same executors as in the other transports, over resources that one transfer at a
//! time may hold.
//!
//! A transfer is requested when its sender's executor issues it, and starts at the earliest time at which
//! every resource is free for its window. Windows are granted in the order of request, ties by sender id,
//! and never moved. Simulated times are exact and repeat to the last bit.

mod at_once;
mod calendar;
mod estimate;
mod hops;
mod max_min;
mod network;
mod partners;
mod sharing;
mod static_order;
mod trace;
mod varying;

pub use at_once::direct_at_once_s;
pub use estimate::{estimate, estimate_from, estimate_within, makespan};
pub use sharing::{simulate_shared, Sending, SharedRun, UNITS_PER_TRANSFER};
pub use trace::{Trace, Transfer};
pub use varying::Varying;

use crate::budget::Budget;
use crate::plan::{check, Plan, PlanError, Programs};
use crate::platform::Platform;

/// Limit of simulated transfers: about a minute, and 5 GB if they are recorded.
const MOST_TRANSFERS: u64 = 1 << 26;

/// Runs a plan on a platform; `record` keeps every transfer in the trace.
///
/// The plan is checked first, so that only valid plans are timed.
///
/// # Errors
/// The faults of a plan that is not valid; more transfers than can be simulated one by one, which [`estimate`]
/// extrapolates; an edge without a path; a plan that deadlocks.
pub fn simulate(platform: &Platform, plan: &Plan, record: bool) -> Result<Trace, PlanError> {
    let faults = check::faults(platform, plan);
    if !faults.is_empty() {
        return Err(PlanError::Invalid(faults));
    }
    let transfers = transfers_of(platform, plan);
    if transfers > MOST_TRANSFERS {
        return Err(PlanError::BadRequest(format!(
            "{} segments of {} bytes take {transfers} transfers and {MOST_TRANSFERS} can be simulated; use larger \
             segments, or a shorter message",
            plan.segment_count(),
            plan.segment_bytes
        )));
    }
    let programs = Programs::for_platform(plan, platform)?;
    run(platform, &programs, record)
}

/// The least number of a plan's transfers: every segment once to each host that needs it, without relays.
#[must_use]
pub fn transfers_of(platform: &Platform, plan: &Plan) -> u64 {
    let hosts = platform.hosts().count() as u64;
    let edges = hosts.saturating_sub(1).saturating_mul(if plan.inward.is_empty() { 1 } else { 2 });
    // Each head sends to all others, where through the root there is one transfer each way.
    let further = |heads: usize| heads.saturating_sub(1) as f64 * heads as f64;
    let exchanged: f64 = plan.inward.iter().map(|tree| tree.share * further(tree.exchange.len())).sum();
    let exchanged = (plan.segment_count() as f64 * exchanged) as u64;
    let through_trees = plan.segment_count().saturating_mul(edges).saturating_mul(blocks_of(platform, plan));
    through_trees.saturating_add(exchanged)
}

/// The number of blocks to or from every host: one of each host in an all-gather.
fn blocks_of(platform: &Platform, plan: &Plan) -> u64 {
    match plan.collective.is_rooted() {
        true => 1,
        false => plan.collective.blocks(platform.hosts().count()) as u64,
    }
}

/// Runs the programs of a valid plan.
///
/// # Errors
/// An edge without a path, or a plan that deadlocks.
pub fn run(platform: &Platform, programs: &Programs, record: bool) -> Result<Trace, PlanError> {
    network::Network::new(platform, programs, None, record, &Budget::UNLIMITED)?.run(&Budget::UNLIMITED)
}

/// Runs a valid plan while rates change.
///
/// # Errors
/// As [`run`].
pub fn run_varying(
    platform: &Platform,
    programs: &Programs,
    rates: &dyn Varying,
    record: bool,
) -> Result<Trace, PlanError> {
    network::Network::new(platform, programs, Some(rates), record, &Budget::UNLIMITED)?
        .run(&Budget::UNLIMITED)
}
