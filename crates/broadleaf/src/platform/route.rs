//! Quickest paths, for pairs without a direct link and through switches.

use super::{ClusterId, LinkClassId, NodeId, Platform};
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The hops of a transfer: one for a direct link, more when it is relayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// From the sender to the receiver.
    pub hops: Vec<Hop>,
}

/// One hop of a [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The hop's sender.
    pub from: NodeId,
    /// The hop's receiver.
    pub to: NodeId,
    /// The link's class.
    pub class: LinkClassId,
}

/// Dijkstra's state.
struct RouteSearch<'a> {
    platform: &'a Platform,
    distance: Vec<f64>,
    before: Vec<Option<Hop>>,
    done: Vec<bool>,
    /// Nodes by distance, seconds; ties to the smaller id.
    queue: BinaryHeap<Reverse<(OrderedFloat<f64>, NodeId)>>,
}

impl RouteSearch<'_> {
    /// Ties go to the smaller predecessor.
    fn reach(&mut self, through_s: f64, hop: Hop) {
        let to = hop.to.index();
        let known_s = self.distance[to];
        let smaller = through_s == known_s && self.before[to].is_some_and(|known| hop.from < known.from);
        if through_s < known_s || (smaller && !self.done[to]) {
            self.distance[to] = through_s;
            self.before[to] = Some(hop);
            self.queue.push(Reverse((OrderedFloat(through_s), hop.to)));
        }
    }

    /// Reaches the nodes that wait for the first path over their mesh or bridge; nodes to which another link overrides
    /// it from here keep waiting.
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
    /// The earliest time at which each node can have the message if all links are free: the sum of the weights along
    /// the quickest path, seconds; infinite without a path.
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
    /// O((nodes + explicit links) · log): a mesh or bridge relaxes each of its members once, since all of its links
    /// have equal weight and nodes are settled in order of distance.
    pub fn shortest_paths_from(
        &self,
        sources: &[NodeId],
        seconds: impl Fn(LinkClassId) -> f64,
    ) -> (Vec<f64>, Vec<Option<Hop>>) {
        self.shortest_paths_to(None, sources, seconds)
    }

    /// The same; with `targets`, it ends when these have their paths.
    fn shortest_paths_to(
        &self,
        targets: Option<&[NodeId]>,
        sources: &[NodeId],
        seconds: impl Fn(LinkClassId) -> f64,
    ) -> (Vec<f64>, Vec<Option<Hop>>) {
        let mut waiting_for = vec![targets.is_none(); self.node_count()];
        targets.into_iter().flatten().for_each(|target| waiting_for[target.index()] = true);
        let mut missing = waiting_for.iter().filter(|&&is_target| is_target).count();
        let mut search = RouteSearch {
            platform: self,
            distance: vec![f64::INFINITY; self.node_count()],
            before: vec![None; self.node_count()],
            done: vec![false; self.node_count()],
            queue: BinaryHeap::new(),
        };
        for &source in sources {
            search.distance[source.index()] = 0.0;
            search.queue.push(Reverse((OrderedFloat(0.0), source)));
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
        while let Some(Reverse((OrderedFloat(at_s), node))) = search.queue.pop() {
            if std::mem::replace(&mut search.done[node.index()], true) {
                continue;
            }
            missing -= usize::from(waiting_for[node.index()]);
            if missing == 0 {
                break;
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

    /// The nodes, links, and members of meshes and bridges that a search of paths may pass.
    pub fn search_size(&self) -> usize {
        let meshed = self.meshes().iter().map(|mesh| mesh.nodes.len());
        let members = |cluster: ClusterId| self.clusters()[cluster.index()].members.len();
        let bridged = self
            .bridges()
            .iter()
            .map(|bridge| members(bridge.to) + if bridge.both_ways { members(bridge.from) } else { 0 });
        self.node_count() + self.explicit_links().len() + meshed.chain(bridged).sum::<usize>()
    }

    /// The direct link, else the quickest path for `bytes` bytes; `None` where there is no path.
    pub fn route(&self, from: NodeId, to: NodeId, bytes: u64) -> Option<Route> {
        if let Some(class) = self.link(from, to) {
            return Some(Route { hops: vec![Hop { from, to, class }] });
        }
        self.routes(from, &[to], bytes).pop().flatten()
    }

    /// The quickest paths for `bytes` bytes from one node to each of `targets`, in their order.
    pub fn routes(&self, from: NodeId, targets: &[NodeId], bytes: u64) -> Vec<Option<Route>> {
        let seconds = |class| self.class(class).latency_s + self.transfer_s(class, bytes);
        let (_, before) = self.shortest_paths_to(Some(targets), &[from], seconds);
        let path_to = |&to: &NodeId| {
            let mut hops = Vec::new();
            let mut node = to;
            while node != from {
                let hop = before[node.index()]?;
                hops.push(hop);
                node = hop.from;
            }
            hops.reverse();
            Some(Route { hops })
        };
        targets.iter().map(path_to).collect()
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
            for (other, _) in &self.bridges_from[cluster.index()] {
                self.clusters()[other.index()].members.iter().for_each(|&to| reach(to, &mut open));
            }
        }
        self.hosts().filter(|host| !seen[host.index()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::{
        Bridge, ExplicitLink, LinkClass, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel,
    };

    /// Three clusters, two overlapping meshes, bridges, and slower links that override them.
    fn tangled(seed: u64) -> Platform {
        let mut state = seed;
        let mut draw = |limit: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % limit
        };
        let mut builder = PlatformBuilder::new("tangled", PortModel::OnePort);
        let clusters = ["A", "B", "C"].map(|name| builder.cluster(name));
        let nodes: Vec<NodeId> = (0..12)
            .map(|index| {
                let cluster = Some(clusters[draw(3) as usize]);
                builder.add_node(Node { id: format!("n{index}"), cluster, ..Node::default() }).unwrap()
            })
            .collect();
        let mut class = |builder: &mut PlatformBuilder, limit: u64| {
            let latency_s = (1 + draw(limit)) as f64;
            builder.add_class(LinkClass { latency_s, ..LinkClass::default() })
        };
        for span in [0..6, 3..9] {
            let class = class(&mut builder, 20);
            builder.add_mesh(Mesh { nodes: nodes[span].to_vec(), class }).unwrap();
        }
        for (from, to, both_ways) in [(0, 1, true), (2, 0, false)] {
            let class = class(&mut builder, 20);
            let (from, to) = (clusters[from], clusters[to]);
            builder.add_bridge(Bridge { from, to, both_ways, class }).unwrap();
        }
        for from in 0..12 {
            for to in
                (0..12).filter(|&to| to != from && (from * 5 + to * 3 + seed as usize).is_multiple_of(4))
            {
                let class = class(&mut builder, 60);
                let link = ExplicitLink { from: nodes[from], to: nodes[to], both_ways: false, class };
                builder.add_link(link).unwrap();
            }
        }
        builder.build().unwrap()
    }

    /// Bellman and Ford's relaxation over all ordered pairs is the oracle.
    #[test]
    fn distances_agree_with_relaxing_every_pair() {
        for seed in 0..200 {
            let platform = tangled(seed);
            let weight = |class| platform.class(class).latency_s;
            let mut slow = vec![f64::INFINITY; platform.node_count()];
            slow[0] = 0.0;
            for _ in 0..platform.node_count() {
                for from in platform.nodes() {
                    for to in platform.nodes() {
                        if let Some(class) = platform.link(from, to) {
                            slow[to.index()] = slow[to.index()].min(slow[from.index()] + weight(class));
                        }
                    }
                }
            }
            let (quick, before) = platform.shortest_paths(NodeId(0), weight);
            assert_eq!(quick, slow, "seed {seed}");
            for hop in before.into_iter().flatten() {
                assert_eq!(platform.link(hop.from, hop.to), Some(hop.class));
                assert_eq!(quick[hop.from.index()] + weight(hop.class), quick[hop.to.index()]);
            }
        }
    }
}
