//! `bl.optimum`: the throughput optimum over any number of trees, with its proof.

use crate::arguments::{size, Count};
use crate::document::{computed, to_document, Computed};
use crate::errors::{plan_error, PlanError};
use crate::notebook::{asked, shown};
use crate::planning::{by_node, collective_of};
use crate::platform::Platform;
use crate::trace::resource_name;
use broadleaf::budget::Budget;
use broadleaf::optimum::{
    collective_bound_s, equal_trees, rates_by_trees, solve_collective, Limits, OptimumError, WeightedTree,
};
use broadleaf::plan::{Collective, Plan, Tree, TreeBuilder};
use broadleaf::planners::Instance;
use broadleaf::platform::NodeId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The most that trees can carry together, enclosed from both sides.
///
/// Two optima are equal if platform, root, segment size, requested gap, collective and weights are equal: the search has
/// no other input. Pickled as those, and solved again.
#[pyclass(module = "broadleaf", frozen, name = "Optimum")]
pub struct Optimum {
    core: broadleaf::optimum::Optimum,
    platform: Arc<broadleaf::platform::Platform>,
    asked_gap: f64,
}

/// Of `optimum`.
type Arguments<'py> = (Platform, String, u64, f64, &'static str, Option<Bound<'py, PyDict>>);

fn refused(error: OptimumError) -> PyErr {
    match error {
        OptimumError::Gap(_) | OptimumError::EmptySegment => PyValueError::new_err(error.to_string()),
        error => PlanError::new_err(error.to_string()),
    }
}

impl Optimum {
    /// The inputs of the search.
    fn input(&self) -> impl Hash + Eq + '_ {
        let weights = self.core.weights.as_ref();
        let weights: Option<Vec<u64>> =
            weights.map(|weights| weights.iter().map(|weight| weight.to_bits()).collect());
        let core = &self.core;
        (
            self.platform.digest(),
            core.root,
            core.segment_bytes,
            self.asked_gap.to_bits(),
            core.collective,
            weights,
        )
    }

    /// Refuses what only the trees of a broadcast have.
    fn of_broadcast(&self, what: &str) -> PyResult<()> {
        match self.core.collective {
            Collective::Bcast => Ok(()),
            other => Err(PlanError::new_err(format!(
                "{what} are those of a bcast; this is the optimum of {other}"
            ))),
        }
    }

    /// The trees as in plan documents.
    fn documents<'py>(&self, py: Python<'py>, trees: Vec<Tree>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.core.segment_bytes;
        let plan = Plan::bcast(&self.platform, "optimum", self.core.root, bytes, bytes, trees);
        let plan = Plan { collective: self.core.collective, ..plan };
        to_document(py, &plan.to_json())?.as_any().get_item("trees")
    }
}

fn plan_tree(tree: &WeightedTree) -> Tree {
    let mut builder = TreeBuilder::new(tree.parent.len()).share(tree.share);
    for (child, parent) in tree.parent.iter().enumerate() {
        let child = NodeId(child as u32);
        if let Some(parent) = parent {
            builder.add(*parent, child);
            builder.via(child, tree.via.get(&child).cloned().unwrap_or_default());
        }
    }
    builder.build()
}

#[pymethods]
impl Optimum {
    /// The collective whose blocks or message the trees carry.
    ///
    /// Type: `str`
    #[getter]
    fn collective(&self) -> &'static str {
        self.core.collective.name()
    }

    /// The weights of the hosts' blocks; None if they are equal.
    ///
    /// Type: `dict[str, float] | None`
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(weights) = &self.core.weights else { return Ok(None) };
        let of_host = |host: NodeId| (self.platform.node(host).id.clone(), weights[host.index()]);
        self.platform.hosts().map(of_host).collect::<Vec<_>>().into_py_dict(py).map(Some)
    }

    /// The rate of the trees when their busiest resource is always busy, bytes/s, of a block of weight 1 if each host has
    /// its own; infinite without a limit.
    ///
    /// Type: `float`
    #[getter]
    fn throughput_bytes_per_s(&self) -> f64 {
        self.core.throughput_bytes_per_s
    }

    /// The id of the trees' root; without meaning if each host has its own trees.
    ///
    /// Type: `str`
    #[getter]
    fn root(&self) -> &str {
        &self.platform.node(self.core.root).id
    }

    /// The size at which the links' times are read, bytes.
    ///
    /// Type: `int`
    #[getter]
    fn segment_bytes(&self) -> u64 {
        self.core.segment_bytes
    }

    /// The upper bound for any number of trees, bytes/s.
    ///
    /// Type: `float`
    #[getter]
    fn upper_bound_bytes_per_s(&self) -> f64 {
        self.core.upper_bound_bytes_per_s
    }

    /// The gap between the throughput and the upper bound, as a part of the upper bound.
    ///
    /// Type: `float`
    #[getter]
    fn gap(&self) -> f64 {
        self.core.gap()
    }

    /// The reason why the value is only a bound that a schedule may not reach; else None.
    ///
    /// Type: `str | None`
    #[getter]
    fn bound_only(&self) -> Option<String> {
        self.core.bound_only.map(|reason| reason.to_string())
    }

    /// The trees with their shares, by root and the largest first, as in a plan document; the shares of each root sum
    /// to 1.
    ///
    /// Type: `list[dict]`
    #[getter]
    fn trees<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.documents(py, self.core.plan_trees())
    }

    /// Segments per second over each link, by (from, to); links without any are left out.
    ///
    /// Type: `dict[tuple[str, str], float]`
    #[getter]
    fn link_load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let id = |node: NodeId| self.platform.node(node).id.as_str();
        let loads = PyDict::new(py);
        for &(from, to, load) in &self.core.link_load {
            loads.set_item((id(from), id(to)), load)?;
        }
        Ok(loads)
    }

    /// The upper bound's proof: a price for each resource, summing to 1, by the names of `Trace.busy_s`. Every
    /// tree costs at least the cheapest one under them, so no packing carries more than 1 / its cost; with blocks,
    /// 1 / the sum over all blocks of weight times cheapest path (scatter, gather) or tree (allgather, reduce-scatter).
    ///
    /// Type: `dict[str, float]`
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let prices = PyDict::new(py);
        for &(resource, price) in &self.core.prices {
            prices.set_item(resource_name(&self.platform, resource), price)?;
        }
        Ok(prices)
    }

    /// The throughput with at most 1, 2, 4, 8 trees, and with all, by their loads (`throughput`), bytes/s by the number
    /// of trees; of a bcast only.
    ///
    /// Types: `() -> dict[int, float]`
    fn throughput_by_trees<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.of_broadcast("the rates of few trees")?;
        let rates = py.detach(|| rates_by_trees(&self.platform, &self.core)).map_err(refused)?;
        rates.into_iter().collect::<Vec<_>>().into_py_dict(py)
    }

    /// `count` trees of equal share whose total load is near the optimum's, as in a plan document. They reach its
    /// throughput when they take turns (`with_period`). Of a bcast only.
    ///
    /// Types: `(count: int) -> list[dict]`
    fn equal_trees<'py>(&self, py: Python<'py>, count: Count) -> PyResult<Bound<'py, PyAny>> {
        if count.0 == 0 {
            return Err(PyValueError::new_err("0 trees carry nothing; give a count of at least 1"));
        }
        self.of_broadcast("equal trees")?;
        let (trees, _) = py
            .detach(|| equal_trees(&self.platform, &self.core, count.0, &Budget::UNLIMITED))
            .map_err(refused)?;
        // A plan's trees differ from each other: those drawn more than once have a larger share.
        let mut merged: BTreeMap<Vec<Option<NodeId>>, WeightedTree> = BTreeMap::new();
        for tree in trees {
            let share = tree.share;
            merged.entry(tree.parent.clone()).and_modify(|same| same.share += share).or_insert(tree);
        }
        self.documents(py, merged.values().map(plan_tree).collect())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Computed<'py, Arguments<'py>>> {
        let optimum = slf.get();
        let platform = Platform { core: Arc::clone(&optimum.platform) };
        let (root, bytes) = (optimum.root().to_string(), optimum.core.segment_bytes);
        let weights = optimum.weights(slf.py())?;
        let arguments = (platform, root, bytes, optimum.asked_gap, optimum.collective(), weights);
        computed(slf.py(), "optimum", arguments)
    }

    // An optimum cannot change: it is its own copy.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.input().hash(&mut hasher);
        hasher.finish()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.input() == other.input()
    }

    /// Facts, the throughput by number of trees, and the limiting resources, for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "optimum_html")
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let trees = slf.get().core.trees.len();
        asked(slf.py(), "broadleaf.notebook", "optimum_line", (slf, trees))
    }
}

/// The best steady state over any number of trees for segments of that size, to a relative gap between the throughput
/// and its proved upper bound. `collective` and `weights` are those of `plan`.
///
/// Raises ValueError for a gap that is not positive and for an empty segment, PlatformError for a root that
/// the platform does not have, PlanError for a switch as root, for hosts that it cannot reach, for an allreduce, and for a
/// collective that is unknown or cannot have weights.
///
/// Types: `(platform: Platform, root: str, segment_bytes: int | str, gap: float=0.0001, collective: str='bcast', weights:
/// Mapping[str, float] | None=None) -> Optimum`
#[pyfunction]
#[pyo3(signature = (platform, root, segment_bytes, gap=1e-4, collective="bcast", weights=None))]
pub fn optimum(
    py: Python<'_>,
    platform: &Platform,
    root: &str,
    segment_bytes: &Bound<'_, PyAny>,
    gap: f64,
    collective: &str,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<Optimum> {
    let root = platform.node(root)?;
    let segment_bytes = size("segment_bytes", segment_bytes)?;
    let (collective, weights) = (collective_of(collective)?, by_node(platform, weights)?);
    let core = &platform.core;
    let weights = match &weights {
        // The same weights are refused as for a plan.
        Some(weights) => {
            let instance = Instance::new(core, root, segment_bytes.max(1)).map_err(plan_error)?;
            Instance { collective, ..instance }.weighted(weights).map_err(plan_error)?.weights
        }
        None => None,
    };
    let limits = Limits::default();
    let core = py
        .detach(|| solve_collective(core, collective, root, weights, segment_bytes, gap, limits))
        .map_err(refused)?;
    Ok(Optimum { core, platform: Arc::clone(&platform.core), asked_gap: gap })
}

/// A lower bound on the time of all plans of a collective, for any segment size, seconds; `weights` are those of
/// `plan`.
///
/// Raises PlatformError for a root that the platform does not have, PlanError for one that is a switch, for
/// hosts that it cannot reach and for a collective that is unknown or cannot have weights, ValueError for an empty message.
///
/// Types: `(platform: Platform, root: str, message_bytes: int | str, collective: str='bcast', weights: Mapping[str, float]
/// | None=None) -> float`
#[pyfunction]
#[pyo3(signature = (platform, root, message_bytes, collective="bcast", weights=None))]
pub fn makespan_bound_s(
    py: Python<'_>,
    platform: &Platform,
    root: &str,
    message_bytes: &Bound<'_, PyAny>,
    collective: &str,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<f64> {
    let root = platform.node(root)?;
    let message_bytes = size("message_bytes", message_bytes)?;
    let (collective, weights) = (collective_of(collective)?, by_node(platform, weights)?);
    // The same requests are refused as for a plan.
    let instance = Instance::new(&platform.core, root, message_bytes).map_err(plan_error)?;
    let instance = Instance { collective, ..instance };
    let instance = weights.as_deref().map_or(Ok(instance), |weights| instance.weighted(weights));
    let weights = instance.map_err(plan_error)?.weights;
    let core = &platform.core;
    Ok(py.detach(|| collective_bound_s(core, collective, root, message_bytes, weights, &Budget::UNLIMITED)))
}
