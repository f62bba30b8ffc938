//! The network: nodes, directed links, and resources that several links share.
//!
//! Links are explicit, or part of a *mesh* (all ordered pairs of some nodes) or a *bridge* (all ordered pairs between
//! two clusters), so a platform of 10,000 nodes stays small. Explicit links override bridges, bridges override meshes,
//! and of two meshes that hold the same pair the later one wins.

mod build;
mod changed;
pub mod csv;
mod error;
mod extremes;
pub mod generate;
mod handling;
mod ids;
mod link;
mod matrices;
mod networkx;
mod read;
mod reversed;
mod route;
mod write;

pub use build::PlatformBuilder;
pub use changed::{LinkChange, LinkEnd};
pub use error::PlatformError;
pub use extremes::MOST_S;
pub use handling::HANDLING_S;
pub use ids::{ClusterId, LinkClassId, NodeId, SharedId};
pub use link::{Affine, Delayed, GapTable, LinkClass, TransferTime};
pub use matrices::{Matrices, PairLink};
pub use route::{Hop, Route};

use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The resources that a transfer occupies; see [`crate::model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortModel {
    /// One send and one receive at a time.
    OnePort,
    /// One communication at a time, in either direction.
    OnePortUnidirectional,
    /// One send and one receive at a time, and at once only with the same partner: paper 5's own cluster, where
    /// a transfer between two nodes takes as long as an exchange.
    OnePortSamePartner,
    /// Only the send part is serialised at the sender, only the receive part at the receiver.
    MultiPort,
    /// Only links and shared resources limit transfers.
    LinkCapacity,
}

impl PortModel {
    /// In the order of the documentation.
    pub const ALL: [PortModel; 5] = [
        PortModel::OnePort,
        PortModel::OnePortUnidirectional,
        PortModel::OnePortSamePartner,
        PortModel::MultiPort,
        PortModel::LinkCapacity,
    ];

    /// The name in platform files.
    pub fn name(self) -> &'static str {
        match self {
            PortModel::OnePort => "one-port",
            PortModel::OnePortUnidirectional => "one-port-unidirectional",
            PortModel::OnePortSamePartner => "one-port-same-partner",
            PortModel::MultiPort => "multi-port",
            PortModel::LinkCapacity => "link-capacity",
        }
    }
}

impl fmt::Display for PortModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The start of the local broadcast of a node that stands for a cluster (paper 2 leaves it open).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LocalStart {
    /// After its last send to another cluster.
    #[default]
    AfterLastSend,
    /// When the message has arrived; it forwards meanwhile.
    OnArrival,
}

impl LocalStart {
    /// The name in platform files.
    pub fn name(self) -> &'static str {
        match self {
            LocalStart::AfterLastSend => "after-last-send",
            LocalStart::OnArrival => "on-arrival",
        }
    }
}

/// Whether a node takes part in collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NodeKind {
    /// Holds the message.
    #[default]
    Host,
    /// Relays each message to one next node; has no ports, and neither holds nor needs the message.
    Switch,
}

/// A vertex of the platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Unique on its platform.
    pub id: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// The cluster that it belongs to.
    pub cluster: Option<ClusterId>,
    /// Its site; only for pictures.
    pub site: Option<Arc<str>>,
    /// The machine's name; the id where absent.
    pub host: Option<String>,
    /// NIC rates of the bounded multi-port model, bytes/s.
    pub out_bytes_per_s: Option<f64>,
    /// Limit of all that the node receives at once.
    pub in_bytes_per_s: Option<f64>,
    /// Rate at which the host combines incoming segments with its own, one after the other; absent: no time.
    pub combine_bytes_per_s: Option<f64>,
    /// The node stands for a whole cluster whose inner broadcast takes this long, seconds.
    pub local_broadcast_s: Option<f64>,
}

impl Node {
    /// Whether it holds the message.
    pub fn is_host(&self) -> bool {
        self.kind == NodeKind::Host
    }

    /// The machine's name.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.id)
    }
}

/// A pipe that several links use, e.g. a site's wide-area access.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// Unique on its platform.
    pub id: String,
    /// Rate of all its links together.
    pub bandwidth_bytes_per_s: f64,
    /// Measured interquartile range of the rate over the rate.
    pub spread: Option<f64>,
}

/// One entry of `links`: a directed link, or both directions with the same class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplicitLink {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Whether it is also a link in the other direction.
    pub both_ways: bool,
    /// Latency, time and shared resources.
    pub class: LinkClassId,
}

/// One entry of `meshes`: every ordered pair of `nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// The nodes, each linked to each other.
    pub nodes: Vec<NodeId>,
    /// Latency, time and shared resources.
    pub class: LinkClassId,
}

/// One entry of `bridges`: every ordered pair between two clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The senders' cluster.
    pub from: ClusterId,
    /// The receivers' cluster.
    pub to: ClusterId,
    /// Whether it is also a link in the other direction.
    pub both_ways: bool,
    /// Latency, time and shared resources.
    pub class: LinkClassId,
}

/// A network. Immutable once built ([`PlatformBuilder`] or [`Platform::from_json`]).
#[derive(Clone, Debug)]
pub struct Platform {
    name: String,
    port_model: PortModel,
    local_start: LocalStart,
    /// A host's time to handle a message, s, where it is known.
    handling_s: Option<f64>,
    /// The source of the numbers, for people: any JSON, not in the digest.
    provenance: Option<Value>,
    nodes: Vec<Node>,
    /// Node ids by [`NodeId`], shared with the plans made for this platform.
    ids: Arc<Vec<String>>,
    by_id: HashMap<String, NodeId>,
    clusters: Vec<Cluster>,
    shared: Vec<Shared>,
    classes: Vec<LinkClass>,
    links: Vec<ExplicitLink>,
    meshes: Vec<Mesh>,
    bridges: Vec<Bridge>,
    out_links: Vec<Vec<(NodeId, LinkClassId)>>,
    in_links: Vec<Vec<(NodeId, LinkClassId)>>,
    /// By cluster, those that a bridge leads to, ascending. Looked up for each edge of each tree: hashing takes longer.
    bridges_from: Vec<Vec<(ClusterId, LinkClassId)>>,
    /// The meshes a node belongs to, in file order.
    meshes_of: Vec<Vec<u32>>,
    digest: String,
    /// [`Platform::reversed`], after its first use.
    reversed: OnceLock<Arc<Platform>>,
}

/// A named group of nodes of about equal mutual latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Unique on its platform.
    pub name: String,
    /// In order of id.
    pub members: Vec<NodeId>,
}

impl Platform {
    /// The platform's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the platform comes from; any JSON.
    pub fn provenance(&self) -> Option<&Value> {
        self.provenance.as_ref()
    }

    /// The resources that a transfer occupies.
    pub fn port_model(&self) -> PortModel {
        self.port_model
    }

    /// The start of a cluster's local broadcast.
    pub fn local_start(&self) -> LocalStart {
        self.local_start
    }

    /// Number of nodes, switches included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes, hosts and switches, in order of id.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The nodes that hold and need the message, by id order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.nodes().filter(|&node| self.node(node).is_host())
    }

    /// The properties of a node.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// The ids of all nodes, by [`NodeId`].
    pub fn ids(&self) -> &Arc<Vec<String>> {
        &self.ids
    }

    /// The node with the given id.
    pub fn find(&self, id: &str) -> Option<NodeId> {
        self.by_id.get(id).copied()
    }

    /// By [`ClusterId`].
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// By [`SharedId`].
    pub fn shared(&self) -> &[Shared] {
        &self.shared
    }

    /// The properties of a link class.
    pub fn class(&self, class: LinkClassId) -> &LinkClass {
        &self.classes[class.index()]
    }

    /// By [`LinkClassId`].
    pub fn classes(&self) -> &[LinkClass] {
        &self.classes
    }

    /// In the order of the file.
    pub fn explicit_links(&self) -> &[ExplicitLink] {
        &self.links
    }

    /// In the order of the file; a later one overrides an earlier one.
    pub fn meshes(&self) -> &[Mesh] {
        &self.meshes
    }

    /// In the order of the file; a later one overrides an earlier one.
    pub fn bridges(&self) -> &[Bridge] {
        &self.bridges
    }

    /// `sha256:…` of the platform's canonical JSON: a plan names the platform it was made for.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The direct link from one node to another, if there is one. O(log degree).
    pub fn link(&self, from: NodeId, to: NodeId) -> Option<LinkClassId> {
        if from == to {
            return None;
        }
        let explicit = &self.out_links[from.index()];
        if let Ok(at) = explicit.binary_search_by_key(&to, |&(node, _)| node) {
            return Some(explicit[at].1);
        }
        if let Some(class) = self.bridge(from, to) {
            return Some(class);
        }
        let theirs = &self.meshes_of[to.index()];
        let mesh = self.meshes_of[from.index()].iter().rev().find(|mesh| theirs.contains(mesh))?;
        Some(self.meshes[*mesh as usize].class)
    }

    /// The class of the bridge between the clusters of two nodes, if there is one.
    fn bridge(&self, from: NodeId, to: NodeId) -> Option<LinkClassId> {
        let (from, to) = (self.node(from).cluster?, self.node(to).cluster?);
        let bridges = &self.bridges_from[from.index()];
        bridges.binary_search_by_key(&to, |&(cluster, _)| cluster).ok().map(|at| bridges[at].1)
    }

    /// Direct links out of a node, by target id. O(out-degree · log).
    pub fn successors(&self, from: NodeId) -> Vec<(NodeId, LinkClassId)> {
        self.neighbours(from, &self.out_links[from.index()], |other| self.link(from, other))
    }

    /// Direct links into a node, by source id. O(in-degree · log).
    pub fn predecessors(&self, to: NodeId) -> Vec<(NodeId, LinkClassId)> {
        self.neighbours(to, &self.in_links[to.index()], |other| self.link(other, to))
    }

    fn neighbours(
        &self,
        node: NodeId,
        explicit: &[(NodeId, LinkClassId)],
        class_of: impl Fn(NodeId) -> Option<LinkClassId>,
    ) -> Vec<(NodeId, LinkClassId)> {
        if self.bridges.is_empty() && self.meshes_of[node.index()].is_empty() {
            return explicit.to_vec();
        }
        let mut others: Vec<NodeId> = explicit.iter().map(|&(other, _)| other).collect();
        for &mesh in &self.meshes_of[node.index()] {
            others.extend(&self.meshes[mesh as usize].nodes);
        }
        if let Some(cluster) = self.node(node).cluster {
            for bridge in &self.bridges {
                if bridge.from == cluster {
                    others.extend(&self.clusters[bridge.to.index()].members);
                }
                if bridge.to == cluster {
                    others.extend(&self.clusters[bridge.from.index()].members);
                }
            }
        }
        others.sort_unstable();
        others.dedup();
        others.into_iter().filter_map(|other| class_of(other).map(|class| (other, class))).collect()
    }

    /// T(s): how long a transfer of `bytes` keeps the link's ports busy, seconds.
    pub fn transfer_s(&self, class: LinkClassId, bytes: u64) -> f64 {
        self.class(class).time.seconds(bytes)
    }
}
