//! Collectives with blocks between sites: what crosses, how long it takes, and the bound for far blocks.

use broadleaf::budget::Budget;
use broadleaf::optimum::allgather_bound_s;
use broadleaf::plan::{check, Collective, Plan};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use std::collections::BTreeMap;
use std::path::Path;

fn load(name: &str) -> Platform {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms");
    Platform::load(&folder.join(format!("{name}.json"))).unwrap()
}

fn instance(platform: &Platform, collective: Collective, block_bytes: u64) -> Instance<'_> {
    Instance { collective, ..Instance::new(platform, NodeId(0), block_bytes).unwrap() }
}

/// Hosts of the same site take turns as the ones at which blocks enter, so each gets as many but for one.
#[test]
fn a_block_enters_each_site_once_and_each_host_in_turn() {
    for name in ["grid5000-88", "teragrid-64"] {
        let platform = load(name);
        let planner = find("site-blocks").unwrap();
        let instance = instance(&platform, Collective::Allgather, 1000);
        let plan = plan_with(planner, &instance, &Budget::UNLIMITED).unwrap();
        assert_eq!(check::faults(&platform, &plan), [""; 0]);
        assert_eq!(plan.trees.len(), platform.hosts().count());
        let site = |node: NodeId| platform.node(node).site.clone().unwrap();
        let cluster = |node: NodeId| platform.node(node).cluster.unwrap();
        let mut entered: BTreeMap<NodeId, usize> = platform.hosts().map(|host| (host, 0)).collect();
        for tree in &plan.trees {
            let (mut sites, mut clusters) = (Vec::new(), Vec::new());
            for (parent, child) in tree.edges() {
                if site(parent) != site(child) {
                    sites.push(site(child));
                    *entered.get_mut(&child).unwrap() += 1;
                }
                if cluster(parent) != cluster(child) {
                    clusters.push(cluster(child));
                }
            }
            let (crossed, found) = (sites.len(), clusters.len());
            sites.sort();
            sites.dedup();
            clusters.sort();
            clusters.dedup();
            assert_eq!((sites.len(), clusters.len()), (crossed, found), "{name}: entered twice");
            assert_eq!(found, platform.clusters().len() - 1);
        }
        for host in platform.hosts() {
            let beside = platform.hosts().filter(|&other| site(other) == site(host));
            let most = beside.map(|other| entered[&other]).max().unwrap();
            assert!(most - entered[&host] <= 1, "{name}: {} of at most {most}", entered[&host]);
        }
    }
}

/// 64 KiB in all, in blocks of whole numbers. SMPI's fastest algorithms take 15.1 ms and 45.2 ms on grid5000-88, 88.8 ms
/// and 73.2 ms on teragrid-64 (`python benches/smpi_sweep.py --collective NAME --seconds 5`).
#[test]
fn short_blocks_go_between_sites_in_little_more_than_the_latency() {
    let cases =
        [("grid5000-88", 744, [15.1e-3, 45.2e-3], 1.15), ("teragrid-64", 1024, [88.8e-3, 73.2e-3], 1.5)];
    for (name, block_bytes, theirs_s, from_bound) in cases {
        let platform = load(name);
        for (collective, theirs_s) in
            [Collective::Allgather, Collective::ReduceScatter].into_iter().zip(theirs_s)
        {
            let instance = instance(&platform, collective, block_bytes);
            let made =
                make(&instance, "best", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED).unwrap();
            let predicted = &made.plan.predicted;
            let (makespan_s, bound_s) = (predicted.makespan_s.unwrap(), predicted.bound_s.unwrap());
            assert!(makespan_s < theirs_s, "{name}, {collective}: {makespan_s} s, SMPI {theirs_s} s");
            assert!(
                (bound_s..from_bound * bound_s).contains(&makespan_s),
                "{name}, {collective}: {makespan_s} s, bound {bound_s} s"
            );
        }
    }
}

/// By pipe, the blocks that it carries.
fn carried(platform: &Platform, plan: &Plan) -> BTreeMap<String, usize> {
    let mut carried = BTreeMap::new();
    for (from, to) in plan.trees.iter().flat_map(|tree| tree.edges()) {
        for pipe in &platform.class(platform.link(from, to).unwrap()).uses {
            *carried.entry(platform.shared()[pipe.index()].id.clone()).or_default() += 1;
        }
    }
    carried
}

/// Long blocks of teragrid-64 go around its sites, since the ways out of a site share a pipe: 48 through each, as must come
/// in, and all out of one site to the same next one. Those of grid5000-88 take both ways to the smallest site.
#[test]
fn long_blocks_use_all_pipes() {
    let platform = load("teragrid-64");
    let site = |node: NodeId| platform.node(node).site.clone().unwrap();
    let planned = |platform: &Platform, name: &str, block_bytes| {
        let instance = instance(platform, Collective::Allgather, block_bytes);
        let plan = plan_with(find(name).unwrap(), &instance, &Budget::UNLIMITED).unwrap();
        assert_eq!(check::faults(platform, &plan), [""; 0]);
        plan
    };
    for name in ["site-blocks", "site-relays"] {
        let plan = planned(&platform, name, 16_384);
        let access: Vec<usize> = carried(&platform, &plan)
            .into_iter()
            .filter(|(pipe, _)| pipe.starts_with("access"))
            .map(|(_, blocks)| blocks)
            .collect();
        assert_eq!(access, [48; 8], "{name}");
        let mut next: Vec<_> = plan
            .trees
            .iter()
            .flat_map(|tree| tree.edges())
            .map(|(from, to)| (site(from), site(to)))
            .filter(|(from, to)| from != to)
            .collect();
        next.sort();
        next.dedup();
        assert_eq!(next.len(), 4, "{name}: {next:?}");
        let grid5000 = load("grid5000-88");
        let carried = carried(&grid5000, &planned(&grid5000, name, 11_912));
        // Of Orsay's 60 blocks, half go over Toulouse, with its own 20.
        assert_eq!((carried["wan-orsay-idpot"], carried["wan-toulouse-idpot"]), (30, 50), "{name}");
    }
}

/// Two hosts' blocks leave through one of them, and short blocks are left to `site-blocks`.
#[test]
fn relayed_blocks_leave_their_site_by_pairs() {
    let platform = load("teragrid-64");
    let site = |node: NodeId| platform.node(node).site.clone().unwrap();
    for collective in [Collective::Allgather, Collective::ReduceScatter] {
        let relayed = |block_bytes| {
            let instance = instance(&platform, collective, block_bytes);
            plan_with(find("site-relays").unwrap(), &instance, &Budget::UNLIMITED)
        };
        assert!(relayed(256).is_err(), "{collective}");
        let plan = relayed(16_384).unwrap();
        assert_eq!(check::faults(&platform, &plan), [""; 0]);
        let mut leaving = BTreeMap::new();
        for tree in &plan.trees {
            let own = site(tree.root.unwrap());
            let leaves = tree.edges().find(|&(from, to)| site(from) == own && site(to) != own).unwrap();
            *leaving.entry(leaves.0).or_insert(0) += 1;
        }
        assert_eq!(leaving.into_values().collect::<Vec<_>>(), [2; 32], "{collective}");
    }
}

/// The nearest hosts' blocks leave last, so nothing arrives later than a latency inside the root's cluster after the last
/// of 87 has left: the bound. Nothing travels together, so nothing is announced.
#[test]
fn a_scatter_s_farthest_blocks_leave_first() {
    let platform = load("grid5000-88");
    for block_bytes in [64 << 10, 1 << 20] {
        let instance = instance(&platform, Collective::Scatter, block_bytes);
        let made = make(&instance, "best", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED).unwrap();
        let (makespan_s, bound_s) =
            (made.plan.predicted.makespan_s.unwrap(), made.plan.predicted.bound_s.unwrap());
        assert!(!made.plan.combine);
        assert!((bound_s..1.001 * bound_s).contains(&makespan_s), "{makespan_s} s, bound {bound_s} s");
    }
    let binomial = instance(&platform, Collective::Scatter, 1 << 20);
    assert!(plan_with(find("binomial").unwrap(), &binomial, &Budget::UNLIMITED).unwrap().combine);
}

/// Three sites in a line, 10 s and 10 bytes/s apart, 10 bytes each. The first byte from one end is at the middle after
/// 10.1 s; the whole block takes 1 s through the port of the other end, and 10 s of latency. The middle sends four blocks,
/// which takes 4 s and once the latency.
#[test]
fn a_block_from_afar_is_not_there_from_the_start() {
    let text = r#"{"format": "broadleaf-platform/1", "name": "line", "port_model": "one-port",
        "nodes": [{"id": "a", "site": "x"}, {"id": "b", "site": "y"}, {"id": "c", "site": "z"}],
        "links": [{"from": "a", "to": "b", "both_ways": true, "latency_s": 10, "bandwidth_bytes_per_s": 10},
            {"from": "b", "to": "c", "both_ways": true, "latency_s": 10, "bandwidth_bytes_per_s": 10}]}"#;
    let platform = Platform::from_json(text).unwrap();
    for (collective, platform) in
        [(Collective::Allgather, &platform), (Collective::ReduceScatter, platform.reversed())]
    {
        let bound_s = allgather_bound_s(platform, collective, 10, None, &Budget::UNLIMITED);
        assert!((bound_s - 21.1).abs() < 1e-6, "{collective}: {bound_s} s");
    }
}

/// 24 hosts on a tree of switches: 3 below each of the lowest, 4 of these below each of two.
fn switched(names: impl Fn(usize) -> String) -> Platform {
    let nodes = (0..24).map(|at| format!(r#"{{"id": "h{at}"{}}}"#, names(at)));
    let pairs = (0..24).flat_map(|from| (0..24).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let links = pairs.map(|(from, to)| {
        let latency_s = if from / 3 == to / 3 {
            "2e-5"
        } else if from / 12 == to / 12 {
            "4e-5"
        } else {
            "6e-5"
        };
        format!(
            r#"{{"from": "h{from}", "to": "h{to}", "latency_s": {latency_s}, "bandwidth_bytes_per_s": 1e8}}"#
        )
    });
    let list = |items: Vec<String>| items.join(", ");
    Platform::from_json(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "switched", "port_model": "one-port",
            "nodes": [{}], "links": [{}]}}"#,
        list(nodes.collect()),
        list(links.collect())
    ))
    .unwrap()
}

/// The plan is that for the same network with a site for each upper switch and a cluster for each lower one.
#[test]
fn latencies_make_up_for_sites_that_are_not_declared() {
    let declared = switched(|at| format!(r#", "cluster": "c{}", "site": "s{}""#, at / 3, at / 12));
    for known in [String::new(), r#", "cluster": "all", "site": "here""#.to_string()] {
        let told = switched(|_| known.clone());
        for (name, collective) in [
            ("site-blocks", Collective::Allgather),
            ("site-blocks", Collective::Allreduce),
            ("site-trees", Collective::Allreduce),
        ] {
            let plan = |platform: &Platform| {
                let instance = instance(platform, collective, 24_000);
                plan_with(find(name).unwrap(), &instance, &Budget::UNLIMITED).unwrap()
            };
            let (found, expected) = (plan(&told), plan(&declared));
            assert_eq!(check::faults(&told, &found), [""; 0]);
            assert_eq!(found.trees, expected.trees, "{name}");
            assert_eq!(found.inward, expected.inward, "{name}");
        }
    }
}
