//! `bl.Platform`.

use crate::document::{to_document, to_python, to_text, to_value};
use crate::errors::{platform_error, platform_fault, PlatformError};
use broadleaf::platform::{LinkClassId, NodeId};
use pyo3::prelude::*;
use pyo3::types::PyDict;
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
    /// The node of that id, or the error that names it.
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
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let core = py.detach(|| broadleaf::platform::Platform::load(&path)).map_err(platform_error)?;
        Ok(core.into())
    }

    /// The platform of a `broadleaf-platform/1` dictionary.
    #[staticmethod]
    fn from_dict(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = to_value(document, "$").map_err(platform_fault)?;
        let core = py
            .detach(|| broadleaf::platform::Platform::from_json(&value.to_string()))
            .map_err(platform_fault)?;
        Ok(core.into())
    }

    /// The platform of a NetworkX graph whose node and edge attributes are those of the platform format.
    #[staticmethod]
    #[pyo3(signature = (graph, *, name=None, port_model=None))]
    fn from_networkx<'py>(
        graph: &Bound<'py, PyAny>,
        name: Option<&str>,
        port_model: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let convert = graph.py().import("broadleaf.convert.networkx_graphs")?;
        convert.call_method1("platform_of_graph", (graph, name, port_model))
    }

    /// The platform of two square matrices, seconds and bytes/s; `links[i][j]` false leaves a pair without a link.
    #[staticmethod]
    #[pyo3(signature = (latency_s, bandwidth_bytes_per_s, *, ids=None, links=None, name="matrices", port_model="one-port"))]
    fn from_matrices<'py>(
        latency_s: &Bound<'py, PyAny>,
        bandwidth_bytes_per_s: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
        links: Option<&Bound<'py, PyAny>>,
        name: &str,
        port_model: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let convert = latency_s.py().import("broadleaf.convert.matrices")?;
        let arguments = (latency_s, bandwidth_bytes_per_s, ids, links, name, port_model);
        convert.call_method1("platform_of_matrices", arguments)
    }

    /// Writes the platform file, by rename.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = py.detach(|| to_text(&self.core.to_json()));
        py.import("broadleaf.files")?.call_method1("write_whole", (path, text))?;
        Ok(())
    }

    /// The `broadleaf-platform/1` dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_document(py, &self.core.to_json())
    }

    /// A NetworkX DiGraph with one edge a link, meshes and bridges written out.
    fn to_networkx<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("broadleaf.convert.networkx_graphs")?.call_method1("graph_of_platform", (slf,))
    }

    /// What the platform is called.
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// Which resources a transfer occupies: one-port, one-port-unidirectional, multi-port, link-capacity.
    #[getter]
    fn port_model(&self) -> &'static str {
        self.core.port_model().name()
    }

    /// `sha256:...` of the platform; a plan carries the digest of the platform it was made for.
    #[getter]
    fn digest(&self) -> &str {
        self.core.digest()
    }

    /// The ids of all nodes, switches included, in file order.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.core.ids().iter().map(String::as_str).collect()
    }

    /// The ids of the nodes that hold and need the message, in file order.
    #[getter]
    fn hosts(&self) -> Vec<&str> {
        self.core.hosts().map(|node| self.core.node(node).id.as_str()).collect()
    }

    /// The properties of the direct link between two nodes as in the platform format, or None.
    fn link<'py>(&self, py: Python<'py>, source: &str, target: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.class(source, target)?.map(|class| to_python(py, &self.core.class_json(class))).transpose()
    }

    /// The ids of the nodes that a node has a direct link to.
    fn successors(&self, node: &str) -> PyResult<Vec<&str>> {
        let links = self.core.successors(self.node(node)?);
        Ok(links.into_iter().map(|(target, _)| self.core.node(target).id.as_str()).collect())
    }

    /// T(s): how long a transfer of `message_bytes` occupies the ports of a direct link, seconds.
    fn transfer_s(&self, source: &str, target: &str, message_bytes: u64) -> PyResult<f64> {
        let class = self.class(source, target)?.ok_or_else(|| {
            PlatformError::new_err(format!("no link leads from \"{source}\" to \"{target}\"; name two linked nodes"))
        })?;
        Ok(self.core.transfer_s(class, message_bytes))
    }

    fn __repr__(&self) -> String {
        let (name, model, count) = (self.core.name(), self.core.port_model(), self.core.node_count());
        format!("<Platform \"{name}\": {count} nodes, {model}>")
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.core.digest() == other.core.digest()
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        pyo3::types::PyString::new(py, self.core.digest()).hash()
    }
}
