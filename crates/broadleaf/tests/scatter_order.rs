//! The order in which `flat` serves a scatter's receivers, beside every other order.

use broadleaf::budget::Budget;
use broadleaf::plan::{Collective, Plan, TreeBuilder};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::random::Random;
use broadleaf::simulate::estimate;
use serde_json::json;

const RECEIVERS: usize = 6;
const DRAWN: u64 = 40;

/// A root at 100 B/s, and receivers behind two slow pipes or none, 0 to 4 s away.
fn drawn(seed: u64) -> Platform {
    let mut random = Random::new(seed);
    let nodes: Vec<_> = (0..=RECEIVERS).map(|at| json!({"id": format!("h{at}")})).collect();
    let links: Vec<_> = (1..=RECEIVERS)
        .map(|at| {
            let uses = [vec![], vec!["slow"], vec!["slower"]][random.below(3)].clone();
            let latency_s = random.below(5) as f64;
            json!({"from": "h0", "to": format!("h{at}"), "latency_s": latency_s, "bandwidth_bytes_per_s": 100.0,
                "uses": uses})
        })
        .collect();
    let document = json!({
        "format": "broadleaf-platform/1", "name": "drawn", "port_model": "one-port", "nodes": nodes, "links": links,
        "shared": [{"id": "slow", "bandwidth_bytes_per_s": 50.0}, {"id": "slower", "bandwidth_bytes_per_s": 25.0}],
    });
    Platform::from_json(&document.to_string()).unwrap()
}

fn in_order(platform: &Platform, flat: &Plan, order: &[usize]) -> f64 {
    let mut tree = TreeBuilder::new(platform.node_count());
    for &receiver in order {
        tree.add(NodeId(0), NodeId(receiver as u32));
    }
    estimate(platform, &Plan { trees: vec![tree.build()].into(), ..flat.clone() }).unwrap()
}

fn best_of(platform: &Platform, flat: &Plan, order: &mut Vec<usize>, from: usize) -> f64 {
    if from == order.len() {
        return in_order(platform, flat, order);
    }
    let mut best_s = f64::INFINITY;
    for at in from..order.len() {
        order.swap(from, at);
        best_s = best_s.min(best_of(platform, flat, order, from + 1));
        order.swap(from, at);
    }
    best_s
}

#[test]
fn no_order_is_faster_nearly_always() {
    let mut optimal = 0;
    for seed in 0..DRAWN {
        let platform = drawn(seed);
        let instance =
            Instance { collective: Collective::Scatter, ..Instance::new(&platform, NodeId(0), 100).unwrap() };
        let flat = plan_with(find("flat").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
        let taken_s = estimate(&platform, &flat).unwrap();
        let best_s = best_of(&platform, &flat, &mut (1..=RECEIVERS).collect(), 0);
        assert!(taken_s <= best_s * 1.2, "{seed}: {taken_s} s, {best_s} s at best");
        optimal += u64::from(taken_s <= best_s + 1e-9);
    }
    // List scheduling is not optimal.
    assert!(optimal >= 36, "{optimal} of {DRAWN}");
}
