//! `broadleaf._core`: the core for Python. Conversions only; all computation is in `broadleaf`.
//!
//! Long calls release the interpreter lock. Errors are the classes of `broadleaf/errors.py`.

mod adaptive_paper;
mod advisor;
mod arguments;
mod clusters;
mod document;
mod errors;
mod evaluate;
mod generate;
mod grid_paper;
mod notebook;
mod optimum;
mod plan;
mod planning;
mod platform;
mod registry;
mod trace;
mod trace_events;
mod tune;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<advisor::Advisor>()?;
    module.add_class::<advisor::PlanRequest>()?;
    module.add_class::<optimum::Optimum>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<platform::Platform>()?;
    module.add_class::<planning::Comparison>()?;
    module.add_class::<planning::Tried>()?;
    module.add_class::<registry::Card>()?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<tune::Choice>()?;
    module.add_class::<tune::Forecast>()?;
    module.add_function(wrap_pyfunction!(adaptive_paper::annealing_progress, module)?)?;
    module.add_function(wrap_pyfunction!(adaptive_paper::replay, module)?)?;
    module.add_function(wrap_pyfunction!(adaptive_paper::unloaded_plans, module)?)?;
    module.add_function(wrap_pyfunction!(clusters::clusters, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::check, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::throughput, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::with_period, module)?)?;
    module.add_function(wrap_pyfunction!(generate::grid, module)?)?;
    module.add_function(wrap_pyfunction!(generate::random_graph, module)?)?;
    module.add_function(wrap_pyfunction!(generate::tiers, module)?)?;
    module.add_function(wrap_pyfunction!(optimum::makespan_bound_s, module)?)?;
    module.add_function(wrap_pyfunction!(grid_paper::grid_makespans, module)?)?;
    module.add_function(wrap_pyfunction!(grid_paper::grid_schedule, module)?)?;
    module.add_function(wrap_pyfunction!(optimum::optimum, module)?)?;
    module.add_function(wrap_pyfunction!(planning::compare, module)?)?;
    module.add_function(wrap_pyfunction!(planning::plan, module)?)?;
    module.add_function(wrap_pyfunction!(registry::planners, module)?)?;
    module.add_function(wrap_pyfunction!(trace_events::trace_events, module)?)?;
    module.add_function(wrap_pyfunction!(tune::tune, module)?)?;
    module.add_function(wrap_pyfunction!(tune::tuning_rules, module)?)?;
    Ok(())
}
