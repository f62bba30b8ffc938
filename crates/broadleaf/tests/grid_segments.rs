//! `makespan` for messages in segments: its formula against the simulator, its trees against all trees.

use broadleaf::budget::Budget;
use broadleaf::plan::{Plan, TreeBuilder};
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::random::Random;
use broadleaf::simulate::{estimate, simulate};
use serde_json::{json, Value};

/// Hosts with a link of their own for every ordered pair; some of them in clusters.
fn drawn(random: &mut Random, hosts: usize, clusters: usize) -> Platform {
    let id = |host: usize| format!("h{host}");
    let nodes: Vec<Value> = (0..hosts)
        .map(|host| match clusters {
            0 => json!({"id": id(host)}),
            _ => json!({"id": id(host), "cluster": format!("k{}", host % clusters)}),
        })
        .collect();
    let mut links = Vec::new();
    for from in 0..hosts {
        for to in (0..hosts).filter(|&to| to != from) {
            links.push(json!({"from": id(from), "to": id(to), "latency_s": random.between(0.0, 2.0),
                "startup_s": random.between(0.0, 0.2), "bandwidth_bytes_per_s": random.between(50.0, 200.0)}));
        }
    }
    let document = json!({"format": "broadleaf-platform/1", "name": "drawn", "port_model": "one-port",
        "nodes": nodes, "links": links});
    Platform::from_json(&document.to_string()).unwrap()
}

#[test]
fn the_formula_is_what_the_simulator_finds() {
    let mut random = Random::new(31);
    for round in 0..30 {
        let hosts = 2 + random.below(9);
        let platform = drawn(&mut random, hosts, round % 3);
        let root = NodeId(random.below(hosts) as u32);
        for segments in [2, 7, 40] {
            let instance = Instance::new(&platform, root, 100 * segments).unwrap().segmented(100);
            let plan = find("makespan").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
            let predicted_s = plan.predicted.makespan_s.unwrap();
            let found_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            assert!((found_s - predicted_s).abs() <= 1e-9 * found_s, "{found_s}, not {predicted_s}");
        }
    }
}

/// Budgets step through the gaps: steps of the least one would take for ever, and all memory.
#[test]
fn gaps_of_all_magnitudes_are_stepped_through() {
    for least_s in [0.0, f64::MIN_POSITIVE, 1e-12] {
        let link = |from: &str, to: &str, startup_s: f64| json!({"from": from, "to": to, "both_ways": true, "startup_s": startup_s});
        let document = json!({"format": "broadleaf-platform/1", "name": "wide", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "links": [link("a", "b", least_s), link("b", "c", 1.0), link("a", "c", 3.0)]});
        let platform = Platform::from_json(&document.to_string()).unwrap();
        let instance = Instance::new(&platform, NodeId(0), 100).unwrap().segmented(10);
        let plan = find("makespan").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        // Ten segments through b, one second each.
        assert!((simulate(&platform, &plan, false).unwrap().makespan_s - 10.0).abs() < 1e-9);
    }
}

/// Every tree over five hosts with every order of children, simulated.
#[test]
fn no_tree_of_five_hosts_is_much_faster() {
    let mut random = Random::new(8);
    for round in 0..6 {
        let platform = drawn(&mut random, 5, 0);
        let (root, segments) = (NodeId(0), [3, 12][round % 2]);
        let instance = Instance::new(&platform, root, 100 * segments).unwrap().segmented(100);
        let found = find("makespan").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        let found_s = simulate(&platform, &found, false).unwrap().makespan_s;
        let mut least_s = f64::INFINITY;
        // Parents in all ways, and the edges in all orders of their receivers.
        for code in 0..5usize.pow(4) {
            let parents: Vec<usize> = (0..4).map(|digit| code / 5usize.pow(digit) % 5).collect();
            let reaches_root = |mut node: usize| {
                for _ in 0..5 {
                    if node == 0 {
                        return true;
                    }
                    node = parents[node - 1];
                }
                false
            };
            if !(1..5).all(reaches_root) {
                continue;
            }
            for order in orders(vec![1, 2, 3, 4]) {
                let mut tree = TreeBuilder::new(5);
                for node in order {
                    tree.add(NodeId(parents[node - 1] as u32), NodeId(node as u32));
                }
                let plan = Plan::bcast(&platform, "any", root, 100 * segments, 100, vec![tree.build()]);
                least_s = least_s.min(simulate(&platform, &plan, false).unwrap().makespan_s);
            }
        }
        assert!(found_s <= least_s * (1.0 + 1e-9), "{found_s} where {least_s} is possible");
    }
}

fn orders(items: Vec<usize>) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for &first in &items {
        let rest = items.iter().copied().filter(|&item| item != first).collect();
        all.extend(orders(rest).into_iter().map(|mut order| {
            order.insert(0, first);
            order
        }));
    }
    all
}

/// Between small and huge there is no gap: at every size one segment size makes it the fastest of the trees.
#[test]
fn middle_sizes_are_faster_than_chain_and_ecef_on_real_grids() {
    for name in ["grid5000-88", "teragrid-64"] {
        let path = format!("{}/../../platforms/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let platform = Platform::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
        let root = platform.hosts().next().unwrap();
        for bytes in [64 << 10, 1 << 20, 4 << 20] {
            let best_s = |planner: &str, shares: &[u64]| {
                let instance = Instance::new(&platform, root, bytes).unwrap();
                let times = shares.iter().map(|share| {
                    let plan = find(planner)
                        .unwrap()
                        .plan(&instance.segmented(bytes / share), &Budget::UNLIMITED)
                        .unwrap();
                    estimate(&platform, &plan).unwrap()
                });
                times.fold(f64::INFINITY, f64::min)
            };
            let shares = [1, 16, 256, 1024];
            let found_s = best_s("makespan", &[16, 256, 1024]);
            for other in ["chain", "ecef", "binomial", "mpich-g2"] {
                let other_s = best_s(other, &shares);
                assert!(found_s < other_s, "{name}, {bytes} bytes: {found_s}, {other} {other_s}");
            }
        }
    }
}
