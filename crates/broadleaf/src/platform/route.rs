//! Quickest paths, for pairs without a direct link and through switches.

use super::{LinkClassId, NodeId, Platform};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The hops of a transfer: one for a direct link, more when it is relayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub hops: Vec<Hop>,
}

/// One hop of a [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub from: NodeId,
    pub to: NodeId,
    pub class: LinkClassId,
}

#[derive(PartialEq)]
struct Reached {
    at_s: f64,
    node: NodeId,
}

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at_s.total_cmp(&self.at_s).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Platform {
    /// When each node can have a message of `bytes` at the earliest if all links were free: the sum of
    /// latency and T along the quickest path, seconds; infinite where there is none.
    ///
    /// `seconds` gives the weight of a link; Dijkstra, ties to the smaller id.
    pub fn distances(&self, root: NodeId, seconds: impl Fn(LinkClassId) -> f64) -> Vec<f64> {
        self.shortest_paths(root, seconds).0
    }

    /// [`Platform::distances`] and each node's predecessor on its quickest path.
    pub fn shortest_paths(
        &self,
        root: NodeId,
        seconds: impl Fn(LinkClassId) -> f64,
    ) -> (Vec<f64>, Vec<Option<Hop>>) {
        let mut distance = vec![f64::INFINITY; self.node_count()];
        let mut before: Vec<Option<Hop>> = vec![None; self.node_count()];
        let mut done = vec![false; self.node_count()];
        let mut queue = BinaryHeap::new();
        distance[root.index()] = 0.0;
        queue.push(Reached { at_s: 0.0, node: root });
        while let Some(Reached { at_s, node }) = queue.pop() {
            if std::mem::replace(&mut done[node.index()], true) {
                continue;
            }
            for (to, class) in self.successors(node) {
                let through = at_s + seconds(class);
                let known = distance[to.index()];
                let smaller = through == known && before[to.index()].is_some_and(|hop| node < hop.from);
                if through < known || (smaller && !done[to.index()]) {
                    distance[to.index()] = through;
                    before[to.index()] = Some(Hop { from: node, to, class });
                    queue.push(Reached { at_s: through, node: to });
                }
            }
        }
        (distance, before)
    }

    /// The direct link, else the quickest path for `bytes` bytes; `None` where there is no path.
    pub fn route(&self, from: NodeId, to: NodeId, bytes: u64) -> Option<Route> {
        if let Some(class) = self.link(from, to) {
            return Some(Route { hops: vec![Hop { from, to, class }] });
        }
        let seconds = |class| self.class(class).latency_s + self.transfer_s(class, bytes);
        let (_, before) = self.shortest_paths(from, seconds);
        let mut hops = Vec::new();
        let mut node = to;
        while node != from {
            let hop = before[node.index()]?;
            hops.push(hop);
            node = hop.from;
        }
        hops.reverse();
        Some(Route { hops })
    }

    /// The hosts that `root` cannot reach, by id order.
    pub fn unreachable_from(&self, root: NodeId) -> Vec<NodeId> {
        let mut seen = vec![false; self.node_count()];
        let mut seen_mesh = vec![false; self.meshes().len()];
        let mut seen_cluster = vec![false; self.clusters().len()];
        let mut open = vec![root];
        seen[root.index()] = true;
        // Meshes and bridges are walked once each, so that large complete platforms cost O(nodes + links).
        while let Some(node) = open.pop() {
            let mut reach = |to: NodeId, open: &mut Vec<NodeId>| {
                if !std::mem::replace(&mut seen[to.index()], true) {
                    open.push(to);
                }
            };
            for &(to, _) in &self.out_links[node.index()] {
                reach(to, &mut open);
            }
            for &mesh in &self.meshes_of[node.index()] {
                if !std::mem::replace(&mut seen_mesh[mesh as usize], true) {
                    self.meshes()[mesh as usize].nodes.iter().for_each(|&to| reach(to, &mut open));
                }
            }
            let Some(cluster) = self.node(node).cluster else { continue };
            if std::mem::replace(&mut seen_cluster[cluster.index()], true) {
                continue;
            }
            for other in 0..self.clusters().len() {
                let other_id = super::ClusterId(other as u32);
                if self.bridge_class.contains_key(&(cluster, other_id)) {
                    self.clusters()[other].members.iter().for_each(|&to| reach(to, &mut open));
                }
            }
        }
        self.hosts().filter(|host| !seen[host.index()]).collect()
    }
}
