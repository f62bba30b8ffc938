//! Trees without a timetable: of even load, because they share the ports instead of taking turns.
//!
//! Where links are slower than ports, a port serves many transfers at once, each at its link's pace. The optimum only
//! avoids overload, and fills some links completely beside idle ones; a full link cannot catch up after a delay. So W
//! equal trees are grown one after the other, each vertex by the link that adds the least crowding, and then vertices
//! change their parents while that reduces the crowding.
//!
//! A resource that is busy for a part u of the time at the bound's rate counts u^p + [`WORK`] · u, which rises
//! steeply near 1; a vertex counts some more for each hop from the root. Where links are as fast as ports, few trees pass the first
//! segments on sooner, and W is chosen by the time of the last vertex's first segment and of the whole message at the rate of the
//! busiest resource. Else many trees share the slow links, and the least crowded are kept.

use super::settings::balance::{
    DESCENTS, FEW, GROWING, LEAST_GAIN, LEAST_RATE, LONG_HOP, MANY, MOST_NODES, PASSES, ROUNDING, SEGMENTS,
    SHORT_HOP, WAITING, WAYS_PER_UNIT, WORK,
};
use crate::budget::{Budget, UNITS_PER_S};
use crate::model::{occupation, Resource};
use crate::optimum::{Optimum, WeightedTree};
use crate::planners::Instance;
use crate::platform::{Hop, NodeId, PortModel};
use std::collections::{BTreeMap, HashMap};

/// Equal trees whose rate is near the optimum's and whose loads are even; `None` where there are none, among many nodes,
/// through switches, and where the time is too short. Of the number given, only where links are as fast as ports.
pub(super) fn balanced_trees(
    instance: &Instance,
    optimum: &Optimum,
    count: Option<usize>,
    budget: &Budget,
) -> Option<Vec<WeightedTree>> {
    let is_relayed = optimum.trees.iter().any(|tree| !tree.via.is_empty());
    if is_relayed || instance.platform.node_count() > MOST_NODES {
        return None;
    }
    let ways = LinkUses::new(instance, optimum.upper_bound_bytes_per_s);
    let growth = Growth { instance, optimum, ways: &ways, budget };
    let even = match count {
        Some(count) => growth.few(&[count]),
        None => growth.few(&FEW).or_else(|| growth.many()),
    };
    even.map(|trees| trees.weighted(instance))
}

struct Growth<'a> {
    instance: &'a Instance<'a>,
    optimum: &'a Optimum,
    ways: &'a LinkUses,
    budget: &'a Budget,
}

impl<'a> Growth<'a> {
    /// The trees that end first of those numbers, with a number of segments each at least.
    fn few(&self, counts: &[usize]) -> Option<Trees<'a>> {
        if LEAST_RATE * self.ways.slowest_needed() > 1.0 {
            return None;
        }
        let whole_s = self.instance.message_bytes as f64 / self.optimum.upper_bound_bytes_per_s;
        let done_s = |trees: &Trees| trees.filled_s() + whole_s * trees.busiest().max(WAITING);
        let few = counts.iter().filter_map(|&count| self.trees(count, LONG_HOP, SEGMENTS));
        let timed = few.map(|trees| (done_s(&trees), trees));
        let first = timed.min_by(|one, other| one.0.total_cmp(&other.0));
        first.map(|(_, trees)| trees).filter(|trees| self.are_even(trees))
    }

    /// The least crowded trees, the first of equal ones, of those grown before the budget is spent.
    fn many(&self) -> Option<Trees<'a>> {
        let mut best: Option<(f64, Trees)> = None;
        for count in MANY {
            let Some(trees) = self.trees(count, SHORT_HOP, 1) else { continue };
            let crowding = trees.crowding();
            if best.as_ref().is_none_or(|&(least, _)| crowding < least) {
                best = Some((crowding, trees));
            }
            if self.budget.is_spent() {
                break;
            }
        }
        best.map(|(_, trees)| trees).filter(|trees| self.are_even(trees))
    }

    /// Trees of even load, where a message has that number of segments for each and the time suffices.
    fn trees(&self, count: usize, hop: f64, least_segments: u64) -> Option<Trees<'a>> {
        let segments = self.instance.message_bytes.div_ceil(self.instance.segment_bytes);
        // As long again for what follows.
        let least_s = 2.0 * count as f64 * self.ways.growing_units() as f64 / UNITS_PER_S as f64;
        if count as u64 * least_segments > segments || self.budget.is_too_short_for(least_s) {
            return None;
        }
        let mut trees = Trees::grow(self.ways, (count, hop), self.budget);
        DESCENTS.into_iter().for_each(|doublings| trees.descend(doublings, self.budget));
        Some(trees)
    }

    fn are_even(&self, trees: &Trees) -> bool {
        let Optimum { upper_bound_bytes_per_s, throughput_bytes_per_s, .. } = *self.optimum;
        upper_bound_bytes_per_s >= LEAST_RATE * throughput_bytes_per_s * trees.busiest()
    }
}

/// The resources of a transfer between two hosts, and the share of the time for which it holds each if all segments
/// take it at the bound's rate. The root is host 0.
struct LinkUses {
    hosts: Vec<NodeId>,
    resources: usize,
    segments_per_s: f64,
    /// Of each ordered pair, `from * hosts + to`; `None` where there is no link.
    uses: Vec<Option<Vec<(u32, f64)>>>,
    latency_s: Vec<f64>,
}

impl LinkUses {
    fn new(instance: &Instance, bytes_per_s: f64) -> LinkUses {
        let Instance { platform, segment_bytes, .. } = *instance;
        let segments_per_s = bytes_per_s / segment_bytes as f64;
        let hosts = instance.root_and_receivers();
        let mut number: HashMap<Resource, u32> = HashMap::new();
        let mut uses = Vec::with_capacity(hosts.len() * hosts.len());
        let mut latency_s = Vec::with_capacity(hosts.len() * hosts.len());
        for &from in &hosts {
            for &to in &hosts {
                let link = platform.link(from, to);
                latency_s.push(link.map_or(0.0, |class| platform.class(class).latency_s));
                uses.push(link.map(|class| {
                    let windows = occupation(platform, Hop { from, to, class }, segment_bytes).windows;
                    let mut used = Vec::with_capacity(windows.len());
                    for window in windows {
                        let next = number.len() as u32;
                        let resource = *number.entry(window.resource).or_insert(next);
                        used.push((resource, window.duration_s * segments_per_s));
                    }
                    used
                }));
            }
        }
        LinkUses { hosts, resources: number.len(), segments_per_s, uses, latency_s }
    }

    /// The time of the slowest link that every tree needs, in terms of a segment's at the bound's rate: by Prim's algorithm for the
    /// least longest link.
    fn slowest_needed(&self) -> f64 {
        let hosts = self.hosts.len();
        let taken = |from: usize, to: usize| {
            let uses = self.uses(from, to)?;
            Some(uses.iter().map(|&(_, time)| time).fold(0.0, f64::max))
        };
        let mut least: Vec<f64> = (0..hosts).map(|to| taken(0, to).unwrap_or(f64::INFINITY)).collect();
        let mut left: Vec<usize> = (1..hosts).collect();
        let mut slowest: f64 = 0.0;
        while let Some(at) = (0..left.len()).min_by(|&a, &b| least[left[a]].total_cmp(&least[left[b]])) {
            let from = left.swap_remove(at);
            slowest = slowest.max(least[from]);
            for &to in &left {
                least[to] = least[to].min(taken(from, to).unwrap_or(f64::INFINITY));
            }
        }
        slowest
    }

    /// The work of growing a tree, units.
    fn growing_units(&self) -> u64 {
        (self.hosts.len().pow(3) / 6 / WAYS_PER_UNIT) as u64
    }

    fn uses(&self, from: usize, to: usize) -> Option<&[(u32, f64)]> {
        self.uses[from * self.hosts.len() + to].as_deref()
    }
}

/// Equal trees, and how busy each resource is with all of them.
struct Trees<'a> {
    ways: &'a LinkUses,
    /// By tree and host; the root is its own parent.
    parent: Vec<Vec<usize>>,
    share: f64,
    load: Vec<f64>,
    /// The weight of a vertex's hop from the root.
    hop: f64,
}

impl<'a> Trees<'a> {
    /// `count` trees, one after the other.
    fn grow(ways: &'a LinkUses, (count, hop): (usize, f64), budget: &Budget) -> Trees<'a> {
        let hosts = ways.hosts.len();
        let mut trees = Trees {
            ways,
            parent: vec![vec![0; hosts]; count],
            share: 1.0 / count as f64,
            load: vec![0.0; ways.resources],
            hop,
        };
        for tree in 0..count {
            budget.spend(ways.growing_units());
            // The depths of the hosts reached. Ties go to the lower ids.
            let mut depth_of: Vec<Option<usize>> = vec![None; hosts];
            depth_of[0] = Some(0);
            for _ in 1..hosts {
                let mut best: Option<(f64, usize, usize)> = None;
                for from in 0..hosts {
                    let Some(depth) = depth_of[from] else { continue };
                    for to in (0..hosts).filter(|&to| depth_of[to].is_none()) {
                        let Some(uses) = ways.uses(from, to) else { continue };
                        let added = trees.added(uses, GROWING) + trees.deeper(depth + 1);
                        if best.is_none_or(|(least, ..)| added < least) {
                            best = Some((added, from, to));
                        }
                    }
                }
                // The root reaches every host, or there would be no optimum of direct links.
                let Some((_, from, to)) = best else { break };
                trees.parent[tree][to] = from;
                trees.add(from, to, 1.0);
                depth_of[to] = depth_of[from].map(|depth| depth + 1);
            }
        }
        trees
    }

    /// Vertices change their parents while that lowers the crowding and the budget lasts.
    fn descend(&mut self, doublings: u32, budget: &Budget) {
        let hosts = self.ways.hosts.len();
        for _ in 0..PASSES {
            let mut moved = false;
            for tree in 0..self.parent.len() {
                if budget.spend((hosts * hosts / WAYS_PER_UNIT) as u64) {
                    return;
                }
                for to in 1..hosts {
                    moved |= self.reparent(tree, to, doublings);
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// Gives a host of a tree the parent with which the crowding is least; whether that is another one.
    fn reparent(&mut self, tree: usize, to: usize, doublings: u32) -> bool {
        let before = self.parent[tree][to];
        let Some(old) = self.ways.uses(before, to) else { return false };
        let (depths, below) = (self.depths(tree), self.below(tree, to));
        let moving = below.iter().filter(|&&is_below| is_below).count();
        self.add(before, to, -1.0);
        let added = |uses: &[(u32, f64)], from: usize| {
            self.added(uses, doublings) + self.hop * self.share * (depths[from] * moving) as f64
        };
        let mut best = (added(old, before) - LEAST_GAIN, before);
        for from in (0..self.ways.hosts.len()).filter(|&from| from != before && !below[from]) {
            if let Some(uses) = self.ways.uses(from, to) {
                let now = added(uses, from);
                if now < best.0 {
                    best = (now, from);
                }
            }
        }
        self.add(best.1, to, 1.0);
        self.parent[tree][to] = best.1;
        best.1 != before
    }

    /// What one more tree over these uses adds to the crowding.
    fn added(&self, uses: &[(u32, f64)], doublings: u32) -> f64 {
        let more = |&(resource, time): &(u32, f64)| {
            let load = self.load[resource as usize];
            crowd(load + time * self.share, doublings) - crowd(load, doublings)
        };
        uses.iter().map(more).sum()
    }

    fn deeper(&self, depth: usize) -> f64 {
        self.hop * self.share * depth as f64
    }

    fn add(&mut self, from: usize, to: usize, times: f64) {
        for &(resource, time) in self.ways.uses(from, to).unwrap_or(&[]) {
            self.load[resource as usize] += times * time * self.share;
        }
    }

    /// By host, whether the way from the root passes or ends at `host`.
    fn below(&self, tree: usize, host: usize) -> Vec<bool> {
        let is_below = |mut at: usize| {
            while at != 0 && at != host {
                at = self.parent[tree][at];
            }
            at == host
        };
        (0..self.ways.hosts.len()).map(is_below).collect()
    }

    /// Hops from the root.
    fn depths(&self, tree: usize) -> Vec<usize> {
        let depth = |host: usize| {
            std::iter::successors(Some(host), |&at| (at != 0).then(|| self.parent[tree][at])).count() - 1
        };
        (0..self.ways.hosts.len()).map(depth).collect()
    }

    fn crowding(&self) -> f64 {
        let loads: f64 = self.load.iter().map(|&load| crowd(load, DESCENTS[1])).sum();
        let depths = (0..self.parent.len()).flat_map(|tree| self.depths(tree));
        loads + depths.map(|depth| self.deeper(depth)).sum::<f64>()
    }

    fn busiest(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }

    /// When the last host has the first segment of each tree, s: after every hop's latency, and the transfers of the segment to
    /// all children that need the same port or pipe.
    fn filled_s(&self) -> f64 {
        (0..self.parent.len()).map(|tree| self.filled_tree_s(tree)).fold(0.0, f64::max)
    }

    fn filled_tree_s(&self, tree: usize) -> f64 {
        let (ways, parent, depths) = (self.ways, &self.parent[tree], self.depths(tree));
        let hosts = parent.len();
        let mut to_all_s: HashMap<(usize, u32), f64> = HashMap::new();
        let uses = |to: usize| ways.uses(parent[to], to).unwrap_or(&[]);
        for (to, &from) in parent.iter().enumerate().skip(1) {
            for &(resource, time) in uses(to) {
                *to_all_s.entry((from, resource)).or_insert(0.0) += time / ways.segments_per_s;
            }
        }
        let mut outwards: Vec<usize> = (1..hosts).collect();
        outwards.sort_by_key(|&host| depths[host]);
        let mut at_s = vec![0.0; hosts];
        for to in outwards {
            let from = parent[to];
            let sent_s =
                uses(to).iter().map(|&(resource, _)| to_all_s[&(from, resource)]).fold(0.0, f64::max);
            at_s[to] = at_s[from] + ways.latency_s[from * hosts + to] + sent_s;
        }
        at_s.into_iter().fold(0.0, f64::max)
    }

    fn weighted(&self, instance: &Instance) -> Vec<WeightedTree> {
        let hosts = &self.ways.hosts;
        let tree = |parents: &Vec<usize>| {
            let mut parent = vec![None; instance.platform.node_count()];
            for (to, &from) in parents.iter().enumerate().skip(1) {
                parent[hosts[to].index()] = Some(hosts[from]);
            }
            WeightedTree { share: self.share, parent, via: BTreeMap::new() }
        };
        self.parent.iter().map(tree).collect()
    }
}

/// The load to the power of 2^`doublings`, and its own weight.
fn crowd(load: f64, doublings: u32) -> f64 {
    (0..doublings).fold(load, |power, _| power * power) + WORK * load
}

/// Whether every tree has such a link, because some host is reached over no others. Examines every pair of hosts.
pub(super) fn must_share(instance: &Instance) -> bool {
    let Instance { platform, root, segment_bytes, .. } = *instance;
    if platform.port_model() != PortModel::MultiPort {
        return false;
    }
    let is_as_quick = |from: NodeId, to: NodeId| {
        let Some(class) = platform.link(from, to) else { return false };
        let latency_s = platform.class(class).latency_s;
        let windows = occupation(platform, Hop { from, to, class }, segment_bytes).windows;
        let mut at_receiver = windows.iter().filter(|window| window.resource == Resource::In(to));
        at_receiver.all(|window| window.offset_s <= latency_s + window.duration_s * ROUNDING)
    };
    let mut reached = vec![root];
    let mut left: Vec<NodeId> = instance.receivers().collect();
    while let Some(from) = reached.pop() {
        let (near, far) = left.into_iter().partition(|&to| is_as_quick(from, to));
        reached.extend::<Vec<NodeId>>(near);
        left = far;
    }
    !left.is_empty()
}
