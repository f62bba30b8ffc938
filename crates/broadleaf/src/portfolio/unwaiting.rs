//! The makespan of a plan in which no transfer waits for another: the first segment's, and the rest at the steady rate.
//!
//! A sketch needs no more; and where the time is up before a simulation, a plan has this estimate.

use super::timing::Timing;
use crate::budget::Budget;
use crate::plan::{throughput, Collective, Plan, PlanError, Segments, Tree};
use crate::planners::longest_way_s;
use crate::platform::Platform;

/// The makespan without any waiting: the first segment's, and the rest at the steady rate, seconds. Only a time limit cuts
/// its simulation short.
pub(super) fn unwaiting_s(timing: Timing, plan: &Plan, budget: &Budget) -> Result<f64, PlanError> {
    let budget = if budget.is_timed() { budget } else { &Budget::UNLIMITED };
    match timing.estimate(&first_segment(plan), budget) {
        Err(PlanError::OutOfTime) => unsimulated_s(timing.platform(), plan),
        first_s => Ok(first_s? + steady_s(timing.platform(), plan)?),
    }
}

/// The plan of the first segment alone; in a broadcast, without the trees that would be set up and carry nothing.
fn first_segment(plan: &Plan) -> Plan {
    let first = plan.resized(plan.segment_bytes);
    if plan.collective != Collective::Bcast || plan.period.is_some() {
        return first;
    }
    let mut tree = plan.trees[Segments::deal(1, 1, &plan.trees.shares()).tree_of(0)].clone();
    tree.share = 1.0;
    Plan { trees: vec![tree].into(), ..first }
}

/// The same without a simulation, which for n trees takes longer than to plan them.
pub(super) fn unsimulated_s(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    let rate = throughput(platform, plan)?;
    let steady_s = (plan.message_bytes - plan.segment_bytes) as f64 / rate;
    let first_s = first_segments_s(platform, &first_segment(plan));
    Ok((first_s + steady_s).max(plan.message_bytes as f64 / rate))
}

/// When the first segment of every tree has come to all, if trees do not wait for each other; seconds.
fn first_segments_s(platform: &Platform, plan: &Plan) -> f64 {
    let exchanged_s = |(inward, outward): (&Tree, &Tree)| {
        let both = [Some(inward), Some(outward)];
        let root = plan.root_of(inward);
        let through_root_s =
            || first_segment_s(platform, plan, inward) + first_segment_s(platform, plan, outward);
        // Without a link for every edge, the longer time.
        longest_way_s(platform, plan.segment_bytes, root, both, &inward.exchange)
            .unwrap_or_else(through_root_s)
    };
    if plan.inward.iter().any(|tree| !tree.exchange.is_empty()) {
        return plan.inward.iter().zip(plan.trees.iter()).map(exchanged_s).fold(0.0, f64::max);
    }
    let of_trees =
        |trees: &[Tree]| trees.iter().map(|tree| first_segment_s(platform, plan, tree)).fold(0.0, f64::max);
    of_trees(&plan.trees) + of_trees(&plan.inward)
}

/// When the first segment of a routed tree has come to all, each child served after those before it; seconds. The way
/// in takes as long.
fn first_segment_s(platform: &Platform, plan: &Plan, tree: &Tree) -> f64 {
    let root = plan.root_of(tree);
    let mut at_s = vec![0.0; tree.node_count()];
    for parent in tree.breadth_first(root) {
        let mut free_s = at_s[parent.index()];
        for &child in tree.children(parent) {
            let relays = tree.via.get(&child).map_or(&[][..], Vec::as_slice);
            let path = [&[parent], relays, &[child]].concat();
            let hops = path
                .windows(2)
                .filter_map(|hop| platform.link(hop[0], hop[1]).or_else(|| platform.link(hop[1], hop[0])));
            let times: Vec<(f64, f64)> = hops
                .map(|class| {
                    (platform.transfer_s(class, plan.segment_bytes), platform.class(class).latency_s)
                })
                .collect();
            at_s[child.index()] =
                free_s + times.iter().map(|(busy_s, latency_s)| busy_s + latency_s).sum::<f64>();
            free_s += times.first().map_or(0.0, |(busy_s, _)| *busy_s);
        }
    }
    at_s.into_iter().fold(0.0, f64::max)
}

/// The steady part of the makespan without any waiting: all but the last segment through the busiest resource,
/// seconds.
pub(super) fn steady_s(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    Ok((plan.message_bytes - plan.segment_bytes) as f64 / throughput(platform, plan)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, two sites of two hosts 100 s apart, 1 byte/s: ten seconds in, ten and the latency between the heads, ten out;
    /// through the root the latter twice.
    #[test]
    fn an_exchange_counts_the_long_link_once() {
        let platform = Platform::from_json(
            r#"{"format": "broadleaf-platform/1", "name": "two sites", "port_model": "one-port",
            "nodes": [{"id": "a0", "cluster": "A"}, {"id": "a1", "cluster": "A"}, {"id": "b0", "cluster": "B"},
                {"id": "b1", "cluster": "B"}],
            "meshes": [{"nodes": ["a0", "a1"], "link": {"bandwidth_bytes_per_s": 1}},
                {"nodes": ["b0", "b1"], "link": {"bandwidth_bytes_per_s": 1}}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
                "link": {"bandwidth_bytes_per_s": 1, "latency_s": 100}}]}"#,
        )
        .unwrap();
        let unsimulated_s = |exchange: &str| {
            let tree = r#""share": 1, "children": {"a0": ["b0", "a1"], "b0": ["b1"]}"#;
            let plan = Plan::from_json(&format!(
                r#"{{"format": "broadleaf-plan/1", "collective": "allreduce", "root": "a0", "message_bytes": 10,
                "segment_bytes": 10, "inward": [{{{tree}{exchange}}}], "outward": [{{{tree}}}]}}"#
            ));
            unsimulated_s(&platform, &plan.unwrap().bind(&platform).unwrap()).unwrap()
        };
        assert_eq!(unsimulated_s(r#", "exchange": ["b0"]"#), 130.0);
        assert_eq!(unsimulated_s(""), 240.0);
    }
}
