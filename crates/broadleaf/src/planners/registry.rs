//! The registry: every algorithm is a function from (platform, root, size) to a plan.

use super::{baselines, clustered, optimal, pipelines, shapes, throughput, Instance, Profile};
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError};

/// What a planner is, for people and for the portfolio. No defaults: an undocumented planner does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// As on the command line.
    pub name: &'static str,
    /// What it builds, in one sentence.
    pub summary: &'static str,
    /// The paper and section it comes from.
    pub reference: &'static str,
    /// What it tries to make good: makespan or throughput, of what.
    pub objective: &'static str,
    /// What is proved about its plans, or "none".
    pub guarantee: &'static str,
    /// Planning time, n = nodes, k = segments.
    pub complexity: &'static str,
    /// What those that run planners have to know; [`Profile::QUICK`] for most.
    pub profile: Profile,
}

/// Why a planner does not take an instance; not an error of the instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// An algorithm that plans broadcasts.
pub trait Planner: Sync {
    /// What the planner is, for people.
    fn card(&self) -> &'static Card;

    /// Whether [`Planner::plan`] takes the instance; never panics.
    ///
    /// # Errors
    /// Why the planner refuses the instance.
    fn supports(&self, instance: &Instance) -> Result<(), Unsupported>;

    /// The collectives it plans.
    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast]
    }

    /// A valid plan; without a limit to the budget the same instance and seed give the same bytes.
    ///
    /// # Errors
    ///
    /// [`PlanError::Unsupported`] for what only planning finds out, such as a proof that does not come out in time.
    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError>;
}

/// Whether `planner` takes the instance, its collective included.
///
/// # Errors
/// Why the planner refuses the instance.
pub fn supports(planner: &dyn Planner, instance: &Instance) -> Result<(), Unsupported> {
    if !planner.collectives().contains(&instance.collective) {
        let known: Vec<&str> = planner.collectives().iter().map(|collective| collective.name()).collect();
        return Err(Unsupported(format!(
            "no plans for {}, only for {}",
            instance.collective,
            known.join(", ")
        )));
    }
    planner.supports(instance)
}

/// The planner's plan for the instance, with the protocol that the instance asks for.
///
/// # Errors
/// An instance that the planner does not support, or for which it finds no plan.
pub fn plan_with(planner: &dyn Planner, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
    Ok(Plan { protocol: instance.protocol, ..planner.plan(instance, budget)? })
}

/// All planners, in the order they are shown; of equally fast plans the earlier planner's is kept.
pub static PLANNERS: &[&dyn Planner] = &[
    &shapes::Flat,
    &shapes::Chain,
    &shapes::Binary,
    &shapes::Binomial,
    &pipelines::VanDeGeijn,
    &pipelines::RoundRobin,
    &pipelines::TwoTree,
    &pipelines::Circulant,
    &pipelines::Ring,
    &pipelines::RecursiveDoubling,
    &clustered::Magpie,
    &clustered::MpichG2,
    &throughput::PruneSimple,
    &throughput::PruneRefined,
    &throughput::Grow,
    &throughput::LpPrune,
    &throughput::LpGrow,
    &throughput::GrowMultiport,
    &throughput::PruneRefinedMultiport,
    &throughput::SingleTree,
    &optimal::Optimal,
    &clustered::FEF,
    &clustered::FEF_GAP,
    &clustered::FNF,
    &clustered::ECEF,
    &clustered::ECEF_LA,
    &clustered::ECEF_LA_AVERAGE,
    &clustered::ECEF_LA_SENDERS,
    &clustered::ECEF_LAT_MIN,
    &clustered::ECEF_LAT_MAX,
    &clustered::BOTTOM_UP,
    &clustered::MIXED,
    &baselines::Mateescu,
    &baselines::Annealing,
    &clustered::EcefPipelined,
    &clustered::Makespan,
    &clustered::Exact,
];

/// The name that stands for all planners together (`portfolio`).
pub const BEST: &str = "best";

/// The planner of that name.
///
/// # Errors
/// A name that no planner has.
pub fn find(name: &str) -> Result<&'static dyn Planner, PlanError> {
    PLANNERS.iter().copied().find(|planner| planner.card().name == name).ok_or_else(|| {
        let known: Vec<&str> = PLANNERS.iter().map(|planner| planner.card().name).chain([BEST]).collect();
        PlanError::UnknownPlanner { name: name.to_string(), known: known.join(", ") }
    })
}
