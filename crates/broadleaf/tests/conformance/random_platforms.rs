//! Random platforms in which the first host reaches all others.

use broadleaf::platform::{
    Affine, Bridge, ClusterId, ExplicitLink, GapTable, LinkClass, LocalStart, Mesh, Node, NodeId, NodeKind,
    Platform, PlatformBuilder, PortModel, SharedId, TransferTime,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The shared pipes of every drawn platform, bytes/s.
const PIPES: [f64; 2] = [3e3, 2e4];
const CLUSTERS: [&str; 3] = ["A", "B", "C"];

#[derive(Clone, Debug)]
pub struct DrawnPlatform {
    model: PortModel,
    on_arrival: bool,
    nodes: Vec<DrawnNode>,
    /// For each node but the first: the earlier node (taken modulo) it hangs on.
    parents: Vec<(usize, DrawnClass)>,
    links: Vec<(usize, usize, DrawnClass)>,
    meshes: Vec<(Vec<bool>, DrawnClass)>,
    bridges: Vec<(usize, usize, bool, DrawnClass)>,
    root: usize,
}

#[derive(Clone, Debug)]
struct DrawnNode {
    is_switch: bool,
    cluster: Option<usize>,
    out_bytes_per_s: Option<f64>,
    in_bytes_per_s: Option<f64>,
    local_broadcast_s: Option<f64>,
}

#[derive(Clone, Debug)]
struct DrawnClass {
    latency_s: f64,
    startup_s: f64,
    bandwidth_bytes_per_s: Option<f64>,
    gap: Option<Vec<(u64, f64)>>,
    parts: Option<(f64, f64)>,
    uses: Vec<bool>,
}

pub fn drawn_platforms() -> impl Strategy<Value = DrawnPlatform> {
    let model = proptest::sample::select(PortModel::ALL.to_vec());
    (model, any::<bool>(), vec(node(), 1..9)).prop_flat_map(|(model, on_arrival, nodes)| {
        let count = nodes.len();
        let parents = vec((0..count, class()), count - 1);
        let links = vec((0..count, 0..count, class()), 0..6);
        let meshes = vec((vec(any::<bool>(), count), class()), 0..3);
        let bridges = vec((0..CLUSTERS.len(), 0..CLUSTERS.len(), any::<bool>(), class()), 0..3);
        (Just(model), Just(on_arrival), Just(nodes), parents, links, meshes, bridges, 0..count).prop_map(
            |(model, on_arrival, nodes, parents, links, meshes, bridges, root)| DrawnPlatform {
                model,
                on_arrival,
                nodes,
                parents,
                links,
                meshes,
                bridges,
                root,
            },
        )
    })
}

/// Mostly absent.
fn rarely<T: std::fmt::Debug + Clone>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    proptest::option::weighted(0.2, of)
}

fn node() -> impl Strategy<Value = DrawnNode> {
    let rate = || rarely(1e3..1e5);
    (proptest::bool::weighted(0.15), rarely(0..CLUSTERS.len() * 2), rate(), rate(), rarely(0.0..0.5))
        .prop_map(|(is_switch, cluster, out_bytes_per_s, in_bytes_per_s, local_broadcast_s)| DrawnNode {
            is_switch,
            cluster: cluster.map(|cluster| cluster % CLUSTERS.len()),
            out_bytes_per_s,
            in_bytes_per_s,
            local_broadcast_s,
        })
}

fn class() -> impl Strategy<Value = DrawnClass> {
    let gap = vec((1u64..800, 0.0..0.2), 1..5).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.0);
        rows.dedup_by_key(|row| row.0);
        rows
    });
    let parts = (0.0..2.0, 0.0..2.0);
    let latency_s = prop_oneof![Just(0.0), 0.0..0.1];
    let startup_s = prop_oneof![Just(0.0), 0.0..0.01];
    let bandwidth = proptest::option::weighted(0.9, 1e3..1e5);
    (
        latency_s,
        startup_s,
        bandwidth,
        rarely(gap),
        rarely(parts),
        vec(proptest::bool::weighted(0.15), PIPES.len()),
    )
        .prop_map(|(latency_s, startup_s, bandwidth_bytes_per_s, gap, parts, uses)| DrawnClass {
            latency_s,
            startup_s,
            bandwidth_bytes_per_s,
            gap,
            parts,
            uses,
        })
}

impl DrawnClass {
    fn build(&self, pipes: &[SharedId]) -> LinkClass {
        let time = match &self.gap {
            Some(rows) => TransferTime::Gap(GapTable::new(rows.clone())),
            None => TransferTime::Affine {
                startup_s: self.startup_s,
                bandwidth_bytes_per_s: self.bandwidth_bytes_per_s,
            },
        };
        // Parts of T, but also parts longer than T, which make receive windows begin before the start.
        let part = |factor: f64| Affine {
            startup_s: factor * self.startup_s,
            s_per_byte: factor * self.bandwidth_bytes_per_s.map_or(1e-5, |rate| 1.0 / rate),
        };
        LinkClass {
            latency_s: self.latency_s,
            time,
            send: self.parts.map(|(send, _)| part(send)),
            recv: self.parts.map(|(_, recv)| part(recv)),
            uses: pipes.iter().zip(&self.uses).filter(|(_, uses)| **uses).map(|(&pipe, _)| pipe).collect(),
            ..LinkClass::default()
        }
    }
}

impl DrawnPlatform {
    pub fn build(&self) -> Platform {
        let mut builder = PlatformBuilder::new("drawn", self.model);
        if self.on_arrival {
            builder.local_start(LocalStart::OnArrival);
        }
        let clusters: Vec<ClusterId> = CLUSTERS.iter().map(|name| builder.cluster(name)).collect();
        let ids: Vec<NodeId> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| {
                // The first node is a host, so that there is one.
                let is_switch = node.is_switch && index > 0;
                let kind = if is_switch { NodeKind::Switch } else { NodeKind::Host };
                let host_only = |value: Option<f64>| value.filter(|_| !is_switch);
                let node = Node {
                    id: format!("n{index}"),
                    kind,
                    cluster: node.cluster.map(|cluster| clusters[cluster]),
                    out_bytes_per_s: host_only(node.out_bytes_per_s),
                    in_bytes_per_s: host_only(node.in_bytes_per_s),
                    local_broadcast_s: host_only(node.local_broadcast_s),
                    ..Node::default()
                };
                builder.add_node(node).unwrap()
            })
            .collect();
        let pipes: Vec<SharedId> = PIPES
            .iter()
            .enumerate()
            .map(|(index, &rate)| builder.add_shared(format!("pipe{index}"), rate).unwrap())
            .collect();
        for (child, (parent, class)) in self.parents.iter().enumerate() {
            let class = builder.add_class(class.build(&pipes));
            let (from, to) = (ids[parent % (child + 1)], ids[child + 1]);
            builder.add_link(ExplicitLink { from, to, both_ways: true, class }).unwrap();
        }
        // What the builder refuses (a link to itself, a second link or bridge) was drawn in vain.
        for (from, to, class) in &self.links {
            let class = builder.add_class(class.build(&pipes));
            let _ =
                builder.add_link(ExplicitLink { from: ids[*from], to: ids[*to], both_ways: false, class });
        }
        for (members, class) in &self.meshes {
            let nodes =
                ids.iter().zip(members).filter(|(_, member)| **member).map(|(&node, _)| node).collect();
            let class = builder.add_class(class.build(&pipes));
            let _ = builder.add_mesh(Mesh { nodes, class });
        }
        for &(from, to, both_ways, ref class) in &self.bridges {
            let class = builder.add_class(class.build(&pipes));
            let (from, to) = (clusters[from], clusters[to]);
            let _ = builder.add_bridge(Bridge { from, to, both_ways, class });
        }
        builder.build().unwrap()
    }

    /// A host, any.
    pub fn root(&self, platform: &Platform) -> NodeId {
        let hosts: Vec<NodeId> = platform.hosts().collect();
        hosts[self.root % hosts.len()]
    }
}
