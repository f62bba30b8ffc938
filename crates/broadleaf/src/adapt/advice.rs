//! The advisor's requests: plans to make, links to probe, plans to put into use.

use super::pair::Pair;
use super::record::Stream;
use super::search::{planned_by, search};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::platform::Platform;
use crate::portfolio::Coarsening;
use std::sync::Arc;

/// The broadcasts of a plan: those of a stream whose sizes lie between two powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanKey {
    /// The stream of the broadcasts.
    pub stream: Stream,
    /// ⌊log₂ bytes⌋, as in the runtime.
    pub size_class: u32,
}

impl PlanKey {
    /// The key of a stream's broadcasts of `bytes`.
    pub fn new(stream: Stream, bytes: u64) -> PlanKey {
        PlanKey { stream, size_class: bytes.max(1).ilog2() }
    }
}

/// A request for a plan.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// Returned in [`Advisor::planned`](super::advisor::Advisor::planned).
    pub number: u64,
    /// The broadcasts that the plan is for.
    pub key: PlanKey,
    /// The size to plan for.
    pub bytes: u64,
    /// Time limit of the search, seconds.
    pub within_s: f64,
    /// The network as currently estimated.
    pub platform: Arc<Platform>,
    /// Limits of the plan's segments.
    pub coarsening: Coarsening,
    /// The planner to use; `None`: [`search`].
    pub planner: Option<String>,
}

impl PlanRequest {
    /// The plan by [`search`], within the time limit, or without one where time is simulated.
    ///
    /// # Errors
    /// Those of [`search`], or of the named planner.
    pub fn plan(&self, budget: &Budget) -> Result<Plan, PlanError> {
        let (platform, root) = (&self.platform, self.key.stream.root);
        match &self.planner {
            None => search(platform, root, self.bytes, self.coarsening, budget),
            Some(planner) => planned_by(planner, platform, root, self.bytes, self.coarsening, budget),
        }
    }
}

/// The advisor's requests.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant's text explains its fields")]
pub enum Advice {
    /// Time a transfer over these links, and [`Advisor::sampled`](super::advisor::Advisor::sampled) the result.
    Probe(Pair),
    /// Make a plan, and pass it to [`Advisor::planned`](super::advisor::Advisor::planned).
    Plan(PlanRequest),
    /// Put a plan into use for `key`. Its version is greater than all earlier ones.
    Publish { key: PlanKey, version: u64, plan: Arc<Plan> },
}
