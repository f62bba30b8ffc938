//! All-reduces in which the heads of several subtrees exchange what has come in to them.

mod delivery;

use broadleaf::budget::Budget;
use broadleaf::execute::threads;
use broadleaf::optimum::allreduce_bound_s;
use broadleaf::plan::{check, throughput, Collective, Period, Plan, Programs};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::random::Random;
use broadleaf::simulate::{estimate, simulate};

/// Sites of so few hosts each, "a0", "a1", …, "b0", …, 1 byte/s everywhere, 100 s between sites.
fn sites(sizes: &[usize]) -> Platform {
    let name = |site: usize, host: usize| format!("{}{host}", char::from(b'a' + site as u8));
    let hosts = |site: usize| (0..sizes[site]).map(move |host| name(site, host));
    let all = 0..sizes.len();
    let nodes: Vec<_> = all
        .clone()
        .flat_map(|site| hosts(site).map(move |id| serde_json::json!({"id": id, "cluster": name(site, 0)})))
        .collect();
    let meshes = all.clone().filter(|&site| sizes[site] > 1).map(|site| {
        serde_json::json!({"nodes": hosts(site).collect::<Vec<_>>(), "link": {"bandwidth_bytes_per_s": 1}})
    });
    let pairs = all.clone().flat_map(|site| (0..site).map(move |other| (name(other, 0), name(site, 0))));
    let bridges = pairs.map(|(from, to)| {
        serde_json::json!({"from_cluster": from, "to_cluster": to, "both_ways": true,
            "link": {"bandwidth_bytes_per_s": 1, "latency_s": 100}})
    });
    let document = serde_json::json!({
        "format": "broadleaf-platform/1", "name": "sites", "port_model": "one-port", "nodes": nodes,
        "meshes": meshes.collect::<Vec<_>>(), "bridges": bridges.collect::<Vec<_>>(),
    });
    Platform::from_json(&document.to_string()).unwrap()
}

/// A tree as JSON, and whether its heads exchange.
fn plan(platform: &Platform, bytes: u64, segment: u64, trees: &[(f64, &str, &str, &str)]) -> Plan {
    let tree = |(share, root, children, exchange): &(f64, &str, &str, &str), is_inward: bool| {
        let exchange = if is_inward && !exchange.is_empty() {
            format!(r#", "exchange": {exchange}"#)
        } else {
            String::new()
        };
        format!(r#"{{"share": {share}, "root": "{root}", "children": {children}{exchange}}}"#)
    };
    let list = |is_inward| trees.iter().map(|each| tree(each, is_inward)).collect::<Vec<_>>().join(", ");
    let text = format!(
        r#"{{"format": "broadleaf-plan/1", "collective": "allreduce", "root": "a0", "message_bytes": {bytes},
            "segment_bytes": {segment}, "inward": [{}], "outward": [{}]}}"#,
        list(true),
        list(false)
    );
    Plan::from_json(&text).unwrap().bind(platform).unwrap()
}

/// Two sites of two hosts.
const TWO: &str = r#"{"a0": ["b0", "a1"], "b0": ["b1"]}"#;
/// Sites of two, three and one host.
const THREE: &str = r#"{"a0": ["b0", "c0", "a1"], "b0": ["b1"], "b1": ["b2"]}"#;
const THREE_FROM_B: &str = r#"{"b1": ["c0", "a1", "b0", "b2"], "a1": ["a0"]}"#;

/// By hand, 10 bytes: both sites are combined at 10 s. Through the root, b's part is there at 120 s, and the sum reaches b0
/// at 230 s; exchanged, both heads have it at 120 s.
#[test]
fn an_exchange_crosses_the_long_link_once() {
    let platform = sites(&[2, 2]);
    for (exchange, by_hand_s) in
        [("", [120.0, 140.0, 230.0, 240.0]), (r#"["b0"]"#, [120.0, 130.0, 120.0, 130.0])]
    {
        let plan = plan(&platform, 10, 10, &[(1.0, "a0", TWO, exchange)]);
        assert_eq!(check::faults(&platform, &plan), [""; 0]);
        assert_eq!(simulate(&platform, &plan, false).unwrap().finish_s, by_hand_s, "{exchange}");
    }
}

/// By hand, three heads at once: each sends its 10 bytes to the next one, then to the one before, which has them at 120 s.
#[test]
fn each_head_begins_with_another_one() {
    let platform = sites(&[1, 1, 1]);
    let plan = plan(&platform, 10, 10, &[(1.0, "a0", r#"{"a0": ["b0", "c0"]}"#, r#"["b0", "c0"]"#)]);
    assert_eq!(check::faults(&platform, &plan), [""; 0]);
    assert_eq!(simulate(&platform, &plan, false).unwrap().finish_s, [120.0; 3]);
}

/// Each byte leaves b0 for its three hosts and for a0, in an exchange for c0 as well.
#[test]
fn the_load_counts_what_heads_send_each_other() {
    let platform = sites(&[1, 4, 1]);
    let children = r#"{"a0": ["b0", "c0"], "b0": ["b1", "b2", "b3"]}"#;
    for (exchange, by_hand) in [("", 4.0), (r#"["b0"]"#, 4.0), (r#"["b0", "c0"]"#, 5.0)] {
        let plan = plan(&platform, 100, 10, &[(1.0, "a0", children, exchange)]);
        let rate = throughput(&platform, &plan).unwrap();
        assert!((rate * by_hand - 1.0).abs() < 1e-12, "{exchange}: {rate}");
    }
}

/// Sums by definition, of one and of several segments and trees; a file read again is the same plan.
#[test]
fn every_host_has_every_contribution_once() {
    let platform = sites(&[2, 3, 1]);
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let exchanged = r#"["b0", "c0"]"#;
    for (bytes, segment) in [(1, 1), (10, 10), (100, 7), (1000, 13)] {
        for trees in [
            &[(1.0, "a0", THREE, exchanged)][..],
            &[(1.0, "a0", THREE, r#"["c0"]"#)],
            &[(0.5, "a0", THREE, exchanged), (0.5, "b1", THREE_FROM_B, r#"["a1", "c0"]"#)],
            &[(0.25, "b1", THREE_FROM_B, ""), (0.75, "a0", THREE, exchanged)],
        ] {
            let plan = plan(&platform, bytes, segment, trees);
            assert_eq!(check::faults(&platform, &plan), [""; 0]);
            let again = Plan::from_json(&plan.to_json().to_string()).unwrap().bind(&platform).unwrap();
            assert_eq!((&again.inward, &again.trees), (&plan.inward, &plan.trees));
            let programs = Programs::for_platform(&plan, &platform).unwrap();
            let buffers = threads::run_on(&programs, |node| delivery::initial(&programs, node)).unwrap();
            for &host in &hosts {
                let (place, wanted) = delivery::wanted(&programs, &hosts, host);
                assert_eq!(buffers[host.index()][place], wanted, "{host:?}, {bytes} bytes");
            }
            let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            assert!(makespan_s >= 100.0 && estimate(&platform, &plan).unwrap() <= makespan_s * 1.01);
            let bound_s = allreduce_bound_s(&platform, NodeId(0), bytes, &Budget::UNLIMITED);
            assert!(makespan_s >= bound_s, "{makespan_s} s, and the bound is {bound_s} s");
        }
    }
}

#[test]
fn an_exchange_of_others_than_the_roots_children_is_refused() {
    let platform = sites(&[2, 3, 1]);
    let faults = |children: &str, exchange: &str| {
        check::faults(&platform, &plan(&platform, 10, 10, &[(1.0, "a0", children, exchange)])).join("; ")
    };
    let not_below = "is in the exchange, but not in both trees a child of the root without via";
    assert_eq!(faults(THREE, r#"["b1"]"#), format!("tree 0: \"b1\" {not_below}"));
    let of_root = "tree 0: the exchange names the root \"a0\", which is part of it";
    assert_eq!(faults(THREE, r#"["a0"]"#), of_root);
    assert_eq!(faults(THREE, r#"["b0", "b0"]"#), "tree 0: \"b0\" is in the exchange twice");

    let mut document = plan(&platform, 10, 10, &[(1.0, "a0", THREE, r#"["b0"]"#)]).to_json();
    let outward = serde_json::json!({"a0": ["c0", "a1"], "c0": ["b0"], "b0": ["b1", "b2"]});
    let judged = |document: &serde_json::Value| {
        check::faults(&platform, &Plan::from_json(&document.to_string()).unwrap()).join("; ")
    };
    let children = std::mem::replace(&mut document["outward"][0]["children"], outward);
    assert_eq!(judged(&document), format!("tree 0: \"b0\" {not_below}"));
    document["outward"][0]["children"] = children;
    document["outward"][0]["exchange"] = serde_json::json!(["b0"]);
    let only_inward = "is in an exchange, which only an inward tree of an allreduce has";
    assert_eq!(judged(&document), format!("tree 0: \"b0\" {only_inward}"));

    let heads: Vec<String> = (0..1024).map(|head| format!("h{head}")).collect();
    document["outward"][0]["exchange"] = serde_json::json!(heads);
    let fault = Plan::from_json(&document.to_string()).unwrap_err().to_string();
    assert!(fault.contains("1024 hosts in an exchange; name at most 1023"), "{fault}");

    let mut ordered = plan(&platform, 10, 10, &[(1.0, "a0", THREE, r#"["b0"]"#)]);
    ordered.period = Some(Period { segments: 1, slots: Vec::new() });
    let no_period = "tree 0: an exchange, which a plan with a period cannot have";
    assert_eq!(check::faults(&platform, &ordered)[0], no_period);
    ordered.period = None;
    ordered.inward.iter_mut().for_each(|tree| tree.exchange = vec![NodeId(2); 1024]);
    let too_many = "tree 0: more than 1024 hosts exchange what has come in to them";
    assert_eq!(check::faults(&platform, &ordered), [too_many]);

    // b and c meet at a only.
    let mut document = platform.to_json();
    document["bridges"].as_array_mut().unwrap().retain(|bridge| bridge["from_cluster"] == "a0");
    let platform = Platform::from_json(&document.to_string()).unwrap();
    let plan = plan(&platform, 10, 10, &[(1.0, "a0", THREE, r#"["b0", "c0"]"#)]);
    let no_link = "tree 0: no link for the exchange";
    assert_eq!(
        check::faults(&platform, &plan),
        [format!("{no_link} (\"b0\", \"c0\")"), format!("{no_link} (\"c0\", \"b0\")")]
    );
}

/// 400 heads send 1,000 segments to each other: 160 million transfers, where 0.8 million go through a root.
#[test]
fn what_heads_send_counts_against_the_limit_of_a_simulation() {
    let platform = sites(&[400]);
    let others: Vec<String> = (1..400).map(|host| format!("a{host}")).collect();
    let (children, exchange) = (serde_json::json!({"a0": others}).to_string(), serde_json::json!(others));
    let plan = plan(&platform, 1000, 1, &[(1.0, "a0", &children, &exchange.to_string())]);
    let refusal = simulate(&platform, &plan, false).unwrap_err().to_string();
    assert!(refusal.contains("transfers and 67108864 can be simulated"), "{refusal}");
}

fn allreduce(platform: &Platform, message_bytes: u64) -> Instance<'_> {
    let instance = Instance::new(platform, NodeId(0), message_bytes).unwrap();
    Instance { collective: Collective::Allreduce, ..instance }
}

fn planned(platform: &Platform, planner: &str, message_bytes: u64) -> Plan {
    let instance = allreduce(platform, message_bytes);
    let plan = plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    assert_eq!(check::faults(platform, &plan), [""; 0]);
    plan
}

fn through_roots(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.inward.iter_mut().for_each(|tree| tree.exchange.clear());
    plan
}

/// As worked out above; and all heads, for a short message.
#[test]
fn planners_let_heads_exchange() {
    let platform = sites(&[2, 2]);
    let plan = planned(&platform, "magpie", 10);
    assert_eq!(simulate(&platform, &plan, false).unwrap().finish_s, [120.0, 130.0, 120.0, 130.0]);

    let platform = sites(&[2, 3, 1, 2]);
    let plan = planned(&platform, "site-trees", 2);
    assert!(plan.inward.iter().all(|tree| tree.exchange.len() == 3));
    let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
    assert!(makespan_s < 120.0, "{makespan_s} s, of which the longest link is 100");
}

/// Equal hosts below one root, blocks that nobody passes on, and a timetable.
#[test]
fn plans_that_would_gain_nothing_stay_as_they_are() {
    let one_port = sites(&[5]);
    let text = one_port.to_json().to_string();
    let multi_port = Platform::from_json(&text.replace("one-port", "multi-port")).unwrap();
    for (platform, planner, trees) in
        [(&one_port, "flat", 1), (&multi_port, "flat", 5), (&one_port, "ring", 5)]
    {
        let plan = planned(platform, planner, 100);
        assert_eq!((plan.inward.len(), &plan), (trees, &through_roots(&plan)), "{planner}");
    }
}

/// Every exchange of two heads where no transfer waits for a port, and every plan that `make` returns.
#[test]
fn a_planners_exchange_is_quicker_than_its_root() {
    let mut random = Random::new(11);
    let mut ratios = Vec::new();
    for _ in 0..40 {
        let sizes: Vec<usize> = (0..2 + random.below(3)).map(|_| 1 + random.below(4)).collect();
        let mut document = sites(&sizes).to_json();
        for bridge in document["bridges"].as_array_mut().unwrap() {
            bridge["link"]["latency_s"] = (1.0 + 100.0 * random.unit()).into();
        }
        let one_port = Platform::from_json(&document.to_string()).unwrap();
        document["port_model"] = "link-capacity".into();
        let platform = Platform::from_json(&document.to_string()).unwrap();
        for planner in [
            "magpie",
            "binomial",
            "fnf",
            "ecef",
            "mpich-g2",
            "site-trees",
            "site-packing",
            "site-packing-binomial",
        ] {
            let ratio = |platform: &Platform, plan: Plan| {
                let seconds = |plan: &Plan| simulate(platform, plan, false).unwrap().makespan_s;
                let is_exchanged = plan.inward.iter().any(|tree| !tree.exchange.is_empty());
                is_exchanged.then(|| seconds(&plan) / seconds(&through_roots(&plan)))
            };
            let short = ratio(&platform, planned(&platform, planner, 1));
            // Of heads of all sites, some may be far from each other and near the root.
            let is_pair = planner != "site-trees";
            assert!(!is_pair || short.is_none_or(|ratio| ratio <= 1.0), "{planner} on {sizes:?}: {short:?}");
            let long = [1 + random.below(50) as u64, 100, 1000].map(|bytes| {
                let (instance, segments) =
                    (allreduce(&one_port, bytes), SegmentChoice::Bytes(1 + bytes / 20));
                let made = make(&instance, planner, segments, Effort::Quick, &Budget::UNLIMITED);
                ratio(&one_port, made.unwrap().plan)
            });
            ratios.extend(short.into_iter().chain(long.into_iter().flatten()));
        }
    }
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    assert!(ratios.len() > 300 && worst < 1.0 + 1e-9, "{} exchanges, the slowest {worst}", ratios.len());
}
