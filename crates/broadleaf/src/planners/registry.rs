//! The registry: every planner, in one slice.

use super::{
    all_reduce, baselines, clustered, exchange, optimal, pipelines, shapes, throughput, time_needed,
    Instance, Planner, Unsupported,
};
use crate::budget::Budget;
use crate::plan::{Collective, Direction, Plan, PlanError};
use crate::platform::PortModel;

/// Whether `planner` supports the instance: directly, by the mirrored collective, or by both in sequence.
///
/// # Errors
/// Why the planner refuses the instance.
pub fn supports(planner: &dyn Planner, instance: &Instance) -> Result<(), Unsupported> {
    let collective = instance.collective;
    if is_joined(planner, instance) {
        return half_of(planner, instance).map(|_| ());
    }
    if !planner.collectives().contains(&collective.outward()) {
        let known: Vec<&str> = collectives_of(planner).map(Collective::name).collect();
        return Err(Unsupported(format!("no plans for {collective}, only for {}", known.join(", "))));
    }
    if collective.direction() != Direction::Outward {
        let stands_for_a_cluster = |host| instance.platform.node(host).local_broadcast_s.is_some();
        if let Some(host) = instance.platform.hosts().find(|&host| stands_for_a_cluster(host)) {
            let id = &instance.platform.node(host).id;
            return Err(Unsupported(format!(
                "\"{id}\" has a local broadcast, and nothing says how long a local {collective} takes"
            )));
        }
    }
    let outward = instance.outward();
    let is_inward = collective.is_inward();
    let cut_off = if is_inward { outward.platform.unreachable_from(instance.root) } else { Vec::new() };
    if let Some(&host) = cut_off.first() {
        let id = |node| &instance.platform.node(node).id;
        return Err(Unsupported(format!("\"{}\" cannot send to \"{}\"", id(host), id(instance.root))));
    }
    planner.supports(&outward)
}

/// Whether the instance is an all-reduce that the planner makes of two other collectives.
fn is_joined(planner: &dyn Planner, instance: &Instance) -> bool {
    instance.collective == Collective::Allreduce && !planner.collectives().contains(&Collective::Allreduce)
}

/// The outward collective from which the planner makes this all-reduce: the first that it plans both ways.
///
/// # Errors
/// Why the planner refuses the last of them.
fn half_of(planner: &dyn Planner, instance: &Instance) -> Result<Collective, Unsupported> {
    let mut refused =
        Unsupported("no plans for allreduce, since for neither bcast nor allgather".to_string());
    for half in halves_of(planner) {
        match all_reduce::halves(half, instance).iter().try_for_each(|half| supports(planner, half)) {
            Ok(()) => return Ok(half),
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}

/// The collectives from which it would make an all-reduce of some instance.
fn halves_of(planner: &dyn Planner) -> impl Iterator<Item = Collective> + '_ {
    planner.all_reduce_from().iter().copied().filter(|half| planner.collectives().contains(half))
}

/// The all-gather that the planner's all-reduce of the instance is made of, if it is made of one.
pub(crate) fn all_gather_of<'a>(planner: &dyn Planner, instance: &Instance<'a>) -> Option<Instance<'a>> {
    if !is_joined(planner, instance) {
        return None;
    }
    let half = half_of(planner, instance).ok()?;
    (half == Collective::Allgather).then(|| all_reduce::halves(half, instance)[1])
}

/// The collectives that the planner plans: its own, their mirrors, and an all-reduce made from one of them.
pub fn collectives_of(planner: &dyn Planner) -> impl Iterator<Item = Collective> + '_ {
    Collective::ALL.into_iter().filter(|&collective| match collective {
        Collective::Allreduce if halves_of(planner).next().is_some() => true,
        _ => planner.collectives().contains(&collective.outward()),
    })
}

/// How often a broadcast is routed that its planner finishes: as it was, then finished for its makespan and for its load.
const TIMES_FINISHED: usize = 3;

/// The work of a plan per node, units.
const NODE_UNITS: u64 = 2;

/// The planner's plan for the instance, with the instance's protocol. An inward plan is that of the mirrored
/// collective on the reversed network, turned round.
///
/// # Errors
/// An instance that the planner does not support, or for which it finds no plan.
pub fn plan_with(planner: &dyn Planner, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
    if is_joined(planner, instance) {
        let half = half_of(planner, instance).unwrap_or(Collective::Bcast);
        let [inward, outward] = all_reduce::halves(half, instance);
        time_needed::to_plan(planner, 2, &outward, budget)?;
        // Of a time limit, each half gets its part.
        let first = if budget.is_timed() { budget.divided(2) } else { budget.clone() };
        let way_in = planned(planner, &inward, &first)?;
        time_needed::to_route(&way_in, 2, instance.platform, budget)?;
        let joined = all_reduce::joined(instance, way_in, planned(planner, &outward, budget)?)?;
        return Ok(exchange::with_farthest(instance.platform, joined, budget));
    }
    time_needed::to_plan(planner, 1, instance, budget)?;
    let plan = planned(planner, instance, budget)?;
    let plan = exchange::with_farthest(instance.platform, plan, budget);
    let is_finished =
        planner.card().profile.finish.is_some() && instance.collective.outward() == Collective::Bcast;
    let times = if is_finished { TIMES_FINISHED } else { 1 };
    time_needed::to_route(&plan, times, instance.platform, budget)?;
    Ok(plan)
}

/// The plan of an instance that is not an all-reduce of two plans.
fn planned(planner: &dyn Planner, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
    // Planners that do not search count no work of their own.
    budget.spend(instance.platform.node_count() as u64 * NODE_UNITS);
    let plan = planner.plan(&instance.outward(), budget)?;
    Ok(asked(plan, instance))
}

/// The plan as the planner finishes it once the segment size is settled
/// ([`Profile::finish`](super::Profile::finish)); `None` where the planner has no such step.
pub fn finish_with(planner: &dyn Planner, instance: &Instance, plan: &Plan) -> Option<Plan> {
    let finish = planner.card().profile.finish.filter(|_| instance.collective != Collective::Allreduce)?;
    let outward = instance.outward();
    let plan = if instance.collective.is_inward() { plan.mirrored(outward.platform) } else { plan.clone() };
    Some(asked(finish(&outward, plan), instance))
}

/// An outward plan adapted to the instance: with its protocol and weights, turned round where the instance is inward.
///
/// Under multi-port a port serves several links at once, so where trees compete for receivers a node passes over the
/// busy ones. In one tree the children get the same segments, and sending early to one makes another wait.
fn asked(plan: Plan, instance: &Instance) -> Plan {
    let shares_ports = instance.platform.port_model() == PortModel::MultiPort
        && plan.trees.len() > 1
        && plan.period.is_none()
        && !plan.combine;
    let skip_busy = plan.skip_busy || shares_ports;
    let plan = match instance.collective.is_inward() {
        true => plan.mirrored(instance.platform),
        false => plan,
    };
    Plan { skip_busy, protocol: instance.protocol, weights: instance.weights.map(Into::into), ..plan }
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
    &pipelines::Bruck,
    &clustered::Magpie,
    &clustered::MpichG2,
    &clustered::SiteTrees,
    &clustered::SITE_PACKING,
    &clustered::SITE_PACKING_BINOMIAL,
    &clustered::SITE_BLOCKS,
    &clustered::SITE_RELAYS,
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
    &clustered::BOTTOM_UP_AS_PRINTED,
    &clustered::MIXED,
    &baselines::Mateescu,
    &baselines::Annealing,
    &clustered::EcefPipelined,
    &clustered::ClusterTwoTrees,
    &clustered::GatewayTrees,
    &clustered::Makespan,
    &clustered::Exact,
    &shapes::KNomial,
    &shapes::BinomialPrinted,
    &pipelines::Bine,
    &optimal::OptimalTrees { count: None },
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
