//! Pipes and clusters of a network of which only pairs are known.
//!
//! Latency and bandwidth matrices hold what each pair reaches alone. Hosts behind a switch or at a site usually share
//! the way to all others; a plan that takes each pair for a wire of its own sends over many at once, and is several
//! times slower than predicted. So sharing is assumed:
//!
//! 1. Latencies form groups of hosts inside groups (`groups`).
//! 2. The hosts of a group share one pipe to all others and one from them, with the rate of the fastest such pair. Where
//!    such pipes cannot explain the rates between neighbouring groups, each two of these have a pipe of their own.
//! 3. Near groups whose pairs are no slower outside than inside may be limited by their ports only, and their pipe has
//!    the rate of one to all of its hosts: √n times that of a pair is assumed for n hosts, the middle of both. Farther
//!    pipes are long-distance lines, of the rate of a pair.
//! 4. Groups in most of whose ways others lie share wires with those instead (`assumed_wires`).
//!
//! Where fewer than half of the hosts are in groups, as among hosts at random distances, groups are chance and nothing
//! is assumed.
//!
//! Cost: O(n² log n) a level of groups.

use super::assumed_wires::Ways;
use super::groups::{groups, Group};
use super::lowekamp::clusters;
use crate::json::Fault;
use crate::platform::{
    Bridge, ExplicitLink, LinkClass, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel, SharedId,
    TransferTime,
};
use serde_json::{json, Value};
use std::collections::HashMap;

/// Lowekamp's ρ, as in `measure`.
const TOLERANCE: f64 = 0.3;

/// A pipe explains the rate of a pair that is slower than it by less than this share, about the noise of measured
/// matrices.
const SAME_RATE: f64 = 0.1;

/// A way is long-distance if it takes this many times as long as those inside a group: an order of magnitude.
const FAR: f64 = 10.0;

/// Longer than any path; the sum of two is still finite.
const NO_LINK_S: f64 = f64::MAX / 4.0;

/// The platform with Lowekamp's clusters and the pipes that its groups of hosts are assumed to share. The same platform
/// if it has no such groups, has pipes of its own, or only links limit it (link-capacity).
///
/// # Errors
/// None for a platform that [`Platform::from_matrices`] has built.
pub fn with_assumed_pipes(platform: &Platform) -> Result<Platform, Fault> {
    let is_plain = platform.shared().is_empty() && platform.port_model() != PortModel::LinkCapacity;
    let pairs = Pairs { platform, hosts: platform.hosts().collect() };
    let groups = if is_plain { pairs.groups() } else { Vec::new() };
    if !pairs.are_mostly_in(&groups) {
        return Ok(platform.clone());
    }
    let mut pipes = Pipes::default();
    pipes.add(&pairs, &groups, "");
    pairs.with(&pipes)
}

/// The platform with Lowekamp's clusters where it names none, or the same one for all hosts, every link is given by
/// itself, and it has such groups of hosts; else the same platform.
pub fn with_assumed_clusters(platform: &Platform) -> Platform {
    let mut named = platform.hosts().map(|host| platform.node(host).cluster);
    let first = named.next().flatten();
    let is_plain = named.all(|cluster| cluster == first) && platform.meshes().is_empty();
    let pairs = Pairs { platform, hosts: platform.hosts().collect() };
    match is_plain && pairs.are_mostly_in(&pairs.groups()) {
        true => platform.with_clusters(pairs.clusters()),
        false => platform.clone(),
    }
}

struct Pairs<'a> {
    platform: &'a Platform,
    hosts: Vec<NodeId>,
}

impl Pairs<'_> {
    fn class(&self, from: NodeId, to: NodeId) -> Option<&LinkClass> {
        self.platform.link(from, to).map(|class| self.platform.class(class))
    }

    fn one_way_s(&self, from: NodeId, to: NodeId) -> f64 {
        self.class(from, to).map_or(NO_LINK_S, |class| class.latency_s)
    }

    /// The mean of both directions.
    fn latency_s(&self, a: NodeId, b: NodeId) -> f64 {
        (self.one_way_s(a, b) + self.one_way_s(b, a)) / 2.0
    }

    /// The rate of the fastest pair.
    fn rate(&self, from: &[NodeId], to: &[NodeId]) -> f64 {
        let pairs = from.iter().flat_map(|&a| to.iter().map(move |&b| (a, b)));
        let rates = pairs.filter_map(|(a, b)| match self.class(a, b)?.time {
            TransferTime::Affine { bandwidth_bytes_per_s, .. } => bandwidth_bytes_per_s,
            TransferTime::Gap(_) => None,
        });
        rates.fold(0.0, f64::max)
    }

    /// Whether the groups hold at least half of the hosts.
    fn are_mostly_in(&self, groups: &[Group]) -> bool {
        let grouped: usize = groups.iter().map(|group| group.nodes.len()).filter(|&hosts| hosts > 1).sum();
        grouped > 0 && 2 * grouped >= self.hosts.len()
    }

    fn clusters(&self) -> Vec<Vec<NodeId>> {
        let found = clusters(self.hosts.len(), TOLERANCE, |a, b| {
            self.latency_s(self.hosts[a.index()], self.hosts[b.index()])
        });
        found.iter().map(|cluster| cluster.iter().map(|at| self.hosts[at.index()]).collect()).collect()
    }

    /// The outermost groups; a host in none is alone.
    fn groups(&self) -> Vec<Group> {
        groups(&self.hosts, TOLERANCE, |a, b| self.latency_s(a, b))
    }

    /// The rate of the pipe between a group and all others, whose fastest pair has the rate given.
    fn pipe_rate(&self, group: &Group, others: &[NodeId], pair_rate: f64) -> f64 {
        let inside = group.nodes.iter().flat_map(|&a| group.nodes.iter().map(move |&b| (a, b)));
        let longest_s = inside.filter(|(a, b)| a != b).map(|(a, b)| self.latency_s(a, b)).fold(0.0, f64::max);
        let mut out = group.nodes.iter().flat_map(|&a| others.iter().map(move |&b| (a, b)));
        let is_near = out.any(|(a, b)| self.latency_s(a, b) < FAR * longest_s);
        let is_narrow = pair_rate < (1.0 - SAME_RATE) * self.rate(&group.nodes, &group.nodes);
        match is_near && !is_narrow {
            true => pair_rate * (group.nodes.len().min(others.len()) as f64).sqrt(),
            false => pair_rate,
        }
    }

    /// Whether no way is faster than its wires.
    fn are_explained(&self, groups: &[Group], ways: &Ways) -> bool {
        let rate = |(from, to): (usize, usize)| self.rate(&groups[from].nodes, &groups[to].nodes);
        let slowest = |way| ways.wires(way).into_iter().map(rate).fold(f64::INFINITY, f64::min);
        ways.all().all(|way| (1.0 - SAME_RATE) * rate(way) <= slowest(way))
    }

    /// The platform with pipes, clusters, and one mesh or bridge for pairs of clusters that are all alike.
    fn with(&self, pipes: &Pipes) -> Result<Platform, Fault> {
        let mut builder = PlatformBuilder::new(self.platform.name(), self.platform.port_model());
        builder.provenance(self.provenance(pipes));
        let members = self.clusters();
        let ids: Vec<_> = (0..members.len()).map(|at| builder.cluster(&format!("c{at}"))).collect();
        let mut cluster_of = HashMap::new();
        members.iter().enumerate().for_each(|(at, hosts)| {
            cluster_of.extend(hosts.iter().map(|&host| (host, ids[at])));
        });
        for node in self.platform.nodes() {
            builder.add_node(Node {
                cluster: cluster_of.get(&node).copied(),
                ..self.platform.node(node).clone()
            })?;
        }
        for (id, bandwidth_bytes_per_s) in &pipes.rates {
            builder.add_shared(id, *bandwidth_bytes_per_s)?;
        }
        let mut classes = HashMap::new();
        for (one, here) in members.iter().enumerate() {
            for (other, there) in members.iter().enumerate() {
                let pairs = here.iter().flat_map(|&from| there.iter().map(move |&to| (from, to)));
                let mut links = Vec::new();
                let mut is_whole = true;
                for (from, to) in pairs.filter(|(from, to)| from != to) {
                    let Some(class) = self.platform.link(from, to) else {
                        is_whole = false;
                        continue;
                    };
                    let class = self.platform.class(class);
                    let uses = pipes.uses.get(&(from, to)).cloned().unwrap_or_default();
                    let rate = self.rate(&[from], &[to]);
                    let key = (class.latency_s.to_bits(), rate.to_bits(), uses.clone());
                    let class = *classes
                        .entry(key)
                        .or_insert_with(|| builder.add_class(LinkClass { uses, ..class.clone() }));
                    links.push(ExplicitLink { from, to, both_ways: false, class });
                }
                let Some(&ExplicitLink { class, .. }) = links.first() else { continue };
                if !is_whole || links.iter().any(|link| link.class != class) {
                    links.into_iter().try_for_each(|link| builder.add_link(link))?;
                } else if one == other {
                    builder.add_mesh(Mesh { nodes: here.clone(), class })?;
                } else {
                    builder.add_bridge(Bridge { from: ids[one], to: ids[other], both_ways: false, class })?;
                }
            }
        }
        builder.build()
    }

    /// The platform's own, and what is assumed.
    fn provenance(&self, pipes: &Pipes) -> Value {
        let assumed = format!(
            "{} shared pipes: hosts nearer to each other than to all others share their way there",
            pipes.rates.len()
        );
        let mut provenance = self.platform.provenance().cloned().unwrap_or_else(|| json!({}));
        provenance["assumed"] = json!(assumed);
        provenance
    }
}

/// The pipes by name, and those that each pair of hosts goes through.
#[derive(Default)]
struct Pipes {
    rates: Vec<(String, f64)>,
    uses: HashMap<(NodeId, NodeId), Vec<SharedId>>,
}

impl Pipes {
    /// Those between neighbouring groups, which `within` names, and inside them.
    fn add(&mut self, pairs: &Pairs, groups: &[Group], within: &str) {
        let name = |at: usize| format!("{within}g{at}");
        let ways = Ways::of(groups, |a, b| pairs.one_way_s(a, b));
        match ways.filter(|ways| pairs.are_explained(groups, ways)) {
            Some(ways) => self.add_wires(pairs, groups, &ways, name),
            None => self.add_around(pairs, groups, name),
        }
        for (at, group) in groups.iter().enumerate().filter(|(_, group)| !group.parts.is_empty()) {
            self.add(pairs, &group.parts, &format!("{}.", name(at)));
        }
    }

    fn add_wires(&mut self, pairs: &Pairs, groups: &[Group], ways: &Ways, name: impl Fn(usize) -> String) {
        let mut wires = HashMap::new();
        for (from, to) in ways.all() {
            let (here, there) = (&groups[from].nodes, &groups[to].nodes);
            for wire @ (near, far) in ways.wires((from, to)) {
                let pipe = *wires.entry(wire).or_insert_with(|| {
                    let rate = pairs.rate(&groups[near].nodes, &groups[far].nodes);
                    self.new_pipe(format!("{}-to-{}", name(near), name(far)), rate)
                });
                self.share(pipe, here, there);
            }
        }
    }

    /// One pipe out of each group and one into it, or one for each two groups where those explain less.
    fn add_around(&mut self, pairs: &Pairs, groups: &[Group], name: impl Fn(usize) -> String) {
        let others: Vec<Vec<NodeId>> = groups.iter().map(|group| group.others(&pairs.hosts)).collect();
        let rates: Vec<[f64; 2]> = groups
            .iter()
            .zip(&others)
            .map(|(group, others)| [pairs.rate(&group.nodes, others), pairs.rate(others, &group.nodes)])
            .collect();
        let between: Vec<(usize, usize)> = (0..groups.len())
            .flat_map(|a| (0..groups.len()).map(move |b| (a, b)))
            .filter(|&(a, b)| a != b && groups[a].nodes.len() * groups[b].nodes.len() > 1)
            .collect();
        let rate = |&(a, b): &(usize, usize)| pairs.rate(&groups[a].nodes, &groups[b].nodes);
        let are_explained = between
            .iter()
            .all(|pair| rate(pair) >= (1.0 - SAME_RATE) * rates[pair.0][0].min(rates[pair.1][1]));
        if are_explained {
            for (at, group) in groups.iter().enumerate().filter(|(_, group)| group.nodes.len() > 1) {
                let [out, into] = rates[at].map(|rate| pairs.pipe_rate(group, &others[at], rate));
                self.add_pipe(format!("{}-out", name(at)), out, &group.nodes, &others[at]);
                self.add_pipe(format!("{}-in", name(at)), into, &others[at], &group.nodes);
            }
        } else {
            for pair in &between {
                let id = format!("{}-to-{}", name(pair.0), name(pair.1));
                self.add_pipe(id, rate(pair), &groups[pair.0].nodes, &groups[pair.1].nodes);
            }
        }
    }

    /// None where no pair has a link.
    fn add_pipe(&mut self, id: String, rate: f64, from: &[NodeId], to: &[NodeId]) {
        if rate > 0.0 {
            let pipe = self.new_pipe(id, rate);
            self.share(pipe, from, to);
        }
    }

    fn new_pipe(&mut self, id: String, rate: f64) -> SharedId {
        self.rates.push((id, rate));
        SharedId(self.rates.len() as u32 - 1)
    }

    fn share(&mut self, pipe: SharedId, from: &[NodeId], to: &[NodeId]) {
        for pair in from.iter().flat_map(|&a| to.iter().map(move |&b| (a, b))) {
            self.uses.entry(pair).or_default().push(pipe);
        }
    }
}
