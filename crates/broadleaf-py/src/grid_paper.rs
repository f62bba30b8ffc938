//! `bl.grid`: paper 2's problem on plain matrices, and its experiment, thousands of draws per second.

use crate::arguments::{limit, matrix, whole, Count, Seed};
use crate::errors::{platform_fault, PlanError, PlatformError};
use crate::generate::local_start as start_of;
use broadleaf::budget::Budget;
use broadleaf::parallel::on_all_cores;
use broadleaf::planners::clustered::{
    bound_s, flat_sends, makespan_s, search, solve, ClusterSend, Grid, Heuristic, SearchEffort,
    BOTTOM_UP_AS_PRINTED, HEURISTICS,
};
use broadleaf::platform::generate::GapDraw;
use broadleaf_experiments::cluster_draws::{Draws, Strategy};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// The result of `grid_schedule`: the makespan in seconds and the sends in order, (from, to) by cluster.
type Schedule = (f64, Vec<(u32, u32)>);

/// The most clusters of a draw.
const MOST_CLUSTERS: usize = 5_000;

/// The sends of one strategy between clusters given by matrices: g_ij(m) and L_ij by sender, then receiver, and
/// T_i, all in seconds.
///
/// A strategy is `flat`, a heuristic of paper 2, `bottom-up-as-printed`, `makespan` or `exact`. `time_limit_s` limits
/// the last two; without it the same arguments give the same sends.
///
/// Types: `(gap_s: ArrayLike, latency_s: ArrayLike, local_broadcast_s: list[float], root: int=0, strategy:
/// str='makespan', *, local_start: str='after-last-send', seed: int=0, time_limit_s: float | None=None) ->
/// tuple[float, list[tuple[int, int]]]`
#[pyfunction]
#[pyo3(
    signature = (gap_s, latency_s, local_broadcast_s, root=None, strategy="makespan", *,
        local_start="after-last-send", seed=Seed(0), time_limit_s=None),
    text_signature = "(gap_s, latency_s, local_broadcast_s, root=0, strategy='makespan', *, \
        local_start='after-last-send', seed=0, time_limit_s=None)"
)]
#[allow(clippy::too_many_arguments)]
pub fn grid_schedule(
    py: Python<'_>,
    gap_s: &Bound<'_, PyAny>,
    latency_s: &Bound<'_, PyAny>,
    local_broadcast_s: &Bound<'_, PyAny>,
    root: Option<&Bound<'_, PyAny>>,
    strategy: &str,
    local_start: &str,
    seed: Seed,
    time_limit_s: Option<f64>,
) -> PyResult<Schedule> {
    let time_limit = limit("time_limit_s", time_limit_s)?;
    let local_s: Vec<f64> = local_broadcast_s.extract().map_err(|_| {
        PlatformError::new_err("local_broadcast_s is no list of numbers; give one time a cluster, in seconds")
    })?;
    let gap_s = square("gap_s", gap_s, local_s.len())?;
    let latency_s = square("latency_s", latency_s, local_s.len())?;
    let root = root.map_or(Ok(0), |root| whole("root", root))? as usize;
    let grid = Grid::from_matrices(&gap_s, &latency_s, &local_s, root, start_of(local_start)?)
        .map_err(|error| PlatformError::new_err(error.to_string()))?;
    let sends = py.detach(|| sends(&grid, strategy, seed.0, time_limit))?;
    let pairs = sends.iter().map(|send| (send.from, send.to)).collect();
    Ok((makespan_s(&grid, &sends), pairs))
}

/// The values of a square matrix, row by row.
fn square(name: &str, value: &Bound<'_, PyAny>, clusters: usize) -> PyResult<Vec<f64>> {
    let rows: Vec<Vec<f64>> = if clusters == 0 { Vec::new() } else { matrix(name, value, "float")? };
    let columns = rows.first().map_or(0, Vec::len);
    if (rows.len(), columns) != (clusters, columns) || columns != clusters {
        let shape = format!("{} by {columns}", rows.len());
        return Err(PlatformError::new_err(format!(
            "{name} is {shape} for {clusters} clusters; give {clusters} by {clusters}, a row a sender"
        )));
    }
    Ok(rows.concat())
}

fn sends(grid: &Grid, strategy: &str, seed: u64, time_limit: Option<Duration>) -> PyResult<Vec<ClusterSend>> {
    if let Some(heuristic) = heuristic(strategy) {
        return Ok(heuristic.sends(grid));
    }
    match strategy {
        "flat" => Ok(flat_sends(grid)),
        "makespan" => Ok(found(grid, seed, time_limit)),
        "exact" => match solve(grid, seed, &Budget::of(time_limit)) {
            Some(proof) if proof.proved => Ok(proof.sends),
            _ => Err(PlanError::new_err(format!("no proof for {} clusters; use makespan", grid.len()))),
        },
        _ => Err(unknown(strategy)),
    }
}

fn found(grid: &Grid, seed: u64, time_limit: Option<Duration>) -> Vec<ClusterSend> {
    let budget = Budget::of(time_limit);
    search(grid, &SearchEffort::usual(grid.len(), seed, &budget), &budget)
}

fn heuristic(name: &str) -> Option<&'static Heuristic> {
    HEURISTICS.into_iter().chain([&BOTTOM_UP_AS_PRINTED]).find(|heuristic| heuristic.name() == name)
}

fn unknown(strategy: &str) -> PyErr {
    let known = HEURISTICS.map(Heuristic::name).join(", ");
    PyValueError::new_err(format!(
        "unknown strategy {strategy:?}; use flat, {known}, {}, makespan or exact",
        BOTTOM_UP_AS_PRINTED.name()
    ))
}

/// The makespans in seconds of `strategies` on `draws` of paper 2's random grids, one row per draw.
///
/// A strategy is one of `grid_schedule`'s (`exact` is NaN if it is not proved within its steps), or `bound`, the lower
/// bound of all schedules. `time_limit_s` is for each draw.
///
/// Types: `(clusters: int, draws: int, strategies: list[str], *, gaps: str='min', local_start:
/// str='after-last-send', seed: int=0, time_limit_s: float | None=None) -> list[list[float]]`
#[pyfunction]
#[pyo3(
    signature = (clusters, draws, strategies, *, gaps="min", local_start="after-last-send", seed=Seed(0),
        time_limit_s=None),
    text_signature = "(clusters, draws, strategies, *, gaps='min', local_start='after-last-send', seed=0, \
        time_limit_s=None)"
)]
#[allow(clippy::too_many_arguments)]
pub fn grid_makespans(
    py: Python<'_>,
    clusters: Count,
    draws: Count,
    strategies: Vec<String>,
    gaps: &str,
    local_start: &str,
    seed: Seed,
    time_limit_s: Option<f64>,
) -> PyResult<Vec<Vec<f64>>> {
    let time_limit = limit("time_limit_s", time_limit_s)?;
    let strategies =
        strategies.iter().map(|name| strategy(name, time_limit)).collect::<PyResult<Vec<_>>>()?;
    let kind = Draws {
        clusters: clusters.0,
        gaps: GapDraw::find(gaps).map_err(platform_fault)?,
        local_start: start_of(local_start)?,
        seed: seed.0,
    };
    if !(1..=MOST_CLUSTERS).contains(&kind.clusters) {
        let line = format!("{} clusters; give from 1 to {MOST_CLUSTERS}", kind.clusters);
        return Err(PlatformError::new_err(line));
    }
    let work = || kind.makespans_s(draws.0 as u64, &strategies);
    Ok(py.detach(|| on_all_cores(work)))
}

fn strategy(name: &str, time_limit: Option<Duration>) -> PyResult<Strategy> {
    if let Some(heuristic) = heuristic(name) {
        return Ok(Strategy::new(heuristic.name(), move |grid| makespan_s(grid, &heuristic.sends(grid))));
    }
    match name {
        "flat" => Ok(Strategy::new("flat", |grid| makespan_s(grid, &flat_sends(grid)))),
        "makespan" => {
            Ok(Strategy::new("makespan", move |grid| makespan_s(grid, &found(grid, 0, time_limit))))
        }
        "exact" => Ok(Strategy::new("exact", move |grid| match solve(grid, 0, &Budget::of(time_limit)) {
            Some(proof) if proof.proved => makespan_s(grid, &proof.sends),
            _ => f64::NAN,
        })),
        "bound" => Ok(Strategy::new("bound", bound_s)),
        _ => Err(unknown(name)),
    }
}
