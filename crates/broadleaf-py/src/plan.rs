//! `bl.Plan`.

use crate::document::{to_document, to_text, to_value};
use crate::errors::{plan_error, PlanError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// A way to broadcast a message: weighted trees, a segment size, and serving orders. Immutable.
#[pyclass(module = "broadleaf", frozen, name = "Plan")]
pub struct Plan {
    pub core: Arc<broadleaf::plan::Plan>,
}

impl From<broadleaf::plan::Plan> for Plan {
    fn from(core: broadleaf::plan::Plan) -> Self {
        Plan { core: Arc::new(core) }
    }
}

#[pymethods]
impl Plan {
    /// Reads a plan file. Raises PlanError naming the file, the place and the remedy.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| broadleaf::plan::Plan::load(&path)).map_err(plan_error)?.into())
    }

    /// The plan of a `broadleaf-plan/1` dictionary.
    #[staticmethod]
    fn from_dict(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refused = |fault: broadleaf::json::Fault| PlanError::new_err(fault.to_string());
        let value = to_value(document, "$").map_err(refused)?;
        Ok(py.detach(|| broadleaf::plan::Plan::from_json(&value.to_string())).map_err(refused)?.into())
    }

    /// Writes the plan file, by rename; large regular plans by their pattern.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = py.detach(|| to_text(&self.core.to_file_json()));
        py.import("broadleaf.files")?.call_method1("write_whole", (path, text))?;
        Ok(())
    }

    /// The `broadleaf-plan/1` dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_document(py, &self.core.to_json())
    }

    /// The name of the platform it was made for.
    #[getter]
    fn platform(&self) -> &str {
        &self.core.platform
    }

    /// `sha256:...` of the platform it was made for.
    #[getter]
    fn platform_digest(&self) -> &str {
        &self.core.platform_digest
    }

    /// What it moves: bcast.
    #[getter]
    fn collective(&self) -> &'static str {
        self.core.collective.name()
    }

    /// The id of the node that has the message.
    #[getter]
    fn root(&self) -> &str {
        &self.core.nodes[self.core.root.index()]
    }

    /// The size of the message, bytes.
    #[getter]
    fn message_bytes(&self) -> u64 {
        self.core.message_bytes
    }

    /// The size of all segments but the last, bytes; an unsegmented plan's is the message's.
    #[getter]
    fn segment_bytes(&self) -> u64 {
        self.core.segment_bytes
    }

    /// The planner that made it.
    #[getter]
    fn planner(&self) -> &str {
        &self.core.planner
    }

    /// The seed it was made with.
    #[getter]
    fn seed(&self) -> u64 {
        self.core.seed
    }

    /// The makespan that its planner expects, seconds; None where nothing predicted it.
    #[getter]
    fn makespan_s(&self) -> Option<f64> {
        self.core.predicted.makespan_s
    }

    /// (low, high): what the measured spread of the links makes of it, seconds; None where none was measured.
    #[getter]
    fn makespan_interval_s(&self) -> Option<(f64, f64)> {
        self.core.predicted.interval.map(|interval| (interval.low_s, interval.high_s))
    }

    /// No plan for this message is faster than this, seconds; None where it was not computed.
    #[getter]
    fn bound_s(&self) -> Option<f64> {
        self.core.predicted.bound_s
    }

    fn __repr__(&self) -> String {
        let plan = &self.core;
        format!(
            "<Plan \"{}\" on \"{}\": {} bytes from \"{}\" in segments of {}>",
            plan.planner,
            plan.platform,
            plan.message_bytes,
            self.root(),
            plan.segment_bytes
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.core.to_json() == other.core.to_json()
    }
}
