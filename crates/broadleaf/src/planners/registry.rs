//! The registry: every planner, in one slice.

use super::{baselines, clustered, optimal, pipelines, shapes, throughput, Instance, Planner, Unsupported};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};

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
    &throughput::PRUNE_SIMPLE,
    &throughput::PRUNE_REFINED,
    &throughput::GROW,
    &throughput::LpPrune,
    &throughput::LpGrow,
    &throughput::GROW_MULTIPORT,
    &throughput::PRUNE_REFINED_MULTIPORT,
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
    &shapes::KNomial,
    &shapes::BinomialPrinted,
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
