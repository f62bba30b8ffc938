//! The makespan bound, and `exact`, against values computed by hand and against every plan of tiny instances.

mod exact;

use broadleaf::budget::Budget;
use broadleaf::optimum::{collective_bound_s, makespan_bound_s};
use broadleaf::plan::{Collective, Plan, Tree, TreeBuilder};
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{NodeId, Platform, PortModel};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;
use serde_json::{json, Value};

fn platform(model: &str, more: Value) -> Platform {
    let mut document = json!({"format": "broadleaf-platform/1", "name": "small", "port_model": model});
    for (field, value) in more.as_object().unwrap() {
        document[field] = value.clone();
    }
    Platform::from_json(&document.to_string()).unwrap()
}

/// Hosts in a mesh of 100 bytes/s.
fn mesh(model: &str, count: usize, latency_s: f64) -> Platform {
    let ids: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
    let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    let link = json!({"latency_s": latency_s, "bandwidth_bytes_per_s": 100.0});
    platform(model, json!({"nodes": nodes, "meshes": [{"nodes": ids, "link": link}]}))
}

/// From the first node to each other one, in one piece.
fn flat(platform: &Platform, message_bytes: u64) -> Plan {
    let mut tree = TreeBuilder::new(platform.node_count());
    for node in platform.nodes().skip(1) {
        tree.add(NodeId(0), node);
    }
    Plan::bcast(platform, "by hand", NodeId(0), message_bytes, message_bytes, vec![tree.build()])
}

#[track_caller]
fn assert_bound(platform: &Platform, message_bytes: u64, wanted_s: f64) {
    let bound_s = makespan_bound_s(platform, NodeId(0), message_bytes);
    assert!((bound_s - wanted_s).abs() <= 1e-8 * wanted_s.max(1e-3), "{bound_s} s, not {wanted_s} s");
}

#[test]
fn alike_nodes_by_hand() {
    assert_bound(&mesh("one-port", 1, 0.5), 400, 0.0);
    // The message over one link, and its latency.
    assert_bound(&mesh("one-port", 2, 0.5), 400, 4.5);
    // A byte takes 0.01 s a hop: 2, 4, 8 holders after 1, 2, 3 hops.
    assert_bound(&mesh("one-port", 8, 0.0), 1, 0.03);
    assert_bound(&mesh("one-port", 9, 0.0), 1, 0.04);
    // The root sends 4 s of bytes for the first time. The last byte is then with one receiver; 0.01 s later
    // with the second, from the root, and the third, from the first.
    assert_bound(&mesh("one-port", 4, 0.0), 400, 4.01);
    // With latency, the first copy of the last byte is there at 4.5 s, the second at 4.51 s.
    assert_bound(&mesh("one-port", 3, 0.5), 400, 4.51);
    // Eight receivers' 800 bytes hold sending ports for 8 s: the root's until a latency before the end, t − 1, and the
    // others' from when a byte can be there, 1.01 s, which leaves t − 2.01: t − 1 + 8 (t − 2.01) = 8.
    assert_bound(&mesh("one-port", 9, 1.0), 100, 25.08 / 9.0);
    assert_bound(&mesh("multi-port", 9, 1.0), 100, 25.08 / 9.0);
    // Links alone: all four in parallel into each node (from the root at once, from the two others as soon as
    // a byte can be there): x/2 s from the root, the rest from the others: t = (400 + 1 + 1) / 300.
    assert_bound(&mesh("link-capacity", 4, 0.0), 400, 402.0 / 300.0);
    // One port for both directions on two nodes: each is busy 4 s. On three, 2 receivers' 800 bytes hold two
    // ports each: 16 s on 3 ports.
    assert_bound(&mesh("one-port-unidirectional", 2, 0.0), 400, 4.0);
    assert_bound(&mesh("one-port-unidirectional", 3, 0.0), 400, 16.0 / 3.0);
}

#[test]
fn a_pipe_that_every_receiver_needs() {
    let through = |pipe: f64| {
        let ids = ["a", "b", "c", "d"];
        let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        let link = json!({"bandwidth_bytes_per_s": 100.0, "uses": ["memory"]});
        let shared = json!([{"id": "memory", "bandwidth_bytes_per_s": pipe}]);
        platform(
            "one-port",
            json!({"nodes": nodes, "shared": shared, "meshes": [{"nodes": ids, "link": link}]}),
        )
    };
    // Three times 400 bytes.
    assert_bound(&through(100.0), 400, 12.0);
    // A transfer of all 400 bytes arrives 4 s before the pipe is free: flat, unsegmented, 8 + 8 + 4 s.
    assert_bound(&through(50.0), 400, 20.0);
    let plan = flat(&through(50.0), 400);
    assert_eq!(simulate(&through(50.0), &plan, false).unwrap().makespan_s, 20.0);
}

#[test]
fn cuts_by_hand() {
    // Two clusters over a pipe as fast as the links: 400 bytes at 50 bytes/s and 3 s of latency.
    let nodes = json!([{"id": "a0", "cluster": "A"}, {"id": "a1", "cluster": "A"}, {"id": "b0", "cluster": "B"},
        {"id": "b1", "cluster": "B"}]);
    let near = json!({"bandwidth_bytes_per_s": 100.0});
    let far = json!({"latency_s": 3.0, "bandwidth_bytes_per_s": 50.0, "uses": ["wan"]});
    let two = platform(
        "one-port",
        json!({"nodes": nodes, "shared": [{"id": "wan", "bandwidth_bytes_per_s": 50.0}],
            "meshes": [{"nodes": ["a0", "a1"], "link": near}, {"nodes": ["b0", "b1"], "link": near}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link": far}]}),
    );
    assert_bound(&two, 400, 11.0);
    // The pipe carries 20 bytes/s, so it is busy for 20 s. What its last window brings to b0, x bytes, arrives
    // after x/50 + 3 of its x/20 s, and is with b1 another x/100 s later at the earliest: 20 + 3 − 0.02·400 s.
    let mut narrow = two.to_json();
    narrow["shared"][0]["bandwidth_bytes_per_s"] = json!(20.0);
    assert_bound(&Platform::from_json(&narrow.to_string()).unwrap(), 400, 15.0);
    // A line: the last byte leaves the root after 8 s, and needs two more hops of 0.01 and 0.02 s.
    let line = platform(
        "one-port",
        json!({"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "links": [
            {"from": "a", "to": "b", "bandwidth_bytes_per_s": 50.0, "latency_s": 1.0},
            {"from": "b", "to": "c", "bandwidth_bytes_per_s": 100.0, "latency_s": 2.0}]}),
    );
    assert_bound(&line, 400, 8.0 + 1.0 + 0.01 + 2.0);
    // A switch has no port: what it relays is limited by the hosts' own.
    let star = platform(
        "one-port",
        json!({"nodes": [{"id": "a"}, {"id": "b"}, {"id": "sw", "kind": "switch"}], "links": [
            {"from": "a", "to": "sw", "bandwidth_bytes_per_s": 100.0, "latency_s": 1.0},
            {"from": "sw", "to": "b", "bandwidth_bytes_per_s": 25.0, "latency_s": 1.0}]}),
    );
    assert_bound(&star, 400, 0.01 + 1.0 + 1.0 + 16.0);
    // Clusters as nodes: c's own broadcast comes on top, the root's after it has sent 400 bytes.
    let clusters = |root_s: f64| {
        platform(
            "one-port",
            json!({"nodes": [{"id": "a", "local_broadcast_s": root_s}, {"id": "c", "local_broadcast_s": 5.0}],
                "links": [{"from": "a", "to": "c", "bandwidth_bytes_per_s": 100.0, "latency_s": 1.0}]}),
        )
    };
    assert_bound(&clusters(0.0), 400, 10.0);
    assert_bound(&clusters(7.0), 400, 11.0);
}

/// Three hosts of 100 bytes/s get 400 bytes, over links of 10 bytes/s from outside: the three ports are held for 40 s of
/// these, and for twice 4 s, so for 16 s each. The latency of 3 s is before all that. Were it not for what they get from
/// each other, 400 / 30 s would do.
#[test]
fn a_group_s_ports_also_carry_what_its_hosts_send_each_other() {
    let hosts = |cluster: &str, count: usize| -> Vec<String> {
        (0..count).map(|at| format!("{cluster}{at}")).collect()
    };
    let (near, far) = (hosts("A", 6), hosts("B", 3));
    let nodes: Vec<Value> =
        near.iter().chain(&far).map(|id| json!({"id": id, "cluster": &id[..1]})).collect();
    let group = platform(
        "one-port",
        json!({"nodes": nodes, "meshes": [{"nodes": near, "link": {"bandwidth_bytes_per_s": 1000.0}},
                {"nodes": far, "link": {"bandwidth_bytes_per_s": 100.0}}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
                "link": {"latency_s": 3.0, "bandwidth_bytes_per_s": 10.0}}]}),
    );
    assert_bound(&group, 400, 3.0 + (40.0 + 4.0 + 4.0) / 3.0);
}

/// Every ordered tree over the hosts, once: in the order of its hosts by depth first, each is a child of one on the way
/// from the root to the host before it. 95,040 trees over seven hosts.
fn ordered_trees(platform: &Platform) -> Vec<Tree> {
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let mut begun = vec![(Vec::new(), vec![hosts[0]])];
    let mut found: Vec<Tree> = Vec::new();
    while let Some((edges, way)) = begun.pop() {
        let edges: Vec<(NodeId, NodeId)> = edges;
        if edges.len() + 1 == hosts.len() {
            let mut builder = TreeBuilder::new(platform.node_count());
            edges.into_iter().for_each(|(parent, child)| {
                builder.add(parent, child);
            });
            found.push(builder.build());
            continue;
        }
        let is_there = |host: NodeId| host == hosts[0] || edges.iter().any(|&(_, child)| child == host);
        for &child in hosts.iter().filter(|&&host| !is_there(host)) {
            for depth in 0..way.len() {
                let (mut more, mut longer) = (edges.clone(), way[..=depth].to_vec());
                more.push((way[depth], child));
                longer.push(child);
                begun.push((more, longer));
            }
        }
    }
    found
}

#[test]
fn every_ordered_tree_comes_up_once() {
    // (n − 1)! orders of the other hosts, and as many shapes as Catalan's numbers.
    for (count, orders, shapes) in [(1, 1, 1), (2, 1, 1), (3, 2, 2), (4, 6, 5), (5, 24, 14)] {
        let trees = ordered_trees(&mesh("one-port", count, 0.0));
        assert_eq!(trees.len(), orders * shapes);
        let is_again = |at: &usize| trees[..*at].contains(&trees[*at]);
        assert_eq!((0..trees.len()).find(is_again), None);
    }
}

/// The least makespan over all plans of one tree, or two trees with equal shares, and all segment sizes.
fn least_makespan_s(platform: &Platform, message_bytes: u64) -> f64 {
    let mut trees = ordered_trees(platform);
    trees.retain(|tree| tree.edges().all(|(from, to)| platform.route(from, to, 1).is_some()));
    let mut least_s = f64::INFINITY;
    for segment_bytes in 1..=message_bytes {
        for (first, tree) in trees.iter().enumerate() {
            let alone = [vec![tree.clone()]];
            let halves = trees[..first].iter().map(|other| {
                let half = |tree: &Tree| {
                    let mut half = tree.clone();
                    half.share = 0.5;
                    half
                };
                vec![half(tree), half(other)]
            });
            for set in alone.into_iter().chain(halves) {
                let plan = Plan::bcast(platform, "brute", NodeId(0), message_bytes, segment_bytes, set);
                least_s = least_s.min(simulate(platform, &plan, false).unwrap().makespan_s);
            }
        }
    }
    least_s
}

#[test]
fn no_plan_of_a_tiny_instance_beats_it() {
    let mut state = 11u64;
    let mut draw = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    let mut met = 0;
    for round in 0..60 {
        let model = PortModel::ALL[round % PortModel::ALL.len()].name();
        let count = 2 + draw(3) as usize;
        let ids: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
        // The root, and a cluster of the others, or two of two.
        let cluster = |index: usize| if index < 1 + round % 2 { "A" } else { "B" };
        let nodes: Vec<Value> =
            ids.iter().enumerate().map(|(index, id)| json!({"id": id, "cluster": cluster(index)})).collect();
        let mut links = Vec::new();
        for from in 0..count {
            for to in (0..count).filter(|&to| to != from) {
                // Some links are missing, but not those from a node to the next.
                if to == from + 1 || draw(4) > 0 {
                    let uses = if draw(4) == 0 { vec!["pipe"] } else { vec![] };
                    links.push(json!({"from": ids[from], "to": ids[to], "latency_s": draw(3) as f64,
                        "startup_s": draw(2) as f64, "bandwidth_bytes_per_s": 1.0 / (1 + draw(3)) as f64,
                        "uses": uses}));
                }
            }
        }
        let shared = json!([{"id": "pipe", "bandwidth_bytes_per_s": 0.5}]);
        let platform = platform(model, json!({"nodes": nodes, "links": links, "shared": shared}));
        for message_bytes in 1..=3 {
            let bound_s = makespan_bound_s(&platform, NodeId(0), message_bytes);
            let least_s = least_makespan_s(&platform, message_bytes);
            assert!(bound_s <= least_s, "round {round}, {message_bytes} bytes: {bound_s} s, but {least_s} s");
            met += usize::from(bound_s >= least_s * (1.0 - 1e-8));
        }
    }
    // The bound is useful: in many of these cases it is the optimum.
    assert!(met >= 60, "the bound is met on {met} of 180");
}

/// A root, and two hosts behind a pipe: a link takes 1 s for 100 kB, the pipe 2.5 s.
fn behind_a_pipe() -> Platform {
    Platform::from_json(
        r#"{"format": "broadleaf-platform/1", "name": "pipe", "port_model": "one-port",
            "nodes": [{"id": "r", "cluster": "A"}, {"id": "b", "cluster": "B"}, {"id": "c", "cluster": "B"}],
            "shared": [{"id": "out", "bandwidth_bytes_per_s": 40000}, {"id": "in", "bandwidth_bytes_per_s": 40000}],
            "meshes": [{"nodes": ["b", "c"], "link": {"bandwidth_bytes_per_s": 100000}}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "link": {"bandwidth_bytes_per_s": 100000, "uses": ["out"]}},
                {"from_cluster": "B", "to_cluster": "A", "link": {"bandwidth_bytes_per_s": 100000, "uses": ["in"]}}]}"#,
    )
    .unwrap()
}

/// Both blocks in one message arrive after 2 s, and one goes on for 1 s; in two messages the second one arrives after
/// 2.5 + 1 s. In a gather, a message of s blocks may leave after s - 1 s, and when the pipe has carried the other 2 - s:
/// both at s = 12/7. The all-gather's way out of the root's side is 1 + 1 s.
#[test]
fn a_message_through_a_pipe_is_put_together_and_taken_apart() {
    let platform = behind_a_pipe();
    let bound_s = |collective: Collective| {
        collective_bound_s(&platform, collective, NodeId(0), 100_000, None, &Budget::UNLIMITED)
    };
    let assert_near =
        |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-4, "{value} not {wanted}");
    assert_near(bound_s(Collective::Scatter), 3.0);
    assert_near(bound_s(Collective::Gather), 17.0 / 7.0);
    assert_near(bound_s(Collective::Allgather), 17.0 / 7.0);
    let instance = Instance::new(&platform, NodeId(0), 100_000).unwrap();
    let scatter = Instance { collective: Collective::Scatter, ..instance };
    let plan = find("chain").unwrap().plan(&scatter, &Budget::UNLIMITED).unwrap();
    assert_near(simulate(&platform, &plan, false).unwrap().makespan_s, 3.0);
}

/// c's contribution comes in seven segments; b sends the first two sums while the others come, then the others in one
/// message at 7 s, when the pipe is free again: they are there at 12 s. A broadcast turned round would take 14 s. With
/// segments of any size the last s bytes leave when they have come, and when the pipe has carried the others: at 5 s.
#[test]
fn a_reduction_s_last_message_is_no_broadcast_s_turned_round() {
    let platform = behind_a_pipe();
    let bound_s =
        collective_bound_s(&platform, Collective::Reduce, NodeId(0), 700_000, None, &Budget::UNLIMITED);
    let slots = |from: &str, to: &str, segments: std::ops::Range<u32>| -> Vec<Value> {
        segments.map(|segment| json!([segment, from, to, 0])).collect()
    };
    let order = [slots("c", "b", 0..2), slots("b", "r", 0..2), slots("c", "b", 2..7), slots("b", "r", 2..7)];
    let plan = json!({"format": "broadleaf-plan/1", "collective": "reduce", "root": "r", "message_bytes": 700_000,
        "segment_bytes": 100_000, "combine": true, "trees": [{"share": 1, "children": {"r": ["b"], "b": ["c"]}}],
        "period": {"segments": 7, "slots": order.concat()}});
    let plan = Plan::from_json(&plan.to_string()).unwrap().bind(&platform).unwrap();
    let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
    assert!((makespan_s - 12.0).abs() < 1e-9, "{makespan_s}");
    assert!((bound_s - 10.0).abs() < 1e-4, "{bound_s}");
    // The bound by which `best` ends its search is the reduction's, too.
    let instance = Instance::new(&platform, NodeId(0), 700_000).unwrap();
    let instance = Instance { collective: Collective::Reduce, ..instance };
    let best = make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
    let told_s = best.plan.predicted.bound_s.unwrap();
    assert!((told_s - 10.0).abs() < 1e-4, "{told_s}");
}
