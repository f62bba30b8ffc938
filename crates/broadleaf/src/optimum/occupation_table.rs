//! The port program's data: the resources that one segment over each edge occupies, and the times.
//!
//! Derived from [`crate::model::occupation`], so that one table covers every port model and every shared resource.
//! Vertices are the hosts, the root first; times are in units of [`OccupationTable::unit_s`].

use super::arborescence::Digraph;
use super::cheapest_from::NONE;
use super::demand::Demand;
use super::error::OptimumError;
use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Every resource may be busy for one second a second.
#[derive(Clone, Debug)]
pub(crate) struct OccupationTable {
    /// The hosts by vertex, the root first, then by id.
    pub hosts: Vec<NodeId>,
    pub resources: Vec<Resource>,
    /// Edges between hosts, by (to, from); relayed ones are appended when they are found.
    pub graph: Digraph,
    /// The switches an edge passes, in order; indexed from the first relayed edge, because direct ones pass none.
    pub relays: Vec<Vec<NodeId>>,
    pub direct: usize,
    uses: Uses,
    /// Links that touch a switch, empty without switches.
    pub hops: Vec<(NodeId, NodeId)>,
    hop_uses: Uses,
    pub unit_s: f64,
    /// What the trees carry; their edges are held once for each segment on them.
    pub demand: Demand,
}

/// Lists of (resource, time), one for each edge, in one piece of memory.
#[derive(Clone, Debug)]
struct Uses {
    first: Vec<u32>,
    list: Vec<(u32, f64)>,
}

impl Uses {
    fn new() -> Self {
        Uses { first: vec![0], list: Vec::new() }
    }

    fn push(&mut self, uses: impl IntoIterator<Item = (u32, f64)>) {
        self.list.extend(uses);
        self.first.push(self.list.len() as u32);
    }

    fn of(&self, edge: usize) -> &[(u32, f64)] {
        &self.list[self.first[edge] as usize..self.first[edge + 1] as usize]
    }
}

/// The direct links from hosts to `to`, by the sender's vertex.
fn hops_into(platform: &Platform, to: NodeId, vertex: &[u32]) -> Vec<(u32, Hop)> {
    let mut into: Vec<(u32, Hop)> = platform
        .predecessors(to)
        .into_iter()
        .filter(|&(from, _)| platform.node(from).is_host())
        .map(|(from, class)| (vertex[from.index()], Hop { from, to, class }))
        .collect();
    into.sort_unstable_by_key(|&(from, _)| from);
    into
}

/// The resources of a hop, in seconds, that need a row: without a link that is held no longer than one of the hop's
/// ports, and without resources held for no time.
fn binding(mut holds: Vec<(Resource, f64)>) -> impl Iterator<Item = (Resource, f64)> {
    let link = holds.iter().position(|(resource, _)| matches!(resource, Resource::Link(..)));
    if let Some(at) = link {
        let busy = holds[at].1;
        if holds.iter().enumerate().any(|(other, &(_, time))| other != at && time >= busy) {
            holds.remove(at);
        }
    }
    holds.into_iter().filter(|&(_, seconds)| seconds > 0.0)
}

/// For how long a segment's hop holds each resource, seconds.
pub(super) fn held_by_segments(
    platform: &Platform,
    segment_bytes: u64,
) -> Result<impl Fn(Hop) -> Vec<(Resource, f64)> + '_, OptimumError> {
    if segment_bytes == 0 {
        return Err(OptimumError::EmptySegment);
    }
    Ok(move |hop| {
        let windows = occupation(platform, hop, segment_bytes).windows;
        windows.into_iter().map(|window| (window.resource, window.duration_s)).collect()
    })
}

impl OccupationTable {
    /// The program of segments of `segment_bytes` from `root`.
    pub fn new(
        platform: &Platform,
        root: NodeId,
        segment_bytes: u64,
    ) -> Result<OccupationTable, OptimumError> {
        OccupationTable::of(platform, root, held_by_segments(platform, segment_bytes)?)
    }

    /// The program in which a tree holds `held` for each of its hops, seconds.
    pub fn of(
        platform: &Platform,
        root: NodeId,
        held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    ) -> Result<OccupationTable, OptimumError> {
        OccupationTable::entering(platform, root, 1, held)
    }

    /// The same with the links into `first` as well, for trees from any host.
    pub fn of_any_root(
        platform: &Platform,
        first: NodeId,
        held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    ) -> Result<OccupationTable, OptimumError> {
        OccupationTable::entering(platform, first, 0, held)
    }

    fn entering(
        platform: &Platform,
        root: NodeId,
        first_entered: usize,
        mut held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    ) -> Result<OccupationTable, OptimumError> {
        refuse(platform, root)?;
        let mut hosts = vec![root];
        hosts.extend(platform.hosts().filter(|&host| host != root));
        let mut vertex = vec![u32::MAX; platform.node_count()];
        for (at, host) in hosts.iter().enumerate() {
            vertex[host.index()] = at as u32;
        }
        let mut index: HashMap<Resource, u32> = HashMap::new();
        let mut table = OccupationTable {
            hosts,
            resources: Vec::new(),
            graph: Digraph::default(),
            relays: Vec::new(),
            direct: 0,
            uses: Uses::new(),
            hops: Vec::new(),
            hop_uses: Uses::new(),
            unit_s: 1.0,
            demand: Demand::Broadcast,
        };
        table.graph.vertices = table.hosts.len();
        let mut entries: Vec<(u32, f64)> = Vec::new();
        let mut add = |table: &mut OccupationTable, hop: Hop, entries: &mut Vec<(u32, f64)>| {
            entries.clear();
            for (resource, seconds) in binding(held(hop)) {
                let resource = *index.entry(resource).or_insert_with(|| {
                    table.resources.push(resource);
                    table.resources.len() as u32 - 1
                });
                // A link may name a shared resource twice; both uses count.
                match entries.iter_mut().find(|(known, _)| *known == resource) {
                    Some(entry) => entry.1 += seconds,
                    None => entries.push((resource, seconds)),
                }
            }
        };
        for to_vertex in first_entered..table.hosts.len() {
            let to = table.hosts[to_vertex];
            for (from, hop) in hops_into(platform, to, &vertex) {
                add(&mut table, hop, &mut entries);
                table.uses.push(entries.iter().copied());
                table.graph.from.push(from);
                table.graph.to.push(to_vertex as u32);
            }
        }
        table.direct = table.graph.from.len();
        let has_switches = platform.nodes().any(|node| !platform.node(node).is_host());
        for from in platform.nodes().filter(|_| has_switches) {
            let from_switch = !platform.node(from).is_host();
            for (to, class) in platform.successors(from) {
                let is_entered = first_entered == 0 || to != root;
                if is_entered && (from_switch || !platform.node(to).is_host()) {
                    add(&mut table, Hop { from, to, class }, &mut entries);
                    table.hop_uses.push(entries.iter().copied());
                    table.hops.push((from, to));
                }
            }
        }
        table.scale();
        Ok(table)
    }

    /// Sets the unit of time to the mean use, so that the numbers in the programs are near 1.
    fn scale(&mut self) {
        let all = self.uses.list.iter().chain(&self.hop_uses.list);
        let (sum, count) = all.fold((0.0, 0usize), |(sum, count), &(_, time)| (sum + time, count + 1));
        if count == 0 || !(sum / count as f64).is_normal() {
            return;
        }
        self.unit_s = sum / count as f64;
        for entry in self.uses.list.iter_mut().chain(&mut self.hop_uses.list) {
            entry.1 /= self.unit_s;
        }
    }

    /// Edges between hosts, direct ones and those through switches that are known.
    pub fn edge_count(&self) -> usize {
        self.graph.from.len()
    }

    /// The resources that one segment over the edge occupies, and for how long.
    pub fn uses(&self, edge: usize) -> &[(u32, f64)] {
        self.uses.of(edge)
    }

    pub fn hop_uses(&self, hop: usize) -> &[(u32, f64)] {
        self.hop_uses.of(hop)
    }

    /// The weight of an edge under prices of the resources.
    pub fn weight(&self, edge: usize, prices: &[f64]) -> f64 {
        self.uses(edge).iter().map(|&(resource, time)| prices[resource as usize] * time).sum()
    }

    /// Adds the edge from host to host over `hops`, all through switches.
    pub fn add_relayed(&mut self, from: u32, to: u32, hops: &[u32]) -> u32 {
        let mut entries: Vec<(u32, f64)> = Vec::new();
        for &hop in hops {
            for &(resource, time) in self.hop_uses.of(hop as usize) {
                match entries.iter_mut().find(|(known, _)| *known == resource) {
                    Some(entry) => entry.1 += time,
                    None => entries.push((resource, time)),
                }
            }
        }
        self.uses.push(entries);
        self.relays.push(hops[1..].iter().map(|&hop| self.hops[hop as usize].0).collect());
        self.graph.from.push(from);
        self.graph.to.push(to);
        self.graph.from.len() as u32 - 1
    }

    /// The switches an edge passes.
    pub fn relays_of(&self, edge: usize) -> &[NodeId] {
        edge.checked_sub(self.direct).map_or(&[], |at| &self.relays[at])
    }

    /// How long each resource is busy for one round over the trees given by their entering edges.
    pub fn tree_load(&self, entering: &[u32], load: &mut [f64]) {
        load.fill(0.0);
        self.add_tree(entering, 1.0, load);
    }

    pub fn add_tree(&self, entering: &[u32], share: f64, load: &mut [f64]) {
        for (root, tree) in entering.chunks(self.graph.vertices).enumerate() {
            self.add_from(root, tree, share, load);
        }
    }

    /// The same of the tree from one vertex.
    pub fn add_from(&self, root: usize, entering: &[u32], share: f64, load: &mut [f64]) {
        let carried = self.demand.carried(&self.graph, root, entering);
        for (&edge, carried) in entering.iter().zip(carried).filter(|(edge, _)| **edge != NONE) {
            for &(resource, time) in self.uses(edge as usize) {
                load[resource as usize] += share * carried * time;
            }
        }
    }
}

/// The most links for which the optimum is computed; more would take gigabytes.
pub const MOST_LINKS: usize = 4_000_000;

/// Ordered pairs with a direct link, with those in several meshes or bridges counted again.
pub fn link_count(platform: &Platform) -> usize {
    let size = |cluster: usize| platform.clusters()[cluster].members.len();
    let meshes = platform.meshes().iter().map(|mesh| mesh.nodes.len() * mesh.nodes.len().saturating_sub(1));
    let ways = |both_ways| 1 + usize::from(both_ways);
    let bridges = platform.bridges().iter();
    let bridges =
        bridges.map(|bridge| size(bridge.from.index()) * size(bridge.to.index()) * ways(bridge.both_ways));
    let explicit = platform.explicit_links().iter().map(|link| ways(link.both_ways));
    meshes.chain(bridges).chain(explicit).sum()
}

/// Refuses a root without an optimum.
pub(crate) fn refuse(platform: &Platform, root: NodeId) -> Result<(), OptimumError> {
    let id = |node: NodeId| platform.node(node).id.clone();
    if !platform.node(root).is_host() {
        return Err(OptimumError::RootIsSwitch(id(root)));
    }
    let links = link_count(platform);
    if links > MOST_LINKS {
        return Err(OptimumError::TooManyLinks { links, most: MOST_LINKS });
    }
    let outside = platform.unreachable_from(root);
    let Some(&node) = outside.first() else { return Ok(()) };
    let inside: Vec<NodeId> = platform.hosts().filter(|host| !outside.contains(host)).collect();
    let (inside, outside) = (names(platform, &inside), names(platform, &outside));
    Err(OptimumError::Unreachable { node: id(node), root: id(root), inside, outside })
}

/// A few ids, and the number of the others.
fn names(platform: &Platform, nodes: &[NodeId]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = nodes.iter().take(SHOWN).map(|&node| platform.node(node).id.as_str()).collect();
    match nodes.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
