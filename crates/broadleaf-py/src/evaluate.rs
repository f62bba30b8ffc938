//! `bl.check`, `bl.simulate`, `bl.throughput`: what a plan does on a platform.

use crate::errors::{plan_error, InvalidPlan};
use crate::plan::Plan;
use crate::platform::Platform;
use crate::trace::Trace;
use pyo3::prelude::*;
use std::sync::Arc;

/// Checks a plan independently of whatever made it. Raises InvalidPlan, whose `faults` has a line a fault.
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
#[pyfunction]
pub fn simulate(py: Python<'_>, platform: &Platform, plan: &Plan) -> PyResult<Trace> {
    let core =
        py.detach(|| broadleaf::simulate::simulate(&platform.core, &plan.core, true)).map_err(plan_error)?;
    Ok(Trace { core, platform: Arc::clone(&platform.core) })
}

/// The plan's steady state, bytes/s: what its busiest resource allows once the pipeline is full.
///
/// Infinite where nothing limits it. Raises InvalidPlan for a plan that `check` refuses.
#[pyfunction]
pub fn throughput(py: Python<'_>, platform: &Platform, plan: &Plan) -> PyResult<f64> {
    check(py, platform, plan)?;
    py.detach(|| broadleaf::plan::throughput(&platform.core, &plan.core)).map_err(plan_error)
}
