//! The planner `optimal`: its period, simulated under the strict port model, against the bound.

use broadleaf::budget::Budget;
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{
    ExplicitLink, LinkClass, Mesh, Node, NodeId, NodeKind, Platform, PlatformBuilder, PortModel,
};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
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

/// The part of the bound that the simulated plan reaches with so many segments.
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

/// Through a switch there is no period; the trees still name their way, and the plan runs.
#[test]
fn trees_through_a_switch_run() {
    let mut builder = PlatformBuilder::new("star", PortModel::LinkCapacity);
    (0..4).for_each(|node| assert!(builder.add_host(format!("n{node}")).is_ok()));
    builder.add_node(Node { id: "sw".to_string(), kind: NodeKind::Switch, ..Node::default() }).unwrap();
    let class = builder.add_class(LinkClass::affine(0.0, SEGMENT as f64));
    for host in 0..4 {
        let link = ExplicitLink { from: NodeId(host), to: NodeId(4), both_ways: true, class };
        builder.add_link(link).unwrap();
    }
    let platform = builder.build().unwrap();
    let instance = Instance::new(&platform, NodeId(0), 100 * SEGMENT).unwrap().segmented(SEGMENT);
    let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
    assert!(plan.period.is_none() && plan.trees.iter().all(|tree| !tree.via.is_empty()));
    let trace = simulate(&platform, &plan, false).unwrap();
    // A chain keeps every way into a host busy all the time, and the bound asks for no less.
    assert!((100.0..115.0).contains(&trace.makespan_s), "{}", trace.makespan_s);
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
