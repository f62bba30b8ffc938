//! `bl.check`, `bl.simulate`, `bl.throughput`: what a plan does on a platform.

use crate::errors::{plan_error, InvalidPlan};
use crate::plan::Plan;
use crate::platform::Platform;
use crate::trace::Trace;
use broadleaf::budget::Budget;
use broadleaf::platform::Quartiles;
use broadleaf::simulate::{interval, simulate as run};
use pyo3::prelude::*;
use std::sync::Arc;

/// Checks a plan independently of whatever made it. Raises InvalidPlan, whose `faults` has a line a fault.
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
        let of_spread = |quartiles| interval(&quartiles, &plan.core, core.makespan_s, &Budget::UNLIMITED);
        let interval = Quartiles::of(&platform.core).map(of_spread).transpose()?;
        Ok((core, interval))
    };
    let (core, interval) = py.detach(work).map_err(plan_error)?;
    Ok(Trace { core, platform: Arc::clone(&platform.core), plan: Arc::clone(&plan.core), interval })
}

/// The plan's steady state, bytes/s: what its busiest resource allows once the pipeline is full.
///
/// Infinite where nothing limits it. Raises InvalidPlan for a plan that `check` refuses.
///
/// Types: `(platform: Platform, plan: Plan) -> float`
#[pyfunction]
pub fn throughput(py: Python<'_>, platform: &Platform, plan: &Plan) -> PyResult<f64> {
    check(py, platform, plan)?;
    py.detach(|| broadleaf::plan::throughput(&platform.core, &plan.core)).map_err(plan_error)
}
