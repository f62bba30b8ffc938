//! Two trees over clusters: both pass from cluster to cluster in a chain, and inside a cluster they branch at different hosts.
//!
//! A pipeline through all hosts has the full rate, but its first segment takes as many hops as there are hosts. Here it
//! takes two in each cluster but the last, and to the other hosts a logarithm of them. The first host of a cluster gets the
//! segments of both trees and begins both. The other hosts are inner in one of the trees and send twice there, the first
//! of each tree to the next cluster, too. So every host sends as much as it gets, and two colours suffice for the timetable.
//!
//! The next cluster of the chain is the one that keeps the pace of the pipes and ports quickest, then the nearest.
//!
//! Reference: own; inside clusters Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction
//! and scan*. Cost: m/b, the latencies of the chain, and log2(n) hops a cluster. Complexity: O(n + clusters²).
//! Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{Bridge, LinkClass, Mesh, Node, NodeId, PlatformBuilder, PortModel};
//!
//! // Two clusters of eight, all links alike: 1 s a segment.
//! let mut builder = PlatformBuilder::new("two", PortModel::OnePort);
//! let clusters = ["A", "B"].map(|name| builder.cluster(name));
//! let class = builder.add_class(LinkClass::affine(0.0, 1.0));
//! for cluster in clusters {
//!     let mut nodes = Vec::new();
//!     for at in 0..8 {
//!         let id = format!("{cluster:?}-{at}");
//!         nodes.push(builder.add_node(Node { id, cluster: Some(cluster), ..Node::default() }).unwrap());
//!     }
//!     builder.add_mesh(Mesh { nodes, class }).unwrap();
//! }
//! builder.add_bridge(Bridge { from: clusters[0], to: clusters[1], both_ways: true, class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, NodeId(0), 1000).unwrap().segmented(1);
//! let plan = find("cluster-two-trees").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // The root sends for 1,000 s; the last segment takes seven hops more. In a chain it would be fourteen.
//! assert_eq!(trace.makespan_s, 1007.0);
//! ```

use super::unit::{units_of, Unit};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::pipelines::two_colours::{in_turn, Parents};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};
use crate::platform::{NodeId, SharedId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

pub(crate) struct ClusterTwoTrees;

static CARD: Card = Card {
    name: "cluster-two-trees",
    summary: "two trees from cluster to cluster, in each cluster binary ones whose inner hosts differ",
    reference: "own; inside clusters Sanders, Speck and Träff, Two-tree algorithms",
    objective:
        "full rate and few hops over clusters of hosts whose ports are as fast as the ways between them",
    guarantee: "none",
    complexity: "O(n + clusters²)",
    profile: Profile { pace: |instance| Pace::uncounted(instance, true), ..Profile::QUICK },
};

/// Along a chain of more, the latencies add up to far more than along other trees; chosen.
const MOST_CLUSTERS: usize = 256;

/// The most receivers that a host has, both trees together.
const MOST_SENDS: usize = 2;

impl Planner for ClusterTwoTrees {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let units = units_of(instance);
        if units.iter().all(|unit| unit.members.len() < 3) {
            return Err(Unsupported("no clusters of three hosts or more; use two-tree".to_string()));
        }
        if units.len() > MOST_CLUSTERS {
            let count = units.len();
            return Err(Unsupported(format!(
                "{count} clusters or single hosts are more than {MOST_CLUSTERS} for a chain; use gateway-trees"
            )));
        }
        Ways::new(instance, &units).chain().map(|_| ())
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let units = units_of(instance);
        let mut ways = Ways::new(instance, &units);
        let chain = ways.chain().map_err(|Unsupported(reason)| PlanError::Unsupported {
            planner: CARD.name.to_string(),
            reason,
        })?;
        let layout = Layout::new(&units, &chain);
        in_turn(instance, CARD.name, &layout.hosts, &layout.parents, budget)
    }
}

/// The ways between clusters, and what the chain carries over them.
struct Ways<'a> {
    instance: &'a Instance<'a>,
    units: &'a [Unit],
    /// By pipe, its time for each segment of the message, s.
    pipe_s: BTreeMap<SharedId, f64>,
}

/// A way from one cluster to another, were the chain to take it.
struct Way {
    /// Of each segment: the time of the busiest of its pipes, or of a sender, which has half of the segments to send there and
    /// half inside, s.
    pace_s: f64,
    latency_s: f64,
    /// By pipe, its time for each segment, s.
    pipes: Vec<(SharedId, f64)>,
}

impl<'a> Ways<'a> {
    fn new(instance: &'a Instance, units: &'a [Unit]) -> Ways<'a> {
        Ways { instance, units, pipe_s: BTreeMap::new() }
    }

    /// The root's cluster.
    fn first(&self) -> usize {
        self.units.iter().position(|unit| unit.coordinator == self.instance.root).unwrap_or(0)
    }

    /// All clusters from the root's on.
    fn chain(&mut self) -> Result<Vec<usize>, Unsupported> {
        let mut chain = vec![self.first()];
        let mut left: Vec<usize> = (0..self.units.len()).filter(|unit| *unit != chain[0]).collect();
        while !left.is_empty() {
            let last = chain[chain.len() - 1];
            let nearest = (0..left.len()).filter_map(|at| Some((at, self.way(last, left[at])?))).min_by(
                |(_, a), (_, b)| a.pace_s.total_cmp(&b.pace_s).then(a.latency_s.total_cmp(&b.latency_s)),
            );
            let Some((at, way)) = nearest else {
                let id = &self.instance.platform.node(self.units[last].coordinator).id;
                return Err(Unsupported(format!("no direct way from \"{id}\" to any cluster that is left")));
            };
            self.pipe_s.extend(way.pipes);
            chain.push(left.remove(at));
        }
        Ok(chain)
    }

    /// From a cluster to another.
    fn way(&self, from: usize, to: usize) -> Option<Way> {
        let Instance { platform, segment_bytes, .. } = *self.instance;
        let ends = [from, to].map(|unit| self.units[unit].coordinator);
        let class = platform.link(ends[0], ends[1])?;
        let pipes: Vec<(SharedId, f64)> = platform
            .class(class)
            .shared_uses()
            .into_iter()
            .map(|(pipe, times)| {
                let rate = platform.shared()[pipe.index()].bandwidth_bytes_per_s;
                let busy_s = f64::from(times) * segment_bytes as f64 / rate;
                (pipe, self.pipe_s.get(&pipe).unwrap_or(&0.0) + busy_s)
            })
            .collect();
        let inside_s = match self.units[from].members[..] {
            [one, other, ..] => {
                platform.link(one, other).map_or(0.0, |class| platform.transfer_s(class, segment_bytes))
            }
            _ => 0.0,
        };
        let sender_s = (platform.transfer_s(class, segment_bytes) + inside_s) / 2.0;
        let pace_s = pipes.iter().map(|&(_, busy_s)| busy_s).fold(sender_s, f64::max);
        Some(Way { pace_s, latency_s: platform.class(class).latency_s, pipes })
    }
}

/// The trees, over the hosts in the order of the chain.
struct Layout {
    /// The root first.
    hosts: Vec<NodeId>,
    parents: [Parents; 2],
}

impl Layout {
    fn new(units: &[Unit], chain: &[usize]) -> Layout {
        let mut hosts: Vec<NodeId> = Vec::new();
        let mut clusters: Vec<Cluster> = Vec::new();
        for (at, &unit) in chain.iter().enumerate() {
            let Unit { coordinator, members } = &units[unit];
            let begin = hosts.len();
            hosts.push(*coordinator);
            hosts.extend(members.iter().filter(|host| *host != coordinator));
            let next = (at + 1 < chain.len()).then_some(hosts.len());
            clusters.push(Cluster { places: begin..hosts.len(), next });
        }
        let mut parents = [(); 2].map(|()| vec![0; hosts.len()]);
        for cluster in &clusters {
            let sends = cluster.sends();
            for (tree, parents) in parents.iter_mut().enumerate() {
                cluster.grow(&sends.iter().map(|sends| sends[tree]).collect::<Vec<_>>(), parents);
            }
        }
        Layout { hosts, parents }
    }
}

/// A cluster by the places of its hosts; the first of them gets both trees.
struct Cluster {
    places: Range<usize>,
    /// The first host of the next one.
    next: Option<usize>,
}

impl Cluster {
    /// By host, its sends in each tree. In the first tree every second host sends on, in the second tree the others, and
    /// the last ones in both where the numbers are odd.
    fn sends(&self) -> Vec<[usize; 2]> {
        let count = self.places.len();
        let receivers = count - 1 + usize::from(self.next.is_some());
        // The first host begins both trees.
        let mut sends = vec![[0; 2]; count];
        sends[0] = [receivers.min(1); 2];
        for tree in 0..2 {
            let own = (1 + tree..count).step_by(2);
            let others = (2 - tree..count).step_by(2).rev();
            let mut needed = receivers - sends[0][tree];
            for host in own.chain(others) {
                let more = needed.min(MOST_SENDS - sends[host][0] - sends[host][1]);
                sends[host][tree] += more;
                needed -= more;
            }
        }
        sends
    }

    /// A tree in this cluster and on to the next, by its hosts' sends. Receivers in order: an inner host, the next cluster, the
    /// other inner hosts, the leaves; each gets it from the sender that can be earliest, a step for each send.
    fn grow(&self, sends: &[usize], parents: &mut Parents) {
        let mut receivers: Vec<(usize, usize)> =
            self.places.clone().zip(sends.iter().copied()).skip(1).collect();
        receivers.sort_by_key(|&(_, sends)| Reverse(sends));
        if let Some(next) = self.next {
            receivers.insert(receivers.len().min(1), (next, 0));
        }
        // By the step of the next send, the senders and what they have left.
        let mut senders = BinaryHeap::from([Reverse((1, self.places.start, sends[0]))]);
        for (place, sends) in receivers {
            let Reverse((step, sender, left)) = senders.pop().expect("inner hosts come first");
            parents[place] = sender;
            senders.extend((left > 1).then(|| Reverse((step + 1, sender, left - 1))));
            senders.extend((sends > 0).then_some(Reverse((step + 1, place, sends))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check;
    use crate::planners::supports;
    use crate::platform::{Bridge, LinkClass, Mesh, Node, Platform, PlatformBuilder, PortModel};
    use crate::random::Random;
    use crate::simulate::simulate;

    /// Clusters of these numbers of hosts; their links all take 1 s a segment, and `far_s` more to arrive between clusters.
    fn clusters(sizes: &[usize], far_s: f64) -> Platform {
        let mut builder = PlatformBuilder::new("clusters", PortModel::OnePort);
        let near = builder.add_class(LinkClass::affine(0.0, 1.0));
        let far = builder.add_class(LinkClass { latency_s: far_s, ..LinkClass::affine(0.0, 1.0) });
        let ids: Vec<_> = (0..sizes.len()).map(|at| builder.cluster(&format!("C{at}"))).collect();
        for (at, &size) in sizes.iter().enumerate() {
            let nodes = (0..size).map(|host| {
                let id = format!("c{at}-{host}");
                builder.add_node(Node { id, cluster: Some(ids[at]), ..Node::default() }).unwrap()
            });
            let nodes: Vec<NodeId> = nodes.collect();
            builder.add_mesh(Mesh { nodes, class: near }).unwrap();
            for &other in &ids[..at] {
                builder.add_bridge(Bridge { from: other, to: ids[at], both_ways: true, class: far }).unwrap();
            }
        }
        builder.build().unwrap()
    }

    /// All of the message through a port, and of each cluster the way in and twice the levels of its trees, at three steps
    /// a hop.
    #[test]
    fn full_rate_and_few_hops_whatever_the_clusters() {
        let mut random = Random::new(1);
        for _ in 0..60 {
            let sizes: Vec<usize> = (0..2 + random.below(4)).map(|_| 1 + random.below(20)).collect();
            let far_s = random.below(40) as f64;
            let platform = clusters(&sizes, far_s);
            let root = NodeId(random.below(platform.node_count()) as u32);
            let instance = Instance::new(&platform, root, 500).unwrap().segmented(1);
            if supports(&ClusterTwoTrees, &instance).is_err() {
                assert!(sizes.iter().all(|&size| size < 3), "{sizes:?}");
                continue;
            }
            let plan = ClusterTwoTrees.plan(&instance, &Budget::UNLIMITED).unwrap();
            assert_eq!(check::faults(&platform, &plan), [""; 0], "{sizes:?}");
            for host in platform.hosts() {
                let sends: usize = plan.trees.iter().map(|tree| tree.children(host).len()).sum();
                assert!(sends <= 2, "{sizes:?}: {sends}");
            }
            let levels = |size: usize| f64::from(usize::BITS - size.leading_zeros());
            let ways_s: f64 = sizes.iter().map(|&size| far_s + 3.0 * (levels(size) + 1.0)).sum();
            let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            assert!(makespan_s <= 500.0 + ways_s, "{sizes:?}, {far_s} s: {makespan_s} s, {ways_s} s of ways");
        }
    }

    #[test]
    fn a_chain_of_very_many_clusters_is_refused() {
        let refused = |clusters_of_one: usize| {
            let platform = clusters(&[&[3][..], &vec![1; clusters_of_one]].concat(), 1.0);
            let instance = Instance::new(&platform, NodeId(0), 1).unwrap();
            supports(&ClusterTwoTrees, &instance).err().map(|reason| reason.to_string())
        };
        assert_eq!(refused(MOST_CLUSTERS - 1), None);
        assert!(refused(MOST_CLUSTERS)
            .unwrap()
            .starts_with("257 clusters or single hosts are more than 256"));
    }

    /// B is reached by a pipe of half the rate, C by a wide one and from there B.
    #[test]
    fn the_chain_keeps_the_pace_before_it_takes_the_nearest() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
            "nodes": [{"id": "a0", "cluster": "A"}, {"id": "a1", "cluster": "A"}, {"id": "a2", "cluster": "A"},
                {"id": "b", "cluster": "B"}, {"id": "c", "cluster": "C"}],
            "shared": [{"id": "narrow", "bandwidth_bytes_per_s": 50}],
            "meshes": [{"nodes": ["a0", "a1", "a2"], "link": {"bandwidth_bytes_per_s": 100}}],
            "bridges": [
                {"from_cluster": "A", "to_cluster": "B",
                    "link": {"bandwidth_bytes_per_s": 100, "latency_s": 0.001, "uses": ["narrow"]}},
                {"from_cluster": "A", "to_cluster": "C", "link": {"bandwidth_bytes_per_s": 100, "latency_s": 1}},
                {"from_cluster": "C", "to_cluster": "B", "link": {"bandwidth_bytes_per_s": 100, "latency_s": 1}}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let parent_of_b = |platform: &Platform| {
            let instance = Instance::new(platform, NodeId(0), 1000).unwrap().segmented(1);
            let plan =
                ClusterTwoTrees.plan(&instance, &Budget::UNLIMITED).map_err(|error| error.to_string())?;
            let parents = plan.trees.iter().map(|tree| tree.parents()[3]);
            Ok::<_, String>(parents.map(|parent| parent.unwrap()).collect::<Vec<_>>())
        };
        assert_eq!(parent_of_b(&platform), Ok(vec![NodeId(4); 2]));
        let wide = Platform::from_json(&text.replace(": 50}", ": 100}")).unwrap();
        let refused = parent_of_b(&wide).unwrap_err();
        assert!(
            refused.contains("no direct way"),
            "B comes first, and nothing leads from it to C: {refused}"
        );
    }
}
