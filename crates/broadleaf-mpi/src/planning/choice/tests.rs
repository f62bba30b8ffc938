//! On small networks, beside the simulation of every candidate.

use super::*;
use broadleaf::plan::{Collective, PlanError};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use serde_json::json;

/// Three leaf switches of four hosts under one root, every cable 1 Gb/s and a latency of 20 µs.
fn oversubscribed() -> Platform {
    let id = |at: usize| format!("h{at}");
    let mut links = Vec::new();
    for (from, to) in
        (0..12).flat_map(|from| (0..12).map(move |to| (from, to))).filter(|(from, to)| from != to)
    {
        let (up, down) = (format!("up{}", from / 4), format!("down{}", to / 4));
        let uses = if from / 4 == to / 4 { vec![] } else { vec![up, down] };
        links.push(json!({"from": id(from), "to": id(to), "latency_s": 2e-5, "bandwidth_bytes_per_s": 125e6, "uses": uses}));
    }
    let rates = json!({"out_bytes_per_s": 125e6, "in_bytes_per_s": 125e6});
    let nodes: Vec<_> = (0..12)
        .map(|at| {
            let mut node = rates.clone();
            node["id"] = json!(id(at));
            node
        })
        .collect();
    let shared: Vec<_> = (0..3)
        .flat_map(|leaf| [format!("up{leaf}"), format!("down{leaf}")])
        .map(|id| json!({"id": id, "bandwidth_bytes_per_s": 125e6}))
        .collect();
    let document = json!({
        "format": "broadleaf-platform/1", "name": "leaves", "port_model": "multi-port", "nodes": nodes,
        "shared": shared, "links": links,
    });
    Platform::from_json(&document.to_string()).unwrap()
}

/// Two clusters of eight hosts, 10 ms apart; every link and the pipe each way 1 Gb/s.
fn two_sites() -> Platform {
    let ids = |site: &str| (0..8).map(|at| format!("{site}{at}")).collect::<Vec<_>>();
    let host = |site: &'static str| move |id: String| json!({"id": id, "cluster": site});
    let nodes: Vec<_> =
        ["a", "b"].into_iter().flat_map(|site| ids(site).into_iter().map(host(site))).collect();
    let link = json!({"latency_s": 5e-5, "bandwidth_bytes_per_s": 125e6});
    let bridge = |from: &str, to: &str| {
        let far = json!({"latency_s": 0.01, "bandwidth_bytes_per_s": 125e6, "uses": [from]});
        json!({"from_cluster": from, "to_cluster": to, "link": far})
    };
    let shared = ["a", "b"].map(|id| json!({"id": id, "bandwidth_bytes_per_s": 125e6}));
    let meshes = ["a", "b"].map(|site| json!({"nodes": ids(site), "link": link}));
    let document = json!({
        "format": "broadleaf-platform/1", "name": "two sites", "port_model": "one-port", "nodes": nodes,
        "shared": shared, "meshes": meshes,
        "bridges": [bridge("a", "b"), bridge("b", "a")],
    });
    Platform::from_json(&document.to_string()).unwrap()
}

/// The choice, the time of it, and the instance's other times by planner, as planned in its segments.
fn chosen(platform: &Platform, collective: Collective, bytes: u64) -> (Plan, f64, Vec<(&'static str, f64)>) {
    let placement = Placement::on(platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
    let instance = Instance::new(&placement.handled, NodeId(0), bytes).unwrap();
    let instance = Instance { collective, ..instance };
    let best = make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
    let ports = SharedPorts::new(&placement);
    let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED);
    let first = (best.plan.clone(), Others::of(&best));
    let plan = fastest_on_shared_ports(&instance, &ports, first, &|plan| plan);
    let remade = |one: &Tried| {
        let size = SegmentChoice::Bytes(one.segment_bytes);
        let made = make(&instance, one.name, size, Effort::Quick, &Budget::UNLIMITED).ok()?;
        let free = in_larger_segments(instance.platform, Plan { period: None, ..made.plan }).ok()?;
        Some((one.name, seconds(&free).ok()?))
    };
    let others = best.tried.iter().filter_map(remade).collect();
    let taken_s = seconds(&plan).unwrap();
    (plan, taken_s, others)
}

#[test]
fn no_planner_that_was_near_is_faster() {
    let (leaves, sites) = (oversubscribed(), two_sites());
    for (platform, collective, bytes) in [
        (&leaves, Collective::Bcast, 64 << 10),
        (&leaves, Collective::Reduce, 64 << 10),
        (&leaves, Collective::Allreduce, 16 << 10),
        (&leaves, Collective::Allgather, 4 << 10),
        // Eight planners of the least time in the model make one plan, and others are faster.
        (&sites, Collective::Allreduce, 1 << 20),
    ] {
        let (plan, taken_s, others) = chosen(platform, collective, bytes);
        assert!(others.len() >= 4, "{collective}");
        let fastest = others.iter().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
        assert!(taken_s <= fastest.1 * (1.0 + 1e-9), "{collective} {}: {taken_s}, {fastest:?}", plan.planner);
    }
}

/// What is chosen instead of a flat broadcast of 1 MiB in segments of that size, and its time by that of the flat one.
fn instead_of_flat(segment_bytes: u64, passed_over: Vec<&'static str>) -> (Plan, f64) {
    let platform = oversubscribed();
    let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
    let instance = Instance::new(&placement.handled, NodeId(0), 1 << 20).unwrap();
    let flat = planned(&instance, "flat", segment_bytes, &Budget::UNLIMITED).unwrap();
    let ports = SharedPorts::new(&placement);
    let others = Others { near: Vec::new(), passed_over };
    let plan = fastest_on_shared_ports(&instance, &ports, (flat.clone(), others), &|plan| plan);
    let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap();
    let part = seconds(&plan) / seconds(&flat);
    (plan, part)
}

/// A message of one segment is too short for several trees.
#[test]
fn planners_that_were_passed_over_take_part() {
    assert_eq!(instead_of_flat(1 << 20, vec![]).0.planner, "flat");
    let (plan, part) = instead_of_flat(1 << 20, vec!["makespan"]);
    assert!(plan.planner == "makespan" && part < 0.9);
}

#[test]
fn trees_of_even_load_take_part() {
    let (plan, part) = instead_of_flat(16 << 10, vec![]);
    assert!(plan.planner == "optimal-trees" && OptimalTrees::FEW.contains(&plan.trees.len()) && part < 0.5);
}

fn shortened(instance: &Instance, ports: &SharedPorts, long: &Plan, is_simulated: bool) -> Plan {
    let long_s = ports.seconds(long, f64::INFINITY, &Budget::UNLIMITED).unwrap();
    let (left, timed) = (Budget::of_work(WORK), vec![(long_s, long.clone())]);
    let as_run: &dyn Fn(Plan) -> Plan = &|plan| plan;
    let simulated = vec![unnamed(long.clone())];
    let mut choice = Choice { instance, ports, as_run, left, simulated, timed };
    choice.shorten_segments(is_simulated);
    choice.fastest()
}

/// No form of a plan is faster than the choice among them.
#[test]
fn plans_are_considered_with_skips_and_without() {
    let platform = two_sites();
    let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
    let instance = Instance::new(&placement.handled, NodeId(0), 1 << 20).unwrap();
    let instance = Instance { collective: Collective::Allreduce, ..instance };
    let ports = SharedPorts::new(&placement);
    let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap();
    let flat = planned(&instance, "flat", 64 << 10, &Budget::UNLIMITED).unwrap();
    let packed = planned(&instance, "site-packing", 8 << 10, &Budget::UNLIMITED).unwrap();
    let timed = vec![(seconds(&flat), flat.clone())];
    let (left, simulated) = (Budget::of_work(WORK), vec![unnamed(flat)]);
    let as_run: &dyn Fn(Plan) -> Plan = &|plan| plan;
    let mut choice = Choice { instance: &instance, ports: &ports, as_run, left, simulated, timed };
    choice.consider_all_ways(packed.clone());
    let fastest_s = choice.fastest_s();
    let forms = [true, false].map(|skip_busy| seconds(&Plan { skip_busy, ..packed.clone() }));
    assert!(forms[0] != forms[1] && forms.iter().all(|&form_s| fastest_s <= form_s));
}

#[test]
fn blocks_are_tried_in_shorter_segments_in_simulated_time() {
    let platform = two_sites();
    let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
    let instance = Instance::new(&placement.handled, NodeId(0), 256 << 10).unwrap();
    let instance = Instance { collective: Collective::Allgather, ..instance };
    let long = planned(&instance, "site-relays", 256 << 10, &Budget::UNLIMITED).unwrap();
    assert!(long.period.is_none() && long.block_bytes().is_some());
    let ports = SharedPorts::new(&placement);
    let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap();
    assert_eq!(shortened(&instance, &ports, &long, false), long);
    let plan = shortened(&instance, &ports, &long, true);
    assert!(plan.segment_bytes < long.segment_bytes && seconds(&plan) < 0.97 * seconds(&long));
}

/// Sixteen hosts: three hops of 64 KiB at 1 Gb/s alone take 1.6 ms.
#[test]
fn timetables_are_tried_in_shorter_segments() {
    let link = broadleaf::platform::LinkClass::affine(50e-6, 125e6);
    let platform = crate::test_platforms::equal_hosts(16, broadleaf::platform::PortModel::OnePort, link);
    let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
    let instance = Instance::new(&placement.handled, NodeId(0), 1 << 20).unwrap();
    let long = planned(&instance, "two-tree", 64 << 10, &Budget::UNLIMITED).unwrap();
    assert!(long.period.is_some());
    let ports = SharedPorts::new(&placement);
    let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap();
    assert_eq!(shortened(&instance, &ports, &long, false), long);
    let plan = shortened(&instance, &ports, &long, true);
    assert!(plan.period.is_some() && plan.segment_bytes < long.segment_bytes);
    assert!(seconds(&plan) < 0.9 * seconds(&long));
}

/// A flat broadcast among a thousand hosts and one is not simulated.
#[test]
fn what_takes_too_long_to_simulate_stays_as_it_was_chosen() {
    let platform = crate::test_platforms::equal_hosts(
        1001,
        broadleaf::platform::PortModel::OnePort,
        broadleaf::platform::LinkClass::affine(50e-6, 125e6),
    );
    let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
    let instance = Instance::new(&placement.handled, NodeId(0), 1 << 10).unwrap();
    let flat = planned(&instance, "flat", 1 << 10, &Budget::UNLIMITED).unwrap();
    let ports = SharedPorts::new(&placement);
    assert!(matches!(ports.seconds(&flat, f64::INFINITY, &Budget::UNLIMITED), Err(PlanError::OutOfTime)));
    let none = Others { near: Vec::new(), passed_over: Vec::new() };
    assert_eq!(fastest_on_shared_ports(&instance, &ports, (flat.clone(), none), &|plan| plan), flat);
    let short = planned(&instance, "chain", 1, &Budget::UNLIMITED).unwrap();
    assert!(matches!(
        ports.seconds(&short, f64::INFINITY, &Budget::of_work(1000)),
        Err(PlanError::OutOfTime)
    ));
}
