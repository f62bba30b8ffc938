//! `bl.generate`: platforms drawn at random.

use crate::arguments::{self, Count, Seed};
use crate::errors::{platform_fault, PlatformError};
use crate::platform::Platform;
use broadleaf::platform::generate::{self, Bandwidth, GapDraw, Grid, RandomGraph, Tiers};
use broadleaf::platform::LocalStart;
use pyo3::prelude::*;

pub(crate) fn local_start(name: &str) -> PyResult<LocalStart> {
    [LocalStart::AfterLastSend, LocalStart::OnArrival]
        .into_iter()
        .find(|start| start.name() == name)
        .ok_or_else(|| {
            PlatformError::new_err(format!("unknown local start {name:?}; use after-last-send or on-arrival"))
        })
}

/// A random graph as in paper 1: any two nodes are linked, both ways, with probability `density`.
///
/// Rates are normally distributed and redrawn until positive; a disconnected graph is joined by random links, which the
/// platform's provenance records.
///
/// Types: `(nodes: int, density: float, *, seed: int=0, port_model: str='one-port', mean_bytes_per_s:
/// float=100000000.0, deviation_bytes_per_s: float=20000000.0) -> Platform`
#[pyfunction]
#[pyo3(
    signature = (nodes, density, *, seed=Seed(0), port_model="one-port", mean_bytes_per_s=100e6, deviation_bytes_per_s=20e6),
    text_signature = "(nodes, density, *, seed=0, port_model='one-port', mean_bytes_per_s=100000000.0, deviation_bytes_per_s=20000000.0)"
)]
pub fn random_graph(
    nodes: Count,
    density: f64,
    seed: Seed,
    port_model: &str,
    mean_bytes_per_s: f64,
    deviation_bytes_per_s: f64,
) -> PyResult<Platform> {
    let graph = RandomGraph {
        bandwidth: Bandwidth { mean_bytes_per_s, deviation_bytes_per_s },
        port_model: arguments::port_model(port_model)?,
        ..RandomGraph::new(nodes.0, density, seed.0)
    };
    Ok(generate::random(&graph).map_err(platform_fault)?.platform.into())
}

/// Wide-area, metropolitan and local networks as in paper 1's Tiers platforms, with redundancy up to `density`.
///
/// Levels that are not given are in proportion to the number of nodes.
///
/// Types: `(nodes: int, density: float, *, seed: int=0, wan_nodes: int | None=None, mans: int | None=None,
/// man_nodes: int | None=None, lans_per_man: int | None=None, port_model: str='one-port', mean_bytes_per_s:
/// float=100000000.0, deviation_bytes_per_s: float=20000000.0) -> Platform`
#[pyfunction]
#[pyo3(
    signature = (nodes, density, *, seed=Seed(0), wan_nodes=None, mans=None, man_nodes=None, lans_per_man=None, port_model="one-port", mean_bytes_per_s=100e6, deviation_bytes_per_s=20e6),
    text_signature = "(nodes, density, *, seed=0, wan_nodes=None, mans=None, man_nodes=None, lans_per_man=None, port_model='one-port', mean_bytes_per_s=100000000.0, deviation_bytes_per_s=20000000.0)"
)]
#[allow(clippy::too_many_arguments)] // one a parameter of the draw
pub fn tiers(
    nodes: Count,
    density: f64,
    seed: Seed,
    wan_nodes: Option<Count>,
    mans: Option<Count>,
    man_nodes: Option<Count>,
    lans_per_man: Option<Count>,
    port_model: &str,
    mean_bytes_per_s: f64,
    deviation_bytes_per_s: f64,
) -> PyResult<Platform> {
    let usual = Tiers::new(nodes.0, density, seed.0);
    let given = |count: Option<Count>, usual: usize| count.map_or(usual, |count| count.0);
    let tiers = Tiers {
        wan_nodes: given(wan_nodes, usual.wan_nodes),
        mans: given(mans, usual.mans),
        man_nodes: given(man_nodes, usual.man_nodes),
        lans_per_man: given(lans_per_man, usual.lans_per_man),
        bandwidth: Bandwidth { mean_bytes_per_s, deviation_bytes_per_s },
        port_model: arguments::port_model(port_model)?,
        ..usual
    };
    Ok(generate::tiers(&tiers).map_err(platform_fault)?.platform.into())
}

/// A grid of clusters as in paper 2: every pair of clusters with a latency and a gap drawn from the ranges, each
/// cluster with the time of its own broadcast. `gaps` selects how a pair's gap follows from the draws.
///
/// Types: `(clusters: int, *, seed: int=0, latency_s: tuple[float, float]=(0.001, 0.015), gap_s: tuple[float,
/// float]=(0.1, 0.6), local_broadcast_s: tuple[float, float]=(0.02, 3.0), gaps: str='min', local_start:
/// str='after-last-send') -> Platform`
#[pyfunction]
#[pyo3(
    signature = (clusters, *, seed=Seed(0), latency_s=(0.001, 0.015), gap_s=(0.1, 0.6), local_broadcast_s=(0.02, 3.0), gaps="min", local_start="after-last-send"),
    text_signature = "(clusters, *, seed=0, latency_s=(0.001, 0.015), gap_s=(0.1, 0.6), local_broadcast_s=(0.02, 3.0), gaps='min', local_start='after-last-send')"
)]
pub fn grid(
    clusters: Count,
    seed: Seed,
    latency_s: (f64, f64),
    gap_s: (f64, f64),
    local_broadcast_s: (f64, f64),
    gaps: &str,
    local_start: &str,
) -> PyResult<Platform> {
    let grid = Grid {
        latency_s,
        gap_s,
        local_broadcast_s,
        gaps: GapDraw::find(gaps).map_err(platform_fault)?,
        local_start: self::local_start(local_start)?,
        ..Grid::new(clusters.0, seed.0)
    };
    Ok(generate::grid(&grid).map_err(platform_fault)?.into())
}
