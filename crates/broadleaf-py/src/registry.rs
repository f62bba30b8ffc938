//! `bl.planners`: the registry's cards.

use pyo3::prelude::*;

/// What a planner is, for people.
#[pyclass(module = "broadleaf", frozen, name = "Card")]
pub struct Card {
    core: &'static broadleaf::planners::Card,
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

    /// What it builds, in one sentence.
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

    /// What it tries to make good: makespan or throughput, of what.
    ///
    /// Type: `str`
    #[getter]
    fn objective(&self) -> &'static str {
        self.core.objective
    }

    /// What is proved about its plans, or "none".
    ///
    /// Type: `str`
    #[getter]
    fn guarantee(&self) -> &'static str {
        self.core.guarantee
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
    broadleaf::planners::PLANNERS.iter().map(|planner| Card { core: planner.card() }).collect()
}
