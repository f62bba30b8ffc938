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

/// Dijkstra's state.
struct Search<'a> {
    platform: &'a Platform,
    distance: Vec<f64>,
    before: Vec<Option<Hop>>,
    done: Vec<bool>,
    queue: BinaryHeap<Reached>,
}

impl Search<'_> {
    /// Ties go to the smaller predecessor.
    fn reach(&mut self, through_s: f64, hop: Hop) {
        let to = hop.to.index();
        let known_s = self.distance[to];
        let smaller = through_s == known_s && self.before[to].is_some_and(|known| hop.from < known.from);
        if through_s < known_s || (smaller && !self.done[to]) {
            self.distance[to] = through_s;
            self.before[to] = Some(hop);
            self.queue.push(Reached { at_s: through_s, node: hop.to });
        }
    }

    /// Reaches the nodes that wait for the first way over their mesh or bridge; those to which something
    /// else overrides it from here wait on.
    fn reach_all(&mut self, through_s: f64, from: NodeId, class: LinkClassId, waiting: &mut Vec<NodeId>) {
        waiting.retain(|&to| {
            if self.done[to.index()] {
                return false;
            }
            let is_this = self.platform.link(from, to) == Some(class);
            if is_this {
                self.reach(through_s, Hop { from, to, class });
            }
            !is_this
        });
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
        self.shortest_paths_from(&[root], seconds)
    }

    /// [`Platform::shortest_paths`] from whichever of the `sources` is nearest.
    ///
    /// O((nodes + explicit links) · log): a mesh or bridge relaxes each of its members once, since it is
    /// equally long from everywhere and nodes are settled in order of distance.
    pub fn shortest_paths_from(
        &self,
        sources: &[NodeId],
        seconds: impl Fn(LinkClassId) -> f64,
    ) -> (Vec<f64>, Vec<Option<Hop>>) {
        let mut search = Search {
            platform: self,
            distance: vec![f64::INFINITY; self.node_count()],
            before: vec![None; self.node_count()],
            done: vec![false; self.node_count()],
            queue: BinaryHeap::new(),
        };
        for &source in sources {
            search.distance[source.index()] = 0.0;
            search.queue.push(Reached { at_s: 0.0, node: source });
        }
        let mut bridged: Vec<Vec<(LinkClassId, Vec<NodeId>)>> = vec![Vec::new(); self.clusters().len()];
        for bridge in self.bridges() {
            let back = bridge.both_ways.then_some((bridge.to, bridge.from));
            for (from, to) in std::iter::once((bridge.from, bridge.to)).chain(back) {
                let members = self.clusters()[to.index()].members.clone();
                bridged[from.index()].push((bridge.class, members));
            }
        }
        let mut meshed: Vec<(LinkClassId, Vec<NodeId>)> =
            self.meshes().iter().map(|mesh| (mesh.class, mesh.nodes.clone())).collect();
        while let Some(Reached { at_s, node }) = search.queue.pop() {
            if std::mem::replace(&mut search.done[node.index()], true) {
                continue;
            }
            for &(to, class) in &self.out_links[node.index()] {
                search.reach(at_s + seconds(class), Hop { from: node, to, class });
            }
            for &mesh in &self.meshes_of[node.index()] {
                let (class, waiting) = &mut meshed[mesh as usize];
                search.reach_all(at_s + seconds(*class), node, *class, waiting);
            }
            let Some(cluster) = self.node(node).cluster else { continue };
            for (class, waiting) in &mut bridged[cluster.index()] {
                search.reach_all(at_s + seconds(*class), node, *class, waiting);
            }
        }
        (search.distance, search.before)
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
