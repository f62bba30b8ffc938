//! A copy of a platform with some links slower, faster or longer, such as a network under other load.

use super::*;

/// Nodes whose links to others are assumed equal: a cluster, or a node without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkEnd {
    /// All nodes of a cluster.
    Cluster(ClusterId),
    /// A node without a cluster.
    Node(NodeId),
}

/// The change of all links from the nodes of one group to those of another (or the same). Of a link inside a cluster, with
/// its two nodes as ends: the change of that link, instead of that of its cluster's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkChange {
    /// The senders' group, or the sender.
    pub from: LinkEnd,
    /// The receivers' group, or the receiver.
    pub to: LinkEnd,
    /// Factor of their rate; > 0, below 1 is slower.
    pub factor: f64,
    /// Added to their latency, seconds; the sum is at least 0.
    pub added_latency_s: f64,
    /// The added pipe that they also use, by index.
    pub pipe: Option<usize>,
}

impl LinkClass {
    /// The class with its time per byte divided by `factor`; latency, start-up and overheads stay.
    pub fn at_rate(&self, factor: f64) -> LinkClass {
        // The time of the smallest message is start-up, which a load on the link does not multiply.
        let scaled = |table: &GapTable| {
            let least = TransferTime::Gap(table.clone()).fixed_s();
            let stretched = |&(bytes, seconds): &(u64, f64)| (bytes, least + (seconds - least) / factor);
            GapTable::new(table.rows().iter().map(stretched).collect())
        };
        let time = match &self.time {
            TransferTime::Affine { startup_s, bandwidth_bytes_per_s } => TransferTime::Affine {
                startup_s: *startup_s,
                bandwidth_bytes_per_s: bandwidth_bytes_per_s.map(|bandwidth| bandwidth * factor),
            },
            TransferTime::Gap(table) => TransferTime::Gap(scaled(table)),
        };
        LinkClass { time, bulk: self.bulk.as_ref().map(scaled), ..self.clone() }
    }
}

/// Link classes with changes; equal changes of one class make one class.
struct ChangedClasses<'a> {
    classes: &'a mut Vec<LinkClass>,
    /// The shared resource of pipe 0.
    first_pipe: usize,
    made: HashMap<(LinkClassId, [u64; 2], Option<usize>), LinkClassId>,
}

impl ChangedClasses<'_> {
    fn of(&mut self, class: LinkClassId, change: Option<&LinkChange>) -> LinkClassId {
        let Some(change) = change else { return class };
        let numbers = [change.factor, change.added_latency_s].map(f64::to_bits);
        *self.made.entry((class, numbers, change.pipe)).or_insert_with(|| {
            let mut changed = self.classes[class.index()].at_rate(change.factor);
            changed.latency_s = (changed.latency_s + change.added_latency_s).max(0.0);
            changed.uses.extend(change.pipe.map(|pipe| SharedId((self.first_pipe + pipe) as u32)));
            self.classes.push(changed);
            LinkClassId(self.classes.len() as u32 - 1)
        })
    }
}

impl Platform {
    /// The same network with those clusters, c0, c1 ... in their order, where it has none.
    pub(crate) fn with_clusters(&self, members: Vec<Vec<NodeId>>) -> Platform {
        let mut nodes = self.nodes.clone();
        for (at, members) in members.iter().enumerate() {
            members.iter().for_each(|node| nodes[node.index()].cluster = Some(ClusterId(at as u32)));
        }
        let named = |(at, members)| Cluster { name: format!("c{at}"), members };
        let clusters = members.into_iter().enumerate().map(named).collect();
        Platform { nodes, clusters, ..self.clone() }.indexed()
    }

    /// The group a node belongs to.
    pub fn group(&self, node: NodeId) -> LinkEnd {
        self.node(node).cluster.map_or(LinkEnd::Node(node), LinkEnd::Cluster)
    }

    /// The nodes of a group, by id.
    pub fn members(&self, group: LinkEnd) -> Vec<NodeId> {
        match group {
            LinkEnd::Cluster(cluster) => self.clusters[cluster.index()].members.clone(),
            LinkEnd::Node(node) => vec![node],
        }
    }

    /// A group's name, for people: the cluster's, or the node's id.
    pub fn group_name(&self, group: LinkEnd) -> &str {
        match group {
            LinkEnd::Cluster(cluster) => &self.clusters[cluster.index()].name,
            LinkEnd::Node(node) => &self.node(node).id,
        }
    }

    /// The same nodes with other rates and latencies; `pipes` are further shared resources (name, bytes/s) for changed links.
    ///
    /// A later change of the same pair of groups replaces an earlier one. The result has a digest of its own.
    pub fn changed(&self, changes: &[LinkChange], pipes: &[(String, f64)]) -> Platform {
        let by_groups: HashMap<(LinkEnd, LinkEnd), &LinkChange> =
            changes.iter().map(|change| ((change.from, change.to), change)).collect();
        let mut platform = self.clone();
        let first_pipe = platform.shared.len();
        for (id, rate) in pipes {
            platform.shared.push(Shared { id: id.clone(), bandwidth_bytes_per_s: *rate, spread: None });
        }
        let mut classes = ChangedClasses { classes: &mut platform.classes, first_pipe, made: HashMap::new() };
        let change_of = |from: LinkEnd, to: LinkEnd| by_groups.get(&(from, to)).copied();
        // A link's own change, else that of its groups.
        let key_of = |from: NodeId, to: NodeId| {
            let keys = [(LinkEnd::Node(from), LinkEnd::Node(to)), (self.group(from), self.group(to))];
            keys.into_iter().find(|key| by_groups.contains_key(key))
        };
        let mut links = Vec::new();
        for &link in &self.links {
            let way = |from: NodeId, to: NodeId| (from, to, key_of(from, to).map(|key| by_groups[&key]));
            let ways = [way(link.from, link.to), way(link.to, link.from)];
            if ways.iter().all(|(.., change)| change.is_none()) {
                links.push(link);
                continue;
            }
            for (from, to, change) in ways.into_iter().take(1 + usize::from(link.both_ways)) {
                let class = classes.of(link.class, change);
                links.push(ExplicitLink { from, to, both_ways: false, class });
            }
        }
        let mut bridges = Vec::new();
        for &bridge in &self.bridges {
            let way = |from, to| (from, to, change_of(LinkEnd::Cluster(from), LinkEnd::Cluster(to)));
            let ways = [way(bridge.from, bridge.to), way(bridge.to, bridge.from)];
            if ways.iter().all(|(.., change)| change.is_none()) {
                bridges.push(bridge);
                continue;
            }
            let directions = 1 + usize::from(bridge.both_ways && bridge.from != bridge.to);
            for (from, to, change) in ways.into_iter().take(directions) {
                let class = classes.of(bridge.class, change);
                bridges.push(Bridge { from, to, both_ways: false, class });
            }
        }
        // A mesh within one group changes as a whole, any other pair by pair.
        for mesh in platform.meshes.iter_mut().filter(|mesh| !mesh.nodes.is_empty()) {
            let change = self.only_group(mesh).and_then(|group| change_of(group, group));
            mesh.class = classes.of(mesh.class, change);
        }
        for (&(from, to), &change) in &by_groups {
            for u in self.members(from) {
                for v in self.members(to).into_iter().filter(|&v| v != u) {
                    let is_last = key_of(u, v) == Some((from, to));
                    if let Some(class) = self.link(u, v).filter(|_| is_last && self.leaves(u, v, (from, to)))
                    {
                        let class = classes.of(class, Some(change));
                        links.push(ExplicitLink { from: u, to: v, both_ways: false, class });
                    }
                }
            }
        }
        links.sort_by_key(|link| (link.from, link.to));
        platform.links = links;
        platform.bridges = bridges;
        platform.indexed()
    }

    /// Whether a change with these ends takes a link out of a mesh or bridge that does not change as a whole.
    fn leaves(&self, from: NodeId, to: NodeId, ends: (LinkEnd, LinkEnd)) -> bool {
        let is_explicit = self.out_links[from.index()].binary_search_by_key(&to, |&(node, _)| node).is_ok();
        let is_own = ends != (self.group(from), self.group(to));
        let is_mixed =
            self.mesh_of(from, to).is_some_and(|mesh| self.only_group(&self.meshes[mesh]).is_none());
        !is_explicit && (is_own || is_mixed)
    }

    /// The common group of a mesh's nodes, if there is one.
    fn only_group(&self, mesh: &Mesh) -> Option<LinkEnd> {
        let group = self.group(mesh.nodes[0]);
        mesh.nodes.iter().all(|&node| self.group(node) == group).then_some(group)
    }

    /// The mesh that a pair's link comes from, if any.
    fn mesh_of(&self, from: NodeId, to: NodeId) -> Option<usize> {
        if self.out_links[from.index()].binary_search_by_key(&to, |&(node, _)| node).is_ok() {
            return None;
        }
        if self.bridge(from, to).is_some() {
            return None;
        }
        let theirs = &self.meshes_of[to.index()];
        self.meshes_of[from.index()]
            .iter()
            .rev()
            .find(|mesh| theirs.contains(mesh))
            .map(|&mesh| mesh as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Two clusters with meshes and a bridge, a node without one that a mesh across all joins, explicit links.
    fn platform() -> Platform {
        let mut builder = PlatformBuilder::new("changing", PortModel::OnePort);
        let clusters = ["A", "B"].map(|name| builder.cluster(name));
        let mut nodes = Vec::new();
        for (at, cluster) in [Some(0), Some(0), Some(0), Some(1), Some(1), None].into_iter().enumerate() {
            let cluster = cluster.map(|cluster: usize| clusters[cluster]);
            nodes.push(builder.add_node(Node { id: format!("n{at}"), cluster, ..Node::default() }).unwrap());
        }
        let classes: Vec<LinkClassId> =
            (0..5).map(|at| builder.add_class(LinkClass::affine(1e-3, 100.0 * f64::from(at + 1)))).collect();
        builder.add_mesh(Mesh { nodes: nodes.clone(), class: classes[0] }).unwrap();
        builder.add_mesh(Mesh { nodes: nodes[..3].to_vec(), class: classes[1] }).unwrap();
        builder
            .add_bridge(Bridge { from: clusters[0], to: clusters[1], both_ways: true, class: classes[2] })
            .unwrap();
        let link = |from: usize, to: usize, both_ways, class| ExplicitLink {
            from: nodes[from],
            to: nodes[to],
            both_ways,
            class,
        };
        builder.add_link(link(0, 3, true, classes[3])).unwrap();
        builder.add_link(link(0, 1, false, classes[4])).unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn every_pair_changes_as_its_groups_do_and_no_other() {
        let platform = platform();
        let groups: Vec<LinkEnd> = platform.nodes().map(|node| platform.group(node)).collect();
        // Inside clusters, of a mesh, and of a link given by itself.
        let single =
            [(0, 2), (2, 1), (3, 4), (0, 1)].map(|(from, to)| [from, to].map(|at| LinkEnd::Node(NodeId(at))));
        let mut random = Random::new(5);
        for _ in 0..50 {
            let mut changes: Vec<LinkChange> = Vec::new();
            for _ in 0..random.below(4) {
                let of_groups = [0; 2].map(|_: i32| groups[random.below(groups.len())]);
                let [from, to] =
                    if random.chance(0.3) { single[random.below(single.len())] } else { of_groups };
                changes.retain(|change| (change.from, change.to) != (from, to));
                let pipe = random.chance(0.5).then_some(0);
                let (factor, added_latency_s) = (random.between(0.1, 2.0), random.between(-2e-3, 2e-3));
                changes.push(LinkChange { from, to, factor, added_latency_s, pipe });
            }
            let changed = platform.changed(&changes, &[("loaded".to_string(), 7.0)]);
            for from in platform.nodes() {
                for to in platform.nodes().filter(|&to| to != from) {
                    let was = platform.link(from, to).unwrap();
                    let is = changed.link(from, to).unwrap();
                    let pair = (platform.group(from), platform.group(to));
                    let own = (LinkEnd::Node(from), LinkEnd::Node(to));
                    let change_of = |ends| changes.iter().find(|change| (change.from, change.to) == ends);
                    let change = change_of(own).or_else(|| change_of(pair));
                    let factor = change.map_or(1.0, |change| change.factor);
                    let (was_s, is_s) = (platform.transfer_s(was, 1000), changed.transfer_s(is, 1000));
                    assert!(
                        (is_s * factor / was_s - 1.0).abs() < 1e-12,
                        "{from} to {to}: {was_s} then {is_s}"
                    );
                    let added_s = change.map_or(0.0, |change| change.added_latency_s);
                    let latency_s = (platform.class(was).latency_s + added_s).max(0.0);
                    assert_eq!(changed.class(is).latency_s, latency_s, "{from} to {to}");
                    let pipes: Vec<SharedId> =
                        change.and_then(|change| change.pipe).map(|_| SharedId(0)).into_iter().collect();
                    assert_eq!(changed.class(is).uses, pipes, "{from} to {to}");
                }
            }
            // Its document describes the same platform.
            let read = Platform::from_json(&changed.to_json().to_string()).unwrap();
            assert_eq!(read.digest(), changed.digest());
        }
    }

    #[test]
    fn a_measured_gap_keeps_its_start_up() {
        let gap = GapTable::new(vec![(1, 0.5), (100, 1.5)]);
        let class = LinkClass { time: TransferTime::Gap(gap), ..LinkClass::default() };
        let TransferTime::Gap(slower) = class.at_rate(0.25).time else { panic!("a table stays one") };
        assert_eq!(slower.rows(), [(1, 0.5), (100, 4.5)]);
    }
}
