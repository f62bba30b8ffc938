//! Checks the proof of an optimum: trees from below, prices from above. Slow and simple; shares no code with the
//! solver.
//!
//! The capacities are derived again from the platform. The lower side: every tree spans, uses links that
//! exist, the shares of each root sum to 1, and at the stated throughput no resource is busy more than all the time.
//! The upper side: the cheapest arborescence under the prices, by Chu and Liu's and Edmonds' contraction,
//! O(n · m), with switches passed by Bellman and Ford's relaxation; of an all-gather that of each host, of a scatter the
//! cheapest path to each host. An inward collective is checked as its mirror on the reversed network.

use super::solution::{Optimum, WeightedTree};
use crate::model::{occupation, Resource};
use crate::plan::Collective;
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Both sides are compared at this relative tolerance: sums of some thousand rounded terms.
pub const TOLERANCE: f64 = 1e-9;

/// The faults of the certificate; empty if it proves both numbers.
pub fn check(platform: &Platform, optimum: &Optimum) -> Vec<String> {
    if optimum.collective.is_inward() {
        return check(platform.reversed(), &optimum.clone().mirrored());
    }
    let mut faults = Vec::new();
    check_trees(platform, optimum, &mut faults);
    check_prices(platform, optimum, &mut faults);
    if optimum.throughput_bytes_per_s > optimum.upper_bound_bytes_per_s * (1.0 + TOLERANCE) {
        faults.push(format!(
            "the throughput {} lies above the upper bound {}",
            optimum.throughput_bytes_per_s, optimum.upper_bound_bytes_per_s
        ));
    }
    faults
}

/// The hosts that have trees.
fn roots(platform: &Platform, optimum: &Optimum) -> Vec<NodeId> {
    match optimum.collective {
        Collective::Allgather => platform.hosts().collect(),
        _ => vec![optimum.root],
    }
}

fn weight(optimum: &Optimum, host: NodeId) -> f64 {
    optimum.weights.as_ref().map_or(1.0, |weights| weights[host.index()])
}

fn check_trees(platform: &Platform, optimum: &Optimum, faults: &mut Vec<String>) {
    let mut shares: HashMap<NodeId, f64> = HashMap::new();
    let mut busy: HashMap<Resource, f64> = HashMap::new();
    let mut crossing: HashMap<(NodeId, NodeId), f64> = HashMap::new();
    for (at, tree) in optimum.trees.iter().enumerate() {
        if tree.share.is_nan() || tree.share <= 0.0 {
            faults.push(format!("tree {at} has share {}", tree.share));
        }
        let root = match optimum.collective {
            Collective::Allgather => tree.root().unwrap_or(optimum.root),
            _ => optimum.root,
        };
        *shares.entry(root).or_default() += tree.share;
        let carried = check_tree(platform, optimum, (at, tree, root), faults);
        for (hop, segments) in carried {
            *crossing.entry((hop.from, hop.to)).or_default() += tree.share * segments;
            for window in occupation(platform, hop, optimum.segment_bytes).windows {
                *busy.entry(window.resource).or_default() += tree.share * segments * window.duration_s;
            }
        }
    }
    for root in roots(platform, optimum) {
        let sum = shares.remove(&root).unwrap_or(0.0);
        if (sum - 1.0).abs() > TOLERANCE {
            faults.push(format!("the shares of \"{}\" sum to {sum}, not 1", platform.node(root).id));
        }
    }
    if !shares.is_empty() {
        faults.push(format!("{} hosts have trees but no message", shares.len()));
    }
    check_loads(platform, optimum, &busy, crossing, faults);
}

/// The hops of a tree, and the segments on each.
fn check_tree(
    platform: &Platform,
    optimum: &Optimum,
    (at, tree, root): (usize, &WeightedTree, NodeId),
    faults: &mut Vec<String>,
) -> Vec<(Hop, f64)> {
    let name = |node: NodeId| platform.node(node).id.as_str();
    // The segments that go to each host.
    let mut into: HashMap<NodeId, f64> = HashMap::new();
    for host in platform.hosts() {
        let mut way = vec![host];
        while let Some(parent) = tree.parent[way[way.len() - 1].index()] {
            way.push(parent);
            if way.len() > platform.node_count() {
                break;
            }
        }
        if way[way.len() - 1] != root {
            faults.push(format!("tree {at} does not lead from the root to \"{}\"", name(host)));
            continue;
        }
        way.pop();
        match optimum.collective {
            Collective::Scatter => {
                way.iter().for_each(|&to| *into.entry(to).or_default() += weight(optimum, host));
            }
            Collective::Allgather => drop(into.insert(host, weight(optimum, root))),
            _ => drop(into.insert(host, 1.0)),
        }
    }
    let mut hops = Vec::new();
    for host in platform.hosts() {
        let (Some(parent), Some(&segments)) = (tree.parent[host.index()], into.get(&host)) else { continue };
        let mut path = vec![parent];
        path.extend(tree.via.get(&host).into_iter().flatten());
        path.push(host);
        for pair in path.windows(2) {
            match platform.link(pair[0], pair[1]) {
                Some(class) => hops.push((Hop { from: pair[0], to: pair[1], class }, segments)),
                None => {
                    faults.push(format!("tree {at} uses {} -> {}, no link", name(pair[0]), name(pair[1])))
                }
            }
        }
        for &relay in path[1..path.len() - 1].iter() {
            if platform.node(relay).is_host() {
                faults.push(format!("tree {at} relays through the host \"{}\"", name(relay)));
            }
        }
    }
    hops
}

/// No resource is overloaded, and `link_load` is the sum of the trees' loads on each link.
fn check_loads(
    platform: &Platform,
    optimum: &Optimum,
    busy: &HashMap<Resource, f64>,
    mut crossing: HashMap<(NodeId, NodeId), f64>,
    faults: &mut Vec<String>,
) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    let segments_per_s = optimum.throughput_bytes_per_s / optimum.segment_bytes as f64;
    let busiest = busy.values().copied().fold(0.0, f64::max);
    if segments_per_s.is_infinite() {
        if busiest > 0.0 {
            faults.push("infinite throughput over a busy resource".to_string());
        }
        return;
    }
    for (resource, share) in busy {
        if share * segments_per_s > 1.0 + TOLERANCE {
            faults.push(format!("{resource:?} is busy {} of the time", share * segments_per_s));
        }
    }
    for &(from, to, load) in &optimum.link_load {
        let counted = crossing.remove(&(from, to)).unwrap_or(0.0) * segments_per_s;
        if (counted - load).abs() > TOLERANCE * counted.max(load) {
            faults.push(format!("{} -> {}: load {load}, trees say {counted}", name(from), name(to)));
        }
    }
    crossing.retain(|_, segments| *segments > 0.0);
    if !crossing.is_empty() {
        faults.push(format!("{} loaded links are missing from link_load", crossing.len()));
    }
}

fn check_prices(platform: &Platform, optimum: &Optimum, faults: &mut Vec<String>) {
    if optimum.upper_bound_bytes_per_s.is_infinite() {
        return;
    }
    let prices: HashMap<Resource, f64> = optimum.prices.iter().copied().collect();
    if prices.len() != optimum.prices.len() {
        faults.push("a resource has two prices".to_string());
    }
    if let Some((resource, price)) =
        optimum.prices.iter().find(|(_, price)| !(*price >= 0.0 && price.is_finite()))
    {
        faults.push(format!("{resource:?} has price {price}"));
        return;
    }
    let sum: f64 = optimum.prices.iter().map(|(_, price)| price).sum();
    let edges = host_edges(platform, optimum, &prices);
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let place: HashMap<NodeId, usize> = hosts.iter().enumerate().map(|(at, &host)| (host, at)).collect();
    let edges: Vec<(usize, usize, f64)> =
        edges.into_iter().map(|((from, to), weight)| (place[&from], place[&to], weight)).collect();
    let weights = hosts.iter().map(|&host| weight(optimum, host));
    let cheapest: f64 = match optimum.collective {
        Collective::Scatter => {
            let distances = bellman_ford(hosts.len(), place[&optimum.root], &edges);
            weights.zip(distances).map(|(weight, distance)| weight * distance).sum()
        }
        Collective::Allgather => {
            let cost = |root: usize| chu_liu(hosts.len(), root, edges.clone());
            weights.enumerate().map(|(root, weight)| weight * cost(root)).sum()
        }
        _ => chu_liu(hosts.len(), place[&optimum.root], edges),
    };
    let proved = sum / cheapest * optimum.segment_bytes as f64;
    if (proved - optimum.upper_bound_bytes_per_s).abs() > TOLERANCE * proved {
        faults.push(format!("the prices prove {proved}, not {}", optimum.upper_bound_bytes_per_s));
    }
}

/// The cheapest path between any two hosts with only switches between them.
fn host_edges(
    platform: &Platform,
    optimum: &Optimum,
    prices: &HashMap<Resource, f64>,
) -> HashMap<(NodeId, NodeId), f64> {
    let mut hops: Vec<(NodeId, NodeId, f64)> = Vec::new();
    for from in platform.nodes() {
        for (to, class) in platform.successors(from) {
            let windows = occupation(platform, Hop { from, to, class }, optimum.segment_bytes).windows;
            let weight = windows
                .iter()
                .map(|window| prices.get(&window.resource).copied().unwrap_or(0.0) * window.duration_s)
                .sum();
            hops.push((from, to, weight));
        }
    }
    let through: Vec<_> = hops.iter().filter(|(from, ..)| !platform.node(*from).is_host()).collect();
    let mut edges = HashMap::new();
    for source in platform.hosts() {
        let mut reach: HashMap<NodeId, f64> = HashMap::new();
        for &(_, to, weight) in hops.iter().filter(|(from, ..)| *from == source) {
            reach.insert(to, weight);
        }
        loop {
            let mut changed = false;
            for &&(from, to, weight) in &through {
                let Some(&so_far) = reach.get(&from) else { continue };
                let best = reach.entry(to).or_insert(f64::INFINITY);
                if so_far + weight < *best {
                    *best = so_far + weight;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let ends = reach.into_iter().filter(|&(to, _)| to != source && platform.node(to).is_host());
        edges.extend(ends.map(|(to, weight)| ((source, to), weight)));
    }
    edges
}

/// The lengths of the shortest paths from `root`.
fn bellman_ford(nodes: usize, root: usize, edges: &[(usize, usize, f64)]) -> Vec<f64> {
    let mut distance = vec![f64::INFINITY; nodes];
    distance[root] = 0.0;
    for _ in 1..nodes {
        for &(from, to, weight) in edges {
            distance[to] = distance[to].min(distance[from] + weight);
        }
    }
    distance
}

/// The weight of a cheapest arborescence: every node takes its cheapest entering edge; while these form cycles, each
/// cycle becomes a node and the edges into it are charged only their additional cost.
fn chu_liu(mut nodes: usize, mut root: usize, mut edges: Vec<(usize, usize, f64)>) -> f64 {
    let mut total = 0.0;
    loop {
        let mut cheapest = vec![(f64::INFINITY, usize::MAX); nodes];
        for &(from, to, weight) in &edges {
            if from != to && weight < cheapest[to].0 {
                cheapest[to] = (weight, from);
            }
        }
        cheapest[root] = (0.0, root);
        total += cheapest.iter().map(|(weight, _)| weight).sum::<f64>();
        const FRESH: usize = usize::MAX;
        let mut group = vec![FRESH; nodes];
        let mut seen_by = vec![FRESH; nodes];
        let mut groups = 0;
        for start in 0..nodes {
            let mut node = start;
            while node != root && seen_by[node] == FRESH && group[node] == FRESH {
                seen_by[node] = start;
                node = cheapest[node].1;
                if node == usize::MAX {
                    return f64::INFINITY;
                }
            }
            if node != root && seen_by[node] == start && group[node] == FRESH {
                let first = node;
                loop {
                    group[node] = groups;
                    node = cheapest[node].1;
                    if node == first {
                        break;
                    }
                }
                groups += 1;
            }
        }
        if groups == 0 {
            return total;
        }
        for place in group.iter_mut().filter(|place| **place == FRESH) {
            *place = groups;
            groups += 1;
        }
        edges = edges
            .into_iter()
            .map(|(from, to, weight)| (group[from], group[to], weight - cheapest[to].0))
            .filter(|(from, to, _)| from != to)
            .collect();
        root = group[root];
        nodes = groups;
    }
}
