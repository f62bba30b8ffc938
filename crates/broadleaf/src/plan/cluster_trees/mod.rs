//! Trees over clusters whose hosts take turns: each tree enters every cluster once, each time by the next host.
//!
//! Among 100,000 hosts, a hundred trees have ten million edges, but all follow from the clusters' hosts, the tree inside
//! each cluster, and two numbers for each tree and cluster: the cluster that it is entered from, and the place of the
//! sender there. Plan files hold those numbers, and a host's own edges follow from them alone.

mod channels;
mod file;

pub(in crate::plan) use channels::channels_over_clusters;

use super::{Tree, TreeBuilder};
use crate::platform::NodeId;

/// The tree inside a cluster, over places from 0, where it is entered: `(parent, child)`, each edge behind the one that
/// leads to its parent, a parent's children in serving order.
pub type Inside = Vec<(u32, u32)>;

/// Hosts that take turns at each place of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// In the order of the turn. In the first cluster, the plan's root comes first, and takes no turn if there are
    /// others: it sends each tree's segments to the host at place 0.
    pub hosts: Vec<NodeId>,
    /// The place of its inner tree among `insides`.
    pub inside: u32,
}

/// How a tree enters a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The cluster that the sender is in.
    pub from: u32,
    /// The sender's place there.
    pub place: u32,
}

/// Trees of equal shares over clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterTrees {
    node_count: usize,
    clusters: Vec<Cluster>,
    insides: Vec<Inside>,
    /// By tree, the entries of all clusters but the first.
    entries: Vec<Vec<Entry>>,
    /// By node, its cluster and its place among the cluster's hosts; `NOWHERE` for switches.
    seat_of: Vec<(u32, u32)>,
}

const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

impl ClusterTrees {
    /// Trees over `node_count` nodes. Each of `insides` spans the places of its clusters; in each tree, the entries lead
    /// from the first cluster to all others.
    pub fn new(
        node_count: usize,
        clusters: Vec<Cluster>,
        insides: Vec<Inside>,
        entries: Vec<Vec<Entry>>,
    ) -> ClusterTrees {
        let mut seat_of = vec![NOWHERE; node_count];
        for (at, cluster) in (0..).zip(&clusters) {
            for (place, host) in (0..).zip(&cluster.hosts) {
                seat_of[host.index()] = (at, place);
            }
        }
        ClusterTrees { node_count, clusters, insides, entries, seat_of }
    }

    /// The number of the platform's nodes, switches included.
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// The number of trees.
    pub fn tree_count(&self) -> usize {
        self.entries.len()
    }

    /// The share of each tree.
    pub fn share(&self) -> f64 {
        1.0 / self.entries.len() as f64
    }

    fn root(&self) -> NodeId {
        self.clusters[0].hosts[0]
    }

    /// The hosts of a cluster that take turns.
    fn in_turn(&self, cluster: u32) -> &[NodeId] {
        in_turn(cluster as usize, &self.clusters[cluster as usize].hosts)
    }

    fn inside(&self, cluster: u32) -> &Inside {
        &self.insides[self.clusters[cluster as usize].inside as usize]
    }

    /// Turns go backwards: the next segment then enters behind the one before, where the ports are free, and not beside
    /// it.
    fn host(&self, cluster: u32, tree: usize, place: u32) -> NodeId {
        let hosts = self.in_turn(cluster);
        hosts[(place as usize + hosts.len() - tree % hosts.len()) % hosts.len()]
    }

    /// The cluster of a node and its place there in a tree; `None` for the root that takes no turn, and for switches.
    fn place(&self, tree: usize, node: NodeId) -> Option<(u32, u32)> {
        let (cluster, seat) = self.seat_of[node.index()];
        if cluster == NOWHERE.0 {
            return None;
        }
        let hosts = self.in_turn(cluster).len();
        let ahead = self.clusters[cluster as usize].hosts.len() - hosts;
        let seat = (seat as usize).checked_sub(ahead)?;
        Some((cluster, ((seat + tree) % hosts) as u32))
    }

    /// The sender to a host in a tree; `None` for the root, and for switches.
    pub fn parent(&self, tree: usize, node: NodeId) -> Option<NodeId> {
        let (cluster, place) = self.place(tree, node)?;
        if let Some(&(parent, _)) = self.inside(cluster).iter().find(|&&(_, child)| child == place) {
            return Some(self.host(cluster, tree, parent));
        }
        match cluster {
            0 => Some(self.root()).filter(|&root| root != node),
            _ => Some(self.sender(tree, cluster)),
        }
    }

    /// The host that sends to a cluster other than the first.
    fn sender(&self, tree: usize, cluster: u32) -> NodeId {
        let Entry { from, place } = self.entries[tree][cluster as usize - 1];
        self.host(from, tree, place)
    }

    /// The hosts that a node sends to in a tree, other clusters' first: more hosts wait behind them.
    pub fn children(&self, tree: usize, node: NodeId) -> Vec<NodeId> {
        let Some((cluster, place)) = self.place(tree, node) else {
            return if node == self.root() { vec![self.host(0, tree, 0)] } else { Vec::new() };
        };
        let entered = (1..).zip(&self.entries[tree]);
        let others = entered.filter(|(_, entry)| (entry.from, entry.place) == (cluster, place));
        let inner = self.inside(cluster).iter().filter(|&&(parent, _)| parent == place);
        let others = others.map(|(to, _)| self.host(to, tree, 0));
        others.chain(inner.map(|&(_, child)| self.host(cluster, tree, child))).collect()
    }

    /// All trees with all edges.
    pub fn list(&self) -> Vec<Tree> {
        let clusters = self.clusters.len() as u32;
        let one = |tree: usize| {
            let mut builder = TreeBuilder::new(self.node_count).share(self.share());
            for cluster in 1..clusters {
                builder.add(self.sender(tree, cluster), self.host(cluster, tree, 0));
            }
            if self.host(0, tree, 0) != self.root() {
                builder.add(self.root(), self.host(0, tree, 0));
            }
            for cluster in 0..clusters {
                for &(parent, child) in self.inside(cluster) {
                    builder.add(self.host(cluster, tree, parent), self.host(cluster, tree, child));
                }
            }
            builder.build()
        };
        (0..self.entries.len()).map(one).collect()
    }

    /// The same trees over more nodes.
    pub(super) fn over(self, node_count: usize) -> ClusterTrees {
        ClusterTrees::new(node_count, self.clusters, self.insides, self.entries)
    }

    pub(super) fn renamed(&self, node_count: usize, moved: &impl Fn(NodeId) -> NodeId) -> ClusterTrees {
        let clusters = self.clusters.iter().map(|cluster| Cluster {
            hosts: cluster.hosts.iter().map(|&host| moved(host)).collect(),
            inside: cluster.inside,
        });
        ClusterTrees::new(node_count, clusters.collect(), self.insides.clone(), self.entries.clone())
    }
}

/// The hosts that take turns: in the first cluster, those besides the root, which has the message.
fn in_turn(cluster: usize, hosts: &[NodeId]) -> &[NodeId] {
    match hosts {
        [_, others @ ..] if cluster == 0 && !others.is_empty() => others,
        _ => hosts,
    }
}
