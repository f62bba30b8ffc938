//! Units that no rule can distinguish, so that a mesh of 10,000 equal hosts is one entry of a grid and not 10⁸.

use super::unit::Unit;
use crate::platform::{NodeId, Platform};
use std::collections::HashMap;

/// The cluster of each host, by node.
pub(super) struct Homes {
    pub coordinator: Vec<NodeId>,
    /// Whether the cluster has other hosts.
    pub is_shared: Vec<bool>,
}

impl Homes {
    fn is_coordinator(&self, host: NodeId) -> bool {
        self.coordinator[host.index()] == host
    }

    pub fn allow(&self, from: NodeId, to: NodeId) -> bool {
        self.coordinator[from.index()] == self.coordinator[to.index()] || self.is_coordinator(to)
    }
}

/// The properties by which hosts without individual links differ. A unit of several hosts is its own kind.
#[derive(PartialEq, Eq, Hash)]
enum Likeness {
    Own(usize),
    Shared { cluster: Option<u32>, meshes: Vec<u32>, numbers: [Option<u64>; 3] },
}

/// Properties of every node, gathered once for all clusters.
pub(super) struct Marks {
    has_own_links: Vec<bool>,
    /// The meshes it is in.
    meshes: Vec<Vec<u32>>,
}

impl Marks {
    pub fn new(platform: &Platform) -> Self {
        let mut has_own_links = vec![false; platform.node_count()];
        for link in platform.explicit_links() {
            has_own_links[link.from.index()] = true;
            has_own_links[link.to.index()] = true;
        }
        let mut meshes = vec![Vec::new(); platform.node_count()];
        for (index, mesh) in platform.meshes().iter().enumerate() {
            for node in &mesh.nodes {
                meshes[node.index()].push(index as u32);
            }
        }
        Marks { has_own_links, meshes }
    }

    /// The meshes that a node is in.
    pub fn meshes(&self, node: NodeId) -> &[u32] {
        &self.meshes[node.index()]
    }
}

/// The kind of each unit, and the units of each kind.
pub(super) fn kinds(
    platform: &Platform,
    units: &[Unit],
    homes: Option<&Homes>,
    marks: &Marks,
) -> (Vec<u32>, Vec<Vec<usize>>) {
    let mut known: HashMap<Likeness, u32> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut kind_of = Vec::with_capacity(units.len());
    for (index, unit) in units.iter().enumerate() {
        let at = unit.coordinator.index();
        let node = platform.node(unit.coordinator);
        let speaks = homes.is_some_and(|homes| homes.is_shared[at] && homes.is_coordinator(unit.coordinator));
        let likeness = if marks.has_own_links[at] || unit.members.len() > 1 || speaks {
            Likeness::Own(index)
        } else {
            let numbers = [node.local_broadcast_s, node.out_bytes_per_s, node.in_bytes_per_s];
            Likeness::Shared {
                cluster: node.cluster.map(|cluster| cluster.0),
                meshes: marks.meshes[at].clone(),
                numbers: numbers.map(|number| number.map(f64::to_bits)),
            }
        };
        let kind = *known.entry(likeness).or_insert(members.len() as u32);
        if kind as usize == members.len() {
            members.push(Vec::new());
        }
        members[kind as usize].push(index);
        kind_of.push(kind);
    }
    (kind_of, members)
}
