//! What a timetable costs the optimum's trees: a node with a near and a far sender.

use broadleaf::budget::Budget;
use broadleaf::plan::Plan;
use broadleaf::planners::with_period;
use broadleaf::platform::Platform;
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
