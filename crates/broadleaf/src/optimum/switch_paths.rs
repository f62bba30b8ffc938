//! Edges through switches: the cheapest path from host to host under the present prices.
//!
//! A switch relays and never multiplies, so its traffic is a set of host-to-host paths, whose choice is part of the
//! optimum. Paths are found on demand and kept in the table.

use super::occupation_table::OccupationTable;
use super::solution::WeightedTree;
use crate::platform::NodeId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

#[derive(Clone, Debug, Default)]
pub(crate) struct Relays {
    /// The table's edge for each path, by hops.
    known: HashMap<Vec<u32>, u32>,
    /// Hops out of each node, by its index.
    out: Vec<Vec<u32>>,
    vertex: Vec<Option<u32>>,
}

/// A cheapest path from one host to another.
pub(crate) struct Path {
    pub from: u32,
    pub to: u32,
    pub weight: f64,
    pub hops: Vec<u32>,
}

impl Relays {
    pub fn new(table: &OccupationTable) -> Relays {
        let count = |node: &NodeId| node.index() + 1;
        let ends = table.hops.iter().flat_map(|(from, to)| [count(from), count(to)]);
        let nodes = ends.chain(table.hosts.iter().map(count)).max().unwrap_or(0);
        let mut relays =
            Relays { known: HashMap::new(), out: vec![Vec::new(); nodes], vertex: vec![None; nodes] };
        for (at, host) in table.hosts.iter().enumerate() {
            relays.vertex[host.index()] = Some(at as u32);
        }
        for (at, (from, _)) in table.hops.iter().enumerate() {
            relays.out[from.index()].push(at as u32);
        }
        relays
    }

    /// The cheapest path through switches from every host to every other one that has one.
    /// O(hosts · hops · log); ties to the path found first, hops in the table's order.
    pub fn cheapest(&self, table: &OccupationTable, prices: &[f64]) -> Vec<Path> {
        let weights: Vec<f64> = (0..table.hops.len())
            .map(|hop| table.hop_uses(hop).iter().map(|&(r, time)| prices[r as usize] * time).sum())
            .collect();
        let mut paths = Vec::new();
        for source in 0..table.hosts.len() {
            self.paths_from(table, &weights, source, &mut paths);
        }
        paths
    }

    fn paths_from(&self, table: &OccupationTable, weights: &[f64], source: usize, paths: &mut Vec<Path>) {
        let start = table.hosts[source].index();
        let mut distance = vec![f64::INFINITY; self.out.len()];
        let mut before = vec![u32::MAX; self.out.len()];
        let mut done = vec![false; self.out.len()];
        let mut open = BinaryHeap::new();
        distance[start] = 0.0;
        // Weights are ≥ 0, and the bits of non-negative numbers have the numbers' order.
        open.push((Reverse(0u64), Reverse(start)));
        while let Some((_, Reverse(node))) = open.pop() {
            if std::mem::replace(&mut done[node], true) || (self.vertex[node].is_some() && node != start) {
                continue;
            }
            for &hop in &self.out[node] {
                let to = table.hops[hop as usize].1.index();
                let through = distance[node] + weights[hop as usize];
                if through < distance[to] {
                    distance[to] = through;
                    before[to] = hop;
                    open.push((Reverse(through.to_bits()), Reverse(to)));
                }
            }
        }
        for to in 0..table.hosts.len() {
            let mut node = table.hosts[to].index();
            if to == source || before[node] == u32::MAX {
                continue;
            }
            let weight = distance[node];
            let mut hops = Vec::new();
            while node != start {
                hops.push(before[node]);
                node = table.hops[before[node] as usize].0.index();
            }
            hops.reverse();
            paths.push(Path { from: source as u32, to: to as u32, weight, hops });
        }
    }

    /// The path of these nodes, switches between two hosts; `None` if a link is missing.
    fn through(&self, table: &OccupationTable, nodes: &[NodeId]) -> Option<Path> {
        let hop = |pair: &[NodeId]| {
            self.out[pair[0].index()].iter().copied().find(|&hop| table.hops[hop as usize].1 == pair[1])
        };
        let hops: Vec<u32> = nodes.windows(2).map(hop).collect::<Option<_>>()?;
        let vertex = |node: &NodeId| self.vertex[node.index()];
        Some(Path { from: vertex(nodes.first()?)?, to: vertex(nodes.last()?)?, weight: 0.0, hops })
    }

    /// Adds an edge for every path through switches in `trees`, and for the cheapest paths of all pairs under `prices`
    /// and under equal prices.
    pub fn add_ways(&mut self, table: &mut OccupationTable, trees: &[WeightedTree], prices: &[f64]) {
        let mut paths = self.cheapest(table, prices);
        paths.extend(self.cheapest(table, &vec![1.0; prices.len()]));
        for tree in trees {
            for (to, switches) in &tree.via {
                let Some(from) = tree.parent[to.index()] else { continue };
                let way: Vec<NodeId> = [from].iter().chain(switches).chain([to]).copied().collect();
                paths.extend(self.through(table, &way));
            }
        }
        for path in paths {
            self.edge(table, &path);
        }
    }

    /// The table's edge for a path.
    pub fn edge(&mut self, table: &mut OccupationTable, path: &Path) -> u32 {
        if let Some(&edge) = self.known.get(&path.hops) {
            return edge;
        }
        let edge = table.add_relayed(path.from, path.to, &path.hops);
        self.known.insert(path.hops.clone(), edge);
        edge
    }
}
