//! Blocks of unequal length, some of them empty: properties of each plan, and times computed by hand.

use crate::judge::{judge, judge_plan, Verdict};
use crate::random_platforms::drawn_platforms;
use crate::small_platforms::{mesh, small_platforms};
use broadleaf::budget::Budget;
use broadleaf::optimum::collective_bound_s;
use broadleaf::plan::{check, throughput, Collective, Plan};
use broadleaf::planners::{plan_with, supports, Instance, PLANNERS};
use broadleaf::platform::{Platform, PortModel};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::random::Random;
use broadleaf::simulate::{makespan, simulate};
use rayon::prelude::*;

const WITH_BLOCKS: [Collective; 4] =
    [Collective::Scatter, Collective::Allgather, Collective::Gather, Collective::ReduceScatter];

/// A third of the hosts have 0, one at least has more; a switch has 1.
fn weights(platform: &Platform, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut drawn = || if random.below(3) == 0 { 0.0 } else { 2.0 * random.unit() };
    let weight = |node| if platform.node(node).is_host() { drawn() } else { 1.0 };
    let mut weights: Vec<f64> = platform.nodes().map(weight).collect();
    let hosts: Vec<_> = platform.hosts().collect();
    weights[hosts[random.below(hosts.len())].index()] = 3.5;
    weights
}

#[test]
fn every_planner_with_unequal_blocks() {
    let platforms: Vec<Platform> = PortModel::ALL.into_iter().flat_map(small_platforms).collect();
    let on_platform = |(seed, platform): (usize, &Platform)| {
        let weights = weights(platform, seed as u64);
        let hosts: Vec<_> = platform.hosts().collect();
        let root = hosts[hosts.len() / 2];
        let mut planned = 0;
        for (collective, message_bytes) in WITH_BLOCKS.into_iter().flat_map(|each| [(each, 3), (each, 1013)])
        {
            let instance = Instance { collective, ..Instance::new(platform, root, message_bytes).unwrap() };
            let instance = instance.segmented(message_bytes.div_ceil(5)).weighted(&weights).unwrap();
            let judged = PLANNERS.iter().map(|planner| judge(*planner, &instance));
            planned += judged.filter(|verdict| *verdict == Verdict::Planned).count();
        }
        planned
    };
    let planned: usize =
        platforms.par_iter().enumerate().map(|(at, platform)| on_platform((at, platform))).sum();
    assert!(planned > platforms.len() * 20, "only {planned} plans were judged");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, cases: 64, ..Default::default() })]

    #[test]
    fn unequal_blocks_on_random_platforms(
        drawn in drawn_platforms(), message_bytes in 1u64..3000, parts in 1u64..9, collective in 0usize..4, seed: u64,
    ) {
        let platform = drawn.build();
        let weights = weights(&platform, seed);
        if let Ok(instance) = Instance::new(&platform, drawn.root(&platform), message_bytes) {
            let instance = Instance { collective: WITH_BLOCKS[collective], ..instance };
            let instance = instance.segmented(message_bytes.div_ceil(parts)).weighted(&weights).unwrap();
            PLANNERS.iter().for_each(|planner| { judge(*planner, &instance); });
        }
    }
}

#[test]
fn best_takes_weights_and_quick_times_are_the_event_queues() {
    let platform = mesh(PortModel::OnePort, 5);
    let weights = [0.0, 1.0, 2.5, 0.25, 0.0];
    for collective in WITH_BLOCKS {
        let instance = Instance::new(&platform, platform.hosts().next().unwrap(), 4099).unwrap();
        let instance = Instance { collective, ..instance }.weighted(&weights).unwrap();
        let made =
            make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
        judge_plan(&instance, &made.plan);
        assert_eq!(made.plan.weights.as_deref(), Some(&weights[..]));
        assert!(made.plan.predicted.bound_s <= made.plan.predicted.makespan_s);
        for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
            let plan = plan_with(*planner, &instance.segmented(57), &Budget::UNLIMITED).unwrap();
            let queued_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            let quick_s = makespan(&platform, plan, &Budget::UNLIMITED).unwrap();
            let name = planner.card().name;
            assert!((quick_s - queued_s).abs() <= 1e-9 * queued_s, "{name}: {quick_s}, {queued_s}");
        }
    }
}

/// Unit links without latency, so that bytes are seconds.
fn unit(nodes: usize) -> Platform {
    let ids: Vec<String> = (0..nodes).map(|node| format!("n{node}")).collect();
    let document = serde_json::json!({"format": "broadleaf-platform/1", "name": "unit", "port_model": "one-port",
        "nodes": ids.iter().map(|id| serde_json::json!({"id": id})).collect::<Vec<_>>(),
        "meshes": [{"nodes": ids, "link": {"bandwidth_bytes_per_s": 1}}]});
    Platform::from_json(&document.to_string()).unwrap()
}

fn read(text: &str) -> Plan {
    Plan::from_json(text).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn times_by_hand() {
    let platform = unit(3);
    // The root sends 30 bytes to n1, and nothing to n2: it is done after 30 s, and n2 at once.
    let scatter = read(
        r#"{"format": "broadleaf-plan/1", "collective": "scatter", "root": "n0", "message_bytes": 10, "segment_bytes": 5,
            "weights": {"n1": 3, "n2": 0}, "trees": [{"children": {"n0": ["n1", "n2"]}}]}"#,
    );
    let trace = simulate(&platform, &scatter, true).unwrap();
    assert_eq!((trace.finish_s.clone(), trace.transfer_count), (vec![0.0, 30.0, 0.0], 2));
    assert!(trace.transfers.iter().all(|transfer| transfer.bytes == 15));
    // 10 bytes of the message are 30 of n1's block, which the one port takes 30 s for.
    assert_eq!(throughput(&platform, &scatter).unwrap(), 10.0 / 30.0);
    // Around three hosts, 30 bytes of n0, none of n1 and 10 of n2: n0's go to n1, then n2; n2's to n0, then n1, whose port
    // has brought n0's by 30 s. n2 has n0's by 60 s.
    let ring = read(
        r#"{"format": "broadleaf-plan/1", "collective": "allgather", "root": "n0", "message_bytes": 10, "segment_bytes": 10,
            "weights": {"n0": 3, "n1": 0}, "pattern": {"name": "ring", "hosts": ["n0", "n1", "n2"]}}"#,
    );
    let trace = simulate(&platform, &ring, false).unwrap();
    assert_eq!((trace.finish_s, trace.transfer_count), (vec![10.0, 40.0, 60.0], 4));
    // n1 gets 40 bytes at least; n2 30 of them from n0.
    let bound = |collective, weights: &[f64]| {
        let root = platform.hosts().next().unwrap();
        collective_bound_s(&platform, collective, root, 10, Some(weights), &Budget::UNLIMITED)
    };
    assert!((bound(Collective::Allgather, &[3.0, 0.0, 1.0]) - 40.0).abs() < 1e-6);
    // Everything leaves the root by one port.
    assert!((bound(Collective::Scatter, &[9.0, 3.0, 1.5]) - 45.0).abs() < 1e-6);
    assert!((bound(Collective::Gather, &[9.0, 3.0, 1.5]) - 45.0).abs() < 1e-6);
    assert!((bound(Collective::ReduceScatter, &[3.0, 0.0, 1.0]) - 40.0).abs() < 1e-6);
}

/// A long block takes less time than a short one here: 0.1 s for n1's 200 bytes, where 100 bytes take 10 s.
#[test]
fn the_bound_of_a_scatter_whose_link_is_faster_with_more_bytes() {
    let document = r#"{"format": "broadleaf-platform/1", "name": "falling", "port_model": "one-port",
        "nodes": [{"id": "n0"}, {"id": "n1"}, {"id": "n2"}], "links": [
        {"from": "n0", "to": "n1", "gap": [[1, 10.0], [100, 10.0], [200, 0.1]]},
        {"from": "n0", "to": "n2", "bandwidth_bytes_per_s": 1e9}]}"#;
    let platform = Platform::from_json(document).unwrap_or_else(|fault| panic!("{fault}"));
    let scatter = read(
        r#"{"format": "broadleaf-plan/1", "collective": "scatter", "root": "n0", "message_bytes": 100, "segment_bytes": 100,
            "weights": {"n0": 0, "n1": 2}, "trees": [{"children": {"n0": ["n1", "n2"]}}]}"#,
    );
    let took_s = simulate(&platform, &scatter, false).unwrap().makespan_s;
    assert!((took_s - 0.1).abs() < 1e-6, "{took_s} s");
    let root = platform.hosts().next().unwrap();
    let bound_s =
        |weights| collective_bound_s(&platform, Collective::Scatter, root, 100, weights, &Budget::UNLIMITED);
    let (unequal_s, equal_s) = (bound_s(Some(&[0.0, 2.0, 1.0])), bound_s(None));
    assert!(0.0 < unequal_s && unequal_s <= took_s, "{unequal_s} s");
    assert!((equal_s - 10.0).abs() < 1e-6, "{equal_s} s");
}

/// Every choice of a tree for each of three hosts, served in every order: none is under the bound, and the best one meets it.
#[test]
fn the_bound_of_an_all_gather_against_every_choice_of_trees() {
    let platform = unit(3);
    let trees_of = |root: usize| -> Vec<String> {
        let (a, b) = ((root + 1) % 3, (root + 2) % 3);
        let tree = |children: String| format!(r#"{{"root": "n{root}", "children": {{{children}}}}}"#);
        vec![
            tree(format!(r#""n{root}": ["n{a}", "n{b}"]"#)),
            tree(format!(r#""n{root}": ["n{b}", "n{a}"]"#)),
            tree(format!(r#""n{root}": ["n{a}"], "n{a}": ["n{b}"]"#)),
            tree(format!(r#""n{root}": ["n{b}"], "n{b}": ["n{a}"]"#)),
        ]
    };
    for weights in [[1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 2.0, 4.0]] {
        let mut least_s = f64::INFINITY;
        for choice in 0..4 * 4 * 4 {
            let trees = [
                trees_of(0)[choice % 4].clone(),
                trees_of(1)[choice / 4 % 4].clone(),
                trees_of(2)[choice / 16].clone(),
            ];
            for segment in [8, 2, 1] {
                let plan = read(&format!(
                    r#"{{"format": "broadleaf-plan/1", "collective": "allgather", "message_bytes": 8, "segment_bytes": {segment},
                        "weights": {{"n0": {}, "n1": {}, "n2": {}}}, "trees": [{}]}}"#,
                    weights[0],
                    weights[1],
                    weights[2],
                    trees.join(", ")
                ));
                least_s = least_s.min(simulate(&platform, &plan, false).unwrap().makespan_s);
            }
        }
        let root = platform.hosts().next().unwrap();
        let bound_s =
            collective_bound_s(&platform, Collective::Allgather, root, 8, Some(&weights), &Budget::UNLIMITED);
        assert!(
            bound_s <= least_s && least_s <= 1.4 * bound_s,
            "{weights:?}: {bound_s} s, reached {least_s} s"
        );
    }
}

#[test]
fn weights_that_mean_nothing_are_refused() {
    let platform = unit(3);
    let root = platform.hosts().next().unwrap();
    let refused = |collective, weights: &[f64]| {
        let instance = Instance { collective, ..Instance::new(&platform, root, 10).unwrap() };
        instance.weighted(weights).unwrap_err().to_string()
    };
    for (collective, weights, part) in [
        (Collective::Bcast, [1.0, 2.0, 1.0], "no block for each host"),
        (Collective::Allreduce, [1.0, 2.0, 1.0], "no block for each host"),
        (Collective::Scatter, [1.0, -2.0, 1.0], "weight of \"n1\" is -2"),
        (Collective::Scatter, [1.0, f64::NAN, 1.0], "weight of \"n1\" is NaN"),
        (Collective::Gather, [0.0, 0.0, 0.0], "all weights are 0"),
        (Collective::Allgather, [1e300, 0.0, 0.0], "2^63 - 1"),
    ] {
        let line = refused(collective, &weights);
        assert!(line.contains(part) && !line.contains('\n'), "{line}");
    }
    let equal = Instance { collective: Collective::Scatter, ..Instance::new(&platform, root, 10).unwrap() };
    assert!(equal.weighted(&[1.0; 3]).unwrap().weights.is_none());
    let document = |collective: &str, weights: &str| {
        format!(
            r#"{{"format": "broadleaf-plan/1", "collective": "{collective}", "root": "n0", "message_bytes": 10,
                "segment_bytes": 5, "weights": {weights}, "trees": [{{"children": {{"n0": ["n1", "n2"]}}}}]}}"#
        )
    };
    for (collective, weights, part) in [
        ("bcast", r#"{"n1": 2}"#, "$.weights: weights in a plan for bcast"),
        ("scatter", r#"{"n1": -2}"#, "$.weights.n1: -2 is negative"),
        ("scatter", r#"[1, 2]"#, "$.weights"),
        ("scatter", r#"{"n1": "much"}"#, "$.weights.n1"),
    ] {
        let fault = Plan::from_json(&document(collective, weights)).unwrap_err().to_string();
        assert!(fault.contains(part) && !fault.contains('\n'), "{fault}");
    }
    for (weights, part) in [
        (r#"{"n0": 0, "n1": 0, "n2": 0}"#, "all weights are 0"),
        (r#"{"n9": 2}"#, "unknown node \"n9\""),
        (r#"{"n1": 1e30}"#, "2^63 - 1"),
    ] {
        let faults = check::faults(&platform, &read(&document("scatter", weights)));
        assert!(faults.len() == 1 && faults[0].contains(part), "{faults:?}");
    }
}
