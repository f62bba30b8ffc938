//! `skip_busy`: a sender serves its other receivers while one is busy, in the executor and so in every transport.

use broadleaf::execute::{threads, FlowWindow, NodeExecutor, LEADS_A_TURN};
use broadleaf::plan::{Plan, Programs};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::simulate::simulate;
use std::sync::Arc;

/// The root's port takes 0.1 s a byte, its link to `a` 3 s and that to `b` 1 s.
const PLATFORM: &str = r#"{"format": "broadleaf-platform/1", "name": "three", "port_model": "multi-port",
    "nodes": [{"id": "r", "out_bytes_per_s": 10, "in_bytes_per_s": 10},
        {"id": "a", "out_bytes_per_s": 10, "in_bytes_per_s": 10},
        {"id": "b", "out_bytes_per_s": 10, "in_bytes_per_s": 10}],
    "links": [{"from": "r", "to": "a", "bandwidth_bytes_per_s": 0.3333333333333333},
        {"from": "r", "to": "b", "bandwidth_bytes_per_s": 1},
        {"from": "a", "to": "b", "both_ways": true, "bandwidth_bytes_per_s": 10}]}"#;

/// Segments 0 and 2 go by `a`, 1 and 3 by `b`.
fn plan(platform: &Platform, skip_busy: bool) -> Plan {
    let text = r#"{"format": "broadleaf-plan/1", "root": "r", "message_bytes": 4, "segment_bytes": 1,
        "trees": [{"share": 0.5, "children": {"r": ["a"], "a": ["b"]}},
            {"share": 0.5, "children": {"r": ["b"], "b": ["a"]}}]}"#;
    Plan { skip_busy, ..Plan::from_json(text).unwrap().bind(platform).unwrap() }
}

/// Worked by hand: segment 2 can start at 3 s, when the link to `a` is free. A root that waits for it sends segment 3
/// at 3.1 s. One that does not sends it at 1.1 s, when the link to `b` has brought segment 1.
#[test]
fn a_busy_link_does_not_hold_up_the_others() {
    let platform = Platform::from_json(PLATFORM).unwrap();
    for (skip_busy, arrives_s) in [(false, 4.1), (true, 2.1)] {
        let trace = simulate(&platform, &plan(&platform, skip_busy), true).unwrap();
        let arrival_s = |segment: u64, to: u32| {
            let moved =
                trace.transfers.iter().find(|moved| (moved.segment, moved.to) == (segment, NodeId(to)));
            moved.unwrap().arrival_s
        };
        assert!((arrival_s(3, 2) - arrives_s).abs() < 1e-9, "{skip_busy}: {}", arrival_s(3, 2));
        assert!((arrival_s(2, 1) - 6.0).abs() < 1e-9, "{skip_busy}: {}", arrival_s(2, 1));
    }
}

/// Under a transport with one message at a time through the port.
#[test]
fn the_executor_passes_over_peers_without_room() {
    let platform = Platform::from_json(PLATFORM).unwrap();
    let root = |skip_busy: bool| {
        let plan = Arc::new(plan(&platform, skip_busy));
        let programs = Programs::for_platform(&plan, &platform).unwrap();
        let window = if skip_busy { FlowWindow::PORT.apart() } else { FlowWindow::PORT };
        NodeExecutor::new(&programs, NodeId(0), |_| window)
    };
    let next =
        |executor: &mut NodeExecutor| executor.poll_send().map(|message| (message.to, message.first.segment));
    let mut waits = root(false);
    assert_eq!(next(&mut waits), Some((NodeId(1), 0)));
    assert_eq!(next(&mut waits), None, "the port is busy");
    let mut skips = root(true);
    assert_eq!(next(&mut skips), Some((NodeId(1), 0)));
    assert_eq!(next(&mut skips), Some((NodeId(2), 1)));
    assert_eq!(next(&mut skips), None, "both links are busy");
    skips.handle_sent(NodeId(2));
    assert_eq!(next(&mut skips), Some((NodeId(2), 3)), "segment 2 waits for its link");
    skips.handle_sent(NodeId(1));
    assert_eq!(next(&mut skips), Some((NodeId(1), 2)));
}

/// Segments 1 and 3, on their way by `b`, are due one and a half turns earlier: at -0.5 and 1.5, segments 0 and 2 at 0 and 2.
#[test]
fn messages_with_a_lead_go_ahead_of_earlier_segments() {
    let platform = Platform::from_json(PLATFORM).unwrap();
    let programs = Programs::for_platform(&plan(&platform, false), &platform).unwrap();
    let order = |lead: u32| -> Vec<u64> {
        let mut root = NodeExecutor::new(&programs, NodeId(0), |_| FlowWindow::PORT);
        root.lead(|output| if output.to == NodeId(2) { lead } else { 0 });
        let mut sent = Vec::new();
        while let Some(message) = root.poll_send() {
            sent.push(message.first.segment);
            root.handle_sent(message.to);
        }
        sent
    };
    assert_eq!(order(0), [0, 1, 2, 3]);
    assert_eq!(order(LEADS_A_TURN + LEADS_A_TURN / 2), [1, 0, 3, 2]);
    assert_eq!(order(u32::MAX), [1, 3, 0, 2]);
}

#[test]
fn every_byte_arrives_and_the_option_is_written_and_read() {
    let platform = Platform::from_json(PLATFORM).unwrap();
    let skipping = plan(&platform, true);
    let read = Plan::from_json(&skipping.to_json().to_string()).unwrap();
    assert!(read.skip_busy);
    assert!(plan(&platform, false).to_json().get("skip_busy").is_none());
    let programs = Programs::for_platform(&Arc::new(read.bind(&platform).unwrap()), &platform).unwrap();
    let buffers = threads::run(&programs, b"data").unwrap();
    assert!(buffers.iter().all(|buffer| buffer == b"data"));
}
