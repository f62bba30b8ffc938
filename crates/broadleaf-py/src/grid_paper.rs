//! `bl._core.grid_makespans`: paper 2's experiment on plain matrices, thousands of draws a second.

use crate::arguments::{Count, Seed};
use crate::errors::platform_fault;
use crate::generate::local_start as start_of;
use broadleaf::planners::grid::experiment::{Draws, Strategy};
use broadleaf::planners::grid::{bound_s, makespan_s, search, solve, Effort, Heuristic, HEURISTICS};
use broadleaf::platform::generate::GapDraw;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The makespans in seconds of `strategies` on so many random grids, a row a draw.
///
/// A strategy is `flat`, one of the heuristics, `makespan`, `exact` (not a number where it is not proved within
/// its steps) or `bound`, the time below which no schedule can end.
#[pyfunction]
#[pyo3(
    signature = (clusters, draws, strategies, *, gaps="min", local_start="after-last-send", seed=Seed(0)),
    text_signature = "(clusters, draws, strategies, *, gaps='min', local_start='after-last-send', seed=0)"
)]
pub fn grid_makespans(
    py: Python<'_>,
    clusters: Count,
    draws: Count,
    strategies: Vec<String>,
    gaps: &str,
    local_start: &str,
    seed: Seed,
) -> PyResult<Vec<Vec<f64>>> {
    let strategies = strategies.iter().map(|name| strategy(name)).collect::<PyResult<Vec<_>>>()?;
    let kind = Draws {
        clusters: clusters.0,
        gaps: GapDraw::find(gaps).map_err(platform_fault)?,
        local_start: start_of(local_start)?,
        seed: seed.0,
    };
    if !(1..=MOST_CLUSTERS).contains(&kind.clusters) {
        let line = format!("{} clusters; give from 1 to {MOST_CLUSTERS}", kind.clusters);
        return Err(PyValueError::new_err(line));
    }
    Ok(py.detach(|| kind.makespans_s(draws.0 as u64, &strategies)))
}

/// As many as a draw may have.
const MOST_CLUSTERS: usize = 5_000;

fn strategy(name: &str) -> PyResult<Strategy> {
    if let Some(of_the_paper) = Strategy::of_the_paper().into_iter().find(|strategy| strategy.name == name) {
        return Ok(of_the_paper);
    }
    if let Some(&heuristic) = HEURISTICS.iter().find(|heuristic| heuristic.name() == name) {
        let heuristic: &'static Heuristic = heuristic;
        return Ok(Strategy::new(heuristic.name(), move |grid| makespan_s(grid, &heuristic.sends(grid))));
    }
    match name {
        "makespan" => Ok(Strategy::new("makespan", |grid| {
            makespan_s(grid, &search(grid, &Effort::usual(grid.len(), 0, None)))
        })),
        "exact" => Ok(Strategy::new("exact", |grid| match solve(grid, 0, None) {
            Some(proof) if proof.proved => makespan_s(grid, &proof.sends),
            _ => f64::NAN,
        })),
        "bound" => Ok(Strategy::new("bound", bound_s)),
        _ => Err(PyValueError::new_err(format!(
            "unknown strategy \"{name}\"; use flat, makespan, exact, bound or a heuristic between clusters"
        ))),
    }
}
