//! Gateways: few links for the blocks that cross a shared pipe.
//!
//! A plan orders each node's sends and receives, but not the transfers of different nodes on a pipe, which serves them
//! as they ask. A node that asks early holds up the node whose turn it is, and then its own receivers. So only as many
//! links between two groups of hosts are used as it takes to fill their pipes, and all pipes of a group have the same
//! gateway if possible: then the order of its sends is that of the pipe.

use super::occupation_table::OccupationTable;
use crate::model::Resource;
use crate::platform::{NodeId, Platform};
use std::collections::{BTreeMap, BTreeSet};

/// Whether each edge may be used: those without a pipe, and the gateways.
pub(super) fn gateways(platform: &Platform, table: &OccupationTable) -> Vec<bool> {
    let mut may_use = vec![true; table.edge_count()];
    // Edges of the same pipes between the same groups.
    let mut bundles: BTreeMap<(Vec<u32>, Group, Group), Vec<usize>> = BTreeMap::new();
    for (edge, may_use) in may_use.iter_mut().enumerate() {
        let pipes: Vec<u32> =
            table.uses(edge).iter().map(|use_| use_.0).filter(|&at| is_pipe(table, at)).collect();
        if !pipes.is_empty() {
            *may_use = false;
            let group = |vertex: u32| Group::of(platform, table.hosts[vertex as usize]);
            let (from, to) = (group(table.graph.from[edge]), group(table.graph.to[edge]));
            bundles.entry((pipes, from, to)).or_default().push(edge);
        }
    }
    // (pipe, host) of the gateways so far, and how many links each host is one for.
    let (mut senders, mut receivers) = (BTreeSet::new(), BTreeSet::new());
    let mut chosen = vec![0usize; table.hosts.len()];
    for ((pipes, ..), edges) in &bundles {
        let ends = |edge: usize| (table.graph.from[edge] as usize, table.graph.to[edge] as usize);
        for _ in 0..links_to_fill(table, edges[0]).min(edges.len()) {
            let strange = |known: &BTreeSet<(u32, usize)>, host: usize| {
                pipes.iter().filter(|&&pipe| !known.contains(&(pipe, host))).count()
            };
            let burden = |edge: usize| {
                let (from, to) = ends(edge);
                (strange(&senders, from) + strange(&receivers, to), chosen[from] + chosen[to], edge)
            };
            let unused = edges.iter().copied().filter(|&edge| !may_use[edge]);
            let Some(edge) = unused.min_by_key(|&edge| burden(edge)) else { break };
            let (from, to) = ends(edge);
            may_use[edge] = true;
            pipes.iter().for_each(|&pipe| {
                senders.insert((pipe, from));
                receivers.insert((pipe, to));
            });
            chosen[from] += 1;
            chosen[to] += 1;
        }
    }
    may_use
}

/// Hosts that are near each other: of a site, else of a cluster, else each host by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group<'a> {
    Site(&'a str),
    Cluster(usize),
    Host(NodeId),
}

impl<'a> Group<'a> {
    fn of(platform: &'a Platform, host: NodeId) -> Group<'a> {
        let node = platform.node(host);
        match (&node.site, node.cluster) {
            (Some(site), _) => Group::Site(site),
            (None, Some(cluster)) => Group::Cluster(cluster.index()),
            (None, None) => Group::Host(host),
        }
    }
}

fn is_pipe(table: &OccupationTable, resource: u32) -> bool {
    matches!(table.resources[resource as usize], Resource::Shared(_))
}

/// The number of links like this one that together fill its slowest pipe.
fn links_to_fill(table: &OccupationTable, edge: usize) -> usize {
    let longest = |pipes: bool| {
        let uses = table.uses(edge).iter().filter(move |use_| is_pipe(table, use_.0) == pipes);
        uses.map(|&(_, time)| time).fold(0.0, f64::max)
    };
    (longest(false) / longest(true)).ceil().max(1.0) as usize
}
