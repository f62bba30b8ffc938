//! Regular plans: their files, refusals, and guarantees on homogeneous networks.

use broadleaf::budget::Budget;
use broadleaf::plan::{check, Collective, Plan};
use broadleaf::planners::{find, supports, Instance};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel, TransferTime};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;

fn homogeneous(nodes: usize, class: LinkClass) -> Platform {
    let mut builder = PlatformBuilder::new("same", PortModel::OnePort);
    let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
    let class = builder.add_class(class);
    builder.add_mesh(Mesh { nodes: hosts, class }).unwrap();
    builder.build().unwrap()
}

fn planned(platform: &Platform, collective: Collective, name: &str, bytes: u64, segment: u64) -> Plan {
    let instance = Instance { collective, ..Instance::new(platform, NodeId(1), bytes).unwrap() };
    let made = make(&instance, name, SegmentChoice::Bytes(segment), Effort::Thorough, &Budget::UNLIMITED);
    made.unwrap_or_else(|error| panic!("{name}: {error}")).plan
}

const REGULAR: [(Collective, &str); 9] = [
    (Collective::Bcast, "round-robin"),
    (Collective::Bcast, "van-de-geijn"),
    (Collective::Bcast, "circulant"),
    (Collective::Allgather, "round-robin"),
    (Collective::Allgather, "ring"),
    (Collective::Allgather, "recursive-doubling"),
    (Collective::Allgather, "bruck"),
    (Collective::Allgather, "circulant"),
    (Collective::Allgather, "bine"),
];

/// What is stored by its construction is the same plan when it is read: trees, slots, nodes and all.
#[test]
fn a_large_plans_file_holds_its_pattern() {
    let platform = homogeneous(128, LinkClass::affine(50e-6, 125e6));
    for (collective, name) in REGULAR {
        let plan = planned(&platform, collective, name, 1 << 20, 8192);
        let document = plan.to_file_json();
        assert!(document.get("pattern").is_some() && document.get("trees").is_none(), "{name}");
        let text = document.to_string();
        assert!(text.len() < 4096, "{name}: {} bytes", text.len());
        let read = Plan::from_json(&text).unwrap();
        assert_eq!(check::faults(&platform, &read), [""; 0], "{name}");
        assert_eq!(read.to_json(), plan.to_json(), "{name}: expanded");
        assert_eq!(read.bind(&platform).unwrap().to_file_json(), document, "{name}: stored again");
    }
}

/// A file may have the ring either way round.
#[test]
fn a_ring_to_the_left_is_read_and_stored_by_its_name() {
    let platform = homogeneous(128, LinkClass::affine(50e-6, 125e6));
    let mut document = planned(&platform, Collective::Allgather, "ring", 1 << 20, 8192).to_file_json();
    document["pattern"]["name"] = "ring-leftwards".into();
    let read = Plan::from_json(&document.to_string()).unwrap();
    assert_eq!(check::faults(&platform, &read), [""; 0]);
    let listed = read.to_json();
    let slots = listed["period"]["slots"].as_array().unwrap();
    let mut of_first = slots.iter().filter(|slot| slot[1] == "n0").peekable();
    assert!(of_first.peek().is_some() && of_first.all(|slot| slot[2] == "n127"));
    assert_eq!(read.bind(&platform).unwrap().to_file_json(), document, "stored again");
}

/// Back and forth is what round-robin does where messages have a start-up.
#[test]
fn start_ups_let_round_robin_go_back_and_forth() {
    let time = TransferTime::Affine { startup_s: 1e-5, bandwidth_bytes_per_s: Some(125e6) };
    let platform = homogeneous(101, LinkClass { time, ..LinkClass::default() });
    let plan = planned(&platform, Collective::Bcast, "round-robin", 1 << 20, 1024);
    let document = plan.to_file_json();
    assert_eq!(document["pattern"]["name"], "round-robin-back-and-forth");
    let read = Plan::from_json(&document.to_string()).unwrap();
    assert_eq!(check::faults(&platform, &read), [""; 0]);
    assert_eq!(read.to_json(), plan.to_json());
}

/// Scripts that read files see small plans in full, and changed ones as they are.
#[test]
fn small_and_changed_plans_are_written_out() {
    let platform = homogeneous(14, LinkClass::affine(50e-6, 125e6));
    let plan = planned(&platform, Collective::Bcast, "round-robin", 1 << 20, 8192);
    assert_eq!(plan.to_file_json(), plan.to_json());
    let platform = homogeneous(128, LinkClass::affine(50e-6, 125e6));
    let mut plan = planned(&platform, Collective::Bcast, "round-robin", 1 << 20, 8192);
    plan.trees.swap(0, 1);
    assert_eq!(plan.to_file_json(), plan.to_json());
}

#[test]
fn patterns_that_make_no_plan_are_refused() {
    let refusal = |fields: &str| {
        let text = format!(
            r#"{{"format": "broadleaf-plan/1", "root": "a", "message_bytes": 9, "segment_bytes": 1, {fields}}}"#
        );
        Plan::from_json(&text).unwrap_err().to_string()
    };
    for (fields, wanted) in [
        (
            r#""pattern": {"name": "spiral", "hosts": ["a", "b"]}"#,
            "$.pattern.name: unknown pattern \"spiral\"",
        ),
        (r#""pattern": {"name": "ring", "hosts": ["a", "b"]}"#, "\"ring\" is a pattern for allgather"),
        (r#""pattern": {"name": "round-robin"}"#, "$.pattern: the required field \"hosts\" is missing"),
        (r#""pattern": {"name": "round-robin", "hosts": []}"#, "for 0 hosts"),
        (r#""pattern": {"name": "round-robin", "hosts": ["a"]}"#, "for 1 hosts"),
        (
            r#""pattern": {"name": "round-robin", "hosts": ["a", "b", "a"]}"#,
            "$.pattern.hosts[2]: \"a\" stands twice",
        ),
        (
            r#""pattern": {"name": "round-robin-back-and-forth", "hosts": ["a", "b", "c"], "lookahead": 0}"#,
            "for 3 hosts",
        ),
        (r#""pattern": {"name": "circulant", "hosts": ["a", "b", "c"], "turn": 2}"#, "for 3 hosts"),
        (r#""pattern": {"name": "circulant", "hosts": ["a", "b"], "turn": -1}"#, "$.pattern.turn: -1"),
        (r#""pattern": {"name": "circulant", "hosts": ["a", "b"], "segments": 4294967296}"#, "too large"),
        (
            r#""pattern": {"name": "circulant", "hosts": ["a", "b"], "segments": 4294967295}"#,
            "4294967295 segments, and the message has 9",
        ),
        (r#""pattern": {"name": "round-robin", "hosts": ["a", "b"]}, "trees": []"#, "a pattern beside trees"),
        (
            r#""collective": "allgather", "pattern": {"name": "recursive-doubling", "hosts": ["a", "b", "c"]}"#,
            "for 3 hosts",
        ),
    ] {
        let line = refusal(fields);
        assert!(line.contains(wanted) && !line.contains('\n'), "{fields}: {line}");
    }
}

/// A pattern over other hosts than the platform's, or from another root, is a faulty plan like any other.
#[test]
fn the_checker_judges_what_a_pattern_expands_to() {
    let platform = homogeneous(4, LinkClass::affine(0.0, 1.0));
    let faults = |fields: &str| {
        let text = format!(
            r#"{{"format": "broadleaf-plan/1", "root": "n0", "message_bytes": 9, "segment_bytes": 1, "pattern": {fields}}}"#
        );
        check::faults(&platform, &Plan::from_json(&text).unwrap())
    };
    assert_eq!(faults(r#"{"name": "circulant", "hosts": ["n0", "n3", "n1", "n2"]}"#), [""; 0]);
    assert!(!faults(r#"{"name": "circulant", "hosts": ["n1", "n0", "n2", "n3"]}"#).is_empty());
    assert!(!faults(r#"{"name": "round-robin", "hosts": ["n0", "n1", "n2"]}"#).is_empty());
    assert!(faults(r#"{"name": "round-robin", "hosts": ["n0", "n1", "n2", "x"]}"#)[0].contains("\"x\""));
}

/// The paper's own cluster: an exchange takes as long as a transfer, and all else takes turns. The pipelined chain
/// comes to 2 t there (each node receives, then sends), round-robin stays at t.
#[test]
fn round_robin_beats_the_chain_where_only_partners_exchange() {
    let same_partner = |nodes, latency_s| {
        let even = homogeneous(nodes, LinkClass::affine(latency_s, 1.0));
        let mut document = even.to_json();
        document["port_model"] = "one-port-same-partner".into();
        Platform::from_json(&document.to_string()).unwrap()
    };
    let cases = [3usize, 4, 5, 7, 8, 9, 15, 16].into_iter();
    let cases = cases.flat_map(|nodes| [0.0, 0.1, 0.5].map(|latency_s| (nodes, latency_s)));
    for (nodes, latency_s) in cases {
        let platform = same_partner(nodes, latency_s);
        let segments = 300 * (nodes as u64 - 1);
        let relative = |name| {
            let plan = planned(&platform, Collective::Bcast, name, segments, 1);
            simulate(&platform, &plan, false).unwrap().makespan_s / segments as f64
        };
        let paper = if nodes % 2 == 0 { 1.0 } else { nodes as f64 / (nodes - 1) as f64 };
        let (chain, round_robin) = (relative("chain"), relative("round-robin"));
        assert!((1.99..2.1).contains(&chain), "{nodes} nodes: chain {chain} t");
        // Who talks to one partner until a latency later talks to nobody else in it: that much longer a round.
        let most = 1.01 * paper * (1.0 + latency_s);
        assert!(
            (1.0..most).contains(&round_robin),
            "{nodes} nodes, {latency_s}: round-robin {round_robin} t"
        );
    }
}

/// Contributions of 1 s each: (n − 1)/n · t is n − 1 seconds.
#[test]
fn all_gathers_are_within_a_twentieth_of_the_limit() {
    let platform = |nodes| homogeneous(nodes, LinkClass::affine(1e-3, 100.0));
    for nodes in [2usize, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64] {
        for name in ["round-robin", "ring", "recursive-doubling", "bruck", "circulant", "bine"] {
            if ["recursive-doubling", "bine"].contains(&name) && !nodes.is_power_of_two() {
                continue;
            }
            let platform = platform(nodes);
            let plan = planned(&platform, Collective::Allgather, name, 100, 100);
            let limit_s = (nodes - 1) as f64;
            let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            assert!(makespan_s >= limit_s && makespan_s <= 1.05 * limit_s, "{name}, {nodes}: {makespan_s} s");
        }
    }
}

/// 1,000 nodes and 64 MiB at 1 Gb/s: near the limit, from files of less than 10 MiB.
#[test]
fn a_thousand_nodes() {
    let platform = homogeneous(1000, LinkClass::affine(50e-6, 125e6));
    let bytes = 64 << 20;
    let limit_s = bytes as f64 / 125e6;
    for (name, most) in
        [("circulant", 1.10), ("two-tree", 1.10), ("round-robin", 1.10), ("van-de-geijn", 2.2)]
    {
        let instance = Instance::new(&platform, NodeId(0), bytes).unwrap();
        let plan =
            make(&instance, name, SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap().plan;
        let written = plan.to_file_json().to_string().len();
        assert!(written < 10 << 20, "{name}: {written} bytes");
        let makespan_s = plan.predicted.makespan_s.unwrap();
        assert!(makespan_s >= limit_s && makespan_s <= most * limit_s, "{name}: {} t", makespan_s / limit_s);
    }
    // The full simulation agrees with the prediction.
    let instance = Instance::new(&platform, NodeId(0), bytes).unwrap();
    let plan =
        make(&instance, "circulant", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap().plan;
    let simulated_s = simulate(&platform, &plan, false).unwrap().makespan_s;
    assert!((simulated_s / plan.predicted.makespan_s.unwrap() - 1.0).abs() < 1e-9, "{simulated_s} s");
}

/// A message of fewer bytes than nodes to be served one each is refused; one byte each is enough.
#[test]
fn small_messages_and_few_nodes() {
    for nodes in [1usize, 2, 3, 5] {
        let platform = homogeneous(nodes, LinkClass::affine(0.0, 1.0));
        for (collective, name) in REGULAR {
            for bytes in [1, nodes as u64 - 1, nodes as u64, 10] {
                let Ok(instance) = Instance::new(&platform, NodeId(0), bytes) else { continue };
                let instance = Instance { collective, ..instance.segmented(100) };
                let planner = find(name).unwrap();
                let needs = match (collective, name) {
                    (Collective::Bcast, "round-robin") => nodes as u64 - 1,
                    (Collective::Bcast, "van-de-geijn") => nodes as u64,
                    _ => 1,
                };
                let refused = supports(planner, &instance);
                if ["recursive-doubling", "bine"].contains(&name) && !nodes.is_power_of_two() {
                    assert!(refused.is_err(), "{nodes} nodes");
                    continue;
                }
                assert_eq!(
                    refused.is_ok(),
                    bytes >= needs,
                    "{name}, {nodes} nodes, {bytes} bytes: {refused:?}"
                );
                match refused {
                    Ok(()) => {
                        let plan = planner.plan(&instance, &Budget::UNLIMITED).unwrap();
                        let faults = check::faults(&platform, &plan);
                        assert_eq!(faults, [""; 0], "{name}, {nodes} nodes, {bytes} bytes");
                        simulate(&platform, &plan, false).unwrap();
                    }
                    Err(refusal) => {
                        let line = refusal.to_string();
                        assert!(line.contains(&bytes.to_string()), "{line}");
                    }
                }
            }
        }
    }
}
