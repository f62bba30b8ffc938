//! On small networks, beside the simulation of every candidate.

mod refine;

use super::*;
use broadleaf::plan::Collective;
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

fn on_all_hosts(platform: &Platform) -> Placement {
    Placement::on(platform, &platform.hosts().collect::<Vec<_>>()).unwrap()
}

fn instance(placement: &Placement, collective: Collective, bytes: u64) -> Instance<'_> {
    let instance = Instance::new(&placement.handled, NodeId(0), bytes).unwrap();
    Instance { collective, ..instance }
}

/// The choice, its time, and the instance's other plans and their times, in the planned segments.
fn chosen(platform: &Platform, collective: Collective, bytes: u64) -> (Plan, f64, Vec<(Plan, f64)>) {
    let placement = on_all_hosts(platform);
    let instance = instance(&placement, collective, bytes);
    let best = make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
    let ports = SharedPorts::new(&placement);
    let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED);
    let first = (best.plan.clone(), Others::of(&best));
    let plan = fastest_on_shared_ports(&instance, &ports, first, &|plan| plan);
    let remade = |one: &Tried| {
        let size = SegmentChoice::Bytes(one.segment_bytes);
        let made = make(&instance, one.name, size, Effort::Quick, &Budget::UNLIMITED).ok()?;
        let free = Plan { period: None, ..without_skips(instance.platform, made.plan) };
        let free = in_larger_segments(instance.platform, free).ok()?;
        let taken_s = seconds(&free).ok()?;
        Some((free, taken_s))
    };
    let others = best.tried.iter().filter_map(remade).collect();
    let taken_s = seconds(&plan).unwrap();
    (plan, taken_s, others)
}

/// But for what twice the messages have to gain.
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
        let placement = on_all_hosts(platform);
        let ports = SharedPorts::new(&placement);
        let sent = |plan: &Plan| ports.simulated(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap().messages;
        for (other, other_s) in others {
            let doublings = (sent(&other) as f64 / sent(&plan) as f64).log2();
            let least_s = 0.97f64.powf(doublings) * taken_s;
            let names = [&plan, &other].map(|plan| &plan.planner);
            assert!(least_s <= other_s * (1.0 + 1e-9), "{collective} {names:?}: {taken_s}, {other_s}");
        }
    }
}

/// What is chosen instead of a flat broadcast of 1 MiB in segments of that size, and its time by that of the flat one.
fn instead_of_flat(segment_bytes: u64, passed_over: Vec<&'static str>) -> (Plan, f64) {
    let platform = oversubscribed();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let flat = planned(&instance, "flat", segment_bytes, &Budget::UNLIMITED).unwrap();
    let ports = SharedPorts::new(&placement);
    let others = Others { near: Vec::new(), far: Vec::new(), passed_over };
    let plan = fastest_on_shared_ports(&instance, &ports, (flat.clone(), others), &|plan| plan);
    let part = seconds(&ports, &plan) / seconds(&ports, &flat);
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

fn same(plan: Plan) -> Plan {
    plan
}

/// In simulated time, with that work left.
fn choice_of<'a>(
    instance: &'a Instance<'a>,
    ports: &'a SharedPorts<'a>,
    work: u64,
    timed: Vec<Timed>,
) -> Choice<'a> {
    Choice { left: Budget::of_work(work), timed, ..Choice::new((instance, ports), &same, true) }
}

#[test]
fn simulated_time_leaves_twice_the_work() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let left_s = [true, false]
        .map(|is_simulated| Choice::new((&instance, &ports), &same, is_simulated).left.left() / UNITS_PER_S);
    assert_eq!(left_s, [12, 6]);
}

fn refined(instance: &Instance, ports: &SharedPorts, plan: &Plan, is_simulated: bool) -> Plan {
    let mut choice = Choice { is_simulated, ..choice_of(instance, ports, WORK, Vec::new()) };
    choice.consider(plan.clone());
    choice.refine();
    choice.fastest()
}

fn seconds(ports: &SharedPorts, plan: &Plan) -> f64 {
    ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap()
}

#[test]
fn plans_are_tried_with_skips_and_without_in_simulated_time() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Allreduce, 4 << 20);
    let ports = SharedPorts::new(&placement);
    let packed = planned(&instance, "site-packing", 16 << 10, &Budget::UNLIMITED).unwrap();
    let [skipping, waiting] = [true, false].map(|skip_busy| Plan { skip_busy, ..packed.clone() });
    let plan = refined(&instance, &ports, &waiting, true);
    let [plan_s, skipping_s, waiting_s] = [&plan, &skipping, &waiting].map(|plan| seconds(&ports, plan));
    assert!(plan.skip_busy && plan_s <= skipping_s && skipping_s < waiting_s);
    assert!(!refined(&instance, &ports, &waiting, false).skip_busy);
}

/// 32 MiB in segments of 4 KiB are 250,000 transfers.
#[test]
fn long_messages_are_compared_in_long_segments() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Allreduce, 32 << 20);
    let ports = SharedPorts::new(&placement);
    let chosen = planned(&instance, "flat", 4 << 10, &Budget::UNLIMITED).unwrap();
    let packed = planned(&instance, "site-packing", 4 << 10, &Budget::UNLIMITED).unwrap();
    let packed = in_larger_segments(instance.platform, without_skips(instance.platform, packed)).unwrap();
    assert!(transfers_of(instance.platform, &packed) > MOST_TRANSFERS);
    let others = Others { near: vec![packed.clone()], far: Vec::new(), passed_over: Vec::new() };
    let plan = fastest_on_shared_ports(&instance, &ports, (chosen, others), &|plan| plan);
    assert_eq!((&plan.planner[..], plan.trees.len()), ("site-packing", packed.trees.len()));
    assert_eq!(plan.segment_bytes, packed.segment_bytes, "outside simulated time");
}

/// A chain of sixteen hosts takes fourteen segments longer than the message.
#[test]
fn segments_are_as_planned_where_shorter_ones_were_not_tried() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let fastest = |(compared_bytes, planned_bytes): (u64, u64), is_cut: bool, is_simulated: bool| {
        let plan = planned(&instance, "chain", compared_bytes, &Budget::UNLIMITED).unwrap();
        let timed = vec![Timed { taken_s: 1.0, messages: 1.0, work: 0, plan, planned_bytes, is_cut }];
        let choice = Choice { is_simulated, ..choice_of(&instance, &ports, WORK, timed) };
        choice.fastest().segment_bytes
    };
    assert_eq!(fastest((64 << 10, 8 << 10), true, true), 8 << 10);
    assert_eq!(fastest((2 << 10, 1 << 10), true, true), 2 << 10, "the model gains less than 3 %");
    assert_eq!(fastest((64 << 10, 8 << 10), false, true), 64 << 10, "half the size was slower");
    assert_eq!(fastest((64 << 10, 8 << 10), false, false), 8 << 10);
    assert_eq!(fastest((8 << 10, 64 << 10), true, false), 8 << 10, "it was shortened");
}

/// Eight times the messages are three doublings, which have to gain 9 %.
#[test]
fn more_messages_have_to_gain_outside_simulated_time() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let chosen_bytes = |part: f64, is_simulated: bool| {
        let timed =
            [(1.0, 480.0, 32 << 10), (part, 3840.0, 4 << 10)].map(|(taken_s, messages, planned_bytes)| {
                let plan = planned(&instance, "chain", planned_bytes, &Budget::UNLIMITED).unwrap();
                Timed { taken_s, messages, work: 0, plan, planned_bytes, is_cut: false }
            });
        let mut choice = Choice { is_simulated, ..choice_of(&instance, &ports, 0, timed.into()) };
        choice.refine();
        assert_eq!(choice.timed[0].plan, choice.fastest(), "the one that is refined");
        choice.fastest().segment_bytes
    };
    assert_eq!([0.94, 0.9].map(|part| chosen_bytes(part, false)), [32 << 10, 4 << 10]);
    assert_eq!(chosen_bytes(0.94, true), 4 << 10);
}

/// By hand: 132 blocks of twelve hosts that go whole, however they were planned; four rounds of sixteen hosts by Bruck's, one message
/// a host; eight segments of 128 KiB over fifteen edges, as long as 32 of 32 KiB; and the same where 8 KiB were planned.
#[test]
fn messages_are_those_that_ranks_send() {
    let (leaves, sites) = (oversubscribed(), two_sites());
    let whole = |plan: Plan| {
        let segment_bytes = plan.block_bytes().filter(|_| plan.is_direct()).unwrap_or(plan.segment_bytes);
        Plan { segment_bytes, ..plan }
    };
    for (platform, planner, collective, [bytes, segment_bytes, planned_bytes], by_hand) in [
        (&leaves, "flat", Collective::Allgather, [16 << 10, 4 << 10, 4 << 10], 132.0),
        (&sites, "bruck", Collective::Allgather, [1 << 10, 1 << 10, 1 << 10], 64.0),
        (&sites, "chain", Collective::Bcast, [1 << 20, 128 << 10, 128 << 10], 480.0),
        (&sites, "chain", Collective::Bcast, [1 << 20, 128 << 10, 8 << 10], 1920.0),
    ] {
        let placement = on_all_hosts(platform);
        let ports = SharedPorts::new(&placement);
        let instance = instance(&placement, collective, bytes);
        let plan = planned(&instance, planner, segment_bytes, &Budget::UNLIMITED).unwrap();
        let mut choice = Choice::new((&instance, &ports), &whole, false);
        let budget = choice.left.clone();
        let timed = choice.timed_within((plan, planned_bytes), f64::INFINITY, &budget).unwrap().unwrap();
        assert_eq!(timed.messages, by_hand, "{planner} in {segment_bytes} B");
    }
}

/// A flat broadcast among a thousand hosts and one is not simulated.
#[test]
fn what_takes_too_long_to_simulate_stays_as_it_was_chosen() {
    let platform = crate::test_platforms::equal_hosts(
        1001,
        broadleaf::platform::PortModel::OnePort,
        broadleaf::platform::LinkClass::affine(50e-6, 125e6),
    );
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 10);
    let flat = planned(&instance, "flat", 1 << 10, &Budget::UNLIMITED).unwrap();
    let ports = SharedPorts::new(&placement);
    assert!(matches!(ports.seconds(&flat, f64::INFINITY, &Budget::UNLIMITED), Err(PlanError::OutOfTime)));
    let none = Others { near: Vec::new(), far: Vec::new(), passed_over: Vec::new() };
    assert_eq!(fastest_on_shared_ports(&instance, &ports, (flat.clone(), none), &|plan| plan), flat);
    let short = planned(&instance, "chain", 1, &Budget::UNLIMITED).unwrap();
    assert!(matches!(
        ports.seconds(&short, f64::INFINITY, &Budget::of_work(1000)),
        Err(PlanError::OutOfTime)
    ));
}
