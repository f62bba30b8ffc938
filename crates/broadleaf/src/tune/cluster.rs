//! The network to tune for, with any number of its nodes.

use super::error::TuneError;
use super::plogp::{handled_bytes, PLogP};
use crate::json::Fault;
use crate::plan::PlanError;
use crate::platform::{
    Bridge, ExplicitLink, LinkClass, LinkClassId, Mesh, NodeId, Platform, PlatformBuilder, PortModel,
};

/// With more hosts than this, only some pairs are read: 512² links take a few milliseconds.
const MOST_IN_PAIRS: usize = 512;
/// Routes over switches that are read if no two hosts have a direct link.
const ROUTES: usize = 64;
/// The size at which links are compared to find the median one, bytes.
const COMPARED_BYTES: u64 = 64 << 10;

/// A platform in paper 4's model of a cluster: P nodes, one set of pLogP parameters.
///
/// Where all pairs of hosts have the same link, the platform stands for a cluster of any size. Otherwise the models use
/// the link of the median pair, P nodes are the root and the hosts that follow it, and only the event simulation uses
/// all links.
#[derive(Clone, Debug)]
pub struct UniformCluster<'a> {
    platform: &'a Platform,
    root: NodeId,
    is_uniform: bool,
    link: LinkClass,
    network: PLogP,
}

impl<'a> UniformCluster<'a> {
    /// Refuses a platform of fewer than two hosts, a root that is a switch, hosts that nothing joins, and what
    /// [`PLogP::of`] refuses.
    ///
    /// # Errors
    /// A platform that the models do not support.
    pub fn new(platform: &'a Platform, root: NodeId) -> Result<UniformCluster<'a>, TuneError> {
        let refused = |fact: String, remedy| TuneError::Platform {
            platform: platform.name().to_string(),
            fact,
            remedy,
        };
        let id = |node: NodeId| platform.node(node).id.clone();
        if !platform.node(root).is_host() {
            return Err(refused(format!("the root \"{}\" is a switch", id(root)), "name a host"));
        }
        let hosts: Vec<NodeId> = platform.hosts().collect();
        if hosts.len() < 2 {
            return Err(refused(
                "one host alone needs no collectives".to_string(),
                "give at least two hosts",
            ));
        }
        let pairs = pairs(&hosts, root);
        let linked = pairs.iter().filter_map(|&(from, to)| platform.link(from, to));
        let mut classes: Vec<LinkClassId> = linked.collect();
        let all_linked = classes.len() == pairs.len();
        if classes.is_empty() {
            // All messages pass switches: a route's class is that of its slowest hop.
            let routes = pairs.iter().take(ROUTES).filter_map(|&(a, b)| platform.route(a, b, COMPARED_BYTES));
            let seconds = |class: LinkClassId| platform.transfer_s(class, COMPARED_BYTES);
            let slowest = routes.filter_map(|route| {
                route.hops.iter().map(|hop| hop.class).max_by(|&a, &b| seconds(a).total_cmp(&seconds(b)))
            });
            classes = slowest.collect();
        }
        if classes.is_empty() {
            let fact = format!("nothing leads from \"{}\" to \"{}\"", id(pairs[0].0), id(pairs[0].1));
            return Err(refused(fact, "give links, meshes or bridges between the hosts"));
        }
        for &class in &distinct(&classes) {
            PLogP::of(platform.name(), platform.class(class))?;
        }
        let seconds = |class: LinkClassId| {
            let class = platform.class(class);
            class.latency_s + class.time.seconds(COMPARED_BYTES)
        };
        let first = platform.class(classes[0]);
        let alike = distinct(&classes).iter().all(|&class| platform.class(class) == first);
        let sees_all = hosts.len() <= MOST_IN_PAIRS || is_one_mesh(platform, hosts.len());
        let plain_nodes = hosts.iter().all(|&host| {
            let node = platform.node(host);
            node.out_bytes_per_s.is_none()
                && node.in_bytes_per_s.is_none()
                && node.local_broadcast_s.is_none()
        });
        let is_uniform = alike && all_linked && sees_all && plain_nodes && first.uses.is_empty();
        classes.sort_by(|&a, &b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(&b)));
        let link = platform.class(classes[(classes.len() - 1) / 2]).clone();
        let mut network = PLogP::of(platform.name(), &link)?;
        // A segment also passes fast links, for which the median link's size is too small.
        let handled = distinct(&classes)
            .into_iter()
            .map(|class| handled_bytes(&platform.class(class).time, platform.handling_s()));
        network.handled_bytes = handled.fold(1, u64::max);
        Ok(UniformCluster { platform, root, is_uniform, link, network })
    }

    /// The models' parameters: those of the only link, or of the median pair's.
    pub fn network(&self) -> &PLogP {
        &self.network
    }

    /// The platform that the cluster was made from.
    pub fn platform(&self) -> &'a Platform {
        self.platform
    }

    /// Whether all pairs of hosts have the same link.
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// Whether the corrected models equal the event simulation: one port per node, one kind of link, gaps that do not
    /// fall with the size.
    pub fn models_are_exact(&self) -> bool {
        self.is_uniform && self.platform.port_model() == PortModel::OnePort && self.network.is_rising()
    }

    /// The largest number of nodes; `None`: any number.
    pub fn most_nodes(&self) -> Option<u64> {
        (!self.is_uniform).then(|| self.platform.hosts().count() as u64)
    }

    /// A platform of `nodes` nodes, and its root.
    ///
    /// # Errors
    /// Fewer than two nodes, or more than the platform has where its links differ.
    pub fn of_nodes(&self, nodes: u64) -> Result<(Platform, NodeId), TuneError> {
        let hosts = self.platform.hosts().count() as u64;
        if let Some(most) = self.most_nodes().filter(|&most| nodes > most) {
            return Err(TuneError::BadRequest(format!(
                "{nodes} nodes of platform {}, which has {most} hosts with links of several kinds; ask for at most {most}",
                self.platform.name()
            )));
        }
        if nodes < 2 {
            return Err(TuneError::BadRequest(format!(
                "{nodes} nodes need no collectives; ask for at least 2"
            )));
        }
        if nodes == hosts {
            return Ok((self.platform.clone(), self.root));
        }
        let built = if self.is_uniform { self.uniform(nodes) } else { self.part(nodes as usize) };
        built.map_err(|fault| PlanError::from(fault).into())
    }

    fn uniform(&self, nodes: u64) -> Result<(Platform, NodeId), Fault> {
        let mut builder = PlatformBuilder::new(self.platform.name(), self.platform.port_model());
        builder.handling_s(self.platform.given_handling_s());
        let hosts = (0..nodes).map(|at| builder.add_host(format!("n{at}"))).collect::<Result<Vec<_>, _>>()?;
        let class = builder.add_class(self.link.clone());
        let root = hosts[0];
        builder.add_mesh(Mesh { nodes: hosts, class })?;
        Ok((builder.build()?, root))
    }

    /// The root, the hosts after it, wrapping, and all switches, with the links between them.
    fn part(&self, nodes: usize) -> Result<(Platform, NodeId), Fault> {
        let platform = self.platform;
        let mut hosts: Vec<NodeId> = platform.hosts().collect();
        let at = hosts.partition_point(|&host| host < self.root);
        hosts.rotate_left(at);
        hosts.truncate(nodes);
        let mut builder = PlatformBuilder::new(platform.name(), platform.port_model());
        builder.local_start(platform.local_start()).handling_s(platform.given_handling_s());
        let mut moved = vec![None; platform.node_count()];
        for node in platform.nodes() {
            let properties = platform.node(node);
            if properties.is_host() && !hosts.contains(&node) {
                continue;
            }
            let cluster =
                properties.cluster.map(|cluster| builder.cluster(&platform.clusters()[cluster.index()].name));
            let kept = crate::platform::Node { cluster, ..properties.clone() };
            moved[node.index()] = Some(builder.add_node(kept)?);
        }
        for shared in platform.shared() {
            builder.add_shared(shared.id.clone(), shared.bandwidth_bytes_per_s)?;
        }
        for class in platform.classes() {
            builder.add_class(class.clone());
        }
        for link in platform.explicit_links() {
            if let (Some(from), Some(to)) = (moved[link.from.index()], moved[link.to.index()]) {
                builder.add_link(ExplicitLink { from, to, ..*link })?;
            }
        }
        for mesh in platform.meshes() {
            let nodes: Vec<NodeId> = mesh.nodes.iter().filter_map(|node| moved[node.index()]).collect();
            builder.add_mesh(Mesh { nodes, class: mesh.class })?;
        }
        for bridge in platform.bridges() {
            let name = |cluster: crate::platform::ClusterId| &platform.clusters()[cluster.index()].name;
            let ends = (builder.find_cluster(name(bridge.from)), builder.find_cluster(name(bridge.to)));
            if let (Ok(from), Ok(to)) = ends {
                builder.add_bridge(Bridge { from, to, ..*bridge })?;
            }
        }
        let root = moved[self.root.index()].expect("the root is the first of the hosts kept");
        Ok((builder.build()?, root))
    }
}

/// The ordered pairs whose links are read: all, or on a large platform those of the root and of neighbours.
fn pairs(hosts: &[NodeId], root: NodeId) -> Vec<(NodeId, NodeId)> {
    if hosts.len() <= MOST_IN_PAIRS {
        let all = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
        return all.filter(|(from, to)| from != to).collect();
    }
    let from_root = hosts.iter().map(|&to| (root, to)).filter(|(from, to)| from != to);
    from_root.chain(hosts.windows(2).map(|pair| (pair[0], pair[1]))).collect()
}

fn distinct(classes: &[LinkClassId]) -> Vec<LinkClassId> {
    let mut distinct = classes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

fn is_one_mesh(platform: &Platform, hosts: usize) -> bool {
    platform.explicit_links().is_empty()
        && platform.bridges().is_empty()
        && matches!(platform.meshes(), [mesh] if mesh.nodes.len() == hosts)
}
