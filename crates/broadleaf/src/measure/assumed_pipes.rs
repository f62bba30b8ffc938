//! Pipes and clusters of a network of which only pairs are known.
//!
//! Latency and bandwidth matrices hold what each pair reaches alone. Hosts behind a switch or at a site usually share
//! the way to all others; a plan that takes each pair for a wire of its own sends over many at once, and is several
//! times slower than predicted. The opposite error is small: a plan that enters each group once is about as fast where
//! pairs share nothing. So sharing is assumed:
//!
//! 1. Latencies form groups of hosts inside groups (`groups`).
//! 2. The hosts of a group share one pipe to all others and one from them, with the rate of the fastest such pair. Where
//!    such pipes cannot explain the rates between neighbouring groups, each two of these have a pipe of their own.
//!
//! Where fewer than half of the hosts are in groups, as among hosts at random distances, groups are chance and nothing
//! is assumed.
//!
//! Cost: O(n² log n) a level of groups.

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

/// The platform with Lowekamp's clusters where it names none, every link is given by itself, and it has such groups of
/// hosts; else the same platform.
pub fn with_assumed_clusters(platform: &Platform) -> Platform {
    let is_plain = platform.clusters().is_empty() && platform.meshes().is_empty();
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

    /// The mean of both directions.
    fn latency_s(&self, a: NodeId, b: NodeId) -> f64 {
        let one_way_s = |from, to| self.class(from, to).map_or(NO_LINK_S, |class| class.latency_s);
        (one_way_s(a, b) + one_way_s(b, a)) / 2.0
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
            "{} shared pipes: hosts nearer to each other than to all others share their way there, at the rate of the \
             fastest pair",
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
        let name = |at: usize| format!("{within}g{at}");
        if are_explained {
            for (at, group) in groups.iter().enumerate().filter(|(_, group)| group.nodes.len() > 1) {
                self.add_pipe(format!("{}-out", name(at)), rates[at][0], &group.nodes, &others[at]);
                self.add_pipe(format!("{}-in", name(at)), rates[at][1], &others[at], &group.nodes);
            }
        } else {
            for pair in &between {
                let id = format!("{}-to-{}", name(pair.0), name(pair.1));
                self.add_pipe(id, rate(pair), &groups[pair.0].nodes, &groups[pair.1].nodes);
            }
        }
        for (at, group) in groups.iter().enumerate().filter(|(_, group)| !group.parts.is_empty()) {
            self.add(pairs, &group.parts, &format!("{}.", name(at)));
        }
    }

    /// None where no pair has a link.
    fn add_pipe(&mut self, id: String, rate: f64, from: &[NodeId], to: &[NodeId]) {
        if rate <= 0.0 {
            return;
        }
        let pipe = SharedId(self.rates.len() as u32);
        self.rates.push((id, rate));
        for pair in from.iter().flat_map(|&a| to.iter().map(move |&b| (a, b))) {
            self.uses.entry(pair).or_default().push(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Matrices;

    /// Hosts by site and switch: 20 µs behind one switch, 100 µs in a site, 5 ms between sites.
    fn platform(places: &[(u32, u32)], rate: impl Fn(usize, usize) -> f64) -> Platform {
        let latency_s = |a: (u32, u32), b: (u32, u32)| match (a.0 == b.0, a == b) {
            (true, true) => 20e-6,
            (true, false) => 100e-6,
            (false, _) => 5e-3,
        };
        let count = places.len();
        let square = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<Option<f64>>> {
            (0..count).map(|a| (0..count).map(|b| Some(value(a, b))).collect()).collect()
        };
        let ids = (0..count).map(|at| format!("n{at}")).collect();
        let latency_s = square(&|a, b| latency_s(places[a], places[b]));
        let matrices = Matrices::new(ids, &latency_s, &square(&rate)).unwrap();
        Platform::from_matrices("m", PortModel::OnePort, &matrices).unwrap()
    }

    fn rates(found: &Platform) -> HashMap<String, f64> {
        found.shared().iter().map(|pipe| (pipe.id.clone(), pipe.bandwidth_bytes_per_s)).collect()
    }

    /// The names of the pipes from one host to another.
    fn uses(found: &Platform, from: u32, to: u32) -> Vec<&str> {
        let class = found.class(found.link(NodeId(from), NodeId(to)).unwrap());
        class.uses.iter().map(|pipe| found.shared()[pipe.index()].id.as_str()).collect()
    }

    #[test]
    fn sites_share_their_access_and_switches_their_uplink() {
        let places = [(0, 0), (0, 0), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)];
        let rate = |a: usize, b: usize| if places[a].0 == places[b].0 { 12e6 } else { 5e6 };
        let found = with_assumed_pipes(&platform(&places, rate)).unwrap();
        let rates = rates(&found);
        assert_eq!((rates["g0-out"], rates["g0.g1-in"]), (5e6, 12e6));
        assert_eq!(rates.len(), 2 * 3 + 2 * 2, "three sites, two switches in one of them");
        assert_eq!(uses(&found, 0, 1), [""; 0]);
        assert_eq!(uses(&found, 0, 2), ["g0.g0-out", "g0.g1-in"]);
        assert_eq!(uses(&found, 3, 5), ["g0-out", "g1-in", "g0.g1-out"]);
    }

    #[test]
    fn rates_that_no_access_explains_belong_to_pairs_of_sites() {
        let places = [(0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2)];
        // The slowest of three pairs of sites has two ends that are faster elsewhere.
        let rate = |a: usize, b: usize| [12e6, 1e6, 2e6, 3e6][(places[a].0 ^ places[b].0) as usize];
        let found = with_assumed_pipes(&platform(&places, rate)).unwrap();
        let rates = rates(&found);
        assert_eq!((rates.len(), rates["g2-to-g1"]), (6, 3e6));
        assert_eq!(uses(&found, 1, 2), ["g0-to-g1"]);
    }

    #[test]
    fn clusters_of_equal_pairs_are_one_mesh_each() {
        let places = [(0, 0), (1, 1), (0, 0), (1, 1)];
        let found = with_assumed_pipes(&platform(&places, |_, _| 1e6)).unwrap();
        assert_eq!((found.explicit_links().len(), found.meshes().len(), found.bridges().len()), (0, 2, 2));
        assert!(found.provenance().unwrap()["assumed"].as_str().unwrap().starts_with("4 shared pipes"));
    }

    #[test]
    fn nothing_is_assumed_of_one_switch_or_of_chance_pairs() {
        let one_switch = platform(&[(0, 0); 4], |_, _| 1e6);
        assert_eq!(with_assumed_pipes(&one_switch).unwrap().digest(), one_switch.digest());
        let mut places: Vec<(u32, u32)> = (0..10).map(|at| (at, at)).collect();
        places.push((0, 0));
        let scattered = platform(&places, |_, _| 1e6);
        assert_eq!(with_assumed_pipes(&scattered).unwrap().digest(), scattered.digest());
    }
}
