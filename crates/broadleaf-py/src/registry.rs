//! `bl.planners`: the registry's cards.

use broadleaf::plan::Collective;
use broadleaf::planners::{collectives_of, Planner, PLANNERS};
use pyo3::prelude::*;

/// The description of a planner.
#[pyclass(module = "broadleaf", frozen, name = "Card")]
pub struct Card {
    core: &'static broadleaf::planners::Card,
    collectives: Vec<&'static str>,
}

#[pymethods]
impl Card {
    /// As on the command line.
    ///
    /// Type: `str`
    #[getter]
    fn name(&self) -> &'static str {
        self.core.name
    }

    /// A summary in one sentence.
    ///
    /// Type: `str`
    #[getter]
    fn summary(&self) -> &'static str {
        self.core.summary
    }

    /// The paper and section it comes from.
    ///
    /// Type: `str`
    #[getter]
    fn reference(&self) -> &'static str {
        self.core.reference
    }

    /// Its objective: the makespan or the throughput, and of which plans.
    ///
    /// Type: `str`
    #[getter]
    fn objective(&self) -> &'static str {
        self.core.objective
    }

    /// The proved guarantee of its plans, or "none".
    ///
    /// Type: `str`
    #[getter]
    fn guarantee(&self) -> &'static str {
        self.core.guarantee
    }

    /// The collectives that it plans, those of `plan`'s `collective`.
    ///
    /// Type: `list[str]`
    #[getter]
    fn collectives(&self) -> Vec<&'static str> {
        self.collectives.clone()
    }

    /// Planning time, n = nodes, k = segments.
    ///
    /// Type: `str`
    #[getter]
    fn complexity(&self) -> &'static str {
        self.core.complexity
    }

    fn __repr__(&self) -> String {
        format!("<Card \"{}\": {}>", self.core.name, self.core.summary)
    }
}

/// The cards of all planners, in the order in which they are shown.
///
/// Types: `() -> list[Card]`
#[pyfunction]
pub fn planners() -> Vec<Card> {
    let card = |planner: &&'static dyn Planner| Card {
        core: planner.card(),
        collectives: collectives_of(*planner).map(Collective::name).collect(),
    };
    PLANNERS.iter().map(card).collect()
}
