//! Groups of nodes inside groups, by latency.
//!
//! Lowekamp's clusters, of nodes first, then of the clusters found. A group counts if all latencies out of it are
//! longer, by more than the tolerance, than those inside it.
//!
//! Cost: O(n² log n) a level of groups.

use super::lowekamp::clusters;
use crate::platform::NodeId;

/// Nodes that are nearer to each other than to all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Sorted.
    pub nodes: Vec<NodeId>,
    /// The groups that it is made of; none of a single node.
    pub parts: Vec<Group>,
}

/// The outermost groups; a node in none is alone.
pub fn groups(nodes: &[NodeId], tolerance: f64, latency_s: impl Fn(NodeId, NodeId) -> f64) -> Vec<Group> {
    let alone = |&node: &NodeId| Group { nodes: vec![node], parts: Vec::new() };
    let mut groups: Vec<Group> = nodes.iter().map(alone).collect();
    loop {
        let shortest_s = |a: NodeId, b: NodeId| {
            let (here, there) = (&groups[a.index()].nodes, &groups[b.index()].nodes);
            let pairs = here.iter().flat_map(|&one| there.iter().map(move |&other| (one, other)));
            pairs.map(|(one, other)| latency_s(one, other)).fold(f64::INFINITY, f64::min)
        };
        let found = clusters(groups.len(), tolerance, shortest_s);
        let before = groups.len();
        let mut old: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
        groups = Vec::with_capacity(found.len());
        for members in found {
            let parts: Vec<Group> = members.iter().filter_map(|member| old[member.index()].take()).collect();
            let mut joined: Vec<NodeId> = parts.iter().flat_map(|part| part.nodes.clone()).collect();
            joined.sort_unstable();
            let group = Group { nodes: joined, parts };
            match group.is_apart(nodes, tolerance, &latency_s) {
                true => groups.push(group),
                false => groups.extend(group.parts),
            }
        }
        if groups.len() == before {
            return groups;
        }
    }
}

impl Group {
    /// All nodes that are not in it.
    pub fn others(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        nodes.iter().copied().filter(|node| self.nodes.binary_search(node).is_err()).collect()
    }

    /// Whether it has several parts, not all nodes, and all latencies out of it are longer than those inside.
    fn is_apart(&self, nodes: &[NodeId], tolerance: f64, latency_s: impl Fn(NodeId, NodeId) -> f64) -> bool {
        let others = self.others(nodes);
        let inside = self.nodes.iter().flat_map(|&a| self.nodes.iter().map(move |&b| (a, b)));
        let longest_s = inside.filter(|(a, b)| a != b).map(|(a, b)| latency_s(a, b)).fold(0.0, f64::max);
        let mut out = self.nodes.iter().flat_map(|&a| others.iter().map(move |&b| (a, b)));
        let is_longer = |(a, b)| latency_s(a, b) > (1.0 + tolerance) * longest_s;
        self.parts.len() > 1 && !others.is_empty() && out.all(is_longer)
    }
}
