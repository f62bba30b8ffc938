//! `bl.Plan`.

use crate::document::{reduced, to_document, to_text, to_value, Reduced};
use crate::errors::{plan_error, PlanError};
use crate::notebook::{asked, shown};
use crate::platform::Platform;
use broadleaf::plan::{Programs, Tree};
use broadleaf::platform::NodeId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

/// By direction, pairs of a tree and the other host.
type Parts = BTreeMap<&'static str, Vec<(u32, String)>>;

/// A way to move a message: weighted trees, a segment size, and serving orders. Immutable.
#[pyclass(module = "broadleaf", frozen, name = "Plan")]
pub struct Plan {
    pub core: Arc<broadleaf::plan::Plan>,
}

impl From<broadleaf::plan::Plan> for Plan {
    fn from(core: broadleaf::plan::Plan) -> Self {
        Plan { core: Arc::new(core) }
    }
}

impl Plan {
    fn listed<'py>(&self, py: Python<'py>, given: &[Tree], is_inward: bool) -> PyResult<Bound<'py, PyList>> {
        let id = |node: NodeId| self.core.nodes[node.index()].as_str();
        let trees = PyList::empty(py);
        for (at, tree) in given.iter().enumerate() {
            let exchange: Vec<&str> = match self.core.inward.get(at) {
                Some(way_in) => way_in.exchange.iter().copied().map(id).collect(),
                None => Vec::new(),
            };
            let (children, via) = (PyDict::new(py), PyDict::new(py));
            for node in (0..tree.node_count() as u32).map(NodeId) {
                let below: Vec<&str> = tree.children(node).iter().copied().map(id).collect();
                if !below.is_empty() {
                    children.set_item(id(node), below)?;
                }
            }
            for (&node, relays) in &tree.via {
                via.set_item(id(node), relays.iter().copied().map(id).collect::<Vec<_>>())?;
            }
            let root = id(tree.root.unwrap_or(self.core.root));
            trees.append(asked(
                py,
                "broadleaf.trees",
                "Tree",
                (tree.share, root, children, via, is_inward, exchange),
            )?)?;
        }
        Ok(trees)
    }

    /// A hash of the cheap fields, in which equal plans agree; hashing the others would take as long as comparing them.
    pub fn hash(&self) -> u64 {
        let plan = &self.core;
        let mut hasher = DefaultHasher::new();
        (&plan.platform_digest, plan.collective, &plan.planner, self.root()).hash(&mut hasher);
        (plan.message_bytes, plan.segment_bytes, plan.seed, plan.trees.len()).hash(&mut hasher);
        hasher.finish()
    }

    pub fn equals(&self, other: &Self) -> bool {
        self.core.to_json() == other.core.to_json()
    }
}

#[pymethods]
impl Plan {
    /// Reads a plan file. Raises PlanError naming the file, the place and the remedy.
    ///
    /// Types: `(path: str | PathLike) -> Plan`
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| broadleaf::plan::Plan::load(&path)).map_err(plan_error)?.into())
    }

    /// The plan of a `broadleaf-plan/1` dictionary.
    ///
    /// Types: `(document: dict) -> Plan`
    #[staticmethod]
    fn from_dict(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refused = |fault: broadleaf::json::Fault| PlanError::new_err(fault.to_string());
        let value = to_value(document, "$").map_err(refused)?;
        Ok(py.detach(|| broadleaf::plan::Plan::from_json(&value.to_string())).map_err(refused)?.into())
    }

    /// Writes the plan file, by rename; large plans by their pattern, if they have one.
    ///
    /// Types: `(path: str | PathLike) -> None`
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = py.detach(|| to_text(&self.core.to_file_json()));
        py.import("broadleaf.files")?.call_method1("write_whole", (path, text))?;
        Ok(())
    }

    /// The `broadleaf-plan/1` dictionary.
    ///
    /// Types: `() -> dict`
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_document(py, &self.core.to_json())
    }

    /// The name of the platform it was made for.
    ///
    /// Type: `str`
    #[getter]
    fn platform(&self) -> &str {
        &self.core.platform
    }

    /// `sha256:...` of the platform it was made for.
    ///
    /// Type: `str`
    #[getter]
    fn platform_digest(&self) -> &str {
        &self.core.platform_digest
    }

    /// The collective: bcast, scatter, allgather, gather, reduce, reduce-scatter or allreduce.
    ///
    /// Type: `str`
    #[getter]
    fn collective(&self) -> &'static str {
        self.core.collective.name()
    }

    /// The id of the node that has the message, or gets it (gather, reduce). In an allgather, a reduce-scatter and an
    /// allreduce no node is special, and it is the root of the first tree.
    ///
    /// Type: `str`
    #[getter]
    fn root(&self) -> &str {
        &self.core.nodes[self.core.root.index()]
    }

    /// The size of the message (bcast, reduce, allreduce) or of one host's block, bytes.
    ///
    /// Type: `int`
    #[getter]
    fn message_bytes(&self) -> u64 {
        self.core.message_bytes
    }

    /// The size of all segments but the last, bytes; an unsegmented plan's is the message's.
    ///
    /// Type: `int`
    #[getter]
    fn segment_bytes(&self) -> u64 {
        self.core.segment_bytes
    }

    /// The weight of each host's block, in multiples of `message_bytes`; None if all blocks are equal.
    ///
    /// Type: `dict[str, float] | None`
    #[getter]
    fn weights(&self) -> Option<BTreeMap<&str, f64>> {
        let weights = self.core.weights.as_ref()?;
        Some(self.core.nodes.iter().map(String::as_str).zip(weights.iter().copied()).collect())
    }

    /// The planner that made it.
    ///
    /// Type: `str`
    #[getter]
    fn planner(&self) -> &str {
        &self.core.planner
    }

    /// The seed it was made with.
    ///
    /// Type: `int`
    #[getter]
    fn seed(&self) -> u64 {
        self.core.seed
    }

    /// The makespan that its planner expects, seconds; None where nothing predicted it.
    ///
    /// Type: `float | None`
    #[getter]
    fn makespan_s(&self) -> Option<f64> {
        self.core.predicted.makespan_s
    }

    /// (low, high): the times between which nine in ten runs would be if they were like the broadcasts that `measure`
    /// rehearsed, seconds; None where it rehearsed none, and for other collectives.
    ///
    /// Type: `tuple[float, float] | None`
    #[getter]
    fn makespan_interval_s(&self) -> Option<(f64, f64)> {
        self.core.predicted.interval.map(|interval| (interval.low_s, interval.high_s))
    }

    /// No plan for this message is faster than this, seconds; None where it was not computed.
    ///
    /// Type: `float | None`
    #[getter]
    fn bound_s(&self) -> Option<f64> {
        self.core.predicted.bound_s
    }

    /// Its planner's predictions, and the bound: `makespan_s`, `throughput_bytes_per_s`, `bound_s` ...
    ///
    /// Type: `Predicted`
    #[getter]
    fn predicted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let predicted = &self.core.predicted;
        let values = (
            predicted.makespan_s,
            predicted.handled_s,
            self.makespan_interval_s(),
            predicted.throughput_bytes_per_s,
            predicted.bound_s,
            predicted.bound_bytes_per_s,
        );
        asked(py, "broadleaf.predicted", "Predicted", values)
    }

    /// The trees, each with `share`, `root`, `children` in serving order, `via`, and `is_inward` where data go from the
    /// children to the root.
    ///
    /// Type: `list[Tree]`
    #[getter]
    fn trees<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.listed(py, &self.core.trees, self.core.collective.is_inward())
    }

    /// For an allreduce, the tree along which each share comes in to the root of its outward tree in `trees`; else
    /// empty.
    ///
    /// Type: `list[Tree]`
    #[getter]
    fn inward<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.listed(py, &self.core.inward, true)
    }

    /// A host's own part of the plan, from its trees alone: `receives` and `sends` are pairs of a tree's number and the
    /// next host, or switch, in serving order. Its cost does not grow with the number of hosts where a
    /// broadcast's file holds a pattern over clusters. Raises PlanError for an unknown host.
    ///
    /// Types: `(host: str) -> dict[str, list[tuple[int, str]]]`
    fn program(&self, host: &str) -> PyResult<Parts> {
        let plan = &self.core;
        let unknown = || PlanError::new_err(format!("no host \"{host}\" in the plan; `trees` has them all"));
        let at = plan.nodes.iter().position(|id| id == host).ok_or_else(unknown)?;
        let program = Programs::for_ranks(Arc::new((**plan).clone().into())).node(NodeId(at as u32));
        let named = |tree: u32, node: NodeId| (tree, plan.nodes[node.index()].clone());
        let receives = program.inputs.iter().map(|input| named(input.tree, input.from)).collect();
        let sends = program.outputs.iter().map(|output| named(output.tree, output.to)).collect();
        Ok([("receives", receives), ("sends", sends)].into())
    }

    /// One NetworkX DiGraph of all trees, its edges in the direction of the data: an edge has the `share` of the segments
    /// that crosses it, and its `trees` by number. A single tree's graph: `plan.trees[0].to_networkx()`.
    ///
    /// Types: `() -> nx.DiGraph`
    fn to_networkx<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.trees", "plan_graph", (slf,))
    }

    /// Draws the trees, the largest shares first; with the platform, nodes are coloured by cluster. A matplotlib
    /// figure. Raises PlanError, naming the edge, for an invalid tree.
    ///
    /// Types: `(platform: Platform | None=None) -> Figure`
    #[pyo3(signature = (platform=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        platform: Option<&Bound<'py, Platform>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.plot.trees", "draw_trees", (platform, slf))
    }

    /// Facts, the bound among them, and the trees for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "plan_html")
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let trees = slf.get().core.trees.len();
        asked(slf.py(), "broadleaf.notebook", "plan_line", (slf, trees))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let document = slf.get().core.to_file_json();
        reduced(slf, to_document(slf.py(), &document)?)
    }

    // A plan cannot change: it is its own copy.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        self.hash()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.equals(other)
    }
}
