//! Trees without a timetable: of even load, because they share the ports instead of taking turns.
//!
//! Where links are slower than ports, a port serves many transfers at once, each at its link's pace. The optimum only
//! avoids overload, and fills some links completely beside idle ones; a full link cannot catch up after a delay. So W
//! equal trees are grown one after the other, each vertex by the link that adds the least crowding, and then vertices
//! change their parents while that reduces the crowding. Of several W the least crowded set is kept.
//!
//! A resource that is busy for a part u of the time at the bound's rate counts u^p + [`WORK`] · u, which rises
//! steeply near 1; a vertex counts [`DEPTH`] for each hop from the root.

use super::settings::balance::{
    COUNTS, DEPTH, DESCENTS, GROWING, LEAST_GAIN, LEAST_RATE, MOST_NODES, PASSES, ROUNDING, WAYS_PER_UNIT,
    WORK,
};
use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::optimum::{Optimum, WeightedTree};
use crate::planners::Instance;
use crate::platform::{Hop, NodeId, PortModel};
use std::collections::{BTreeMap, HashMap};

/// Equal trees whose rate is near the optimum's and whose loads are even; `None` where there are none, among many nodes,
/// and through switches.
pub(super) fn balanced_trees(
    instance: &Instance,
    optimum: &Optimum,
    budget: &Budget,
) -> Option<Vec<WeightedTree>> {
    let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
    let is_relayed = optimum.trees.iter().any(|tree| !tree.via.is_empty());
    if is_relayed || instance.platform.node_count() > MOST_NODES {
        return None;
    }
    let ways = LinkUses::new(instance, optimum.upper_bound_bytes_per_s);
    let mut best: Option<(f64, Trees)> = None;
    for count in COUNTS.into_iter().filter(|&count| count as u64 <= segments) {
        if best.is_some() && budget.is_spent() {
            break;
        }
        let mut trees = Trees::grow(&ways, count);
        DESCENTS.into_iter().for_each(|power| trees.descend(power, budget));
        let crowding = trees.crowding();
        if best.as_ref().is_none_or(|(least, _)| crowding < *least) {
            best = Some((crowding, trees));
        }
    }
    let (_, trees) = best?;
    let busiest = trees.load.iter().copied().fold(0.0, f64::max);
    if optimum.upper_bound_bytes_per_s < LEAST_RATE * optimum.throughput_bytes_per_s * busiest {
        return None;
    }
    Some(trees.weighted(instance))
}

/// The resources of a transfer between two hosts, and the share of the time for which it holds each if all segments
/// take it at the bound's rate. The root is host 0.
struct LinkUses {
    hosts: Vec<NodeId>,
    resources: usize,
    /// Of each ordered pair, `from * hosts + to`; `None` where there is no link.
    uses: Vec<Option<Vec<(u32, f64)>>>,
}

impl LinkUses {
    fn new(instance: &Instance, bytes_per_s: f64) -> LinkUses {
        let Instance { platform, segment_bytes, .. } = *instance;
        let segments_per_s = bytes_per_s / segment_bytes as f64;
        let hosts = instance.root_and_receivers();
        let mut number: HashMap<Resource, u32> = HashMap::new();
        let mut uses = Vec::with_capacity(hosts.len() * hosts.len());
        for &from in &hosts {
            for &to in &hosts {
                uses.push(platform.link(from, to).map(|class| {
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
        LinkUses { hosts, resources: number.len(), uses }
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
}

impl<'a> Trees<'a> {
    /// `count` trees, one after the other.
    fn grow(ways: &'a LinkUses, count: usize) -> Trees<'a> {
        let hosts = ways.hosts.len();
        let mut trees = Trees {
            ways,
            parent: vec![vec![0; hosts]; count],
            share: 1.0 / count as f64,
            load: vec![0.0; ways.resources],
        };
        for tree in 0..count {
            // Hosts reached, with their depths, in the order of ids so that ties go to the lower one.
            let mut reached: BTreeMap<usize, usize> = BTreeMap::from([(0, 0)]);
            while reached.len() < hosts {
                let mut best: Option<(f64, usize, usize)> = None;
                for (&from, &depth) in &reached {
                    for to in (0..hosts).filter(|to| !reached.contains_key(to)) {
                        let Some(uses) = ways.uses(from, to) else { continue };
                        let added = trees.change(&[], uses, GROWING) + trees.deeper(depth + 1);
                        if best.is_none_or(|(least, ..)| added < least) {
                            best = Some((added, from, to));
                        }
                    }
                }
                // The root reaches every host, or there would be no optimum of direct links.
                let Some((_, from, to)) = best else { break };
                trees.parent[tree][to] = from;
                trees.add(from, to, 1.0);
                reached.insert(to, reached[&from] + 1);
            }
        }
        trees
    }

    /// Vertices change their parents while that lowers the crowding and the budget lasts.
    fn descend(&mut self, power: i32, budget: &Budget) {
        let hosts = self.ways.hosts.len();
        for _ in 0..PASSES {
            let mut moved = false;
            for tree in 0..self.parent.len() {
                if budget.spend((hosts * hosts / WAYS_PER_UNIT) as u64) {
                    return;
                }
                for to in 1..hosts {
                    let before = self.parent[tree][to];
                    let depths = self.depths(tree);
                    let moving = (1..hosts).filter(|&host| self.is_above(tree, to, host)).count();
                    let mut best = (-LEAST_GAIN, before);
                    for from in (0..hosts).filter(|&from| from != to && from != before) {
                        let (Some(old), Some(new)) = (self.ways.uses(before, to), self.ways.uses(from, to))
                        else {
                            continue;
                        };
                        if self.is_above(tree, to, from) {
                            continue;
                        }
                        let lower = depths[from] as f64 - depths[before] as f64;
                        let deeper = DEPTH * self.share * lower * moving as f64;
                        let change = self.change(old, new, power) + deeper;
                        if change < best.0 {
                            best = (change, from);
                        }
                    }
                    if best.1 != before {
                        self.add(before, to, -1.0);
                        self.add(best.1, to, 1.0);
                        self.parent[tree][to] = best.1;
                        moved = true;
                    }
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// The change of the crowding when one tree replaces the uses `old` by `new`.
    fn change(&self, old: &[(u32, f64)], new: &[(u32, f64)], power: i32) -> f64 {
        let of = |uses: &[(u32, f64)], resource: u32| {
            uses.iter().find(|&&(used, _)| used == resource).map_or(0.0, |&(_, time)| time)
        };
        let after = |resource: u32| {
            let before = self.load[resource as usize];
            let after = before + (of(new, resource) - of(old, resource)) * self.share;
            crowd(after, power) - crowd(before, power)
        };
        let given_up = old.iter().filter(|&&(resource, _)| new.iter().all(|&(other, _)| other != resource));
        new.iter().chain(given_up).map(|&(resource, _)| after(resource)).sum()
    }

    fn deeper(&self, depth: usize) -> f64 {
        DEPTH * self.share * depth as f64
    }

    fn add(&mut self, from: usize, to: usize, times: f64) {
        for &(resource, time) in self.ways.uses(from, to).unwrap_or(&[]) {
            self.load[resource as usize] += times * time * self.share;
        }
    }

    /// Whether `host` lies on the path from the root to `below`, its end included.
    fn is_above(&self, tree: usize, host: usize, below: usize) -> bool {
        let mut at = below;
        while at != 0 && at != host {
            at = self.parent[tree][at];
        }
        at == host
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

fn crowd(load: f64, power: i32) -> f64 {
    load.powi(power) + WORK * load
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
