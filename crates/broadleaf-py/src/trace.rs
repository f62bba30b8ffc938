//! `bl.Trace`: the record of a simulation, as numpy arrays.

use crate::document::{computed, Computed};
use crate::notebook::{asked, shown};
use crate::plan::Plan;
use crate::platform::Platform as PyPlatform;
use broadleaf::model::Resource;
use broadleaf::plan::Interval;
use broadleaf::platform::Platform;
use broadleaf::simulate::Transfer;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use std::sync::Arc;

/// The fields of a record of `Trace.transfers`, packed in this order; `record` writes them.
const FIELDS: [(&str, &str); 9] = [
    ("from", "<u4"),
    ("to", "<u4"),
    ("tree", "<u4"),
    ("segment", "<u8"),
    ("segments", "<u4"),
    ("bytes", "<u8"),
    ("start_s", "<f8"),
    ("release_s", "<f8"),
    ("arrival_s", "<f8"),
];

/// A plan in simulated time.
///
/// Two traces are equal if platform and plan are equal: a simulation has no other input. Pickled as those two, and
/// simulated again.
#[pyclass(module = "broadleaf", frozen, name = "Trace")]
pub struct Trace {
    pub core: broadleaf::simulate::Trace,
    pub platform: Arc<Platform>,
    pub plan: Arc<broadleaf::plan::Plan>,
    pub interval: Option<Interval>,
}

/// The name of a resource in `busy_s`.
pub fn resource_name(platform: &Platform, resource: Resource) -> String {
    let id = |node| &platform.node(node).id;
    match resource {
        Resource::Out(node) => format!("out {}", id(node)),
        Resource::In(node) => format!("in {}", id(node)),
        Resource::Link(from, to) => format!("link {} {}", id(from), id(to)),
        Resource::Shared(shared) => format!("shared {}", platform.shared()[shared.index()].id),
    }
}

#[pymethods]
impl Trace {
    /// The latest finish, local broadcasts included, seconds.
    ///
    /// Type: `float`
    #[getter]
    fn makespan_s(&self) -> f64 {
        self.core.makespan_s
    }

    /// (low, high): the times between which nine in ten runs would be if they were like the broadcasts that `measure`
    /// rehearsed, seconds; None where it rehearsed none, and for other collectives.
    ///
    /// Type: `tuple[float, float] | None`
    #[getter]
    fn makespan_interval_s(&self) -> Option<(f64, f64)> {
        self.interval.map(|interval| (interval.low_s, interval.high_s))
    }

    /// The ids of the nodes, in the order of `finish_s`; `from` and `to` of a transfer are indices into it.
    ///
    /// Type: `list[str]`
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.platform.ids().iter().map(String::as_str).collect()
    }

    /// The time at which each node has completed its receives and, in inward collectives, its sends, seconds: 0 for a
    /// broadcast's root, NaN for switches.
    ///
    /// Type: `np.ndarray`
    #[getter]
    fn finish_s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes: Vec<u8> = self.core.finish_s.iter().flat_map(|seconds| seconds.to_le_bytes()).collect();
        py.import("numpy")?.call_method1("frombuffer", (PyByteArray::new(py, &bytes), "<f8"))
    }

    /// Every transfer in the order of request: from, to, tree, segment (the first it carries), segments, bytes,
    /// start_s, release_s (the sender's port is free again), arrival_s. Relayed hops and control messages too.
    ///
    /// Type: `np.recarray`
    #[getter]
    fn transfers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = py.detach(|| self.core.transfers.iter().flat_map(record).collect::<Vec<u8>>());
        let numpy = py.import("numpy")?;
        let array = numpy.call_method1("frombuffer", (PyByteArray::new(py, &bytes), FIELDS.to_vec()))?;
        array.call_method1("view", (numpy.getattr("recarray")?,))
    }

    /// The total time for which each used resource was held, seconds: `out NODE`, `in NODE`, `link NODE NODE`, `shared
    /// ID`.
    ///
    /// Type: `dict[str, float]`
    #[getter]
    fn busy_s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let held = PyDict::new(py);
        for &(resource, seconds) in &self.core.busy_s {
            held.set_item(resource_name(&self.platform, resource), seconds)?;
        }
        Ok(held)
    }

    /// The platform that it was simulated on.
    ///
    /// Type: `Platform`
    #[getter]
    fn platform(&self) -> PyPlatform {
        PyPlatform { core: Arc::clone(&self.platform) }
    }

    /// The plan that was simulated.
    ///
    /// Type: `Plan`
    #[getter]
    fn plan(&self) -> Plan {
        Plan { core: Arc::clone(&self.plan) }
    }

    /// Draws each node's sends and receives over time, coloured by tree, with the bound; a matplotlib figure.
    ///
    /// Types: `() -> Figure`
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.plot.timeline", "draw_timeline", (slf,))
    }

    /// The transfers as a pandas DataFrame with the nodes' ids in `from` and `to`. Raises ModuleNotFoundError, in
    /// one line, where pandas is not installed.
    ///
    /// Types: `() -> pd.DataFrame`
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.frames", "transfers_frame", (slf,))
    }

    /// Facts and the timeline for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "trace_html")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Computed<'py, (PyPlatform, Plan)>> {
        let trace = slf.get();
        computed(slf.py(), "simulate", (trace.platform(), trace.plan()))
    }

    // A trace cannot change: it is its own copy.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        self.plan().hash()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.platform.digest() == other.platform.digest() && self.plan().equals(&other.plan())
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let transfers = slf.get().core.transfer_count;
        asked(slf.py(), "broadleaf.notebook", "trace_line", (slf, transfers))
    }
}

fn record(transfer: &Transfer) -> impl Iterator<Item = u8> {
    let mut bytes = Vec::with_capacity(56);
    bytes.extend(transfer.from.0.to_le_bytes());
    bytes.extend(transfer.to.0.to_le_bytes());
    bytes.extend(transfer.tree.to_le_bytes());
    bytes.extend(transfer.segment.to_le_bytes());
    bytes.extend(transfer.segments.to_le_bytes());
    bytes.extend(transfer.bytes.to_le_bytes());
    for seconds in [transfer.start_s, transfer.release_s, transfer.arrival_s] {
        bytes.extend(seconds.to_le_bytes());
    }
    bytes.into_iter()
}
