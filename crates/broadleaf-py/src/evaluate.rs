//! `bl.check`, `bl.simulate`, `bl.throughput`: evaluation of a plan on a platform; and `bl.with_period`, which improves
//! its throughput.

use crate::arguments::limit;
use crate::errors::{plan_error, InvalidPlan};
use crate::plan::Plan;
use crate::platform::Platform;
use crate::trace::Trace;
use broadleaf::budget::Budget;
use broadleaf::plan::{Collective, Rehearsed};
use broadleaf::simulate::simulate as run;
use pyo3::prelude::*;
use std::sync::Arc;

/// Checks a plan independently of its planner. Raises InvalidPlan, whose `faults` has one line per fault.
///
/// Types: `(platform: Platform, plan: Plan) -> None`
#[pyfunction]
pub fn check(py: Python<'_>, platform: &Platform, plan: &Plan) -> PyResult<()> {
    let faults = py.detach(|| broadleaf::plan::check::faults(&platform.core, &plan.core));
    if faults.is_empty() {
        Ok(())
    } else {
        Err(InvalidPlan::new_err((faults,)))
    }
}

/// Runs a plan in simulated time. Raises InvalidPlan for a plan that `check` refuses.
///
/// Types: `(platform: Platform, plan: Plan) -> Trace`
#[pyfunction]
pub fn simulate(py: Python<'_>, platform: &Platform, plan: &Plan) -> PyResult<Trace> {
    let work = || {
        let core = run(&platform.core, &plan.core, true)?;
        let is_bcast = plan.core.collective == Collective::Bcast;
        let rehearsed = is_bcast.then(|| Rehearsed::of(&platform.core)).flatten();
        let interval = rehearsed.and_then(|known| known.interval(plan.core.message_bytes, core.makespan_s));
        Ok((core, interval))
    };
    let (core, interval) = py.detach(work).map_err(plan_error)?;
    Ok(Trace { core, platform: Arc::clone(&platform.core), plan: Arc::clone(&plan.core), interval })
}

/// The plan's load bound, bytes/s: the rate that its busiest resource allows while the pipeline is full, if no transfer
/// ever waits for another. A plan of one tree reaches it; several trees without a period may stay a fifth below
/// (`with_period`). The actual time of a plan, start-up included, is `simulate`'s makespan.
///
/// Infinite without a limit. Raises InvalidPlan for a plan that `check` refuses.
///
/// Types: `(platform: Platform, plan: Plan) -> float`
#[pyfunction]
pub fn throughput(py: Python<'_>, platform: &Platform, plan: &Plan) -> PyResult<f64> {
    check(py, platform, plan)?;
    py.detach(|| broadleaf::plan::throughput(&platform.core, &plan.core)).map_err(plan_error)
}

/// The same broadcast with a period in which its trees take turns, so that together they come near their load bound
/// (`throughput`); made for the plan's message. A plan of one tree needs none and is returned unchanged.
///
/// Without `time_limit_s` the same arguments give the same plan. Raises InvalidPlan for a plan that `check` refuses,
/// PlanError for one that is not a broadcast, whose trees pass switches or other relays, whose shares are not whole
/// parts of a short period, or whose receivers' ports are busy only long after their senders' (multi-port on slow
/// links).
///
/// Types: `(platform: Platform, plan: Plan, time_limit_s: float | None=None) -> Plan`
#[pyfunction]
#[pyo3(signature = (platform, plan, time_limit_s=None))]
pub fn with_period(
    py: Python<'_>,
    platform: &Platform,
    plan: &Plan,
    time_limit_s: Option<f64>,
) -> PyResult<Plan> {
    let time_limit = limit("time_limit_s", time_limit_s)?;
    check(py, platform, plan)?;
    let work = || broadleaf::planners::with_period(&platform.core, &plan.core, &Budget::of(time_limit));
    Ok(py.detach(work).map_err(plan_error)?.into())
}
