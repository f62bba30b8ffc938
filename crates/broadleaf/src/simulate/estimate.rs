//! The makespan of a long message from two short ones.

use super::network::{Network, EVENTS_PER_LOOK, EVENTS_PER_UNIT};
use super::{static_order, transfers_of};
use crate::budget::Budget;
use crate::plan::{throughput, Plan, PlanError, Programs, Tree};
use crate::platform::Platform;
use std::sync::Arc;

/// Least number of segments of the longer of the two simulations.
const FULL_SEGMENTS: u64 = 128;
/// Above this many nodes, fewer segments, at least `LEAST_SEGMENTS`, so that the simulations take about as long.
const LARGE_NODES: u64 = 1000;
const LEAST_SEGMENTS: u64 = 16;
/// A period whose segments pass switches settles after as many as are under way in it; up to this many times the usual
/// ones.
const MOST_UNDER_WAY: u64 = 4;
/// Units of work to set up the channels of a further tree's edge: 2.3 µs on a sparse network, of which a quarter is to
/// find its path.
const UNITS_PER_EDGE: u64 = 2;
/// The time to set up such an edge and to end the simulation, which no time limit shortens, seconds. Measured:
/// `benches/time_limits.py random-300`, where an edge has two to three hops.
const EDGE_S: f64 = 5e-6;

/// The simulated makespan of a valid plan, seconds; for a message of many segments, extrapolated from two shorter
/// simulations along the steady state between them.
///
/// A pipeline settles after about as many segments as its depth. Both lengths are beyond that, and differ by whole
/// cycles of the trees (or the period), so that they end at the same phase. Each node is extrapolated at its own rate:
/// a near node that is fed slowly may finish before a far one in both short simulations, and long after it with the
/// whole message.
///
/// # Errors
/// A plan that the platform cannot run.
pub fn estimate(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    estimate_within(platform, plan, &Budget::UNLIMITED)
}

/// [`estimate`] within a budget.
///
/// # Errors
/// [`PlanError::OutOfTime`] where it is spent first; else those of [`estimate`].
pub fn estimate_within(platform: &Platform, plan: &Plan, budget: &Budget) -> Result<f64, PlanError> {
    let nodes = (platform.node_count() as u64).max(LARGE_NODES);
    estimate_from(platform, plan, (FULL_SEGMENTS * LARGE_NODES / nodes).max(LEAST_SEGMENTS), budget)
}

/// [`estimate_within`] from simulations of about `segments / 2` and `segments` segments: fewer segments are faster and
/// less accurate.
///
/// # Errors
/// Those of [`estimate_within`].
pub fn estimate_from(
    platform: &Platform,
    plan: &Plan,
    segments: u64,
    budget: &Budget,
) -> Result<f64, PlanError> {
    let count = plan.segment_count();
    let deepest = |trees: &[Tree]| trees.iter().map(|tree| tree.depth(plan.root_of(tree))).max().unwrap_or(0);
    let depth = (deepest(&plan.trees) + deepest(&plan.inward)) as u64;
    let cycle = match &plan.period {
        Some(period) => u64::from(period.segments),
        None => plan.trees.len() as u64,
    };
    let passes_relays = plan.trees.iter().any(|tree| !tree.via.is_empty());
    let period = plan.period.as_ref().filter(|_| passes_relays);
    let under_way = period.map_or(0, |period| cycle * (1 + u64::from(period.longest_lag())));
    let settled = depth.min(segments).max(under_way.min(MOST_UNDER_WAY * segments));
    let short = (segments / 2).max(2 * settled).next_multiple_of(cycle.max(1));
    if count <= 2 * short + cycle {
        return makespan(platform, plan.clone(), budget);
    }
    let tail = plan.message_bytes - (count - 1) * plan.segment_bytes;
    let of_length = |segments: u64| plan.resized((segments - 1) * plan.segment_bytes + tail);
    // The same phase of the cycle at the end as the whole message has.
    let phase = count % cycle.max(1);
    // To set up the executors of a hundred trees takes longer than some budgets last.
    if least_units(platform, &of_length(3 * short + 2 * phase)) > budget.left() {
        return Err(PlanError::OutOfTime);
    }
    let first_s = finish_s(platform, of_length(short + phase), budget)?;
    let second_s = finish_s(platform, of_length(2 * short + phase), budget)?;
    let further = (count - 2 * short - phase) as f64 / short as f64;
    let extended = first_s.iter().zip(&second_s).map(|(first_s, second_s)| {
        let pace_s = second_s - first_s;
        second_s + pace_s * further
    });
    // In the two lengths an all-reduce's way in may be over before its way out begins; of a longer message, both share
    // the ports.
    Ok(latest_s(extended).max(busiest_s(plan, platform)?))
}

/// The least work that two simulations of these transfers in all count, units: each frees a port and arrives. 0 where
/// items share transfers, or where there may be no event queue.
fn least_units(platform: &Platform, plan: &Plan) -> u64 {
    match plan.combine || plan.period.is_some() || plan.trees.len() < 2 {
        true => 0,
        false => {
            let events = transfers_of(platform, plan).saturating_mul(2);
            events.saturating_sub(2 * EVENTS_PER_LOOK) / EVENTS_PER_UNIT
        }
    }
}

/// The time for which the busiest resource is held before the last segment, seconds.
fn busiest_s(plan: &Plan, platform: &Platform) -> Result<f64, PlanError> {
    Ok((plan.message_bytes - plan.segment_bytes) as f64 / throughput(platform, plan)?)
}

/// The makespan of [`simulate`](super::simulate), without a trace and without a check, seconds.
///
/// # Errors
/// Those of [`estimate_within`].
pub fn makespan(platform: &Platform, plan: Plan, budget: &Budget) -> Result<f64, PlanError> {
    finish_s(platform, plan, budget).map(|finish_s| latest_s(finish_s.into_iter()))
}

/// The time at which each node has its message; NaN for switches.
fn finish_s(platform: &Platform, plan: Plan, budget: &Budget) -> Result<Vec<f64>, PlanError> {
    if let Some(finish_s) = static_order::finish_s(platform, &plan, budget)? {
        return Ok(finish_s);
    }
    let edges = further_edges(&plan);
    if edges > 0 && (budget.spend(edges * UNITS_PER_EDGE) || !budget.has_time_for(edges as f64 * EDGE_S)) {
        return Err(PlanError::OutOfTime);
    }
    let programs = Programs::for_platform(&Arc::new(plan), platform)?;
    Network::new(platform, &programs, None, false, budget)?.run(budget).map(|trace| trace.finish_s)
}

/// The edges of all trees but one, whose setup is little beside the events; that of n trees may be all the work.
fn further_edges(plan: &Plan) -> u64 {
    let further = (plan.trees.len() + plan.inward.len()).saturating_sub(1);
    (further * plan.nodes.len()) as u64
}

/// The latest of the times, without NaN.
fn latest_s(times_s: impl Iterator<Item = f64>) -> f64 {
    times_s.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TreeBuilder;
    use crate::platform::{LinkClass, Mesh, NodeId, PlatformBuilder, PortModel};

    /// The busy port of the middle host receives and sends each byte once on the way in and once on the way out: 20,000 s of
    /// receiving. Up to a few hundred segments, nothing has come back before all of its contributions are on their way.
    #[test]
    fn both_ways_of_an_all_reduce_count() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "far root", "port_model": "one-port",
            "nodes": [{"id": "root"}, {"id": "middle"}, {"id": "leaf"}],
            "links": [{"from": "root", "to": "middle", "both_ways": true, "latency_s": 1000, "bandwidth_bytes_per_s": 1},
                {"from": "middle", "to": "leaf", "both_ways": true, "bandwidth_bytes_per_s": 1}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let tree = r#"[{"share": 1, "children": {"root": ["middle"], "middle": ["leaf"]}}]"#;
        let plan = Plan::from_json(&format!(
            r#"{{"format": "broadleaf-plan/1", "collective": "allreduce", "root": "root", "message_bytes": 10000,
                "segment_bytes": 1, "inward": {tree}, "outward": {tree}}}"#
        ));
        let plan = plan.unwrap().bind(&platform).unwrap();
        assert!(estimate(&platform, &plan).unwrap() >= 19_000.0);
        assert!(makespan(&platform, plan, &Budget::UNLIMITED).unwrap() >= 20_000.0);
    }

    /// 10,000 segments along two chains of twelve hosts.
    #[test]
    fn an_estimate_that_the_budget_cannot_pay_for_is_not_begun() {
        let mut builder = PlatformBuilder::new("twelve", PortModel::OnePort);
        let hosts: Vec<NodeId> = (0..12).map(|at| builder.add_host(format!("h{at}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(0.0, 1.0));
        builder.add_mesh(Mesh { nodes: hosts.clone(), class }).unwrap();
        let platform = builder.build().unwrap();
        let chain = |others: Vec<NodeId>| {
            let mut builder = TreeBuilder::new(12).share(0.5);
            let senders = [&hosts[..1], &others].concat();
            for (&from, &to) in senders.iter().zip(&others) {
                builder.add(from, to);
            }
            builder.build()
        };
        let others = hosts[1..].to_vec();
        let trees = vec![chain(others.clone()), chain(others.into_iter().rev().collect())];
        let plan = Plan::bcast(&platform, "chains", hosts[0], 10_000, 1, trees);
        let (short, long) = (Budget::of_work(1_000), Budget::of_work(10_000));
        assert!(matches!(estimate_within(&platform, &plan, &short), Err(PlanError::OutOfTime)));
        assert_eq!(short.done(), 0);
        let found_s = estimate_within(&platform, &plan, &long).unwrap();
        assert_eq!(found_s, estimate(&platform, &plan).unwrap());
        assert!(long.done() > 1_000, "{}", long.done());
    }

    /// A node far away at 2 bytes/s and one close by at 1 byte/s: the far one finishes last in both short simulations.
    #[test]
    fn the_node_that_is_last_in_the_end_counts() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "near and far", "port_model": "link-capacity",
            "nodes": [{"id": "root"}, {"id": "far"}, {"id": "near"}],
            "links": [{"from": "root", "to": "far", "latency_s": 1000, "bandwidth_bytes_per_s": 2},
                {"from": "root", "to": "near", "bandwidth_bytes_per_s": 1}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let plan = Plan::from_json(
            r#"{"format": "broadleaf-plan/1", "root": "root", "message_bytes": 10000, "segment_bytes": 1,
                "trees": [{"share": 1, "children": {"root": ["far", "near"]}}]}"#,
        );
        let plan = plan.unwrap().bind(&platform).unwrap();
        assert_eq!(estimate(&platform, &plan).unwrap(), 10_000.0);
        assert_eq!(makespan(&platform, plan.resized(1_000), &Budget::UNLIMITED).unwrap(), 1_500.0);
    }
}
