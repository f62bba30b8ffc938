//! Two levels: sends between clusters with trees inside grafted on are one ordinary plan with the predicted time.

use broadleaf::budget::Budget;
use broadleaf::plan::{check, Plan};
use broadleaf::planners::{clustered, find, Instance};
use broadleaf::platform::generate;
use broadleaf::platform::{NodeId, Platform};
use broadleaf::random::Random;
use broadleaf::simulate::simulate;
use serde_json::{json, Value};

fn named(name: &str) -> Platform {
    let path = format!("{}/../../platforms/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Platform::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A few clusters of different sizes and rates, every pair of them with a link of its own, some through one
/// shared pipe.
fn drawn(random: &mut Random, local_start: &str) -> Platform {
    let clusters = 2 + random.below(5);
    let sizes: Vec<usize> = (0..clusters).map(|_| 1 + random.below(12)).collect();
    let id = |cluster: usize, host: usize| format!("c{cluster}-{host}");
    let mut nodes = Vec::new();
    let mut meshes = Vec::new();
    for (cluster, &size) in sizes.iter().enumerate() {
        let ids: Vec<String> = (0..size).map(|host| id(cluster, host)).collect();
        nodes.extend(ids.iter().map(|id| json!({"id": id, "cluster": format!("C{cluster}")})));
        if size > 1 {
            let link = json!({"latency_s": random.between(2e-5, 2e-4),
                "bandwidth_bytes_per_s": random.between(1e7, 1.25e8)});
            meshes.push(json!({"nodes": ids, "link": link}));
        }
    }
    let mut bridges = Vec::new();
    for from in 0..clusters {
        for to in 0..from {
            let mut link = json!({"latency_s": random.between(1e-3, 1.5e-2),
                "bandwidth_bytes_per_s": random.between(2e6, 5e7)});
            if random.chance(0.2) {
                link["uses"] = json!(["pipe"]);
            }
            bridges.push(json!({"from_cluster": format!("C{from}"), "to_cluster": format!("C{to}"),
                "both_ways": true, "link": link}));
        }
    }
    let document = json!({"format": "broadleaf-platform/1", "name": "clusters", "port_model": "one-port",
        "local_start": local_start, "nodes": nodes, "meshes": meshes, "bridges": bridges,
        "shared": [{"id": "pipe", "bandwidth_bytes_per_s": 3e7}]});
    Platform::from_json(&document.to_string()).unwrap()
}

fn names() -> impl Iterator<Item = &'static str> {
    clustered::HEURISTICS.into_iter().map(|heuristic| heuristic.name()).chain(["makespan"])
}

/// One ordinary plan: it says of itself nothing else than any other, spans all hosts once, and enters every
/// cluster once.
fn assert_ordinary(platform: &Platform, plan: &Plan) {
    assert_eq!(check::faults(platform, plan), Vec::<String>::new(), "{}", plan.planner);
    let document = plan.to_json();
    let fields: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(!fields.contains(&"period") && !fields.contains(&"pattern"), "{fields:?}");
    assert_eq!(plan.trees.len(), 1);
    let mut entered = vec![0; platform.clusters().len()];
    for (from, to) in plan.trees[0].edges() {
        let cluster = |node: NodeId| platform.node(node).cluster.unwrap();
        if cluster(from) != cluster(to) {
            entered[cluster(to).index()] += 1;
        }
    }
    let own = platform.node(plan.root).cluster.unwrap().index();
    assert!(entered.iter().enumerate().all(|(cluster, &times)| times == usize::from(cluster != own)));
}

/// The makespan by the text for whole messages: every node serves its children in turn once it has it all.
fn followed_s(platform: &Platform, plan: &Plan) -> f64 {
    let mut ready_s = vec![f64::NAN; platform.node_count()];
    ready_s[plan.root.index()] = 0.0;
    let mut last_s: f64 = 0.0;
    let mut open: Vec<NodeId> = vec![plan.root];
    while let Some(from) = open.pop() {
        for &to in plan.trees[0].children(from) {
            let class = platform.link(from, to).unwrap();
            ready_s[from.index()] += platform.transfer_s(class, plan.message_bytes);
            ready_s[to.index()] = ready_s[from.index()] + platform.class(class).latency_s;
            last_s = last_s.max(ready_s[to.index()]);
            open.push(to);
        }
    }
    last_s
}

#[test]
fn plans_of_clusters_are_ordinary_and_take_as_long_as_they_say() {
    let mut random = Random::new(12);
    let mut platforms = vec![named("grid5000-88")];
    platforms.extend((0..25).map(|draw| drawn(&mut random, ["after-last-send", "on-arrival"][draw % 2])));
    for platform in &platforms {
        let hosts: Vec<NodeId> = platform.hosts().collect();
        for root in [hosts[0], hosts[random.below(hosts.len())]] {
            let instance = Instance::new(platform, root, 4 << 20).unwrap();
            for name in names() {
                let plan = find(name).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
                assert_ordinary(platform, &plan);
                let simulated_s = simulate(platform, &plan, false).unwrap().makespan_s;
                let wanted_s = followed_s(platform, &plan);
                // A pipe that two sends meet in holds one of them up; nothing is ever faster than the text.
                assert!(simulated_s >= wanted_s * (1.0 - 1e-9), "{name}: {simulated_s}, by hand {wanted_s}");
                let has_pipes = platform.classes().iter().any(|class| !class.uses.is_empty());
                let most = if has_pipes { 1.01 } else { 1.0 + 1e-9 };
                if !has_pipes || platform.name() == "grid5000-88" {
                    assert!(simulated_s <= wanted_s * most, "{name}: {simulated_s}, not {wanted_s}");
                }
            }
        }
    }
}

/// In segments too what a plan predicts is near what the simulator finds.
#[test]
fn segmented_predictions_are_near() {
    let mut random = Random::new(5);
    let mut platforms = vec![named("grid5000-88"), named("teragrid-64")];
    platforms.extend((0..15).map(|_| drawn(&mut random, "on-arrival")));
    for platform in &platforms {
        let root = platform.hosts().next().unwrap();
        let instance = Instance::new(platform, root, 1 << 20).unwrap().segmented(16 << 10);
        let plan = find("makespan").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        assert_ordinary(platform, &plan);
        let simulated_s = simulate(platform, &plan, false).unwrap().makespan_s;
        let ratio = plan.predicted.makespan_s.unwrap() / simulated_s;
        assert!((0.8..1.3).contains(&ratio), "{}: {ratio}", platform.name());
    }
}

/// Inputs that no planner may take for clusters.
#[test]
fn wrong_clusters_are_refused_in_one_line() {
    let refused = |document: Value, says: &str| {
        let line = Platform::from_json(&document.to_string()).unwrap_err().to_string();
        assert!(line.contains(says) && !line.contains('\n'), "{line}");
    };
    let platform = |nodes: Value, latency_s: Value, local_s: Value| {
        let mut nodes = nodes;
        if let Some(node) = nodes.as_array_mut().unwrap().first_mut() {
            node["local_broadcast_s"] = local_s;
        }
        json!({"format": "broadleaf-platform/1", "name": "wrong", "port_model": "one-port", "nodes": nodes,
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
                "link": {"latency_s": latency_s, "bandwidth_bytes_per_s": 1e8}}]})
    };
    let two = json!([{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}]);
    refused(platform(json!([{"id": "a", "cluster": "A"}]), json!(1.0), json!(1.0)), "\"B\"");
    refused(platform(two.clone(), json!(-1.0), json!(1.0)), "latency_s");
    refused(platform(two.clone(), json!(1.0), json!(-1.0)), "local_broadcast_s");
    refused(platform(two.clone(), json!("1"), json!(1.0)), "latency_s");
    let nobody = Platform::from_json(&platform(json!([]), json!(1.0), json!(1.0)).to_string());
    assert!(nobody.is_err());
    let good = Platform::from_json(&platform(two, json!(1.0), json!(1.0)).to_string()).unwrap();
    assert_eq!(good.find("c"), None);
    for clusters in [0, 5_001] {
        let line = generate::grid(&generate::Grid::new(clusters, 0)).unwrap_err().to_string();
        assert!(line.contains("clusters") && !line.contains('\n'), "{line}");
    }
}
