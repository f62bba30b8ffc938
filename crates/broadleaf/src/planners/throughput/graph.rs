//! The graph that the throughput planners prune and grow: hosts, and an edge for each pair that can communicate
//! without passing another host.

use crate::model::{occupation, Resource};
use crate::plan::Collective;
use crate::planners::{Instance, Pace, Unsupported};
use crate::platform::{Hop, NodeId, Platform};
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Meshes and bridges are expanded into edges; platforms with more are not supported.
pub const MOST_EDGES: u64 = 2_000_000;

/// Up to this many edges a heuristic takes about a millisecond: about 60 nodes, all linked.
const QUICK_EDGES: u64 = 4_000;

/// Times (and loads) that differ by less than this part of the largest one tie: sums taken in another order must not
/// decide which edge is dropped.
const TIE: f64 = 1e-9;

/// P_u → P_v of paper 1, with its times for one segment.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub from: NodeId,
    pub to: NodeId,
    /// T_uv; of a route through switches its slowest hop's, seconds.
    pub time_s: f64,
    /// send_uv: how long the sender's port is held; T_uv under one-port, 0 under link-capacity, seconds.
    pub send_s: f64,
}

/// The hosts of an instance and the edges between them, sorted by (from, to).
///
/// Where hosts are attached to switches, an edge represents the quickest route through switches alone, and the tree
/// lists it in its `via`; a direct link is preferred to any such route.
pub struct Graph<'a> {
    instance: Instance<'a>,
    pub edges: Vec<Edge>,
    /// The edges out of node u are `edges[first[u] .. first[u + 1]]`.
    first: Vec<u32>,
    /// The hops of edges over several links, by edge index.
    routes: HashMap<u32, Vec<Hop>>,
}

/// Whether the throughput planners take the instance: a broadcast over at most [`MOST_EDGES`] edges.
pub fn supports(instance: &Instance) -> Result<(), Unsupported> {
    if instance.collective != Collective::Bcast {
        return Err(Unsupported(format!("it plans bcast only, not {}", instance.collective)));
    }
    let edges = most_edges(instance.platform);
    if edges > MOST_EDGES {
        return Err(Unsupported(format!(
            "it writes out every edge, and {edges} are more than {MOST_EDGES}; use a planner for large meshes"
        )));
    }
    Ok(())
}

/// Beyond this many edges a heuristic takes seconds, which it does not count.
const PACED_EDGES: u64 = 20_000;

/// The pace of every heuristic: about a millisecond on few edges.
pub fn pace(instance: &Instance) -> Pace {
    let edges = most_edges(instance.platform);
    if edges > PACED_EDGES {
        return Pace::ByName;
    }
    Pace::uncounted(instance, edges <= QUICK_EDGES)
}

/// The least time of a planner that passes `edges_per_s` edges in a second, seconds.
pub fn least_s(instance: &Instance, edges_per_s: f64) -> f64 {
    most_edges(instance.platform) as f64 / edges_per_s
}

/// An upper limit of the number of edges, without expanding them.
fn most_edges(platform: &Platform) -> u64 {
    let members = |cluster: crate::platform::ClusterId| platform.clusters()[cluster.index()].members.len();
    let hosts = platform.hosts().count();
    let pairs = |count: usize| count as u64 * (count as u64).saturating_sub(1);
    if hosts < platform.node_count() {
        // Through switches every host may reach every other.
        return pairs(hosts);
    }
    let explicit: u64 = platform.explicit_links().iter().map(|link| 1 + u64::from(link.both_ways)).sum();
    let meshes: u64 = platform.meshes().iter().map(|mesh| pairs(mesh.nodes.len())).sum();
    let bridges: u64 = platform
        .bridges()
        .iter()
        .map(|bridge| (members(bridge.from) * members(bridge.to)) as u64 * (1 + u64::from(bridge.both_ways)))
        .sum();
    (explicit + meshes + bridges).min(pairs(hosts))
}

impl<'a> Graph<'a> {
    pub fn of(instance: &Instance<'a>) -> Graph<'a> {
        let platform = instance.platform;
        let mut graph =
            Graph { instance: *instance, edges: Vec::new(), first: vec![0], routes: HashMap::new() };
        for from in platform.nodes() {
            if platform.node(from).is_host() {
                for hops in routes_to_hosts(platform, from, instance.segment_bytes) {
                    graph.push(hops);
                }
            }
            graph.first.push(graph.edges.len() as u32);
        }
        graph
    }

    fn push(&mut self, hops: Vec<Hop>) {
        let platform = self.instance.platform;
        let bytes = self.instance.segment_bytes;
        let (first, last) = (hops[0], hops[hops.len() - 1]);
        let send_s = occupation(platform, first, bytes)
            .windows
            .iter()
            .find(|window| window.resource == Resource::Out(first.from))
            .map_or(0.0, |window| window.duration_s);
        let time_s = hops.iter().map(|hop| platform.transfer_s(hop.class, bytes)).fold(0.0, f64::max);
        self.edges.push(Edge { from: first.from, to: last.to, time_s, send_s });
        if hops.len() > 1 {
            self.routes.insert(self.edges.len() as u32 - 1, hops);
        }
    }

    /// Number of the platform's nodes; switches have no edges.
    pub fn node_count(&self) -> usize {
        self.first.len() - 1
    }

    pub fn host_count(&self) -> usize {
        self.instance.platform.hosts().count()
    }

    pub fn platform(&self) -> &'a Platform {
        self.instance.platform
    }

    pub fn root(&self) -> NodeId {
        self.instance.root
    }

    pub fn segment_bytes(&self) -> u64 {
        self.instance.segment_bytes
    }

    /// The indices of the edges out of a node, by target.
    pub fn out_edges(&self, node: NodeId) -> std::ops::Range<usize> {
        self.first[node.index()] as usize..self.first[node.index() + 1] as usize
    }

    /// The links that an edge represents, in order.
    pub fn hops(&self, edge: usize) -> Vec<Hop> {
        if let Some(hops) = self.routes.get(&(edge as u32)) {
            return hops.clone();
        }
        let Edge { from, to, .. } = self.edges[edge];
        let class = self.platform().link(from, to).expect("an edge without a route is a link");
        vec![Hop { from, to, class }]
    }

    /// From the start of a transfer over the edge to its arrival on free links, seconds.
    pub fn arrival_s(&self, edge: usize) -> f64 {
        let seconds = |hop: &Hop| {
            self.platform().class(hop.class).latency_s
                + self.platform().transfer_s(hop.class, self.segment_bytes())
        };
        self.hops(edge).iter().map(seconds).sum()
    }

    /// Converts times to whole numbers, equal for times that differ by rounding only.
    pub fn ticks(&self) -> Ticks {
        Ticks::of(self.edges.iter().map(|edge| edge.time_s))
    }

    /// The switches that a tree's edge passes, in order.
    pub fn relays(&self, edge: usize) -> Vec<NodeId> {
        let route = self.routes.get(&(edge as u32));
        route.map_or(Vec::new(), |hops| hops[1..].iter().map(|hop| hop.from).collect())
    }

    pub fn instance(&self) -> &Instance<'a> {
        &self.instance
    }
}

/// Rounds values to whole numbers of [`TIE`] of the largest.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    each: f64,
}

impl Ticks {
    pub fn of(values: impl Iterator<Item = f64>) -> Ticks {
        let largest = values.fold(0.0, f64::max);
        // All values 0: everything ties.
        Ticks { each: if largest > 0.0 { largest * TIE } else { 1.0 } }
    }

    pub fn count(self, value: f64) -> i64 {
        (value / self.each).round() as i64
    }
}

/// The hops to every other host that can be reached without passing a host, by target id.
fn routes_to_hosts(platform: &Platform, from: NodeId, bytes: u64) -> Vec<Vec<Hop>> {
    let links = platform.successors(from);
    let host = |node: NodeId| platform.node(node).is_host();
    let direct = |&(to, class): &(NodeId, _)| vec![Hop { from, to, class }];
    if links.iter().all(|&(to, _)| host(to)) {
        return links.iter().map(direct).collect();
    }
    let mut routes: Vec<Vec<Hop>> = links.iter().filter(|&&(to, _)| host(to)).map(direct).collect();
    let before = through_switches(platform, from, bytes);
    for to in platform.hosts().filter(|&to| to != from && platform.link(from, to).is_none()) {
        let mut hops = Vec::new();
        let mut node = to;
        while let Some(&hop) = before.get(&node) {
            hops.push(hop);
            node = hop.from;
        }
        if !hops.is_empty() {
            hops.reverse();
            routes.push(hops);
        }
    }
    routes.sort_by_key(|hops| hops[hops.len() - 1].to);
    routes
}

/// The last hop of the quickest route to every node that `from` reaches through switches alone (Dijkstra
/// that never goes on from a host).
fn through_switches(platform: &Platform, from: NodeId, bytes: u64) -> HashMap<NodeId, Hop> {
    let mut before: HashMap<NodeId, Hop> = HashMap::new();
    let mut at_s: HashMap<NodeId, f64> = HashMap::from([(from, 0.0)]);
    let mut queue = BinaryHeap::from([Reverse((OrderedFloat(0.0), from))]);
    while let Some(Reverse((OrderedFloat(now_s), node))) = queue.pop() {
        if now_s > at_s[&node] || (node != from && platform.node(node).is_host()) {
            continue;
        }
        for (to, class) in platform.successors(node) {
            let then_s = now_s + platform.class(class).latency_s + platform.transfer_s(class, bytes);
            if at_s.get(&to).is_none_or(|&known_s| then_s < known_s) {
                at_s.insert(to, then_s);
                before.insert(to, Hop { from: node, to, class });
                queue.push(Reverse((OrderedFloat(then_s), to)));
            }
        }
    }
    before
}
