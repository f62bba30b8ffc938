//! `bl.Platform`.

use crate::arguments::{self, matrix, size};
use crate::document::{reduced, to_document, to_python, to_text, to_value, Reduced};
use crate::errors::{platform_error, platform_fault, PlatformError};
use crate::notebook::{asked, shown};
use broadleaf::json::Fault;
use broadleaf::measure::with_assumed_pipes;
use broadleaf::platform::csv::file_pair;
use broadleaf::platform::{LinkClassId, Matrices, NodeId};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// A network: nodes, directed links, shared resources, and a port model. Immutable.
#[pyclass(module = "broadleaf", frozen, name = "Platform")]
pub struct Platform {
    pub core: Arc<broadleaf::platform::Platform>,
}

impl From<broadleaf::platform::Platform> for Platform {
    fn from(core: broadleaf::platform::Platform) -> Self {
        Platform { core: Arc::new(core) }
    }
}

impl Platform {
    /// The node with the given id, or an error that names the id.
    pub fn node(&self, id: &str) -> PyResult<NodeId> {
        self.core.find(id).ok_or_else(|| {
            let name = self.core.name().to_string();
            platform_error(broadleaf::platform::PlatformError::UnknownNode(id.to_string(), name))
        })
    }

    fn class(&self, source: &str, target: &str) -> PyResult<Option<LinkClassId>> {
        Ok(self.core.link(self.node(source)?, self.node(target)?))
    }
}

#[pymethods]
impl Platform {
    /// Reads a platform file. Raises PlatformError naming the file, the place and the remedy.
    ///
    /// Types: `(path: str | PathLike) -> Platform`
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let core = py.detach(|| broadleaf::platform::Platform::load(&path)).map_err(platform_error)?;
        Ok(core.into())
    }

    /// The platform of a `broadleaf-platform/1` dictionary.
    ///
    /// Types: `(document: dict) -> Platform`
    #[staticmethod]
    fn from_dict(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = to_value(document, "$").map_err(|fault| platform_fault(at_edge(fault, document)))?;
        let core = py.detach(|| broadleaf::platform::Platform::from_value(&value)).map_err(platform_fault)?;
        Ok(core.into())
    }

    /// The platform of a NetworkX graph whose node and edge attributes are those of the platform format.
    ///
    /// A directed edge is a directed link, an undirected one both directions.
    ///
    /// Types: `(graph: nx.Graph) -> Platform`
    #[staticmethod]
    fn from_networkx(py: Python<'_>, graph: &Bound<'_, PyAny>) -> PyResult<Self> {
        let edges = [("edges", "edges")].into_py_dict(py)?;
        let document = py.import("networkx")?.call_method("node_link_data", (graph,), Some(&edges))?;
        Platform::from_node_link(py, &document)
    }

    /// The platform of a dictionary from NetworkX's `node_link_data`.
    ///
    /// Types: `(document: dict) -> Platform`
    #[staticmethod]
    fn from_node_link(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = to_value(document, "$").map_err(|fault| platform_fault(at_edge(fault, document)))?;
        let text = value.to_string();
        let core =
            py.detach(|| broadleaf::platform::Platform::from_node_link(&text)).map_err(platform_fault)?;
        Ok(core.into())
    }

    /// The platform of two square matrices, seconds and bytes/s: row i, column j is the link from node i to j.
    ///
    /// Diagonals are ignored; where `links[i][j]` is false there is no link. Nodes are called `ids`, or n0, n1 ...
    ///
    /// Matrices do not show what several pairs share. With `shared_pipes`, hosts that are nearer to each other than to
    /// all others are assumed to share the way there; the platform's provenance records it.
    ///
    /// Types: `(latency_s: ArrayLike, bandwidth_bytes_per_s: ArrayLike, *, ids: list[str] | None=None, links:
    /// ArrayLike | None=None, name: str='matrices', port_model: str='one-port', shared_pipes: bool=True) -> Platform`
    #[staticmethod]
    #[pyo3(signature = (latency_s, bandwidth_bytes_per_s, *, ids=None, links=None, name="matrices", port_model="one-port", shared_pipes=true))]
    fn from_matrices(
        latency_s: &Bound<'_, PyAny>,
        bandwidth_bytes_per_s: &Bound<'_, PyAny>,
        ids: Option<Vec<String>>,
        links: Option<&Bound<'_, PyAny>>,
        name: &str,
        port_model: &str,
        shared_pipes: bool,
    ) -> PyResult<Self> {
        let port_model = arguments::port_model(port_model)?;
        let latency_s: Vec<Vec<f64>> = matrix("latency_s", latency_s, "float")?;
        let bandwidth: Vec<Vec<f64>> = matrix("bandwidth_bytes_per_s", bandwidth_bytes_per_s, "float")?;
        let links: Option<Vec<Vec<bool>>> = links.map(|links| matrix("links", links, "bool")).transpose()?;
        let count = latency_s.len();
        if let Some(links) =
            links.as_ref().filter(|links| links.len() != count || links.iter().any(|row| row.len() != count))
        {
            let shape = format!("{} by {}", links.len(), links.first().map_or(0, Vec::len));
            return Err(PlatformError::new_err(format!(
                "links is {shape} for {count} nodes; give {count} by {count}"
            )));
        }
        let has_link = |row: usize, column: usize| {
            links.as_ref().is_none_or(|links| links.get(row).and_then(|row| row.get(column)) == Some(&true))
        };
        let cells = |matrix: Vec<Vec<f64>>| -> Vec<Vec<Option<f64>>> {
            let cell = |row, (column, value)| has_link(row, column).then_some(value);
            let rows = matrix.into_iter().enumerate();
            rows.map(|(row, values)| values.into_iter().enumerate().map(|at| cell(row, at)).collect())
                .collect()
        };
        let ids = ids.unwrap_or_else(|| (0..latency_s.len()).map(|at| format!("n{at}")).collect());
        let matrices = Matrices::new(ids, &cells(latency_s), &cells(bandwidth)).map_err(platform_fault)?;
        let core = broadleaf::platform::Platform::from_matrices(name, port_model, &matrices);
        let core = core.and_then(|core| if shared_pipes { with_assumed_pipes(&core) } else { Ok(core) });
        Ok(core.map_err(platform_fault)?.into())
    }

    /// Reads a pair of CSV matrices, NAME.latency.csv (s) and NAME.bandwidth.csv (bytes/s), for NAME.csv or either file
    /// name: first row and first column are node ids, an empty cell is no link. `shared_pipes` as in `from_matrices`.
    ///
    /// Types: `(path: str | PathLike, *, shared_pipes: bool=True) -> Platform`
    #[staticmethod]
    #[pyo3(signature = (path, *, shared_pipes=true))]
    fn load_csv(py: Python<'_>, path: PathBuf, shared_pipes: bool) -> PyResult<Self> {
        let core = py.detach(|| broadleaf::platform::Platform::load_csv(&path)).map_err(platform_error)?;
        let assumed = if shared_pipes { py.detach(|| with_assumed_pipes(&core)) } else { Ok(core) };
        Ok(assumed.map_err(platform_fault)?.into())
    }

    /// Writes the pair of CSV matrices that `load_csv` reads, and returns their paths.
    ///
    /// The bandwidth of a link with a gap table or a start-up time is the rate of a transfer of `at_bytes`, without
    /// which it is refused. Properties that matrices cannot express are refused too: shared resources, switches, local
    /// broadcasts.
    ///
    /// Types: `(path: str | PathLike, *, at_bytes: int | str | None=None) -> list[str]`
    #[pyo3(signature = (path, *, at_bytes=None))]
    fn save_csv(
        &self,
        py: Python<'_>,
        path: PathBuf,
        at_bytes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let at_bytes = at_bytes.map(|bytes| size("at_bytes", bytes)).transpose()?;
        let (latency_path, bandwidth_path) = file_pair(&path).map_err(platform_fault)?;
        let (latency, bandwidth) = py
            .detach(|| self.core.to_matrices(at_bytes).map(|both| both.to_csv()))
            .map_err(platform_fault)?;
        let files = py.import("broadleaf.files")?;
        files.call_method1("write_whole", (&latency_path, latency))?;
        files.call_method1("write_whole", (&bandwidth_path, bandwidth))?;
        Ok([latency_path, bandwidth_path].iter().map(|path| path.display().to_string()).collect())
    }

    /// Writes the platform file, by rename.
    ///
    /// Types: `(path: str | PathLike) -> None`
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = py.detach(|| to_text(&self.core.to_json()));
        py.import("broadleaf.files")?.call_method1("write_whole", (path, text))?;
        Ok(())
    }

    /// A host's time to handle a message, as the platform gives it, seconds; None where it gives none.
    ///
    /// Type: `float | None`
    #[getter]
    fn given_handling_s(&self) -> Option<f64> {
        self.core.given_handling_s()
    }

    /// The given time to handle a message, else the assumed one, seconds.
    ///
    /// Type: `float`
    #[getter]
    fn handling_s(&self) -> f64 {
        self.core.handling_s()
    }

    /// The platform with the costs of a program's messages: a link given by its rate also costs a host's handling, and
    /// where a port serves one transfer at a time it is no faster than the narrowest pipe on its path.
    ///
    /// Types: `() -> Platform`
    fn handled(&self, py: Python<'_>) -> Self {
        py.detach(|| self.core.handled()).into()
    }

    /// The `broadleaf-platform/1` dictionary.
    ///
    /// Types: `() -> dict`
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_document(py, &self.core.to_json())
    }

    /// A NetworkX DiGraph with one edge per link, including those of meshes and bridges.
    ///
    /// Types: `() -> nx.DiGraph`
    fn to_networkx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let edges = [("edges", "edges")].into_py_dict(py)?;
        py.import("networkx")?.call_method("node_link_graph", (self.to_node_link(py)?,), Some(&edges))
    }

    /// The dictionary that NetworkX's `node_link_graph(document, edges="edges")` reads.
    ///
    /// Types: `() -> dict`
    fn to_node_link<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_document(py, &py.detach(|| self.core.to_node_link()).map_err(platform_fault)?)
    }

    /// The platform's name.
    ///
    /// Type: `str`
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// The model of the resources that a transfer occupies: one-port, one-port-unidirectional, one-port-same-partner,
    /// multi-port, link-capacity.
    ///
    /// Type: `str`
    #[getter]
    fn port_model(&self) -> &'static str {
        self.core.port_model().name()
    }

    /// `sha256:...` of the platform; a plan carries the digest of the platform it was made for.
    ///
    /// Type: `str`
    #[getter]
    fn digest(&self) -> &str {
        self.core.digest()
    }

    /// The ids of all nodes, switches included, in file order.
    ///
    /// Type: `list[str]`
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.core.ids().iter().map(String::as_str).collect()
    }

    /// The ids of the nodes that hold and need the message, in file order.
    ///
    /// Type: `list[str]`
    #[getter]
    fn hosts(&self) -> Vec<&str> {
        self.core.hosts().map(|node| self.core.node(node).id.as_str()).collect()
    }

    /// The properties of the direct link between two nodes as in the platform format, or None.
    ///
    /// Types: `(source: str, target: str) -> dict | None`
    fn link<'py>(&self, py: Python<'py>, source: &str, target: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.class(source, target)?.map(|class| to_python(py, &self.core.class_json(class))).transpose()
    }

    /// The ids of the nodes that a node has a direct link to.
    ///
    /// Types: `(node: str) -> list[str]`
    fn successors(&self, node: &str) -> PyResult<Vec<&str>> {
        let links = self.core.successors(self.node(node)?);
        Ok(links.into_iter().map(|(target, _)| self.core.node(target).id.as_str()).collect())
    }

    /// T(s): the time for which a transfer of `message_bytes` occupies the ports of a direct link, seconds.
    ///
    /// Types: `(source: str, target: str, message_bytes: int | str) -> float`
    fn transfer_s(&self, source: &str, target: &str, message_bytes: &Bound<'_, PyAny>) -> PyResult<f64> {
        let message_bytes = size("message_bytes", message_bytes)?;
        let class = self.class(source, target)?.ok_or_else(|| {
            PlatformError::new_err(format!(
                "no link for the edge (\"{source}\", \"{target}\"); name two linked nodes"
            ))
        })?;
        Ok(self.core.transfer_s(class, message_bytes))
    }

    /// Draws nodes by cluster, and links as wide as their rate is high; a matplotlib figure.
    ///
    /// Types: `() -> Figure`
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.plot.platform", "draw_platform", (slf,))
    }

    /// Facts and picture for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "platform_html")
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "platform_line")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf, slf.get().to_dict(slf.py())?)
    }

    // A platform cannot change: it is its own copy.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.core.digest() == other.core.digest()
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        pyo3::types::PyString::new(py, self.core.digest()).hash()
    }
}

/// The fault with its link's ends, if the document has them.
fn at_edge(fault: Fault, document: &Bound<'_, PyAny>) -> Fault {
    let ends = ["edges", "links"].into_iter().find_map(|list| {
        let (number, _) = fault.place.strip_prefix(&format!("$.{list}["))?.split_once(']')?;
        let edge = document.get_item(list).ok()?.get_item(number.parse::<usize>().ok()?).ok()?;
        let end = |name| Some(edge.get_item(name).ok()?.to_string());
        Some((end("source").or_else(|| end("from"))?, end("target").or_else(|| end("to"))?))
    });
    match ends {
        Some((from, to)) => fault.on_edge(&from, &to),
        None => fault,
    }
}
