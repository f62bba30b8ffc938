//! `replay`: a program's broadcasts in simulated time while its network changes, and paper 3's figure 3.

use crate::errors::{plan_error, PlanError, PlatformError};
use crate::plan::Plan;
use crate::platform::Platform;
use broadleaf::adapt::advisor::AdvisorSettings;
use broadleaf::parallel::on_all_cores;
use broadleaf::planners::baselines::annealing::Allowance;
use broadleaf::platform::LinkEnd;
use broadleaf::portfolio::Coarsening;
use broadleaf_experiments::annealing_progress::annealing_progress as progress;
use broadleaf_experiments::replay::{first_plans, replay as run, PlanSource, PlanningTime, Program};
use broadleaf_experiments::varying_rates::{Course, Rates};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Steps of a factor: start in seconds, factor.
type Steps = Vec<(f64, f64)>;

/// The result of a broadcast: seconds, its plan, whether the plan was stale, whether the estimate of any link was
/// wrong, and the travel of what is not data: bytes, seconds, and seconds if it were broadcast by itself before.
type Went = (f64, Plan, bool, bool, (u64, f64, f64));

/// Each broadcast of a program: `calls` are (seconds, bytes), `links` the rates (from cluster, to cluster, steps), of
/// `pipes` (id, steps); `latencies` are factors too, of those between clusters.
///
/// `way`: `fixed` or `monitored` plans of `planner` in one segment, or the `static` or `advised` ones, which begin with
/// `first`, a plan for each size class. `planning`: each monitored plan takes this part of the predicted time until the
/// next broadcast, with this many moves of the annealer a second; `None`: no time.
#[pyfunction]
#[pyo3(
    signature = (platform, root, calls, links, pipes, way, *, planner="best", first=Vec::new(), monitor_s=300.0,
        robust=false, latencies=Vec::new(), planning=None),
    text_signature = "(platform, root, calls, links, pipes, way, *, planner='best', first=(), \
        monitor_s=300.0, robust=False, latencies=(), planning=None)"
)]
#[allow(clippy::too_many_arguments)]
pub fn replay(
    py: Python<'_>,
    platform: &Platform,
    root: &str,
    calls: Vec<(f64, u64)>,
    links: Vec<(String, String, Steps)>,
    pipes: Vec<(String, Steps)>,
    way: &str,
    planner: &str,
    first: Vec<PyRef<'_, Plan>>,
    monitor_s: f64,
    robust: bool,
    latencies: Vec<(String, String, Steps)>,
    planning: Option<(f64, f64)>,
) -> PyResult<Vec<Went>> {
    let core = Arc::clone(&platform.core);
    let refused = |fact: String| PlatformError::new_err(fact);
    let root_id =
        core.find(root).ok_or_else(|| refused(format!("no node \"{root}\"; name one of the platform's")))?;
    let cluster = |name: &str| {
        let found = core.clusters().iter().position(|cluster| cluster.name == name);
        let index =
            found.ok_or_else(|| refused(format!("no cluster \"{name}\"; name one of the platform's")))?;
        Ok::<LinkEnd, PyErr>(LinkEnd::Cluster(broadleaf::platform::ClusterId(index as u32)))
    };
    let mut rates = Rates::default();
    for (from, to, steps) in links {
        rates.set_links(cluster(&from)?, cluster(&to)?, Course::new(steps).map_err(refused)?);
    }
    let mut longer = Vec::new();
    for (from, to, steps) in latencies {
        longer.push((cluster(&from)?, cluster(&to)?, Course::new(steps).map_err(refused)?));
    }
    for (id, steps) in pipes {
        let found = core.shared().iter().position(|shared| shared.id == id);
        let index =
            found.ok_or_else(|| refused(format!("no shared resource \"{id}\"; name one there is")))?;
        rates.set_shared(broadleaf::platform::SharedId(index as u32), Course::new(steps).map_err(refused)?);
    }
    // Endless: never.
    if monitor_s.is_nan() || monitor_s <= 0.0 {
        return Err(refused(format!("the monitor looks every {monitor_s} s; give a time above 0")));
    }
    let first: BTreeMap<u32, Arc<broadleaf::plan::Plan>> =
        first.iter().map(|plan| (plan.core.message_bytes.max(1).ilog2(), Arc::clone(&plan.core))).collect();
    let source = match way {
        "fixed" => PlanSource::Fixed(planner),
        "monitored" => PlanSource::Monitored { planner, every_s: monitor_s, planning: in_time(planning)? },
        "static" => PlanSource::Static(&first),
        "advised" => {
            let settings = AdvisorSettings { coarsening: coarsening(robust), ..AdvisorSettings::default() };
            PlanSource::Advised { first: &first, settings, every_s: monitor_s }
        }
        other => {
            let fact = format!("unknown way \"{other}\"; use fixed, monitored, static or advised");
            return Err(PlanError::new_err(fact));
        }
    };
    let program = Program { platform: core, rates: &rates, latencies: &longer, root: root_id, calls: &calls };
    let work = || run(&program, &source);
    let went = py.detach(|| on_all_cores(work)).map_err(plan_error)?;
    Ok(went
        .into_iter()
        .map(|one| ((*one.plan).clone(), one))
        .map(|(plan, one)| {
            let travel = (one.travel.bytes, one.travel.seconds, one.travel.apart_s);
            (one.seconds, plan.into(), one.is_stale, one.is_unaware, travel)
        })
        .collect())
}

fn in_time(planning: Option<(f64, f64)>) -> PyResult<Option<PlanningTime>> {
    let Some((part, moves_per_s)) = planning else { return Ok(None) };
    let is_above_0 = |value: f64| value.is_finite() && value > 0.0;
    if !is_above_0(part) || !is_above_0(moves_per_s) {
        let fact = format!("planning at {part} of the time, {moves_per_s} moves/s; give numbers above 0");
        return Err(PlatformError::new_err(fact));
    }
    Ok(Some(PlanningTime { part, moves_per_s }))
}

/// The advisor's plans for the first size of each size class on the platform as given: `first` of `replay`.
#[pyfunction]
#[pyo3(signature = (platform, root, calls, *, robust=false))]
pub fn unloaded_plans(
    py: Python<'_>,
    platform: &Platform,
    root: &str,
    calls: Vec<(f64, u64)>,
    robust: bool,
) -> PyResult<Vec<Plan>> {
    let core = Arc::clone(&platform.core);
    let fact = || PlatformError::new_err(format!("no node \"{root}\"; name one of the platform's"));
    let root = core.find(root).ok_or_else(fact)?;
    let work = || first_plans(&core, root, &calls, coarsening(robust));
    let plans = py.detach(|| on_all_cores(work)).map_err(plan_error)?;
    Ok(plans.into_values().map(|plan| (*plan).clone().into()).collect())
}

/// The limits of segments for hosts that are busy with a program, as in the service, or for idle hosts.
fn coarsening(robust: bool) -> Coarsening {
    match robust {
        true => Coarsening::BUSY,
        false => Coarsening::IDLE,
    }
}

/// Paper 3's figure 3: `driverSA` on a matrix of bandwidths (bytes/s, row by row, from node 0) for `seconds`, or,
/// where `moves` is given, for that number of moves: (moves, seconds, best estimate in seconds, whether refining)
/// after each annealing.
#[pyfunction]
#[pyo3(signature = (bandwidth_bytes_per_s, message_bytes, *, seconds=10.0, moves=None, seed=0))]
pub fn annealing_progress(
    py: Python<'_>,
    bandwidth_bytes_per_s: Vec<Vec<f64>>,
    message_bytes: u64,
    seconds: f64,
    moves: Option<u64>,
    seed: u64,
) -> PyResult<Vec<(u64, f64, f64, bool)>> {
    let time = std::time::Duration::try_from_secs_f64(seconds).map_err(|_| {
        PlatformError::new_err(format!("{seconds} s to search in; give a number of at least 0"))
    })?;
    let allowance = moves.map_or(Allowance::Time(time), Allowance::Moves);
    let seen = py
        .detach(|| progress(&bandwidth_bytes_per_s, message_bytes, allowance, seed))
        .map_err(PlatformError::new_err)?;
    Ok(seen.into_iter().map(|at| (at.moves, at.seconds, at.best_s, at.is_refining)).collect())
}
