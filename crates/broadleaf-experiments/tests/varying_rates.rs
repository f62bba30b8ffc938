//! Broadcasts while rates change, against hand values, a slow simulation in small steps, and platforms that are
//! slower from the start.

use broadleaf::budget::Budget;
use broadleaf::plan::{Plan, Programs, TreeBuilder};
use broadleaf::planners::{plan_with, supports, Instance, PLANNERS};
use broadleaf::platform::{
    Bridge, LinkChange, LinkClass, LinkEnd, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel,
    SharedId,
};
use broadleaf::random::Random;
use broadleaf::simulate::{run, run_varying};
use broadleaf_experiments::varying_rates::{Course, Rates};
use std::sync::Arc;

/// Two clusters of `each` hosts at 10 bytes/s, 1 s apart inside and 2 s between; the bridge uses a pipe.
fn platform(each: u32, port_model: PortModel, pipe: Option<f64>) -> Platform {
    let mut builder = PlatformBuilder::new("two", port_model);
    let clusters = ["A", "B"].map(|name| builder.cluster(name));
    let near = builder.add_class(LinkClass::affine(1.0, 10.0));
    for cluster in clusters {
        let nodes: Vec<NodeId> = (0..each)
            .map(|at| {
                let node = Node { id: format!("{cluster}-{at}"), cluster: Some(cluster), ..Node::default() };
                let nic = (port_model == PortModel::MultiPort).then_some(40.0);
                builder.add_node(Node { out_bytes_per_s: nic, in_bytes_per_s: nic, ..node }).unwrap()
            })
            .collect();
        builder.add_mesh(Mesh { nodes, class: near }).unwrap();
    }
    let uses = pipe.map(|rate| builder.add_shared("pipe", rate).unwrap()).into_iter().collect();
    let far = builder.add_class(LinkClass { uses, ..LinkClass::affine(2.0, 10.0) });
    builder.add_bridge(Bridge { from: clusters[0], to: clusters[1], both_ways: true, class: far }).unwrap();
    builder.build().unwrap()
}

fn programs(platform: &Platform, plan: Plan) -> Programs {
    Programs::for_platform(&Arc::new(plan), platform).unwrap()
}

fn tree_plan(platform: &Platform, edges: &[(u32, u32)], bytes: u64, segment: u64) -> Plan {
    let mut tree = TreeBuilder::new(platform.node_count());
    for &(parent, child) in edges {
        tree.add(NodeId(parent), NodeId(child));
    }
    Plan::bcast(platform, "test", NodeId(0), bytes, segment, vec![tree.build()])
}

fn across(platform: &Platform, steps: &[(f64, f64)]) -> Rates {
    let mut rates = Rates::default();
    let (a, b) = (platform.group(NodeId(0)), platform.group(NodeId(platform.node_count() as u32 - 1)));
    rates.set_links(a, b, Course::new(steps.to_vec()).unwrap());
    rates
}

#[test]
fn hand_values() {
    let two = platform(1, PortModel::OnePort, None);
    let plan = tree_plan(&two, &[(0, 1)], 100, 100);
    // 40 bytes by 4 s, 60 more at 5 bytes/s by 16 s, and the latency.
    let rates = across(&two, &[(4.0, 0.5)]);
    let trace = run_varying(&two, &programs(&two, plan.clone()), &rates, true).unwrap();
    assert_eq!((trace.makespan_s, trace.transfers[0].release_s), (18.0, 16.0));
    // Begun at 3 s of the rates' clock: 10 bytes in the first second.
    let trace = run_varying(&two, &programs(&two, plan), &rates.beginning_at(3.0), false).unwrap();
    assert_eq!(trace.makespan_s, 1.0 + 18.0 + 2.0);
    // Two sends after each other over a port; in four segments of 25 bytes each second one waits for the first.
    let four = platform(2, PortModel::OnePort, None);
    let plan = tree_plan(&four, &[(0, 2), (0, 1), (2, 3)], 100, 100);
    let trace = run_varying(&four, &programs(&four, plan), &across(&four, &[(4.0, 0.5)]), false).unwrap();
    // To B: 16 + 2; from there on by 10 + 1; to node 1 from 16 s on: 16 + 10 + 1.
    assert_eq!(trace.finish_s, [0.0, 27.0, 18.0, 29.0]);
}

#[test]
fn a_pipe_whose_rate_changes_delays_the_next_transfer() {
    let four = platform(2, PortModel::OnePort, Some(20.0));
    // Two senders across: node 0 to 2, and node 1 (once it has the message, at 11 s) to 3.
    let plan = tree_plan(&four, &[(0, 1), (0, 2), (1, 3)], 100, 100);
    let mut rates = Rates::default();
    rates.set_shared(SharedId(0), Course::new(vec![(11.0, 0.25)]).unwrap());
    let trace = run_varying(&four, &programs(&four, plan), &rates, true).unwrap();
    // Node 0 is free at 10 s and holds the pipe for 1 s at 20 bytes/s and 16 s at 5; node 1 starts at 27 s.
    assert_eq!(trace.finish_s, [0.0, 11.0, 22.0, 39.0]);
}

/// Each host's sends one after the other, every byte moved in steps of a millisecond.
fn in_small_steps(platform: &Platform, rates: &Rates, edges: &[(u32, u32)], bytes: u64) -> Vec<f64> {
    const STEP_S: f64 = 1e-3;
    let count = platform.node_count();
    let (mut finish_s, mut ready_s) = (vec![0.0; count], vec![0.0; count]);
    for &(parent, child) in edges {
        let (from, to) = (NodeId(parent), NodeId(child));
        let class = platform.link(from, to).unwrap();
        let rate = 1000.0 / platform.transfer_s(class, 1000);
        let (mut now_s, mut left): (f64, f64) = (ready_s[parent as usize], bytes as f64);
        while left > 0.0 {
            left -= STEP_S * rate * rates.factor(platform.group(from), platform.group(to), now_s);
            now_s += STEP_S;
        }
        ready_s[parent as usize] = now_s;
        finish_s[child as usize] = now_s + platform.class(class).latency_s;
        ready_s[child as usize] = finish_s[child as usize];
    }
    finish_s
}

fn drawn_rates(platform: &Platform, random: &mut Random) -> Rates {
    let groups = [platform.group(NodeId(0)), platform.group(NodeId(platform.node_count() as u32 - 1))];
    let mut rates = Rates::default();
    for from in groups {
        for to in groups {
            let mut at_s = 0.0;
            let steps = (0..random.below(6)).map(|_| {
                at_s += random.between(0.5, 15.0);
                (at_s, random.between(0.1, 2.0))
            });
            rates.set_links(from, to, Course::new(steps.collect()).unwrap());
        }
    }
    rates
}

#[test]
fn trees_take_as_long_as_in_small_steps() {
    let platform = platform(4, PortModel::OnePort, None);
    let mut random = Random::new(5);
    for _ in 0..30 {
        let edges: Vec<(u32, u32)> =
            (1..8).map(|child| (random.below(child as usize) as u32, child)).collect();
        let rates = drawn_rates(&platform, &mut random);
        let plan = tree_plan(&platform, &edges, 100, 100);
        let trace = run_varying(&platform, &programs(&platform, plan), &rates, false).unwrap();
        // Each of at most seven hops ends up to a step late, at rates that differ by factors between hops.
        for (exact, slow) in trace.finish_s.iter().zip(in_small_steps(&platform, &rates, &edges, 100)) {
            assert!((exact - slow).abs() < 0.02, "{exact} s, {slow} s");
        }
    }
}

/// A constant load is a slower platform; with every planner's plan, pipes and periods included.
#[test]
fn constant_rates_are_those_of_a_slower_platform() {
    for port_model in PortModel::ALL {
        let base = platform(3, port_model, Some(15.0));
        let groups: [LinkEnd; 2] = [base.group(NodeId(0)), base.group(NodeId(5))];
        let change = |from, to, factor| LinkChange { from, to, factor, added_latency_s: 0.0, pipe: None };
        let slower =
            base.changed(&[change(groups[0], groups[1], 0.3), change(groups[1], groups[1], 0.5)], &[]);
        let mut rates = Rates::default();
        rates.set_links(groups[0], groups[1], Course::new(vec![(-1.0, 0.3)]).unwrap());
        rates.set_links(groups[1], groups[1], Course::new(vec![(-1.0, 0.5)]).unwrap());
        let instance = Instance::new(&base, NodeId(0), 97).unwrap().segmented(10);
        for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
            let plan = plan_with(*planner, &instance, &Budget::UNLIMITED).unwrap();
            let varying = run_varying(&base, &programs(&base, plan.clone()), &rates, false).unwrap();
            let constant = run(&slower, &programs(&slower, plan), false).unwrap();
            let name = planner.card().name;
            for (a, b) in varying.finish_s.iter().zip(&constant.finish_s) {
                assert!((a - b).abs() <= 1e-9 * b, "{port_model} {name}: {a} s, {b} s");
            }
        }
    }
}

#[test]
fn no_rates_change_nothing() {
    let base = platform(3, PortModel::MultiPort, Some(15.0));
    let instance = Instance::new(&base, NodeId(0), 97).unwrap().segmented(10);
    for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
        let programs = programs(&base, plan_with(*planner, &instance, &Budget::UNLIMITED).unwrap());
        let varying = run_varying(&base, &programs, &Rates::default(), true).unwrap();
        let plain = run(&base, &programs, true).unwrap();
        assert_eq!(varying.transfer_count, plain.transfer_count);
        for (a, b) in varying.transfers.iter().zip(&plain.transfers) {
            assert_eq!((a.from, a.to, a.segment), (b.from, b.to, b.segment));
            assert!((a.start_s - b.start_s).abs() <= 1e-9 * b.start_s, "{a:?} {b:?}");
        }
    }
}
