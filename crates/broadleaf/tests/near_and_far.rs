//! What a timetable costs the optimum's trees: a node with a near and a far sender.

use broadleaf::budget::Budget;
use broadleaf::plan::Plan;
use broadleaf::planners::{find, plan_with, with_period, Instance, Pace};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;

const LATENCY_S: f64 = 100.0;
const SEGMENTS: u64 = 40;

/// `b` receives one half of the segments from the root, far away, and the other from `a`, near; a second each.
#[test]
fn two_periods_take_a_latency_and_child_order_does_not_wait_for_it() {
    let platform = Platform::from_json(
        r#"{"format": "broadleaf-platform/1", "name": "near and far", "port_model": "one-port",
        "nodes": [{"id": "r"}, {"id": "a"}, {"id": "b"}],
        "links": [{"from": "r", "to": "b", "latency_s": 100, "bandwidth_bytes_per_s": 1},
            {"from": "r", "to": "a", "bandwidth_bytes_per_s": 1},
            {"from": "a", "to": "b", "both_ways": true, "bandwidth_bytes_per_s": 1}]}"#,
    )
    .unwrap();
    let plan = Plan::from_json(
        r#"{"format": "broadleaf-plan/1", "root": "r", "message_bytes": 40, "segment_bytes": 1,
        "trees": [{"share": 0.5, "children": {"r": ["b"], "b": ["a"]}},
            {"share": 0.5, "children": {"r": ["a"], "a": ["b"]}}]}"#,
    );
    let plan = plan.unwrap().bind(&platform).unwrap();
    let in_turn = with_period(&platform, &plan, &Budget::UNLIMITED).unwrap();
    let makespan_s = |plan: &Plan| simulate(&platform, plan, false).unwrap().makespan_s;
    let periods = SEGMENTS / u64::from(in_turn.period.as_ref().unwrap().segments);
    assert!(makespan_s(&in_turn) > (periods / 2) as f64 * LATENCY_S, "{}", makespan_s(&in_turn));
    // The root sends for 40 s, the last far segment travels for 100 s more and then goes on to `a`.
    assert!(makespan_s(&plan) < SEGMENTS as f64 + LATENCY_S + 20.0, "{}", makespan_s(&plan));
}

/// 88 hosts of three sites, 12 ms and 1.5 MB/s apart: every other planner of `best` has its turn before.
#[test]
fn best_has_the_trees_without_a_timetable_where_latencies_are_long() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/grid5000-88-2006.json");
    let platform = Platform::load(file.as_ref()).unwrap();
    let root = platform.hosts().next().unwrap();
    let instance = Instance::new(&platform, root, 16 << 10).unwrap();
    let budget = Budget::of_planning(None);
    let plan = make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &budget).unwrap().plan;
    assert_eq!(plan.planner, "optimal-trees");
    assert!(plan.skip_busy && plan.period.is_none());
    // In smaller segments than there are trees, trees compete for receivers, and the rule matters.
    let passing = plan_with(find("optimal-trees").unwrap(), &instance.segmented(256), &budget).unwrap();
    let waiting = Plan { skip_busy: false, ..passing.clone() };
    let makespan_s = |plan: &Plan| simulate(&platform, plan, false).unwrap().makespan_s;
    assert!(makespan_s(&passing) < makespan_s(&waiting));
}

/// `best` cannot rank the planner where a pipe is slower than the links through it.
#[test]
fn trees_through_a_slow_pipe_are_for_those_who_ask() {
    let planner = find("optimal-trees").unwrap();
    for (pipe_bytes_per_s, pace) in [(9, Pace::ByName), (10, Pace::Last)] {
        let text = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "piped", "port_model": "one-port",
            "nodes": [{{"id": "r"}}, {{"id": "a"}}],
            "shared": [{{"id": "pipe", "bandwidth_bytes_per_s": {pipe_bytes_per_s}}}],
            "links": [{{"from": "r", "to": "a", "bandwidth_bytes_per_s": 10, "uses": ["pipe"]}}]}}"#
        );
        let platform = Platform::from_json(&text).unwrap();
        let instance = Instance::new(&platform, NodeId(0), 100).unwrap();
        assert_eq!(planner.card().profile.pace_of(&instance), pace);
    }
}
