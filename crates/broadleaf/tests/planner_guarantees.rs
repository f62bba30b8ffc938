//! The guarantees of the planners' cards, against bounds and counts from other code.

use broadleaf::budget::Budget;
use broadleaf::optimum::makespan_bound_s;
use broadleaf::plan::{throughput, Plan};
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::simulate::{simulate, Trace};
use std::collections::HashMap;
use std::path::Path;

/// Equal hosts, 100 bytes/s in each direction.
fn mesh(count: usize, latency_s: f64) -> Platform {
    let mut builder = PlatformBuilder::new("mesh", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..count).map(|index| builder.add_host(format!("n{index}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(latency_s, 100.0));
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    builder.build().unwrap()
}

fn plan(planner: &str, platform: &Platform, root: u32, message_bytes: u64, segment_bytes: u64) -> Plan {
    let instance = Instance::new(platform, NodeId(root), message_bytes).unwrap().segmented(segment_bytes);
    find(planner).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap()
}

fn trace(planner: &str, platform: &Platform, root: u32, message_bytes: u64) -> Trace {
    simulate(platform, &plan(planner, platform, root, message_bytes, message_bytes), true).unwrap()
}

#[test]
fn binomial_is_optimal_without_latency() {
    for count in 1..=70 {
        let platform = mesh(count, 0.0);
        for root in [0, count as u32 / 2] {
            let bound_s = makespan_bound_s(&platform, NodeId(root), 1);
            for name in ["binomial", "binomial-printed"] {
                let makespan_s = trace(name, &platform, root, 1).makespan_s;
                let is_kept = makespan_s <= bound_s * (1.0 + 1e-8);
                assert!(is_kept, "{name}, {count} nodes: {makespan_s} s, bound {bound_s} s");
            }
        }
    }
}

#[test]
fn a_long_chain_reaches_the_rate_of_one_link() {
    let platform = mesh(9, 0.25);
    let chain = plan("chain", &platform, 4, 10_000, 10);
    assert!((throughput(&platform, &chain).unwrap() - 100.0).abs() < 1e-9);
    // (n − 1)(T(s) + L) + (k − 1) T(s).
    let wanted_s = 8.0 * (0.1 + 0.25) + 999.0 * 0.1;
    assert!((simulate(&platform, &chain, false).unwrap().makespan_s - wanted_s).abs() < 1e-9);
}

#[test]
fn binary_keeps_paper_4s_limit() {
    for count in 2..=40usize {
        let platform = mesh(count, 0.5);
        let levels = count.next_power_of_two().ilog2() as f64;
        let makespan_s = trace("binary", &platform, 1, 200).makespan_s;
        assert!(makespan_s <= levels * (2.0 * 2.0 + 0.5) + 1e-9, "{count} nodes: {makespan_s} s");
    }
}

#[test]
fn van_de_geijn_takes_twice_the_message_at_most() {
    for count in [2usize, 4, 8, 16] {
        let message_bytes = 50 * count as u64;
        let platform = mesh(count, 0.0);
        let trace = trace("van-de-geijn", &platform, 1, message_bytes);
        let whole_s = message_bytes as f64 / 100.0;
        let limit_s = 2.0 * (count as f64 - 1.0) / count as f64 * whole_s;
        assert!(trace.makespan_s <= limit_s + 1e-9, "{count} nodes: {} s", trace.makespan_s);
        // log2 n rounds of the scatter and of the all-gather at the latest receiver.
        let into = |node: NodeId| trace.transfers.iter().filter(|transfer| transfer.to == node).count();
        let most = platform.hosts().map(into).max().unwrap();
        assert!(most <= 1 + count.ilog2() as usize, "{count} nodes: {most} transfers into one");
    }
}

#[test]
fn van_de_geijn_moves_each_block_to_each_node_once() {
    for count in [2usize, 3, 4, 5, 6, 7, 8, 12, 16, 33] {
        let platform = mesh(count, 0.1);
        for root in [0, 1] {
            let trace = trace("van-de-geijn", &platform, root, 60 * count as u64);
            let moved: u64 = trace.transfers.iter().map(|transfer| transfer.bytes).sum();
            assert_eq!(moved, 60 * (count * (count - 1)) as u64, "{count} nodes");
        }
    }
}

#[test]
fn the_ring_of_van_de_geijn_pipelines() {
    // Scatter: the root's sends end after (n − 1)/n of the message, and the last block is passed on at most
    // log2 n times; the ring has n − 1 steps of a block each, one behind the other.
    for count in [3usize, 5, 6, 7, 12] {
        let platform = mesh(count, 0.0);
        let makespan_s = trace("van-de-geijn", &platform, 0, 100 * count as u64).makespan_s;
        let limit_s = (count - 1) as f64 * 2.0 + (count as f64).log2().ceil();
        assert!(makespan_s <= limit_s, "{count} nodes: {makespan_s} s, not {limit_s} s");
    }
}

/// How many edges of the plan's tree lead from one group to another.
fn crossings(plan: &Plan, group: impl Fn(NodeId) -> String) -> usize {
    plan.trees[0].edges().filter(|&(from, to)| group(from) != group(to)).count()
}

#[test]
fn levels_are_entered_once() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms/teragrid-64.json");
    let platform = Platform::load(&path).unwrap();
    let cluster = |node: NodeId| format!("{:?}", platform.node(node).cluster);
    let site = |node: NodeId| format!("{:?}", platform.node(node).site);
    let count = |of: &dyn Fn(NodeId) -> String| {
        platform.hosts().map(of).collect::<std::collections::HashSet<_>>().len()
    };
    let (clusters, sites) = (count(&cluster), count(&site));
    assert_eq!((clusters, sites), (8, 4));
    for root in [0, 17, 63] {
        let magpie = plan("magpie", &platform, root, 1 << 20, 1 << 16);
        assert_eq!(crossings(&magpie, cluster), clusters - 1);
        // Flat: every other cluster is entered from the root itself.
        let from_root = magpie.trees[0].children(NodeId(root));
        assert_eq!(
            from_root.iter().filter(|&&child| cluster(child) != cluster(NodeId(root))).count(),
            clusters - 1
        );
        let levels = plan("mpich-g2", &platform, root, 1 << 20, 1 << 16);
        assert_eq!(crossings(&levels, cluster), clusters - 1);
        assert_eq!(crossings(&levels, site), sites - 1);
        // Slow levels first, at every node.
        let level = |from: NodeId, to: NodeId| match (site(from) == site(to), cluster(from) == cluster(to)) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        };
        for node in platform.hosts() {
            let served: Vec<i32> =
                levels.trees[0].children(node).iter().map(|&child| level(node, child)).collect();
            assert!(served.is_sorted(), "{served:?}");
        }
    }
}

#[test]
fn without_clusters_the_levels_are_sites_or_none() {
    let platform = mesh(7, 0.0);
    let edges = |planner: &str| -> Vec<(NodeId, NodeId)> {
        plan(planner, &platform, 2, 100, 100).trees[0].edges().collect()
    };
    assert_eq!(edges("magpie"), edges("binomial"));
    assert_eq!(edges("mpich-g2"), edges("binomial"));
}

#[test]
fn trees_follow_the_index_relative_to_the_root() {
    let platform = mesh(6, 0.0);
    let children = |planner: &str, root: u32| -> HashMap<u32, Vec<u32>> {
        let plan = plan(planner, &platform, root, 100, 100);
        platform
            .hosts()
            .map(|node| (node.0, plan.trees[0].children(node).iter().map(|child| child.0).collect()))
            .collect()
    };
    for planner in ["chain", "binary", "binomial"] {
        let from_0 = children(planner, 0);
        for root in 1..6 {
            let moved = |node: &u32| (node + root) % 6;
            let turned: HashMap<u32, Vec<u32>> =
                from_0.iter().map(|(node, list)| (moved(node), list.iter().map(moved).collect())).collect();
            assert_eq!(children(planner, root), turned, "{planner} from {root}");
        }
    }
}
