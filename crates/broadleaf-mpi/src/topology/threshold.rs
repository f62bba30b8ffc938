//! The length from which a communicator's broadcasts are planned, as predicted from its platform.
//!
//! Below 64 KiB every MPI sends whole messages down a binomial tree in rank order, wherever the ranks run. A plan
//! that follows the platform pays off where its predicted gain exceeds the cost of planning: a header ahead of every
//! message, and the call into the runtime. Both trees are timed by the same rule, by links and ports alone; short
//! messages do not saturate shared resources.

use super::placement::{memory_link, Placement};
use crate::settings::DEFAULT_MIN_BYTES;
use broadleaf::budget::Budget;
use broadleaf::plan::Tree;
use broadleaf::planners::{find, supports, Instance};
use broadleaf::platform::{NodeId, Platform};

/// Lengths that are looked at, bytes.
const LENGTHS: [u64; 6] = [1, 256, 1 << 10, 4 << 10, 16 << 10, DEFAULT_MIN_BYTES];

/// Planners that take about a millisecond and suit short messages.
const PLANNERS: [&str; 2] = ["k-nomial", "ecef"];

/// A header ahead of the message, bytes on the wire without the MPI's own.
const HEADER_BYTES: u64 = crate::wire::HEADER_BYTES as u64;

/// The time of a planned call at its root beside the messages, s. Assumed, not measured: twice the handling of a
/// message.
const CALL_S: f64 = 10e-6;

/// The least length whose plan from rank 0 gains more than planning costs, bytes; at most 64 KiB, from where on all
/// are planned.
pub fn planned_from(placement: &Placement) -> u64 {
    let at = LENGTHS.partition_point(|&bytes| bytes < DEFAULT_MIN_BYTES && !gains(placement, bytes));
    LENGTHS[at.min(LENGTHS.len() - 1)]
}

fn gains(placement: &Placement, bytes: u64) -> bool {
    let planned_s =
        PLANNERS.iter().filter_map(|name| planned_s(placement, name, bytes)).fold(f64::INFINITY, f64::min);
    planned_s + CALL_S < rank_order_s(placement, bytes)
}

/// The time of a planner's tree between nodes, plus the ranks inside.
fn planned_s(placement: &Placement, planner: &str, bytes: u64) -> Option<f64> {
    let platform = &placement.handled;
    let instance = Instance::new(platform, placement.node_of_rank[0], bytes).ok()?;
    let planner = find(planner).ok()?;
    supports(planner, &instance).ok()?;
    if !planner.card().profile.is_quick(&instance) {
        return None;
    }
    let plan = planner.plan(&instance, &Budget::UNLIMITED).ok()?;
    let arrivals_s = arrivals_s(platform, plan.trees.first()?, plan.root, bytes);
    let done_s = platform.hosts().map(|node| {
        let levels = placement.ranks[node.index()].len().next_power_of_two().ilog2();
        let memory = memory_link();
        arrivals_s[node.index()] + f64::from(levels) * (memory.time.seconds(bytes) + memory.latency_s)
    });
    done_s.reduce(f64::max)
}

/// When every node of a tree has a message that follows its header, s.
fn arrivals_s(platform: &Platform, tree: &Tree, root: NodeId, bytes: u64) -> Vec<f64> {
    let mut arrivals_s = vec![0.0; platform.node_count()];
    let mut reached = vec![root];
    let mut at = 0;
    while let Some(&node) = reached.get(at) {
        let mut port_free_s: f64 = arrivals_s[node.index()];
        for &child in tree.children(node) {
            let header = crossing(platform, node, child, HEADER_BYTES);
            let message = crossing(platform, node, child, bytes);
            port_free_s += header.port_s + message.port_s;
            arrivals_s[child.index()] = port_free_s + message.way_s;
            reached.push(child);
        }
        at += 1;
    }
    arrivals_s
}

/// The time of the binomial tree over ranks from rank 0, the farthest rank first.
fn rank_order_s(placement: &Placement, bytes: u64) -> f64 {
    let nodes = &placement.node_of_rank;
    let mut arrivals_s = vec![0.0; nodes.len()];
    // A rank comes after its parent.
    for rank in 0..nodes.len() {
        let mut port_free_s: f64 = arrivals_s[rank];
        let reach = if rank == 0 { nodes.len().next_power_of_two() } else { 1 << rank.trailing_zeros() };
        let mut distance = reach / 2;
        while distance > 0 {
            if let Some(&node) = nodes.get(rank + distance) {
                let message = crossing(&placement.handled, nodes[rank], node, bytes);
                port_free_s += message.port_s;
                arrivals_s[rank + distance] = port_free_s + message.way_s;
            }
            distance /= 2;
        }
    }
    arrivals_s.into_iter().fold(0.0, f64::max)
}

/// The time of a message between two ranks' nodes, s.
struct Crossing {
    /// Of the sender's port.
    port_s: f64,
    /// From the end of the port's time to arrival; infinite without a path.
    way_s: f64,
}

fn crossing(platform: &Platform, from: NodeId, to: NodeId, bytes: u64) -> Crossing {
    let of = |classes: &[&broadleaf::platform::LinkClass]| {
        let port_s = classes[0].time.seconds(bytes);
        let later_s: f64 = classes[1..].iter().map(|class| class.time.seconds(bytes)).sum();
        let latency_s: f64 = classes.iter().map(|class| class.latency_s).sum();
        Crossing { port_s, way_s: later_s + latency_s }
    };
    if from == to {
        return of(&[&memory_link()]);
    }
    if let Some(link) = platform.link(from, to) {
        return of(&[platform.class(link)]);
    }
    match platform.route(from, to, bytes) {
        Some(route) => of(&route.hops.iter().map(|hop| platform.class(hop.class)).collect::<Vec<_>>()),
        None => Crossing { port_s: 0.0, way_s: f64::INFINITY },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sites` of four hosts each, a millisecond apart, 20 µs inside.
    fn placed(sites: u32, rank_order: impl Fn(u32) -> u32) -> Placement {
        let nodes: Vec<String> =
            (0..4 * sites).map(|at| format!(r#"{{"id": "n{at}", "cluster": "S{}"}}"#, at / 4)).collect();
        let mesh = |site: u32| {
            let names: Vec<String> = (0..4).map(|at| format!(r#""n{}""#, 4 * site + at)).collect();
            format!(
                r#"{{"nodes": [{}], "link": {{"latency_s": 20e-6, "bandwidth_bytes_per_s": 1e9}}}}"#,
                names.join(", ")
            )
        };
        let meshes: Vec<String> = (0..sites).map(mesh).collect();
        let bridges: Vec<String> = (0..sites)
            .flat_map(|from| (0..from).map(move |to| (from, to)))
            .map(|(from, to)| {
                format!(
                    r#"{{"from_cluster": "S{from}", "to_cluster": "S{to}", "both_ways": true,
                    "link": {{"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e8}}}}"#
                )
            })
            .collect();
        let text = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "sites", "port_model": "one-port",
            "nodes": [{}], "meshes": [{}], "bridges": [{}]}}"#,
            nodes.join(", "),
            meshes.join(", "),
            bridges.join(", ")
        );
        let platform = Platform::from_json(&text).unwrap();
        let node_of_rank: Vec<NodeId> = (0..4 * sites).map(|rank| NodeId(rank_order(rank))).collect();
        Placement::on(&platform, &node_of_rank).unwrap()
    }

    #[test]
    fn across_sites_even_one_byte_is_planned() {
        // Ranks dealt to sites in turn: in rank order a message crosses between sites on every level.
        assert_eq!(planned_from(&placed(3, |rank| rank % 3 * 4 + rank / 3)), 1);
    }

    #[test]
    fn where_the_order_of_ranks_fits_the_network_short_messages_are_not_planned() {
        assert_eq!(planned_from(&placed(1, |rank| rank)), DEFAULT_MIN_BYTES);
        // Site by site, a power of two: the binomial tree enters each site once.
        assert!(planned_from(&placed(2, |rank| rank)) > 1);
    }

    #[test]
    fn both_trees_are_timed_by_the_same_rule() {
        let placement = placed(1, |rank| rank);
        let near = &placement.handled.classes()[0];
        let (message_s, header_s) = (near.time.seconds(1), near.time.seconds(HEADER_BYTES));
        // Rank 0 sends to 2 and then to 1; 2 sends to 3.
        assert!((rank_order_s(&placement, 1) - 2.0 * (message_s + near.latency_s)).abs() < 1e-12);
        let k_nomial_s = planned_s(&placement, "k-nomial", 1).unwrap();
        assert!((k_nomial_s - (3.0 * (message_s + header_s) + near.latency_s)).abs() < 1e-12);
    }
}
