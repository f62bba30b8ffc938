//! The searched segment size against all segment sizes.

use broadleaf::budget::Budget;
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;
use serde_json::{json, Value};
use std::time::Duration;

/// The best of a scan may be missed by this much.
const MISSED: f64 = 1.01;

fn mesh(model: &str, count: usize, link: Value) -> Platform {
    let ids: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
    let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    let document = json!({"format": "broadleaf-platform/1", "name": "mesh", "port_model": model, "nodes": nodes,
        "meshes": [{"nodes": ids, "link": link}]});
    Platform::from_json(&document.to_string()).unwrap()
}

/// The least makespan over every number of segments, simulated from end to end.
fn scanned_s(platform: &Platform, planner: &str, message_bytes: u64, most: u64) -> f64 {
    let instance = Instance::new(platform, NodeId(0), message_bytes).unwrap();
    let makespan_s = |count: u64| {
        let instance = instance.segmented(message_bytes.div_ceil(count));
        let plan = find(planner).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        simulate(platform, &plan, false).unwrap().makespan_s
    };
    (1..=most).map(makespan_s).fold(f64::INFINITY, f64::min)
}

#[test]
fn no_segment_size_is_much_faster_than_the_searched_one() {
    let links = [
        // The minimum is at some hundred segments, at few, and at one.
        json!({"latency_s": 1e-4, "startup_s": 1e-6, "bandwidth_bytes_per_s": 1e7}),
        json!({"latency_s": 1e-4, "startup_s": 1e-4, "bandwidth_bytes_per_s": 1e7}),
        json!({"latency_s": 1e-2, "startup_s": 1e-2, "bandwidth_bytes_per_s": 1e7}),
        // Measured: a step at 4 KiB where the protocol changes.
        json!({"latency_s": 5e-5, "gap": [[1, 2e-5], [1024, 8e-5], [4096, 2e-4], [4097, 6e-4], [65536, 4e-3]]}),
    ];
    for link in &links {
        for count in [2, 7] {
            let platform = mesh("one-port", count, link.clone());
            for planner in ["flat", "chain", "binary", "binomial"] {
                for message_bytes in [1000, 50_001] {
                    let instance = Instance::new(&platform, NodeId(0), message_bytes).unwrap();
                    let found =
                        make(&instance, planner, SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED)
                            .unwrap();
                    let found_s = found.plan.predicted.makespan_s.unwrap();
                    let scanned_s = scanned_s(&platform, planner, message_bytes, 300);
                    let place = format!("{planner}, {count} nodes, {message_bytes} bytes over {link}");
                    assert!(found_s <= scanned_s * MISSED, "{place}: {found_s} s, scanned {scanned_s} s");
                    // The prediction equals the plan's time.
                    let simulated_s = simulate(&platform, &found.plan, false).unwrap().makespan_s;
                    assert!((found_s - simulated_s).abs() <= 1e-12 * simulated_s, "{place}");
                }
            }
        }
    }
}

#[test]
fn a_given_segment_size_is_kept() {
    let platform = mesh("one-port", 5, json!({"bandwidth_bytes_per_s": 1e6}));
    let instance = Instance::new(&platform, NodeId(0), 10_000).unwrap();
    for effort in [Effort::Quick, Effort::Thorough] {
        let chain = make(&instance, "chain", SegmentChoice::Bytes(777), effort, &Budget::UNLIMITED).unwrap();
        assert_eq!(chain.plan.segment_bytes, 777);
        let whole =
            make(&instance, "chain", SegmentChoice::Bytes(1 << 40), effort, &Budget::UNLIMITED).unwrap();
        assert_eq!(whole.plan.segment_bytes, 10_000);
        let best = make(&instance, "best", SegmentChoice::Bytes(777), effort, &Budget::UNLIMITED).unwrap();
        assert!(best.tried.iter().filter(|tried| tried.segment_bytes != 777).all(|tried| {
            // Planners that divide the message their own way say so.
            !find(tried.name).unwrap().card().profile.is_segmentable() || tried.segment_bytes < 777
        }));
        // Van de Geijn has a block for each of the five.
        let blocks =
            make(&instance, "van-de-geijn", SegmentChoice::Bytes(777), effort, &Budget::UNLIMITED).unwrap();
        assert_eq!(blocks.plan.segment_bytes, 2000);
    }
}

/// A planner that is quick in tiny segments may be slow in larger ones; what is chosen is chosen among those.
#[test]
fn a_least_segment_is_kept_and_the_best_is_the_best_of_such() {
    let port = json!({"out_bytes_per_s": 1e6, "in_bytes_per_s": 1e6});
    let ids = ["a", "b", "c", "d"];
    let nodes: Vec<Value> = ids
        .iter()
        .map(|id| {
            let mut node = port.clone();
            node["id"] = json!(id);
            node
        })
        .collect();
    let link = json!({"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e6});
    let text = json!({"format": "broadleaf-platform/1", "name": "four", "port_model": "multi-port", "nodes": nodes,
        "meshes": [{"nodes": ids, "link": link}]});
    let platform = Platform::from_json(&text.to_string()).unwrap().handled();
    let instance = Instance::new(&platform, NodeId(0), 1_000_000).unwrap();
    for effort in [Effort::Quick, Effort::Thorough] {
        for least in [1, 2048, 100_000, 500_001] {
            let choice = SegmentChoice::AtLeast(least);
            let seconds = |name: &str| {
                let made = make(&instance, name, choice, effort, &Budget::UNLIMITED).unwrap();
                // Three trees may want a multiple of three segments.
                let most = (1_000_000 / least).next_multiple_of(3).max(1);
                let has_own_size = !find(&made.plan.planner).unwrap().card().profile.is_segmentable();
                assert!(
                    has_own_size || made.plan.segment_count() <= most,
                    "{name}: {}",
                    made.plan.segment_bytes
                );
                (made.plan.segment_bytes, simulate(&platform, &made.plan, false).unwrap().makespan_s)
            };
            let (best_s, chain_s) = (seconds("best").1, seconds("chain").1);
            let is_rough = effort == Effort::Quick;
            assert!(is_rough || best_s <= chain_s * MISSED, "from {least} bytes on: {best_s} s, {chain_s} s");
            // Two segments of that many bytes there are not.
            assert!(least < 500_001 || seconds("chain").0 == 1_000_000);
        }
    }
}

#[test]
fn a_time_limit_of_nothing_still_gives_a_plan() {
    let platform = mesh("one-port", 5, json!({"bandwidth_bytes_per_s": 1e6}));
    let instance = Instance::new(&platform, NodeId(0), 10_000).unwrap();
    let none = Budget::within(Duration::ZERO);
    for effort in [Effort::Quick, Effort::Thorough] {
        let outcome = make(&instance, "best", SegmentChoice::Auto, effort, &none).unwrap();
        assert_eq!(outcome.plan.planner, "flat");
        let late = outcome.passed_over.iter().filter(|passed| passed.reason.contains("time limit")).count();
        assert!(late >= 5, "{:?}", outcome.passed_over);
        make(&instance, "chain", SegmentChoice::Auto, effort, &none).unwrap();
    }
}
