//! Paper 4: printed models against hand values, corrected ones against the event simulation, the segment search
//! against an exhaustive scan.

use broadleaf::budget::Budget;
use broadleaf::execute::{threads, FlowWindow, Kind, NodeExecutor};
use broadleaf::plan::{check, Collective, Plan, Programs, Protocol};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{
    GapTable, LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel, TransferTime,
};
use broadleaf::simulate::simulate;
use broadleaf::tune::{best_segment, choose, exhaustive_segment, survey, Algorithm, PLogP, UniformCluster};
use proptest::prelude::*;

fn cluster_of(nodes: u64, class: &LinkClass) -> Platform {
    let mut builder = PlatformBuilder::new("cluster", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..nodes).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
    let class = builder.add_class(class.clone());
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    builder.build().unwrap()
}

fn affine(latency_s: f64, startup_s: f64, bandwidth: f64) -> LinkClass {
    let time = TransferTime::Affine { startup_s, bandwidth_bytes_per_s: Some(bandwidth) };
    LinkClass { latency_s, time, ..LinkClass::default() }
}

fn table(latency_s: f64, rows: &[(u64, f64)]) -> LinkClass {
    LinkClass { latency_s, time: TransferTime::Gap(GapTable::new(rows.to_vec())), ..LinkClass::default() }
}

fn network(class: &LinkClass) -> PLogP {
    PLogP::of("cluster", class).unwrap()
}

/// g(m) = 1 s + m · 10 ms, L = 0.5 s.
fn round() -> PLogP {
    network(&affine(0.5, 1.0, 100.0))
}

#[test]
fn printed_models_by_hand() {
    use Algorithm::*;
    // m = 100: g(m) = 2; g(1) = 1.01; s = 30: g(s) = 1.3, k = 4; a handshake 2 · 1.01 + 3 · 0.5 = 3.52.
    // (P, algorithm, seconds)
    let by_hand = [
        (6, Flat, 10.5),
        (6, FlatRendezvous, 13.52),
        (6, SegmentedFlat, 5.0 * 5.2 + 0.5),
        (6, Chain, 12.5),
        (6, ChainRendezvous, 5.0 * 5.52),
        (6, SegmentedChain, 5.0 * 1.8 + 3.9),
        (6, Binary, 13.5),
        (6, Binomial, 5.5),
        (6, BinomialRendezvous, 2.0 * 2.0 + 3.0 * 3.52),
        (6, SegmentedBinomial, 2.0 * 5.2 + 1.5),
        (6, FlatScatter, 10.5),
        // 2 + 3 + 4 + 5 + 6.
        (6, ChainScatter, 22.5),
        // 2 + 3 + 5.
        (6, BinomialScatter, 11.5),
        (8, Binomial, 7.5),
        (3, Binomial, 3.0),
        (2, BinomialScatter, 2.5),
    ];
    for (nodes, algorithm, seconds) in by_hand {
        let printed_s = algorithm.printed_s(&round(), nodes, 100, 30);
        assert!((printed_s - seconds).abs() < 1e-12, "{algorithm:?} on {nodes}: {printed_s}");
    }
}

fn plan_of(platform: &Platform, algorithm: Algorithm, message_bytes: u64, segment_bytes: u64) -> Plan {
    let mut instance = Instance::new(platform, NodeId(0), message_bytes).unwrap();
    if algorithm.is_segmented() {
        instance = instance.segmented(segment_bytes);
    }
    let instance =
        Instance { collective: algorithm.collective(), protocol: algorithm.protocol(), ..instance };
    plan_with(find(algorithm.planner()).unwrap(), &instance, &Budget::UNLIMITED).unwrap()
}

/// The whole plan, event by event.
fn simulated_s(platform: &Platform, algorithm: Algorithm, message_bytes: u64, segment_bytes: u64) -> f64 {
    let plan = plan_of(platform, algorithm, message_bytes, segment_bytes);
    simulate(platform, &plan, false).unwrap().makespan_s
}

#[test]
fn corrected_models_are_what_the_plans_take() {
    let classes = [
        affine(60e-6, 0.0, 12.5e6),
        affine(5e-6, 30e-6, 1e9),
        affine(0.0, 1e-6, 1e8),
        affine(1e-3, 0.0, 1e10),
        table(50e-6, &[(1, 20e-6), (1000, 25e-6), (1001, 60e-6), (65536, 6e-3)]),
        // A rendezvous whose many questions take longer than the first answer.
        table(1e-6, &[(1, 20e-6), (100_000, 120e-6)]),
    ];
    for class in &classes {
        let network = network(class);
        for nodes in (2..=17).chain([31, 32, 33, 50]) {
            let platform = cluster_of(nodes, class);
            for (message, segment) in [(1, 1), (1000, 1000), (1001, 300), (99_999, 7001), (100_000, 50_000)] {
                for algorithm in Algorithm::all() {
                    let model_s = algorithm.corrected_s(&network, nodes, message, segment);
                    let plan_s = simulated_s(&platform, algorithm, message, segment);
                    assert!(
                        (model_s - plan_s).abs() <= 1e-9 * plan_s,
                        "{algorithm:?}, {nodes} nodes, {message} B in {segment}, {class:?}: {model_s} for {plan_s}"
                    );
                }
            }
        }
    }
}

/// Where printed and corrected models must agree, and where the printed one errs.
#[test]
fn printed_models_hold_on_powers_of_two_and_err_between() {
    use Algorithm::*;
    let network = round();
    for nodes in [2, 4, 8, 16, 32] {
        for algorithm in [Flat, SegmentedFlat, Chain, Binomial, FlatScatter, ChainScatter, BinomialScatter] {
            let printed_s = algorithm.printed_s(&network, nodes, 100, 25);
            let corrected_s = algorithm.corrected_s(&network, nodes, 100, 25);
            assert!((printed_s - corrected_s).abs() < 1e-9, "{algorithm:?} on {nodes}");
        }
        assert!(Binary.printed_s(&network, nodes, 100, 100) >= Binary.corrected_s(&network, nodes, 100, 100));
    }
    // Three nodes, a long message: the printed binomial tree takes one gap; the root serves two.
    let cluster = cluster_of(3, &affine(60e-6, 0.0, 12.5e6));
    let choice =
        choose(&UniformCluster::new(&cluster, NodeId(0)).unwrap(), Collective::Bcast, 3, 1 << 20).unwrap();
    let (ours, theirs) = (choice.chosen(), choice.chosen_as_printed());
    assert_eq!((ours.algorithm, theirs.algorithm), (SegmentedChain, Binomial));
    let wrong = theirs.corrected_s / ours.expected_s();
    assert!((1.9..2.0).contains(&wrong), "{wrong}");
}

#[test]
fn a_segmented_flat_tree_sends_segment_by_segment_to_everyone() {
    let platform = cluster_of(4, &affine(0.5, 1.0, 100.0));
    let instance = Instance::new(&platform, NodeId(0), 90).unwrap().segmented(30);
    let plan = plan_with(find("flat").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    let trace = simulate(&platform, &plan, true).unwrap();
    let sent: Vec<(u64, u32)> = trace.transfers.iter().map(|sent| (sent.segment, sent.to.0)).collect();
    let expected: Vec<(u64, u32)> = (0..3).flat_map(|segment| (1..4).map(move |to| (segment, to))).collect();
    assert_eq!(sent, expected);
}

#[test]
fn in_a_rendezvous_an_answer_precedes_each_transfer() {
    let platform = cluster_of(5, &affine(0.5, 1.0, 100.0));
    for planner in ["flat", "chain", "binomial"] {
        let instance = Instance::new(&platform, NodeId(0), 60).unwrap().segmented(20);
        let instance = Instance { protocol: Protocol::Rendezvous, ..instance };
        let plan = plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap();
        let trace = simulate(&platform, &plan, true).unwrap();
        let data: Vec<_> = trace.transfers.iter().filter(|sent| sent.segments > 0).collect();
        assert_eq!(data.len(), 4 * 3);
        for sent in data {
            let answered = trace.transfers.iter().any(|ready| {
                let is_answer = ready.segments == 0 && ready.bytes == 1 && ready.segment == sent.segment;
                is_answer && (ready.from, ready.to) == (sent.to, sent.from) && ready.arrival_s <= sent.start_s
            });
            assert!(answered, "{planner}: segment {} to {:?}", sent.segment, sent.to);
        }
    }
}

/// With any transport: without an answer the executor sends only requests.
#[test]
fn no_data_is_sent_before_the_answer() {
    let platform = cluster_of(5, &affine(0.5, 1.0, 100.0));
    let plan = plan_of(&platform, Algorithm::FlatRendezvous, 60, 60);
    let programs = Programs::for_platform(&plan, &platform).unwrap();
    let mut root = NodeExecutor::new(&programs, NodeId(0), |_| FlowWindow::PORT);
    let mut asked = Vec::new();
    while let Some(message) = root.poll_send() {
        assert_eq!(message.kind, Kind::Request);
        root.handle_sent(message.to);
        asked.push(message);
    }
    assert_eq!(asked.iter().map(|message| message.to.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    // Only the third has answered.
    let question = &asked[2];
    root.handle_received(question.to, Kind::Ready, question.first.tag, question.first.segment);
    let data = root.poll_send().unwrap();
    assert_eq!((data.kind, data.to), (Kind::Data, question.to));
    root.handle_sent(data.to);
    assert!(root.poll_send().is_none() && !root.is_finished());
}

#[test]
fn all_thirteen_deliver_every_byte_between_threads() {
    let platform = cluster_of(7, &affine(1e-6, 1e-6, 1e9));
    for algorithm in Algorithm::all() {
        let plan = plan_of(&platform, algorithm, 1001, 100);
        assert_eq!(check::faults(&platform, &plan), Vec::<String>::new());
        let programs = Programs::for_platform(&plan, &platform).unwrap();
        let message: Vec<u8> = (0..programs.total_bytes()).map(|at| (at * 7 / 3) as u8).collect();
        for (node, held) in threads::run(&programs, &message).unwrap().iter().enumerate() {
            let own = match algorithm.collective() {
                Collective::Scatter => node * 1001..(node + 1) * 1001,
                _ => 0..1001,
            };
            assert!(held[own.clone()] == message[own], "{algorithm:?}: node {node}");
        }
    }
}

/// A network and a message; gaps change from row to row in steps and slopes of any steepness, and in half of the
/// networks they also fall, by a little or to next to nothing.
fn networks() -> impl Strategy<Value = (LinkClass, u64, u64)> {
    let rows = prop::collection::vec((1u64..4000, 0.0f64..1.0, prop::bool::ANY), 2..9);
    let falls = prop::sample::select(vec![(0.0, 0.0), (0.0, 0.0), (0.4, 0.2), (0.3, 0.001)]);
    (rows, falls, 0.0f64..1e-3, 1u64..30_000, 2u64..60).prop_map(
        |(steps, (falls, least), latency_s, message, nodes)| {
            let (mut bytes, mut seconds) = (0, 1e-7);
            let rows: Vec<(u64, f64)> = steps
                .into_iter()
                .map(|(wide, high, is_step)| {
                    bytes += if is_step { 1 } else { wide };
                    if high < falls {
                        seconds *= least + high;
                    } else {
                        seconds += high * high * if is_step { 1e-4 } else { 1e-6 * wide as f64 };
                    }
                    (bytes, seconds)
                })
                .collect();
            let spread = Some(GapTable::new(vec![(1, 0.01)]));
            (LinkClass { spread, ..table(latency_s, &rows) }, message, nodes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_segment_search_is_as_good_as_trying_every_size((class, message, nodes) in networks()) {
        let network = network(&class);
        for algorithm in [Algorithm::SegmentedFlat, Algorithm::SegmentedChain, Algorithm::SegmentedBinomial] {
            let (segment, found_s) = best_segment(algorithm, &network, nodes, message);
            let (least, least_s) = exhaustive_segment(algorithm, &network, nodes, message);
            prop_assert!((1..=message).contains(&segment));
            prop_assert_eq!(found_s, algorithm.corrected_s(&network, nodes, message, segment));
            prop_assert!(
                found_s <= least_s * 1.002 * (1.0 + 1e-9),
                "{:?}, {} nodes, {} B: {} takes {}, {} takes {}", algorithm, nodes, message, segment, found_s, least, least_s
            );
        }
    }
}

#[test]
fn what_is_chosen_is_the_fastest_of_all_plans() {
    let class = table(60e-6, &[(1, 2e-5), (1024, 1.2e-4), (65536, 5.4e-3), (1 << 20, 0.0842)]);
    let platform = cluster_of(9, &class);
    let cluster = UniformCluster::new(&platform, NodeId(0)).unwrap();
    assert!(cluster.models_are_exact());
    for collective in [Collective::Bcast, Collective::Scatter] {
        for choice in survey(&cluster, collective, &[2, 3, 7, 20], &[1, 900, 40_000, 1 << 20]).unwrap() {
            let platform = cluster_of(choice.nodes, &class);
            let plans_s = choice.forecasts.iter().map(|forecast| {
                simulated_s(&platform, forecast.algorithm, choice.message_bytes, forecast.segment_bytes)
            });
            let least_s = plans_s.fold(f64::INFINITY, f64::min);
            let chosen = choice.chosen();
            let own_s = simulated_s(&platform, chosen.algorithm, choice.message_bytes, chosen.segment_bytes);
            assert!(own_s <= least_s * (1.0 + 1e-6), "{choice:?}");
        }
    }
}

#[test]
fn where_links_differ_the_simulation_decides() {
    // n0 is near n1 and far from n2 and n3, which are near each other: a chain crosses once, a binomial tree
    // from n0 sends to n2, then n2 to n3.
    let near = affine(1e-6, 0.0, 1e9);
    let far = affine(1e-3, 0.0, 1e6);
    let mut builder = PlatformBuilder::new("two pairs", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..4).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
    let (near, far) = (builder.add_class(near), builder.add_class(far));
    builder.add_mesh(Mesh { nodes: nodes.clone(), class: far }).unwrap();
    builder.add_mesh(Mesh { nodes: nodes[..2].to_vec(), class: near }).unwrap();
    builder.add_mesh(Mesh { nodes: nodes[2..].to_vec(), class: near }).unwrap();
    let platform = builder.build().unwrap();
    let cluster = UniformCluster::new(&platform, nodes[0]).unwrap();
    assert!(!cluster.is_uniform());
    assert_eq!(cluster.most_nodes(), Some(4));
    let choice = choose(&cluster, Collective::Bcast, 4, 1_000_000).unwrap();
    assert!(choice.forecasts.iter().all(|forecast| forecast.simulated_s.is_some()));
    // One crossing takes 1 s, and every plan needs one.
    assert!((1.0..1.02).contains(&choice.chosen().expected_s()), "{choice:?}");
    // The near links move 5000 bytes while a host handles a message: smaller segments are no host's, though the
    // median link, a far one, moves 5.
    for bytes in [3000, 1_000_000, 64 << 20] {
        let choice = choose(&cluster, Collective::Bcast, 4, bytes).unwrap();
        let segments = choice.forecasts.iter().map(|forecast| forecast.segment_bytes);
        assert!(segments.min() >= Some(bytes.min(5000)), "{bytes}: {choice:?}");
    }
    // Two of its nodes are the near pair.
    let pair = choose(&cluster, Collective::Bcast, 2, 1_000_000).unwrap();
    assert!(pair.chosen().expected_s() < 0.0011, "{pair:?}");
    let refused = choose(&cluster, Collective::Bcast, 5, 1).unwrap_err().to_string();
    assert!(refused.contains("5 nodes") && refused.contains("at most 4"), "{refused}");
}

#[test]
fn refusals_are_one_line_with_the_remedy() {
    let cases = [
        (table(1e-6, &[(64, 1e-5)]), "the one size 64"),
        (table(1e-6, &[(64, 1e-5), (128, 0.5e-5)]), "falls from"),
        (affine(0.0, 0.0, f64::INFINITY), "neither latency nor gap"),
    ];
    for (class, fragment) in cases {
        let platform = cluster_of(3, &class);
        let refused = UniformCluster::new(&platform, NodeId(0)).unwrap_err().to_string();
        assert!(refused.contains(fragment) && refused.contains("; "), "{refused}");
        assert_eq!(refused.lines().count(), 1);
    }
    let alone = cluster_of(1, &affine(1e-6, 0.0, 1e6));
    assert!(UniformCluster::new(&alone, NodeId(0)).unwrap_err().to_string().contains("one host alone"));
    // A measured fall is accepted; then all algorithms are simulated.
    let spread = Some(GapTable::new(vec![(64, 0.01)]));
    let falling = LinkClass { spread, ..table(1e-6, &[(64, 1e-5), (128, 0.5e-5), (4096, 1e-4)]) };
    let falling = cluster_of(3, &falling);
    let cluster = UniformCluster::new(&falling, NodeId(0)).unwrap();
    assert!(cluster.is_uniform() && !cluster.models_are_exact());
    let choice = choose(&cluster, Collective::Bcast, 3, 1000).unwrap();
    assert!(choice.forecasts.iter().all(|forecast| forecast.simulated_s.is_some()));
    let noisy = cluster_of(3, &table(1e-6, &[(64, 1e-5), (128, 0.99e-5), (4096, 2e-5)]));
    UniformCluster::new(&noisy, NodeId(0)).unwrap();
}
