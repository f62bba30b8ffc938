//! `bl.tune` and `bl.tuning_rules`.

use crate::arguments::size;
use crate::errors::{plan_error, PlanError, PlatformError};
use crate::planning::collective_of;
use crate::platform::Platform;
use broadleaf::parallel::on_all_cores;
use broadleaf::plan::Protocol;
use broadleaf::tune::{rules_for, survey, Mpi, TuneError, UniformCluster};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn refused(error: TuneError) -> PyErr {
    match error {
        TuneError::Platform { .. } => PlatformError::new_err(error.to_string()),
        TuneError::Plan(error) => plan_error(error),
        TuneError::UnknownMpi(_) => PyValueError::new_err(error.to_string()),
        TuneError::BadRequest(_) => PlanError::new_err(error.to_string()),
    }
}

/// The predictions for one algorithm.
#[pyclass(module = "broadleaf", frozen, name = "Forecast")]
pub struct Forecast {
    core: broadleaf::tune::Forecast,
}

#[pymethods]
impl Forecast {
    /// The algorithm's name.
    ///
    /// Type: `str`
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.core.algorithm.name()
    }

    /// The planner that makes its plan.
    ///
    /// Type: `str`
    #[getter]
    fn planner(&self) -> &'static str {
        self.core.algorithm.planner()
    }

    /// eager or rendezvous.
    ///
    /// Type: `str`
    #[getter]
    fn protocol(&self) -> &'static str {
        Protocol::name(self.core.algorithm.protocol())
    }

    /// The model as printed in the paper.
    ///
    /// Type: `str`
    #[getter]
    fn formula(&self) -> &'static str {
        self.core.algorithm.formula()
    }

    /// The best segment size, bytes; the whole message for an algorithm without segments.
    ///
    /// Type: `int`
    #[getter]
    fn segment_bytes(&self) -> u64 {
        self.core.segment_bytes
    }

    /// Whether the message is cut into segments.
    ///
    /// Type: `bool`
    #[getter]
    fn is_segmented(&self) -> bool {
        self.core.algorithm.is_segmented()
    }

    /// The paper's model, seconds.
    ///
    /// Type: `float`
    #[getter]
    fn printed_s(&self) -> f64 {
        self.core.printed_s
    }

    /// Whether the paper's model is only an upper bound.
    ///
    /// Type: `bool`
    #[getter]
    fn printed_is_bound(&self) -> bool {
        self.core.algorithm.printed_is_bound()
    }

    /// The corrected model, seconds.
    ///
    /// Type: `float`
    #[getter]
    fn corrected_s(&self) -> f64 {
        self.core.corrected_s
    }

    /// The event simulation of the plan, seconds; None if the model excluded the algorithm.
    ///
    /// Type: `float | None`
    #[getter]
    fn simulated_s(&self) -> Option<f64> {
        self.core.simulated_s
    }

    /// The event simulation's time or, without one, the corrected model's, seconds.
    ///
    /// Type: `float`
    #[getter]
    fn expected_s(&self) -> f64 {
        self.core.expected_s()
    }

    fn __repr__(&self) -> String {
        format!("<Forecast \"{}\": {} s>", self.core.algorithm.name(), self.core.expected_s())
    }
}

/// All algorithms of a collective for one number of nodes and one size.
#[pyclass(module = "broadleaf", frozen, name = "Choice")]
pub struct Choice {
    core: broadleaf::tune::Choice,
}

#[pymethods]
impl Choice {
    /// bcast or scatter.
    ///
    /// Type: `str`
    #[getter]
    fn collective(&self) -> &'static str {
        self.core.collective.name()
    }

    /// The number of nodes, the root included.
    ///
    /// Type: `int`
    #[getter]
    fn nodes(&self) -> u64 {
        self.core.nodes
    }

    /// The message size, or that of one node's block of a scatter, bytes.
    ///
    /// Type: `int`
    #[getter]
    fn message_bytes(&self) -> u64 {
        self.core.message_bytes
    }

    /// In the order of the paper's tables.
    ///
    /// Type: `list[Forecast]`
    #[getter]
    fn forecasts(&self) -> Vec<Forecast> {
        self.core.forecasts.iter().map(|&core| Forecast { core }).collect()
    }

    /// The least expected time.
    ///
    /// Type: `Forecast`
    #[getter]
    fn chosen(&self) -> Forecast {
        Forecast { core: *self.core.chosen() }
    }

    /// The choice by the printed models alone.
    ///
    /// Type: `Forecast`
    #[getter]
    fn chosen_as_printed(&self) -> Forecast {
        Forecast { core: *self.core.chosen_as_printed() }
    }

    fn __repr__(&self) -> String {
        let Choice { core } = self;
        let name = core.chosen().algorithm.name();
        format!("<Choice of \"{name}\" for {} bytes on {} nodes>", core.message_bytes, core.nodes)
    }
}

/// Chooses the algorithm and segment of a collective for every number of nodes and every size, nodes first.
///
/// `root` defaults to the first host. Raises PlatformError for a platform that the models cannot use (a gap table of
/// one size, a gap that falls with the size, one host), PlanError for a collective without models and for more nodes
/// than there are, ValueError for no nodes or sizes at all.
///
/// Types: `(platform: Platform, nodes: list[int], sizes: list[int | str], *, root: str | None=None,
/// collective: str='bcast') -> list[Choice]`
#[pyfunction]
#[pyo3(signature = (platform, nodes, sizes, *, root=None, collective="bcast"))]
pub fn tune(
    py: Python<'_>,
    platform: &Platform,
    nodes: Vec<u64>,
    sizes: Vec<Bound<'_, PyAny>>,
    root: Option<&str>,
    collective: &str,
) -> PyResult<Vec<Choice>> {
    let sizes = sizes.iter().map(|bytes| size("sizes", bytes)).collect::<PyResult<Vec<u64>>>()?;
    if nodes.is_empty() || sizes.is_empty() {
        return Err(PyValueError::new_err(
            "nothing to tune for; give at least one number of nodes and one size",
        ));
    }
    let collective = collective_of(collective)?;
    let core = &platform.core;
    let root = match root {
        Some(root) => platform.node(root)?,
        None => core.hosts().next().expect("a platform has a host"),
    };
    let chosen =
        py.detach(|| on_all_cores(|| survey(&UniformCluster::new(core, root)?, collective, &nodes, &sizes)));
    Ok(chosen.map_err(refused)?.into_iter().map(|core| Choice { core }).collect())
}

/// The choices as rules of `openmpi` or `mpich`: the text, and a dict for each rule.
///
/// For MPICH the text has only the rules of tuned collectives; a whole file has those of all others too.
///
/// Types: `(choices: list[Choice], mpi: str) -> tuple[str, list[dict]]`
#[pyfunction]
pub fn tuning_rules<'py>(
    py: Python<'py>,
    choices: Vec<PyRef<'py, Choice>>,
    mpi: &str,
) -> PyResult<(String, Vec<Bound<'py, PyDict>>)> {
    let mpi = Mpi::from_name(mpi).map_err(refused)?;
    let choices: Vec<broadleaf::tune::Choice> = choices.iter().map(|choice| choice.core.clone()).collect();
    let rules = rules_for(mpi, &choices).map_err(refused)?;
    let documents = rules.rules.iter().map(|rule| {
        let document = PyDict::new(py);
        document.set_item("collective", rule.collective.name())?;
        document.set_item("nodes", rule.nodes)?;
        document.set_item("from_bytes", rule.from_bytes)?;
        document.set_item("algorithm", rule.algorithm.name())?;
        document.set_item("segment_bytes", rule.segment_bytes)?;
        document.set_item("worst_ratio", rule.worst_ratio)?;
        Ok(document)
    });
    Ok((rules.text, documents.collect::<PyResult<_>>()?))
}
