//! Paper 2's heuristics against an independent implementation that recomputes every formula in every round.

mod slow;

use broadleaf::budget::Budget;
use broadleaf::planners::clustered::{self, makespan_s, times, ClusterSend, Grid, GridError, Heuristic};
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{LocalStart, Platform};
use broadleaf::random::Random;
use broadleaf::simulate::simulate;
use serde_json::{json, Value};
use slow::{draw, Slow};

fn all() -> impl Iterator<Item = &'static Heuristic> {
    clustered::HEURISTICS.into_iter().chain([&clustered::BOTTOM_UP_AS_PRINTED])
}

#[test]
fn sends_and_makespans_equal_a_slow_implementation() {
    let mut random = Random::new(2006);
    for round in 0..4000 {
        let n = match round {
            // From 65 on arrivals are followed in another way.
            0..=11 => 66 + 4 * round,
            _ => 1 + random.below(if round % 40 == 0 { 40 } else { 12 }),
        };
        let slow = draw(&mut random, n);
        let grid = slow.grid();
        for heuristic in all() {
            let sends = heuristic.sends(&grid);
            assert_eq!(sends, slow.sends(heuristic.name()), "{} of draw {round}", heuristic.name());
            let found = makespan_s(&grid, &sends);
            let wanted = slow.makespan(&sends);
            assert!((found - wanted).abs() <= 1e-12 * wanted, "{}: {found}, not {wanted}", heuristic.name());
        }
    }
}

/// A platform whose nodes stand for the clusters of a draw; a gap table of one row is g for every size.
fn platform(slow: &Slow) -> Platform {
    let id = |cluster: usize| format!("c{cluster}");
    let nodes: Vec<Value> = (0..slow.len())
        .map(|cluster| json!({"id": id(cluster), "local_broadcast_s": slow.local[cluster]}))
        .collect();
    let mut links = Vec::new();
    for i in 0..slow.len() {
        for j in (0..slow.len()).filter(|&j| j != i) {
            links.push(json!({"from": id(i), "to": id(j), "latency_s": slow.latency[i][j],
                "gap": [[1, slow.gap[i][j]]]}));
        }
    }
    document(json!({"format": "broadleaf-platform/1", "name": "grid", "port_model": "one-port",
        "local_start": slow.start.name(), "nodes": nodes, "links": links}))
}

fn document(document: Value) -> Platform {
    Platform::from_json(&document.to_string()).unwrap()
}

#[test]
fn plans_of_platforms_take_as_long_as_the_model_says() {
    let mut random = Random::new(7);
    for _ in 0..60 {
        let n = 2 + random.below(10);
        let slow = draw(&mut random, n);
        let platform = platform(&slow);
        let root = platform.find(&format!("c{}", slow.root)).unwrap();
        let instance = Instance::new(&platform, root, 1 << 20).unwrap();
        for heuristic in clustered::HEURISTICS {
            let plan = find(heuristic.name()).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
            let wanted = slow.makespan(&slow.sends(heuristic.name()));
            let found = simulate(&platform, &plan, false).unwrap().makespan_s;
            assert!((found - wanted).abs() <= 1e-9 * wanted, "{}: {found}, not {wanted}", heuristic.name());
        }
    }
}

/// Nodes of a few kinds in meshes, bridges and links of their own: the rules must not notice that they work
/// kind by kind.
#[test]
fn alike_nodes_are_planned_as_if_each_were_its_own_kind() {
    let mut random = Random::new(11);
    for round in 0..150 {
        let n = 2 + random.below(14);
        let mut nodes = Vec::new();
        // Clusters of one node make no second level, and a bridge needs a cluster.
        for node in 0..n {
            let mut entry = json!({"id": format!("n{node}"), "local_broadcast_s": random.below(3)});
            if random.chance(0.3) {
                entry["cluster"] = json!(format!("k{node}"));
            }
            nodes.push(entry);
        }
        let link =
            |random: &mut Random| json!({"latency_s": random.below(3), "gap": [[1, 1 + random.below(3)]]});
        let ids: Vec<String> = (0..n).map(|node| format!("n{node}")).collect();
        let mut part: Vec<String> = ids.clone();
        random.shuffle(&mut part);
        part.truncate(random.below(n + 1));
        let mut meshes = vec![json!({"nodes": ids, "link": link(&mut random)})];
        if part.len() > 1 {
            meshes.push(json!({"nodes": part, "link": link(&mut random)}));
        }
        let mut links = Vec::new();
        if random.chance(0.5) {
            let (from, to) = (random.below(n), random.below(n));
            if from != to {
                let mut entry = link(&mut random);
                entry["from"] = json!(ids[from]);
                entry["to"] = json!(ids[to]);
                links.push(entry);
            }
        }
        let platform = document(json!({"format": "broadleaf-platform/1", "name": "kinds", "port_model":
            "one-port", "nodes": nodes, "meshes": meshes, "links": links}));
        let slow = spelt_out(&platform, random.below(n));
        let root = platform.nodes().nth(slow.root).unwrap();
        let instance = Instance::new(&platform, root, 100).unwrap();
        for heuristic in clustered::HEURISTICS {
            let plan = find(heuristic.name()).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
            let mut wanted: Vec<(u32, u32)> =
                slow.sends(heuristic.name()).iter().map(|send| (send.from, send.to)).collect();
            // A tree keeps who sends to whom in which order, sender by sender.
            wanted.sort_by_key(|&(from, _)| from);
            let found: Vec<(u32, u32)> = plan.trees[0].edges().map(|(from, to)| (from.0, to.0)).collect();
            assert_eq!(found, wanted, "{} of draw {round}", heuristic.name());
        }
    }
}

/// The matrices of a platform, pair by pair.
fn spelt_out(platform: &Platform, root: usize) -> Slow {
    let pair = |of: &dyn Fn(&broadleaf::platform::LinkClass) -> f64| -> Vec<Vec<f64>> {
        let value = |i, j| platform.link(i, j).map_or(0.0, |class| of(platform.class(class)));
        platform.nodes().map(|i| platform.nodes().map(|j| value(i, j)).collect()).collect()
    };
    Slow {
        gap: pair(&|class| class.time.seconds(100)),
        latency: pair(&|class| class.latency_s),
        local: platform.nodes().map(|node| platform.node(node).local_broadcast_s.unwrap_or(0.0)).collect(),
        root,
        start: platform.local_start(),
    }
}

#[test]
fn two_levels_become_one_plan() {
    // Two clusters of four and one single host; inside 1 s a hop, between 10 s.
    let mut nodes = Vec::new();
    for cluster in ["A", "B"] {
        for member in 0..4 {
            nodes.push(json!({"id": format!("{cluster}{member}"), "cluster": cluster}));
        }
    }
    nodes.push(json!({"id": "c", "cluster": "C"}));
    let ids: Vec<Value> = nodes.iter().map(|node| node["id"].clone()).collect();
    let link =
        |bandwidth: f64, latency: f64| json!({"latency_s": latency, "bandwidth_bytes_per_s": bandwidth});
    let mesh = |nodes: &[Value], link| json!({"nodes": nodes, "link": link});
    let meshes =
        [mesh(&ids, link(10.0, 0.5)), mesh(&ids[..4], link(100.0, 0.0)), mesh(&ids[4..8], link(100.0, 0.0))];
    let platform = document(json!({"format": "broadleaf-platform/1", "name": "two levels", "port_model":
        "one-port", "nodes": nodes, "meshes": meshes}));
    let root = platform.find("A2").unwrap();
    let instance = Instance::new(&platform, root, 100).unwrap();
    let plan = find("ecef-lat-max").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    let trace = simulate(&platform, &plan, true).unwrap();
    // T = 2 (two rounds reach three others). A2 sends to B0 first, whose cluster takes 2 s more, [0, 10] and
    // [10, 20] to c; then its own cluster until 22. B0 has it at 10.5, c at 20.5.
    assert_eq!(trace.makespan_s, 22.0);
    let at = |id: &str| trace.finish_s[platform.find(id).unwrap().index()];
    assert_eq!((at("B0"), at("c")), (10.5, 20.5));
    assert_eq!(["B1", "B2", "B3"].map(at).iter().copied().fold(0.0, f64::max), 12.5);
    // In segments, between and inside are one pipeline: 10 segments of 10 bytes.
    let segmented = find("ecef").unwrap().plan(&instance.segmented(10), &Budget::UNLIMITED).unwrap();
    assert!(simulate(&platform, &segmented, false).unwrap().makespan_s <= 22.0);
}

#[test]
fn hosts_behind_switches_are_reached_over_the_quickest_path() {
    let hosts = ["a", "b", "c", "d"];
    let mut nodes: Vec<Value> = hosts.iter().map(|id| json!({"id": id})).collect();
    nodes.push(json!({"id": "sw", "kind": "switch"}));
    let links: Vec<Value> = hosts
        .iter()
        .map(|id| json!({"from": id, "to": "sw", "both_ways": true, "latency_s": 0.25, "bandwidth_bytes_per_s": 100.0}))
        .collect();
    let platform =
        document(json!({"format": "broadleaf-platform/1", "name": "star", "port_model": "one-port",
        "nodes": nodes, "links": links}));
    let root = platform.find("b").unwrap();
    for heuristic in clustered::HEURISTICS {
        let plan = find(heuristic.name())
            .unwrap()
            .plan(&Instance::new(&platform, root, 100).unwrap(), &Budget::UNLIMITED)
            .unwrap();
        assert!(simulate(&platform, &plan, false).is_ok(), "{}", heuristic.name());
    }
    // A chain over d and a: nothing links b to a or c directly.
    let links = json!([{"from": "b", "to": "d", "bandwidth_bytes_per_s": 100.0},
        {"from": "d", "to": "a", "bandwidth_bytes_per_s": 100.0}, {"from": "a", "to": "c", "bandwidth_bytes_per_s": 100.0}]);
    let chain = document(json!({"format": "broadleaf-platform/1", "name": "chain", "port_model": "one-port",
        "nodes": hosts.map(|id| json!({"id": id})), "links": links}));
    for heuristic in clustered::HEURISTICS {
        let plan = find(heuristic.name())
            .unwrap()
            .plan(&Instance::new(&chain, root, 100).unwrap(), &Budget::UNLIMITED)
            .unwrap();
        assert_eq!(simulate(&chain, &plan, false).unwrap().makespan_s, 3.0, "{}", heuristic.name());
    }
}

#[test]
fn times_are_the_texts_for_the_flat_tree() {
    let slow = Slow {
        gap: vec![vec![0.0, 2.0, 3.0], vec![1.0; 3], vec![1.0; 3]],
        latency: vec![vec![0.5; 3]; 3],
        local: vec![1.0, 10.0, 2.0],
        root: 0,
        start: LocalStart::AfterLastSend,
    };
    let flat = clustered::flat_sends(&slow.grid());
    let after = times(&slow.grid(), &flat);
    assert_eq!(after.arrival_s, [0.0, 2.5, 5.5]);
    assert_eq!(after.finish_s, [6.0, 12.5, 7.5]);
    let on_arrival = times(&Slow { start: LocalStart::OnArrival, ..slow }.grid(), &flat);
    assert_eq!(on_arrival.finish_s, [1.0, 12.5, 7.5]);
    assert_eq!(on_arrival.makespan_s, 12.5);
}

#[test]
fn wrong_grids_are_refused_in_one_line() {
    let refused = |gap: &[f64], latency: &[f64], local: &[f64], root: usize, says: &str| {
        let error = Grid::from_matrices(gap, latency, local, root, LocalStart::OnArrival).unwrap_err();
        let line = error.to_string();
        assert!(line.contains(says) && !line.contains('\n'), "{line}");
        error
    };
    let good = [0.0, 1.0, 1.0, 0.0];
    assert_eq!(refused(&[], &[], &[], 0, "0 clusters"), GridError::Empty);
    refused(&good, &good, &[1.0, 1.0], 2, "root is cluster 2 of 2; give one of 0 … 1");
    refused(&good[..3], &good, &[1.0, 1.0], 0, "the gap has 3 values for 2 clusters; give 4");
    refused(&good, &[0.0; 9], &[1.0, 1.0], 0, "the latency has 9 values");
    refused(&[0.0, -1.0, 1.0, 0.0], &good, &[1.0, 1.0], 0, "the gap from cluster 0 to cluster 1 is -1");
    refused(
        &good,
        &[0.0, 1.0, f64::NAN, 0.0],
        &[1.0, 1.0],
        0,
        "the latency from cluster 1 to cluster 0 is NaN",
    );
    refused(&good, &good, &[1.0, f64::INFINITY], 0, "the local broadcast of cluster 1 takes inf");
    // Diagonals mean nothing.
    let nan = [f64::NAN, 1.0, 1.0, f64::NAN];
    let grid = Grid::from_matrices(&nan, &nan, &[1.0, 1.0], 0, LocalStart::OnArrival).unwrap();
    for heuristic in all() {
        assert_eq!(heuristic.sends(&grid), [ClusterSend { from: 0, to: 1 }], "{}", heuristic.name());
    }
}
