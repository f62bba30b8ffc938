//! `bl.clusters`: nodes grouped by latency, as in `measure`.

use crate::platform::Platform;
use broadleaf::platform::NodeId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Longer than any path; the sum of two is still finite.
const NO_PATH_S: f64 = f64::MAX / 4.0;

/// Lowekamp's clusters of a platform's hosts, by latency: lists of names, each in the platform's order.
///
/// Two hosts may join where their latency is at most 1 + `tolerance` times the shortest at either, and in either's
/// cluster. The latency of two hosts is the mean of both directions, over the quickest path if there is no link; hosts
/// without a path are farther apart than all others. Raises ValueError for a tolerance that is negative or not a
/// number.
///
/// Types: `(platform: Platform, tolerance: float=0.3) -> list[list[str]]`
#[pyfunction]
#[pyo3(signature = (platform, tolerance=0.3))]
pub fn clusters(py: Python<'_>, platform: &Platform, tolerance: f64) -> PyResult<Vec<Vec<String>>> {
    if !(tolerance >= 0.0 && tolerance.is_finite()) {
        return Err(PyValueError::new_err(format!(
            "the tolerance {tolerance} is not 0 or more; 0.3 is usual"
        )));
    }
    let core = &platform.core;
    let found = py.detach(|| {
        let hosts: Vec<NodeId> = core.hosts().collect();
        let latency_s: Vec<Vec<f64>> = hosts.iter().map(|&from| latencies_s(core, from, &hosts)).collect();
        let mean_s =
            |a: NodeId, b: NodeId| (latency_s[a.index()][b.index()] + latency_s[b.index()][a.index()]) / 2.0;
        let found = broadleaf::measure::clusters(hosts.len(), tolerance, mean_s);
        let name = |place: &NodeId| core.node(hosts[place.index()]).id.clone();
        found.iter().map(|cluster| cluster.iter().map(name).collect()).collect()
    });
    Ok(found)
}

/// From one host to each, over its link or else the quickest path.
fn latencies_s(core: &broadleaf::platform::Platform, from: NodeId, hosts: &[NodeId]) -> Vec<f64> {
    let far: Vec<NodeId> =
        hosts.iter().copied().filter(|&to| to != from && core.link(from, to).is_none()).collect();
    let routes = if far.is_empty() { Vec::new() } else { core.routes(from, &far, 0) };
    let mut over_paths_s = routes.iter().map(|route| {
        let hops = route.as_ref().map(|route| route.hops.iter());
        hops.map_or(NO_PATH_S, |hops| hops.map(|hop| core.class(hop.class).latency_s).sum())
    });
    let mut latency_s = |&to: &NodeId| match core.link(from, to) {
        _ if to == from => 0.0,
        Some(class) => core.class(class).latency_s,
        None => over_paths_s.next().expect("a route for each host without a link"),
    };
    hosts.iter().map(&mut latency_s).collect()
}
