//! The optima of scatters, all-gathers and their mirrors: every tree and every path of tiny networks, and known values.

use super::brute_force::{tableau, tiny};
use super::{add_links, directed, SEGMENT};
use broadleaf::model::{occupation, Resource};
use broadleaf::optimum::{certificate, solve_collective, Limits, Optimum, OptimumError};
use broadleaf::plan::{throughput, Collective, Plan};
use broadleaf::platform::{Hop, Node, NodeId, NodeKind, Platform, PlatformBuilder, PortModel};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const BLOCKS: [Collective; 4] =
    [Collective::Scatter, Collective::Allgather, Collective::Gather, Collective::ReduceScatter];

type Load = BTreeMap<Resource, f64>;

fn solved(
    platform: &Platform,
    collective: Collective,
    weights: Option<&[f64]>,
    gap: f64,
) -> Result<Optimum, OptimumError> {
    solve_collective(platform, collective, NodeId(0), weights, SEGMENT, gap, Limits::default())
}

/// The nodes that a node's data may come from, outward, or go to, inward.
fn above(platform: &Platform, node: NodeId, is_inward: bool) -> Vec<NodeId> {
    let links = if is_inward { platform.successors(node) } else { platform.predecessors(node) };
    links.into_iter().map(|(other, _)| other).collect()
}

/// Every choice of a parent for each node but the root that leads to the root.
fn trees(platform: &Platform, root: NodeId, is_inward: bool) -> Vec<Vec<(NodeId, NodeId)>> {
    let others: Vec<NodeId> = platform.nodes().filter(|&node| node != root).collect();
    let mut all: Vec<Vec<(NodeId, NodeId)>> = vec![Vec::new()];
    for &node in &others {
        let parents = above(platform, node, is_inward);
        all = all
            .iter()
            .flat_map(|head| parents.iter().map(move |&parent| [&head[..], &[(parent, node)]].concat()))
            .collect();
    }
    let leads_to_root = |tree: &Vec<(NodeId, NodeId)>| {
        others.iter().all(|&start| {
            let mut node = start;
            for _ in 0..others.len() {
                node = tree.iter().find(|edge| edge.1 == node).map_or(node, |edge| edge.0);
            }
            node == root
        })
    };
    all.retain(leads_to_root);
    all
}

/// Every simple path from node 0 to a node, as edges.
fn paths(platform: &Platform, to: NodeId, is_inward: bool) -> Vec<Vec<(NodeId, NodeId)>> {
    let mut found = Vec::new();
    let mut open = vec![vec![to]];
    while let Some(way) = open.pop() {
        let at = way[way.len() - 1];
        if at == NodeId(0) {
            found.push(way.windows(2).map(|pair| (pair[1], pair[0])).collect());
            continue;
        }
        for parent in above(platform, at, is_inward).into_iter().filter(|node| !way.contains(node)) {
            open.push([&way[..], &[parent]].concat());
        }
    }
    found
}

/// By block its weight, and the load of each way that a segment of it may go.
fn ways(platform: &Platform, collective: Collective, weights: &[f64]) -> Vec<(f64, Vec<Load>)> {
    let is_inward = collective.is_inward();
    let load = |edges: &Vec<(NodeId, NodeId)>| {
        let mut load = Load::new();
        for &(parent, child) in edges {
            let (from, to) = if is_inward { (child, parent) } else { (parent, child) };
            let hop = Hop { from, to, class: platform.link(from, to).unwrap() };
            for window in occupation(platform, hop, SEGMENT).windows {
                *load.entry(window.resource).or_insert(0.0) += window.duration_s;
            }
        }
        load
    };
    let of_block = |host: NodeId| {
        let ways = match collective.is_personalised() {
            true => paths(platform, host, is_inward),
            false => trees(platform, host, is_inward),
        };
        (weights[host.index()], ways.iter().map(load).collect())
    };
    let blocks = platform.hosts().filter(|&host| host != NodeId(0) || !collective.is_personalised());
    blocks.map(of_block).collect()
}

/// max λ with λ · weight over the ways of each block, no resource busy for more than a second a second; bytes/s.
fn brute(blocks: &[(f64, Vec<Load>)]) -> f64 {
    let resources: BTreeSet<Resource> =
        blocks.iter().flat_map(|(_, ways)| ways).flat_map(|load| load.keys().copied()).collect();
    let mut columns = vec![blocks.iter().map(|(weight, _)| *weight).collect::<Vec<f64>>()];
    columns[0].extend(vec![0.0; resources.len()]);
    for (block, (_, ways)) in blocks.iter().enumerate() {
        for load in ways {
            let mut column: Vec<f64> =
                (0..blocks.len()).map(|at| if at == block { -1.0 } else { 0.0 }).collect();
            column.extend(resources.iter().map(|resource| load.get(resource).copied().unwrap_or(0.0)));
            columns.push(column);
        }
    }
    let mut gains = vec![0.0; columns.len()];
    gains[0] = 1.0;
    let mut most = vec![0.0; blocks.len()];
    most.extend(vec![1.0; resources.len()]);
    tableau(&columns, &gains, &most) * SEGMENT as f64
}

/// Bytes/s that the prices allow, with every way of every block tried.
fn proved(optimum: &Optimum, blocks: &[(f64, Vec<Load>)]) -> f64 {
    let prices: BTreeMap<Resource, f64> = optimum.prices.iter().copied().collect();
    let cost = |load: &Load| -> f64 {
        load.iter().map(|(resource, time)| time * prices.get(resource).copied().unwrap_or(0.0)).sum()
    };
    let least = |ways: &Vec<Load>| ways.iter().map(cost).fold(f64::INFINITY, f64::min);
    let sum: f64 = blocks.iter().map(|(weight, ways)| weight * least(ways)).sum();
    prices.values().sum::<f64>() / sum * SEGMENT as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn blocks_equal_brute_force_under_every_port_model(
        platform in tiny(),
        weights in prop::collection::vec(0u32..4, 5),
        are_equal: bool,
    ) {
        let nodes = platform.node_count();
        let mut weights: Vec<f64> = weights[..nodes].iter().map(|&weight| f64::from(weight)).collect();
        weights[nodes - 1] += 1.0;
        if are_equal {
            weights.fill(1.0);
        }
        for collective in BLOCKS {
            let blocks = ways(&platform, collective, &weights);
            let found = solved(&platform, collective, (!are_equal).then_some(&weights[..]), 1e-6);
            if blocks.iter().any(|(_, ways)| ways.is_empty()) {
                prop_assert!(matches!(found, Err(OptimumError::Unreachable { .. })), "{collective}: {found:?}");
                continue;
            }
            let found = found.unwrap();
            prop_assert_eq!(certificate::check(&platform, &found), Vec::<String>::new());
            let exact = brute(&blocks);
            let close = |value: f64| (value - exact).abs() <= 2e-6 * exact;
            prop_assert!(close(found.throughput_bytes_per_s), "{collective} {} not {exact}", found.throughput_bytes_per_s);
            prop_assert!(close(proved(&found, &blocks)), "{collective} {} not {exact}", proved(&found, &blocks));
            prop_assert!(close(found.upper_bound_bytes_per_s));
            // A plan of those trees has that rate.
            let trees = found.plan_trees();
            let plan = Plan::bcast(&platform, "optimal", NodeId(0), 1 << 40, SEGMENT, trees);
            let plan = Plan { collective, weights: found.weights.map(Arc::from), ..plan };
            let planned = throughput(&platform, &plan).unwrap();
            prop_assert!((planned / found.throughput_bytes_per_s - 1.0).abs() < 1e-9, "{collective}");
        }
    }
}

/// The faults of a certificate with one number changed.
#[test]
fn the_checker_finds_a_changed_price_share_and_load() {
    let platform =
        directed(PortModel::OnePort, 4, &[(0, 1, 9.0), (1, 2, 5.0), (2, 3, 7.0), (3, 0, 4.0), (0, 2, 3.0)]);
    for collective in BLOCKS {
        let found = solved(&platform, collective, Some(&[1.0, 2.0, 1.0, 3.0]), 1e-6).unwrap();
        let faults = |change: &dyn Fn(&mut Optimum)| {
            let mut changed = found.clone();
            change(&mut changed);
            certificate::check(&platform, &changed).join("; ")
        };
        assert_eq!(faults(&|_| ()), "");
        let price = faults(&|optimum| optimum.prices = vec![(Resource::Out(NodeId(2)), 1.0)]);
        assert!(price.contains("the prices prove"), "{collective}: {price}");
        let bound = faults(&|optimum| optimum.upper_bound_bytes_per_s *= 1.01);
        assert!(bound.contains("the prices prove"), "{collective}: {bound}");
        let share = faults(&|optimum| optimum.trees[0].share *= 0.9);
        assert!(share.contains("sum to"), "{collective}: {share}");
        let load = faults(&|optimum| optimum.link_load[0].2 *= 1.1);
        assert!(load.contains("trees say"), "{collective}: {load}");
        let weight = faults(&|optimum| optimum.weights = None);
        assert!(weight.contains("the prices prove"), "{collective}: {weight}");
        let rate = faults(&|optimum| optimum.throughput_bytes_per_s *= 1.1);
        assert!(rate.contains("of the time"), "{collective}: {rate}");
    }
}

fn assert_rate(platform: &Platform, collective: Collective, bytes_per_s: f64) {
    let found = solved(platform, collective, None, 1e-6).unwrap();
    assert_eq!(certificate::check(platform, &found), Vec::<String>::new());
    for value in [found.throughput_bytes_per_s, found.upper_bound_bytes_per_s] {
        assert!((value / bytes_per_s - 1.0).abs() < 1.1e-6, "{collective}: {value} not {bytes_per_s}");
    }
}

/// Two boxes of four GPUs behind a switch each, and a NIC of each GPU at a common switch. What leaves a box is 4 · 25 GB/s
/// for four blocks, so an all-gather moves a block at 25 GB/s while the box' own switch is fast enough: each GPU receives
/// seven blocks at 300 GB/s. A scatter's root sends its four far blocks over its own NIC and its neighbours'.
#[test]
fn two_boxes_with_a_nic_a_gpu() {
    let mut builder = PlatformBuilder::new("boxes", PortModel::LinkCapacity);
    (0..8).for_each(|gpu| assert!(builder.add_host(format!("gpu{gpu}")).is_ok()));
    for id in ["nvswitch0", "nvswitch1", "ib"] {
        builder.add_node(Node { id: id.to_string(), kind: NodeKind::Switch, ..Node::default() }).unwrap();
    }
    let nvlinks = (0..8u32).map(|gpu| (gpu, 8 + gpu / 4, 300e9));
    let nics = (0..8u32).map(|gpu| (gpu, 10, 25e9));
    add_links(&mut builder, &nvlinks.chain(nics).collect::<Vec<_>>(), true);
    let platform = builder.build().unwrap();
    assert_rate(&platform, Collective::Allgather, 25e9);
    assert_rate(&platform, Collective::ReduceScatter, 25e9);
    assert_rate(&platform, Collective::Scatter, 25e9);
    assert_rate(&platform, Collective::Gather, 25e9);
}

/// On a ring of one-port hosts each passes on n - 1 blocks; a scatter's root sends each byte of n - 1 blocks once.
#[test]
fn a_ring_receives_every_other_block_once() {
    for hosts in [3u32, 5, 6] {
        let links: Vec<_> = (0..hosts).map(|host| (host, (host + 1) % hosts, 1000.0)).collect();
        let platform = directed(PortModel::OnePort, hosts as usize, &links);
        BLOCKS
            .into_iter()
            .for_each(|collective| assert_rate(&platform, collective, 1000.0 / f64::from(hosts - 1)));
    }
}

/// Of 200 hosts and more, several choose their trees under the same prices.
#[test]
fn trees_of_many_roots_are_proved() {
    let hosts = 220;
    let mut state = 1u64;
    let mut draw = |limit: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % limit
    };
    let mut links = Vec::new();
    for host in 0..hosts {
        for step in [1, hosts - 1, 2 + draw(hosts - 3)] {
            links.push((host, (host + step) % hosts, f64::from(1 + draw(9))));
        }
    }
    let platform = directed(PortModel::OnePort, hosts as usize, &links);
    let optimum = solved(&platform, Collective::Allgather, None, 0.02).unwrap();
    assert_eq!(certificate::check(&platform, &optimum), Vec::<String>::new());
    assert!(optimum.gap() <= 0.02, "{}", optimum.gap());
}

#[test]
fn an_all_reduce_has_no_program() {
    let platform = directed(PortModel::OnePort, 2, &[(0, 1, 1.0), (1, 0, 1.0)]);
    let refused = solved(&platform, Collective::Allreduce, None, 1e-3).unwrap_err();
    assert_eq!(refused, OptimumError::NoProgram(Collective::Allreduce));
    let reduce = solved(&platform, Collective::Reduce, None, 1e-3).unwrap();
    assert_eq!((reduce.collective, reduce.throughput_bytes_per_s), (Collective::Reduce, 1.0));
    assert_eq!(reduce.link_load, [(NodeId(1), NodeId(0), 1.0 / SEGMENT as f64)]);
}
