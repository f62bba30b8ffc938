//! Builds platforms; the only place where their rules are enforced.

use super::*;
use crate::json::Fault;
use std::collections::hash_map::Entry;
use std::collections::HashSet;

/// Collects nodes and links, then [`build`](PlatformBuilder::build)s the platform.
///
/// Each method that can refuse returns a [`Fault`] whose place is empty for the caller to fill in.
#[derive(Clone, Debug)]
pub struct PlatformBuilder {
    name: String,
    port_model: PortModel,
    local_start: LocalStart,
    handling_s: Option<f64>,
    provenance: Option<Value>,
    nodes: Vec<Node>,
    by_id: HashMap<String, NodeId>,
    clusters: Vec<Cluster>,
    cluster_by_name: HashMap<String, ClusterId>,
    sites: HashMap<String, Arc<str>>,
    shared: Vec<Shared>,
    shared_by_id: HashMap<String, SharedId>,
    classes: Vec<LinkClass>,
    links: Vec<ExplicitLink>,
    pairs: HashSet<(NodeId, NodeId)>,
    meshes: Vec<Mesh>,
    bridges: Vec<Bridge>,
    bridge_class: HashMap<(ClusterId, ClusterId), LinkClassId>,
}

fn fault(fact: String, remedy: &str) -> Fault {
    Fault::new("", fact, remedy)
}

impl PlatformBuilder {
    /// A platform without nodes.
    pub fn new(name: impl Into<String>, port_model: PortModel) -> Self {
        PlatformBuilder {
            name: name.into(),
            port_model,
            local_start: LocalStart::default(),
            handling_s: None,
            provenance: None,
            nodes: Vec::new(),
            by_id: HashMap::new(),
            clusters: Vec::new(),
            cluster_by_name: HashMap::new(),
            sites: HashMap::new(),
            shared: Vec::new(),
            shared_by_id: HashMap::new(),
            classes: Vec::new(),
            links: Vec::new(),
            pairs: HashSet::new(),
            meshes: Vec::new(),
            bridges: Vec::new(),
            bridge_class: HashMap::new(),
        }
    }

    /// Sets the start of a cluster's local broadcast.
    pub fn local_start(&mut self, local_start: LocalStart) -> &mut Self {
        self.local_start = local_start;
        self
    }

    /// Sets a host's time to handle a message, s, not negative; `None`: not known.
    pub fn handling_s(&mut self, handling_s: Option<f64>) -> &mut Self {
        self.handling_s = handling_s;
        self
    }

    /// The source of the numbers, kept unchanged.
    pub fn provenance(&mut self, provenance: Value) -> &mut Self {
        self.provenance = Some(provenance);
        self
    }

    /// Interns a site's name.
    pub fn site(&mut self, name: &str) -> Arc<str> {
        self.sites.entry(name.to_string()).or_insert_with(|| Arc::from(name)).clone()
    }

    /// The cluster with the given name, made on first use.
    pub fn cluster(&mut self, name: &str) -> ClusterId {
        if let Some(&cluster) = self.cluster_by_name.get(name) {
            return cluster;
        }
        let cluster = ClusterId(self.clusters.len() as u32);
        self.clusters.push(Cluster { name: name.to_string(), members: Vec::new() });
        self.cluster_by_name.insert(name.to_string(), cluster);
        cluster
    }

    /// The cluster with the given name.
    ///
    /// # Errors
    /// An unknown cluster name.
    pub fn find_cluster(&self, name: &str) -> Result<ClusterId, Fault> {
        self.cluster_by_name
            .get(name)
            .copied()
            .ok_or_else(|| fault(format!("unknown cluster \"{name}\""), "name a cluster of some node"))
    }

    /// Adds a node; ids count up from 0.
    ///
    /// # Errors
    /// An id that is taken.
    pub fn add_node(&mut self, node: Node) -> Result<NodeId, Fault> {
        let id = NodeId(self.nodes.len() as u32);
        match self.by_id.entry(node.id.clone()) {
            Entry::Occupied(_) => {
                return Err(fault(format!("duplicate node id \"{}\"", node.id), "give each node its own id"))
            }
            Entry::Vacant(slot) => slot.insert(id),
        };
        if let Some(cluster) = node.cluster {
            self.clusters[cluster.index()].members.push(id);
        }
        self.nodes.push(node);
        Ok(id)
    }

    /// Adds a host with the given id and no other property.
    ///
    /// # Errors
    /// As [`PlatformBuilder::add_node`].
    pub fn add_host(&mut self, id: impl Into<String>) -> Result<NodeId, Fault> {
        self.add_node(Node { id: id.into(), ..Node::default() })
    }

    /// The node with the given id.
    ///
    /// # Errors
    /// An unknown node id.
    pub fn find_node(&self, id: &str) -> Result<NodeId, Fault> {
        self.by_id
            .get(id)
            .copied()
            .ok_or_else(|| fault(format!("unknown node id \"{id}\""), "name one of \"nodes\""))
    }

    /// Adds a shared resource with a rate in bytes/s.
    ///
    /// # Errors
    /// An id that is taken, or a bandwidth that is not above 0.
    pub fn add_shared(
        &mut self,
        id: impl Into<String>,
        bandwidth_bytes_per_s: f64,
    ) -> Result<SharedId, Fault> {
        let id = id.into();
        let shared = SharedId(self.shared.len() as u32);
        if self.shared_by_id.insert(id.clone(), shared).is_some() {
            return Err(fault(
                format!("duplicate shared id \"{id}\""),
                "give each shared resource its own id",
            ));
        }
        self.shared.push(Shared { id, bandwidth_bytes_per_s, spread: None });
        Ok(shared)
    }

    /// Sets the measured relative spread of a shared resource's rate.
    pub fn shared_spread(&mut self, shared: SharedId, spread: f64) {
        self.shared[shared.index()].spread = Some(spread);
    }

    /// The shared resource with the given id.
    ///
    /// # Errors
    /// An unknown id of a shared resource.
    pub fn find_shared(&self, id: &str) -> Result<SharedId, Fault> {
        self.shared_by_id
            .get(id)
            .copied()
            .ok_or_else(|| fault(format!("unknown shared id \"{id}\""), "name one of \"shared\""))
    }

    /// Adds a link class for links, meshes and bridges to name.
    pub fn add_class(&mut self, class: LinkClass) -> LinkClassId {
        self.classes.push(class);
        LinkClassId(self.classes.len() as u32 - 1)
    }

    /// Adds a link; it overrides meshes and bridges.
    ///
    /// # Errors
    /// A link from a node to itself, or a second one between the same nodes.
    pub fn add_link(&mut self, link: ExplicitLink) -> Result<(), Fault> {
        let ExplicitLink { from, to, both_ways, .. } = link;
        let id = |node: NodeId| self.nodes[node.index()].id.clone();
        if from == to {
            return Err(
                fault("a link from a node to itself".to_string(), "remove it").on_edge(&id(from), &id(to))
            );
        }
        let reverse = both_ways.then_some((to, from));
        let pairs = std::iter::once((from, to)).chain(reverse);
        // Both directions are checked before either is added, so that a refused link changes nothing.
        if let Some((a, b)) = pairs.clone().find(|pair| self.pairs.contains(pair)) {
            return Err(
                fault("a pair twice in links".to_string(), "keep one of the two").on_edge(&id(a), &id(b))
            );
        }
        self.pairs.extend(pairs);
        self.links.push(link);
        Ok(())
    }

    /// Adds a mesh; of two meshes that hold the same pair, the later one counts.
    ///
    /// # Errors
    /// A node that occurs twice in it.
    pub fn add_mesh(&mut self, mesh: Mesh) -> Result<(), Fault> {
        let mut sorted = mesh.nodes.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let id = &self.nodes[pair[0].index()].id;
            return Err(fault(format!("node \"{id}\" stands twice in a mesh"), "keep one of the two"));
        }
        self.meshes.push(mesh);
        Ok(())
    }

    /// Adds a bridge between two clusters.
    ///
    /// # Errors
    /// A second bridge between the same clusters.
    pub fn add_bridge(&mut self, bridge: Bridge) -> Result<(), Fault> {
        let Bridge { from, to, both_ways, class } = bridge;
        let reverse = (both_ways && from != to).then_some((to, from));
        let pairs = std::iter::once((from, to)).chain(reverse);
        if let Some((a, b)) = pairs.clone().find(|pair| self.bridge_class.contains_key(pair)) {
            let name = |cluster: ClusterId| &self.clusters[cluster.index()].name;
            let fact = format!("a second bridge from \"{}\" to \"{}\"", name(a), name(b));
            return Err(fault(fact, "keep one of the two"));
        }
        self.bridge_class.extend(pairs.map(|pair| (pair, class)));
        self.bridges.push(bridge);
        Ok(())
    }

    /// The platform.
    ///
    /// # Errors
    /// A platform without a host.
    pub fn build(self) -> Result<Platform, Fault> {
        if self.nodes.iter().all(|node| !node.is_host()) {
            return Err(Fault::new("$.nodes", "the platform has no host", "add a node that is not a switch"));
        }
        let ids = Arc::new(self.nodes.iter().map(|node| node.id.clone()).collect());
        let platform = Platform {
            name: self.name,
            port_model: self.port_model,
            local_start: self.local_start,
            handling_s: self.handling_s,
            provenance: self.provenance,
            nodes: self.nodes,
            ids,
            by_id: self.by_id,
            clusters: self.clusters,
            shared: self.shared,
            classes: self.classes,
            links: self.links,
            meshes: self.meshes,
            bridges: self.bridges,
            out_links: Vec::new(),
            in_links: Vec::new(),
            bridges_from: Vec::new(),
            meshes_of: Vec::new(),
            digest: String::new(),
            reversed: OnceLock::new(),
        };
        extremes::refuse(&platform)?;
        Ok(platform.indexed())
    }
}

impl Platform {
    /// The platform with its lookups by node and by pair of clusters, and its digest, computed from its links, meshes
    /// and bridges.
    pub(super) fn indexed(mut self) -> Platform {
        let count = self.nodes.len();
        let mut out_links = vec![Vec::new(); count];
        let mut in_links = vec![Vec::new(); count];
        for link in &self.links {
            let reverse = link.both_ways.then_some((link.to, link.from));
            for (from, to) in std::iter::once((link.from, link.to)).chain(reverse) {
                out_links[from.index()].push((to, link.class));
                in_links[to.index()].push((from, link.class));
            }
        }
        out_links.iter_mut().chain(&mut in_links).for_each(|links: &mut Vec<_>| links.sort_unstable());
        let mut meshes_of = vec![Vec::new(); count];
        for (index, mesh) in self.meshes.iter().enumerate() {
            for node in &mesh.nodes {
                meshes_of[node.index()].push(index as u32);
            }
        }
        let mut bridges_from = vec![Vec::new(); self.clusters.len()];
        for bridge in &self.bridges {
            let reverse = (bridge.both_ways && bridge.from != bridge.to).then_some((bridge.to, bridge.from));
            for (from, to) in std::iter::once((bridge.from, bridge.to)).chain(reverse) {
                bridges_from[from.index()].push((to, bridge.class));
            }
        }
        bridges_from.iter_mut().for_each(|bridges: &mut Vec<_>| bridges.sort_unstable());
        (self.out_links, self.in_links) = (out_links, in_links);
        (self.meshes_of, self.bridges_from) = (meshes_of, bridges_from);
        self.digest = super::write::digest(&self);
        self.reversed = OnceLock::new();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_leaves_no_trace() {
        let mut builder = PlatformBuilder::new("two", PortModel::OnePort);
        let clusters = ["A", "B"].map(|name| builder.cluster(name));
        let nodes = clusters.map(|cluster| {
            let id = format!("in {cluster}");
            builder.add_node(Node { id, cluster: Some(cluster), ..Node::default() }).unwrap()
        });
        let class = builder.add_class(LinkClass::default());
        let bridge = |from: usize, to: usize, both_ways| Bridge {
            from: clusters[from],
            to: clusters[to],
            both_ways,
            class,
        };
        builder.add_bridge(bridge(0, 1, false)).unwrap();
        // The way back is free, the way there is taken.
        builder.add_bridge(bridge(1, 0, true)).unwrap_err();
        let platform = builder.clone().build().unwrap();
        assert_eq!(platform.link(nodes[1], nodes[0]), None);
        let link = |from: usize, to: usize, both_ways| ExplicitLink {
            from: nodes[from],
            to: nodes[to],
            both_ways,
            class,
        };
        builder.add_link(link(0, 1, false)).unwrap();
        builder.add_link(link(1, 0, true)).unwrap_err();
        builder.add_link(link(1, 0, false)).unwrap();
    }
}
