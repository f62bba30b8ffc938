//! Clusters of equal hosts as one vertex each, with the times of one segment.

use crate::optimum::Digraph;
use crate::planners::clustered::groups::{by_cluster, with_root_first};
use crate::planners::clustered::kinds::Marks;
use crate::planners::{Instance, Unsupported};
use crate::platform::{LinkClassId, NodeId, Platform};
use std::collections::BTreeMap;

/// The times of one segment over one link, seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hop {
    pub latency_s: f64,
    pub busy_s: f64,
}

impl Hop {
    fn of(platform: &Platform, class: LinkClassId, bytes: u64) -> Hop {
        Hop { latency_s: platform.class(class).latency_s, busy_s: platform.transfer_s(class, bytes) }
    }

    pub fn whole_s(self) -> f64 {
        self.latency_s + self.busy_s
    }
}

/// The network of clusters. The root's cluster is vertex 0, and the root its first host.
pub(super) struct ClassNetwork {
    pub groups: Vec<Vec<NodeId>>,
    /// Between two hosts of the cluster; zero where it has one host.
    pub inner: Vec<Hop>,
    /// Edges between clusters, by (to, from).
    pub graph: Digraph,
    pub between: Vec<Hop>,
    /// By edge, the shared resources that a segment holds, by their place among all used ones, and for how long, seconds.
    pub pipes: Vec<Vec<(usize, f64)>>,
    pub pipe_count: usize,
}

impl ClassNetwork {
    pub fn new(instance: &Instance) -> ClassNetwork {
        let Instance { platform, root, segment_bytes, .. } = *instance;
        let groups = with_root_first(by_cluster(platform, instance.hosts_from_root()), root);
        let inner = groups.iter().map(|group| match group[..] {
            [first, second, ..] => {
                let class = platform.link(first, second).expect("`supports` has checked the mesh");
                Hop::of(platform, class, segment_bytes)
            }
            _ => Hop::default(),
        });
        let mut network = ClassNetwork {
            inner: inner.collect(),
            graph: Digraph { vertices: groups.len(), ..Digraph::default() },
            groups,
            between: Vec::new(),
            pipes: Vec::new(),
            pipe_count: 0,
        };
        let mut place_of = BTreeMap::new();
        for to in 1..network.groups.len() {
            for from in (0..network.groups.len()).filter(|&from| from != to) {
                if let Some(class) = platform.link(network.groups[from][0], network.groups[to][0]) {
                    let pipes = platform.class(class).shared_uses().into_iter().map(|(shared, times)| {
                        let next = place_of.len();
                        let bytes = f64::from(times) * segment_bytes as f64;
                        let held_s = bytes / platform.shared()[shared.index()].bandwidth_bytes_per_s;
                        (*place_of.entry(shared).or_insert(next), held_s)
                    });
                    network.pipes.push(pipes.collect());
                    network.between.push(Hop::of(platform, class, segment_bytes));
                    network.graph.from.push(from as u32);
                    network.graph.to.push(to as u32);
                }
            }
        }
        network.pipe_count = place_of.len();
        network
    }

    /// By cluster, the edges to others.
    pub fn out_edges(&self) -> Vec<Vec<u32>> {
        let mut out_edges = vec![Vec::new(); self.groups.len()];
        self.graph.from.iter().zip(0..).for_each(|(&from, edge)| out_edges[from as usize].push(edge));
        out_edges
    }

    /// The hosts of a cluster that take turns; the root, which has the message, is not one of several.
    pub fn in_turn(&self, group: usize) -> usize {
        let hosts = self.groups[group].len();
        if group == 0 && hosts > 1 {
            hosts - 1
        } else {
            hosts
        }
    }
}

/// Whether the hosts of each cluster are equal, so that a cluster can stand for them.
pub(super) fn are_classes(platform: &Platform) -> Result<(), Unsupported> {
    if let Some(link) = platform.explicit_links().first() {
        let id = &platform.node(link.from).id;
        return Err(Unsupported(format!("\"{id}\" has a link of its own; it joins meshes and bridges only")));
    }
    let groups = by_cluster(platform, platform.hosts().collect());
    if groups.len() < 2 || groups.iter().all(|group| group.len() < 2) {
        return Err(Unsupported("it needs two clusters, one of them of several hosts".to_string()));
    }
    let marks = Marks::new(platform);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let meshes = |host: NodeId| marks.meshes(host);
        if let Some(&host) =
            group.iter().find(|&&host| meshes(host).is_empty() || meshes(host) != meshes(group[0]))
        {
            let id = &platform.node(host).id;
            return Err(Unsupported(format!(
                "\"{id}\" is not in the same meshes as the other hosts of its cluster"
            )));
        }
    }
    Ok(())
}
