//! The planner `optimal`: its period, simulated under the strict port model, against the bound.

use broadleaf::budget::Budget;
use broadleaf::plan::check;
use broadleaf::planners::{find, Instance, OptimalTrees};
use broadleaf::platform::{
    ExplicitLink, LinkClass, Mesh, Node, NodeId, NodeKind, Platform, PlatformBuilder, PortModel,
};
use broadleaf::portfolio::{make, planned_by, Effort, SegmentChoice};
use broadleaf::simulate::simulate;

const SEGMENT: u64 = 1000;

/// A connected platform of links both ways, each direction at its own rate between 60 and 140.
fn random(nodes: u32, links: usize, seed: u64) -> Platform {
    let mut state = seed;
    let mut draw = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut builder = PlatformBuilder::new("random", PortModel::OnePort);
    (0..nodes).for_each(|node| assert!(builder.add_host(format!("n{node}")).is_ok()));
    let mut pairs = std::collections::BTreeSet::new();
    for node in 1..nodes {
        pairs.insert(((draw() * f64::from(node)) as u32, node));
    }
    while pairs.len() < links {
        let (a, b) = ((draw() * f64::from(nodes)) as u32, (draw() * f64::from(nodes)) as u32);
        if a != b {
            pairs.insert((a.min(b), a.max(b)));
        }
    }
    for (a, b) in pairs {
        for (from, to) in [(a, b), (b, a)] {
            let class = builder.add_class(LinkClass::affine(0.0, 60.0 + 80.0 * draw()));
            let link = ExplicitLink { from: NodeId(from), to: NodeId(to), both_ways: false, class };
            builder.add_link(link).unwrap();
        }
    }
    builder.build().unwrap()
}

/// The part of the bound that the simulated plan reaches, by number of segments.
fn reached(platform: &Platform, segments: u64) -> f64 {
    let instance = Instance::new(platform, NodeId(0), segments * SEGMENT).unwrap().segmented(SEGMENT);
    let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    let trace = simulate(platform, &plan, false).unwrap();
    plan.message_bytes as f64 / trace.makespan_s / plan.predicted.bound_bytes_per_s.unwrap()
}

#[test]
fn a_long_message_comes_near_the_bound() {
    for (nodes, links, seed) in [(12, 20, 1), (20, 30, 2), (20, 28, 3), (30, 52, 4)] {
        let reached = reached(&random(nodes, links, seed), 5_000);
        assert!((0.93..=1.0).contains(&reached), "{reached} of the bound on {nodes} nodes");
    }
}

/// On equal links the optimum is a chain, and every segment takes its second: 50 segments and 7 hops.
#[test]
fn equal_links_make_a_chain() {
    let mut builder = PlatformBuilder::new("equal", PortModel::OnePort);
    let nodes: Vec<_> = (0..8).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(0.0, SEGMENT as f64));
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    let platform = builder.build().unwrap();
    let instance = Instance::new(&platform, NodeId(0), 50 * SEGMENT).unwrap().segmented(SEGMENT);
    let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    let trace = simulate(&platform, &plan, false).unwrap();
    assert!(trace.makespan_s <= 56.0 + 1e-9, "{}", trace.makespan_s);
}

/// Hosts and switches, with links of the given GB/s in both directions; names that begin with `s`
/// are switches.
fn fabric(links: &[(String, String, f64)], port_model: PortModel) -> Platform {
    let mut builder = PlatformBuilder::new("fabric", port_model);
    let mut nodes = std::collections::BTreeMap::new();
    for (from, to, rate) in links {
        for id in [from, to] {
            let kind = if id.starts_with('s') { NodeKind::Switch } else { NodeKind::Host };
            let node = Node { id: id.clone(), kind, ..Node::default() };
            nodes.entry(id).or_insert_with(|| builder.add_node(node).unwrap());
        }
        let class = builder.add_class(LinkClass::affine(0.0, rate * 1e9));
        let (from, to) = (nodes[from], nodes[to]);
        builder.add_link(ExplicitLink { from, to, both_ways: true, class }).unwrap();
    }
    builder.build().unwrap()
}

/// Boxes of hosts, each with a link to its box's switch and one to the switch between the boxes.
fn boxes(hosts: usize, inside: f64, between: f64) -> Vec<(String, String, f64)> {
    let ends = (0..2).flat_map(|at| (0..hosts).map(move |host| (at, format!("h{at}-{host}"))));
    ends.flat_map(|(at, host)| {
        [(host.clone(), format!("s{at}"), inside), (host, "s-ib".to_string(), between)]
    })
    .collect()
}

fn listed(links: &[(&str, &str, f64)]) -> Vec<(String, String, f64)> {
    links.iter().map(|&(from, to, rate)| (from.to_string(), to.to_string(), rate)).collect()
}

/// Drawn: hosts with links to several switches and to each other.
fn several_links_a_host() -> Vec<(String, String, f64)> {
    listed(&[
        ("s1", "s0", 50.0),
        ("s2", "s0", 10.0),
        ("s3", "s1", 100.0),
        ("h0", "s0", 10.0),
        ("h1", "s1", 25.0),
        ("h2", "s3", 50.0),
        ("h3", "s3", 25.0),
        ("h4", "s1", 10.0),
        ("h5", "s2", 50.0),
        ("h6", "s2", 25.0),
        ("h0", "h1", 5.0),
        ("h0", "s1", 25.0),
        ("h1", "h4", 10.0),
        ("h5", "h1", 5.0),
        ("h0", "s2", 5.0),
    ])
}

/// Two switches; host 3 has links to both, and 1 and 4 each other's.
fn two_ways_to_a_peer() -> Vec<(String, String, f64)> {
    listed(&[
        ("s1", "s0", 50.0),
        ("h0", "s0", 50.0),
        ("h1", "s1", 25.0),
        ("h2", "s0", 50.0),
        ("h3", "s0", 50.0),
        ("h4", "s0", 25.0),
        ("h3", "s1", 25.0),
        ("h4", "h1", 5.0),
        ("h0", "h1", 5.0),
    ])
}

/// Leaves of three hosts under two spines of unlike rates.
fn fat_tree() -> Vec<(String, String, f64)> {
    let leaves = (0..3).flat_map(|leaf| {
        let hosts = (0..3).map(move |host| (format!("h{leaf}-{host}"), format!("s{leaf}"), 25.0));
        hosts.chain(
            [("s-a", 10.0), ("s-b", 5.0)].map(|(spine, rate)| (format!("s{leaf}"), spine.to_string(), rate)),
        )
    });
    leaves.collect()
}

/// Five switches in a ring, with one host or two each.
fn ring() -> Vec<(String, String, f64)> {
    let switches = (0..5).flat_map(|at| {
        let hosts = (0..1 + at % 2).map(move |host| (format!("h{at}-{host}"), format!("s{at}"), 25.0));
        hosts.chain([(format!("s{at}"), format!("s{}", (at + 1) % 5), if at == 2 { 5.0 } else { 10.0 })])
    });
    switches.collect()
}

/// Two boxes whose hosts share the NICs in pairs, each pair behind a switch of its own.
fn shared_nics() -> Vec<(String, String, f64)> {
    let ends = (0..2).flat_map(|at| (0..16).map(move |host| (at, host)));
    let hosts = ends.flat_map(|(at, host)| {
        let (id, pair) = (format!("h{at}-{host}"), format!("s{at}-{}", host / 2));
        [(id.clone(), format!("s{at}"), 150.0), (id, pair, 12.5)]
    });
    let nics =
        (0..2).flat_map(|at| (0..8).map(move |pair| (format!("s{at}-{pair}"), "s-ib".to_string(), 12.5)));
    hosts.chain(nics).collect()
}

/// Leaves of four hosts whose ways up carry a quarter of the hosts' rate, by each of two spines an eighth.
fn oversubscribed() -> Vec<(String, String, f64)> {
    let leaves = (0..4).flat_map(|leaf| {
        let hosts = (0..4).map(move |host| (format!("h{leaf}-{host}"), format!("s{leaf}"), 25.0));
        hosts.chain(["s-a", "s-b"].map(|spine| (format!("s{leaf}"), spine.to_string(), 12.5)))
    });
    leaves.collect()
}

/// Drawn: links that carry whole numbers of 15 trees.
fn fifteenths() -> Vec<(String, String, f64)> {
    listed(&[
        ("s1", "s0", 5.0),
        ("h0", "s0", 50.0),
        ("h0", "s1", 10.0),
        ("h1", "s1", 100.0),
        ("h2", "h0", 25.0),
        ("h2", "s0", 50.0),
        ("h2", "s1", 25.0),
        ("h3", "s0", 5.0),
        ("h3", "s1", 100.0),
        ("h4", "h2", 5.0),
        ("h4", "s0", 25.0),
        ("h4", "s1", 100.0),
    ])
}

/// What several trees relay through switches keeps to a timetable, too: by child order alone these fabrics lose 10 to
/// 25 %, because what the root sends first fills the links ahead of what is passed on. Switches serve first come, first
/// served; where segments do not wait a period at each host, what is late at a switch holds up the hosts behind it.
#[test]
fn trees_through_switches_reach_the_bound() {
    let fabrics = [
        ("NICs for two hosts each", shared_nics(), 100e9),
        ("oversubscribed leaves", oversubscribed(), 25e9),
        ("fifteen trees", fifteenths(), 75e9),
        ("two boxes of 8", boxes(8, 300.0, 25.0), 200e9),
        ("two boxes of 16", boxes(16, 150.0, 6.25), 100e9),
        ("several links a host", several_links_a_host(), 20e9),
        ("two ways to a peer", two_ways_to_a_peer(), 30e9),
        ("fat tree", fat_tree(), 15e9),
        ("ring", ring(), 15e9),
    ];
    for (name, links, bytes_per_s) in fabrics {
        let (bound, reached) = reached_through_switches(&fabric(&links, PortModel::LinkCapacity));
        assert!((bound / bytes_per_s - 1.0).abs() < 2e-3, "{name}: {bound}");
        assert!((0.97..=1.0).contains(&reached), "{name}: {reached} of the bound");
    }
}

/// The ports of hosts behind switches reach it, too.
#[test]
fn ports_behind_switches_reach_the_bound() {
    for (name, links) in
        [("two boxes of 8", boxes(8, 300.0, 25.0)), ("two boxes of 16", boxes(16, 150.0, 6.25))]
    {
        let (bound, reached) = reached_through_switches(&fabric(&links, PortModel::OnePort));
        assert!((0.97..=1.0).contains(&reached), "{name}: {reached} of {bound}");
    }
}

/// The bound of a message of 6,000 segments, bytes/s, and the part of it that the simulated plan reaches.
fn reached_through_switches(platform: &Platform) -> (f64, f64) {
    let root = platform.hosts().next().unwrap();
    let message = 6_000 << 20;
    let instance = Instance::new(platform, root, message).unwrap().segmented(1 << 20);
    let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    let bound = plan.predicted.bound_bytes_per_s.unwrap();
    (bound, message as f64 / simulate(platform, &plan, false).unwrap().makespan_s / bound)
}

/// Two clusters of four hosts with ports of 25 MB/s, whose links carry 25 and 12.5 MB/s inside and 2.5 across.
fn clusters_of_quick_ports() -> Platform {
    let mut builder = PlatformBuilder::new("clusters", PortModel::MultiPort);
    let node =
        |id: String| Node { id, out_bytes_per_s: Some(25e6), in_bytes_per_s: Some(25e6), ..Node::default() };
    let nodes: Vec<_> = (0..8).map(|at| builder.add_node(node(format!("n{at}"))).unwrap()).collect();
    for (members, bytes_per_s) in [(&nodes[..4], 25e6), (&nodes[4..], 12.5e6)] {
        let class = builder.add_class(LinkClass::affine(0.0, bytes_per_s));
        builder.add_mesh(Mesh { nodes: members.to_vec(), class }).unwrap();
    }
    let across = builder.add_class(LinkClass::affine(0.0, 2.5e6));
    for (&from, &to) in nodes[..4].iter().flat_map(|from| nodes[4..].iter().map(move |to| (from, to))) {
        builder.add_link(ExplicitLink { from, to, both_ways: true, class: across }).unwrap();
    }
    builder.build().unwrap()
}

/// A receiver's port is busy only at the end of a slow transfer, which no single list of slots can follow. The trees
/// then run by themselves, and none of what they could spare is full.
#[test]
fn slow_links_between_quick_ports_have_no_period() {
    let platform = clusters_of_quick_ports();
    let instance = Instance::new(&platform, NodeId(0), 16 << 20).unwrap().segmented(16 << 10);
    let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    assert!(plan.period.is_none() && plan.trees.len() > 4);
    let rate = plan.predicted.throughput_bytes_per_s.unwrap();
    assert!(rate > 0.99 * 25e6, "{rate}");
    let is_across = |(from, to): (NodeId, NodeId)| (from.0 < 4) != (to.0 < 4);
    let mut across = std::collections::BTreeMap::new();
    for tree in &plan.trees {
        for edge in tree.edges().filter(|&edge| is_across(edge)) {
            *across.entry(edge).or_insert(0.0) += tree.share * 25e6 / 2.5e6;
        }
    }
    let fullest = across.values().copied().fold(0.0, f64::max);
    assert!(fullest < 0.9, "a link across is busy {fullest} of the time");
    let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
    // A single tree needs 16 MiB over one slow link: 6.7 s. The bound is 0.67 s.
    assert!((0.67..1.1).contains(&makespan_s), "{makespan_s}");
}

/// Where no even trees can be made, here through switches, the optimum's own keep their shares: two links out of the root,
/// one four times the other's rate.
#[test]
fn the_optimums_own_trees_keep_their_shares() {
    let mut builder = PlatformBuilder::new("two ways", PortModel::MultiPort);
    let host = |id: &str| Node {
        id: id.to_string(),
        in_bytes_per_s: Some(1e9),
        out_bytes_per_s: Some(1e9),
        ..Node::default()
    };
    let (a, b) = (builder.add_node(host("a")).unwrap(), builder.add_node(host("b")).unwrap());
    for (id, bytes_per_s) in [("s0", 8e6), ("s1", 2e6)] {
        let kind = NodeKind::Switch;
        let switch = builder.add_node(Node { id: id.to_string(), kind, ..Node::default() }).unwrap();
        let class = builder.add_class(LinkClass::affine(0.0, bytes_per_s));
        for (from, to) in [(a, switch), (switch, b)] {
            builder.add_link(ExplicitLink { from, to, both_ways: true, class }).unwrap();
        }
    }
    let platform = builder.build().unwrap();
    let instance = Instance::new(&platform, NodeId(0), 16 << 20).unwrap().segmented(16 << 10);
    let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    let rate = plan.predicted.throughput_bytes_per_s.unwrap();
    assert!((rate / 10e6 - 1.0).abs() < 2e-3, "{rate}");
}

/// Sixteen hosts, 10 µs and 100 MB/s apart, whose ports send to several at once: a short message is over before a period
/// has filled. The root alone is busy for 164 µs.
#[test]
fn short_messages_need_no_period_under_multi_port() {
    let mut builder = PlatformBuilder::new("equal", PortModel::MultiPort);
    let nodes: Vec<_> = (0..16).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(10e-6, 100e6));
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    let platform = builder.build().unwrap();
    let instance = Instance::new(&platform, NodeId(0), 16 << 10).unwrap();
    let made = |name: &str| {
        let made = make(&instance, name, SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
        let makespan_s = simulate(&platform, &made.plan, false).unwrap().makespan_s;
        (made.plan, makespan_s)
    };
    let ((in_turn, in_turn_s), (free, free_s), (best, best_s)) =
        (made("optimal"), made("optimal-trees"), made("best"));
    assert!(in_turn.period.is_some() && free.period.is_none() && free.trees.len() > 1);
    assert!(free_s > 164e-6 && free_s < 0.8 * in_turn_s, "{free_s}, in turn {in_turn_s}");
    assert!(best_s <= free_s, "{}: {best_s}", best.planner);
}

/// On 16 equal hosts, where each port can send the whole message once in the least time; and none where links are slower than
/// ports.
#[test]
fn a_number_of_trees_with_even_loads() {
    let mut builder = PlatformBuilder::new("equal", PortModel::MultiPort);
    let nodes: Vec<_> = (0..16).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(10e-6, 100e6));
    builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
    let platform = builder.build().unwrap();
    let (equal, unequal) = (platform, clusters_of_quick_ports());
    for count in [2, 4, 8] {
        let made = |platform: &Platform| {
            let instance = Instance::new(platform, NodeId(0), 1 << 20).unwrap();
            let planner = OptimalTrees { count: Some(count) };
            planned_by(&instance, &planner, 4 << 10, &Budget::UNLIMITED)
        };
        let plan = made(&equal).unwrap();
        assert!(plan.trees.len() == count && check::faults(&equal, &plan).is_empty());
        for &node in &nodes {
            let sent: f64 = plan.trees.iter().map(|tree| tree.share * tree.children(node).len() as f64).sum();
            assert!(sent < 1.0 / 0.9, "{count} trees: {node:?} sends {sent} of the message");
        }
        let refusal = made(&unequal).unwrap_err().to_string();
        assert!(refusal.contains("no such trees of even load"), "{refusal}");
    }
}

/// A program's first broadcast waits for a quick search, and gets several trees even where time has run out.
#[test]
fn a_quick_search_finds_the_trees_that_use_every_slow_link() {
    let platform = clusters_of_quick_ports();
    for budget in [Budget::UNLIMITED, Budget::within(std::time::Duration::ZERO)] {
        let instance = Instance::new(&platform, NodeId(0), 16 << 20).unwrap();
        let plan = make(&instance, "best", SegmentChoice::Auto, Effort::Quick, &budget).unwrap().plan;
        assert_eq!(plan.planner, "optimal");
        let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
        assert!(makespan_s < 1.2, "{makespan_s} with {budget:?}");
    }
}
