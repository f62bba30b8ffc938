//! The trees of an all-gather between sites: one for each host, which enters each other site and each cluster once.
//!
//! A block goes between sites by the least latencies, over other sites where that is shorter, or straight from its own
//! site to each other one, which leaves out the pipes on the way, or around all sites, or as the loads of the pipes
//! permit. In each site the host at which it
//! enters gives it to a host of each other cluster, and each of these to its cluster by a binomial tree. Blocks enter at
//! the hosts of a site in turn, so their ports share the work of handing them on. The next site comes before the own
//! one: what takes longest starts first.
//!
//! [`Handing::Relayed`]: two hosts' blocks leave a site through one of them, one after the other, so that the first are
//! handed on beyond the pipe while the others are still in it; and another host than the one at which a block enters,
//! which waits for the pipe, hands it on.

use crate::model::Resource;
use crate::plan::{Tree, TreeBuilder};
use crate::planners::shapes::add_binomial;
use crate::platform::{NodeId, Platform};
use std::cmp::Reverse;
use std::collections::HashMap;

/// By site, its clusters.
pub(super) type Sites = [Vec<Vec<NodeId>>];

/// How blocks of one site go to the others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ways {
    /// By site, the one before it; `None` for the blocks' own.
    before: Vec<Option<usize>>,
    /// The other sites, each behind the one before it.
    order: Vec<usize>,
}

/// Who hands blocks over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Handing {
    /// Each host its own block, and the host at which a block enters.
    Alone,
    /// One of two hosts both blocks, and beyond the pipe another host than the one at which a block enters.
    Relayed,
}

/// The ways from each site around all sites, always to the nearest that is left.
pub(super) fn round(latency_s: &[Vec<f64>]) -> Vec<Ways> {
    let count = latency_s.len();
    let mut left: Vec<usize> = (1..count).collect();
    let mut around = vec![0];
    while !left.is_empty() {
        let from = &latency_s[around[around.len() - 1]];
        let nearest = (0..left.len()).min_by(|&a, &b| from[left[a]].total_cmp(&from[left[b]]));
        around.push(left.remove(nearest.expect("a site is left")));
    }
    let ways_from = |own: usize| {
        let at = around.iter().position(|&site| site == own).expect("all sites are in the round");
        let order: Vec<usize> = (1..count).map(|step| around[(at + step) % count]).collect();
        let mut before = vec![None; count];
        for (step, &site) in order.iter().enumerate() {
            before[site] = Some(around[(at + step) % count]);
        }
        Ways { before, order }
    };
    (0..count).map(ways_from).collect()
}

/// The ways from each site: by the least latencies, then straight.
pub(super) fn ways(latency_s: &[Vec<f64>]) -> [Vec<Ways>; 2] {
    let from_each =
        |straight: bool| (0..latency_s.len()).map(|own| ways_from(own, latency_s, straight)).collect();
    [from_each(false), from_each(true)]
}

fn ways_from(own: usize, latency_s: &[Vec<f64>], straight: bool) -> Ways {
    let count = latency_s.len();
    let mut away_s = latency_s[own].clone();
    let mut before: Vec<Option<usize>> = (0..count).map(|site| (site != own).then_some(own)).collect();
    let mut left: Vec<usize> = (0..count).filter(|&site| site != own).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let nearest = (0..left.len()).min_by(|&a, &b| away_s[left[a]].total_cmp(&away_s[left[b]]));
        let site = left.remove(nearest.expect("a site is left"));
        order.push(site);
        for &further in left.iter().filter(|_| !straight) {
            let over_s = away_s[site] + latency_s[site][further];
            if over_s < away_s[further] {
                (away_s[further], before[further]) = (over_s, Some(site));
            }
        }
    }
    // Of the sites behind the same one, that with the longest way behind it comes first.
    let mut reach_s = away_s.clone();
    for &site in order.iter().rev() {
        let before = before[site].expect("another site");
        reach_s[before] = reach_s[before].max(reach_s[site]);
    }
    let depth = |site: usize| std::iter::successors(before[site], |&at| before[at]).count();
    order.sort_by(|&a, &b| depth(a).cmp(&depth(b)).then(reach_s[b].total_cmp(&reach_s[a])).then(a.cmp(&b)));
    Ways { before, order }
}

/// What a block takes between each two sites, seconds.
pub(super) struct Between {
    pub latency_s: Vec<Vec<f64>>,
    /// The pipes of the link, and how long the block holds each.
    pub held_s: Vec<Vec<Vec<(Resource, f64)>>>,
}

/// The ways of the blocks of all hosts, by their place in the site, for sites of `sizes` hosts. The blocks take ways one
/// after the other: each reaches the next site always from where it is there first, behind the earlier blocks in the pipes.
pub(super) fn balanced(sizes: &[usize], between: &Between) -> Vec<Vec<Ways>> {
    let most = sizes.iter().copied().max().unwrap_or(0);
    let mut loaded_s = HashMap::new();
    let mut of_place = |place: usize| {
        let of_site = |own: usize| match place < sizes[own] {
            true => behind_others(own, between, &mut loaded_s),
            false => Ways { before: Vec::new(), order: Vec::new() },
        };
        (0..sizes.len()).map(of_site).collect()
    };
    (0..most).map(&mut of_place).collect()
}

/// One block's ways; `loaded_s` is how long earlier blocks hold each pipe, and then this one too.
fn behind_others(own: usize, between: &Between, loaded_s: &mut HashMap<Resource, f64>) -> Ways {
    let Between { latency_s, held_s } = between;
    let count = latency_s.len();
    let (mut at_s, mut before, mut order) = (vec![0.0; count], vec![None; count], Vec::new());
    let mut left: Vec<usize> = (0..count).filter(|&site| site != own).collect();
    while !left.is_empty() {
        let arrival_s = |from: usize, to: usize| {
            let held = &held_s[from][to];
            let loads_s = held.iter().map(|(pipe, _)| loaded_s.get(pipe).copied().unwrap_or(0.0));
            let slowest_s = held.iter().map(|&(_, held_s)| held_s).fold(0.0, f64::max);
            loads_s.fold(at_s[from], f64::max) + slowest_s + latency_s[from][to]
        };
        let there = || order.iter().copied().chain([own]);
        let hops = (0..left.len()).flat_map(|at| there().map(move |from| (at, from)));
        let first = hops
            .map(|(at, from)| (arrival_s(from, left[at]), at, from))
            .min_by(|(one_s, ..), (other_s, ..)| one_s.total_cmp(other_s));
        let (arrives_s, at, from) = first.expect("a site is left");
        let to = left.remove(at);
        (at_s[to], before[to]) = (arrives_s, Some(from));
        held_s[from][to].iter().for_each(|&(pipe, held_s)| *loaded_s.entry(pipe).or_default() += held_s);
        order.push(to);
    }
    Ways { before, order }
}

/// A tree for each host, those of different sites in turn. The hosts of a site take the sets of ways in turn.
pub(super) fn trees(platform: &Platform, sites: &Sites, ways: &[Vec<Ways>], handing: Handing) -> Vec<Tree> {
    let hosts = |site: &Vec<Vec<NodeId>>| site.iter().flatten().copied().collect::<Vec<_>>();
    let of_site: Vec<Vec<NodeId>> = sites.iter().map(hosts).collect();
    let mut turns = Turns {
        of_site: vec![0; sites.len()],
        of_relay: vec![0; sites.len()],
        of_cluster: sites.iter().map(|site| vec![0; site.len()]).collect(),
    };
    let most = of_site.iter().map(Vec::len).max().unwrap_or(0);
    let places = (0..most).flat_map(|place| (0..sites.len()).map(move |site| (site, place)));
    let roots = places.filter_map(|(site, place)| Some((site, place, *of_site[site].get(place)?)));
    let tree = |(own, place, root): (usize, usize, NodeId)| {
        let ways = &ways[place % ways.len()][own];
        let mut tree = BlockTree::new(platform, root);
        let mut entered = vec![root; sites.len()];
        let mut leaving = root;
        if handing == Handing::Relayed {
            leaving = first_of_pair(&sites[own], root);
            tree.add(root, leaving);
        }
        for &site in &ways.order {
            entered[site] = next(&mut turns.of_site[site], &of_site[site]);
            let before = ways.before[site].expect("another site");
            tree.add(if before == own { leaving } else { entered[before] }, entered[site]);
        }
        for (at, site) in sites.iter().enumerate() {
            let mut from = entered[at];
            if handing == Handing::Relayed && at != own && of_site[at].len() > 1 {
                let others: Vec<NodeId> = of_site[at].iter().copied().filter(|&host| host != from).collect();
                let relay = next(&mut turns.of_relay[at], &others);
                tree.add(from, relay);
                from = relay;
            }
            tree.add_site(site, from, &mut turns.of_cluster[at]);
        }
        tree.edges.build()
    };
    roots.map(tree).collect()
}

/// The host through which a host's block leaves, itself or its partner. Partners are of different clusters where there
/// are some: within a cluster, most blocks are handed on among the same hosts.
fn first_of_pair(clusters: &[Vec<NodeId>], host: NodeId) -> NodeId {
    let most = clusters.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..most).flat_map(|place| clusters.iter().filter_map(move |cluster| cluster.get(place)));
    let in_turn: Vec<NodeId> = in_turn.copied().collect();
    let at = in_turn.iter().position(|&other| other == host).expect("a host of the site");
    in_turn[at - at % 2]
}

/// How often hosts of each site were those at which a block enters, relays of one, and those at which it enters a cluster.
struct Turns {
    of_site: Vec<usize>,
    of_relay: Vec<usize>,
    of_cluster: Vec<Vec<usize>>,
}

/// The host whose turn it is.
fn next(count: &mut usize, hosts: &[NodeId]) -> NodeId {
    *count += 1;
    hosts[(*count - 1) % hosts.len()]
}

struct BlockTree {
    edges: TreeBuilder,
    /// By node, whether it gets the block already.
    gets: Vec<bool>,
}

impl BlockTree {
    fn new(platform: &Platform, root: NodeId) -> BlockTree {
        let nodes = platform.node_count();
        let mut gets = vec![false; nodes];
        gets[root.index()] = true;
        BlockTree { edges: TreeBuilder::new(nodes).root(root), gets }
    }

    fn add(&mut self, from: NodeId, to: NodeId) {
        if !std::mem::replace(&mut self.gets[to.index()], true) {
            self.edges.add(from, to);
        }
    }

    /// Hands a block on from a host of the site to all that do not get it yet, the largest cluster first.
    fn add_site(&mut self, clusters: &[Vec<NodeId>], from: NodeId, counts: &mut [usize]) {
        let mut heads: Vec<(Vec<NodeId>, NodeId)> = Vec::new();
        for (cluster, count) in clusters.iter().zip(counts) {
            let left: Vec<NodeId> =
                cluster.iter().copied().filter(|host| *host == from || !self.gets[host.index()]).collect();
            if left.is_empty() {
                continue;
            }
            let head = if left.contains(&from) { from } else { next(count, &left) };
            heads.push((left, head));
        }
        heads.sort_by_key(|(cluster, head)| (*head != from, Reverse(cluster.len()), *head));
        heads.iter().for_each(|&(_, head)| self.add(from, head));
        for (mut hosts, head) in heads {
            let at = hosts.iter().position(|&host| host == head).expect("a host of the cluster");
            hosts.rotate_left(at);
            add_binomial(&mut self.edges, &hosts);
            hosts.iter().for_each(|host| self.gets[host.index()] = true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::SharedId;

    /// Four sites on a line, 1 s apart, and a slow way from end to end.
    #[test]
    fn ways_go_over_nearer_sites_or_straight() {
        let latency_s: Vec<Vec<f64>> = (0..4i32)
            .map(|a| {
                (0..4i32).map(|b| if (a - b).abs() == 3 { 3.5 } else { f64::from((a - b).abs()) }).collect()
            })
            .collect();
        let [shortest, straight] = ways(&latency_s);
        // The way over site 1 to site 2 is not shorter than the straight one, that over it to site 3 is.
        assert_eq!(shortest[0].before, [None, Some(0), Some(0), Some(1)]);
        assert_eq!(shortest[0].order, [1, 2, 3]);
        assert_eq!(straight[0].before, [None, Some(0), Some(0), Some(0)]);
        assert_eq!(straight[0].order, [3, 2, 1]);
        assert_eq!(shortest[2].before, [Some(2), Some(2), None, Some(2)]);
        let round = round(&latency_s);
        assert_eq!(round[2].before, [Some(3), Some(0), None, Some(2)]);
        assert_eq!(round[2].order, [3, 0, 1]);
    }

    /// Worked by hand: three sites 1 s apart; each pipe takes 1 s for a block, that from site 0 to site 2 longer. Over site 1 the
    /// blocks of site 0 are at site 2 after 4, 5, 6 and 7 s, since each waits for those before it. Where the slow pipe takes
    /// 4 s, the third is there after 5 s on the straight way, and the fourth would come behind it, after 9 s.
    #[test]
    fn blocks_go_around_a_slow_pipe_until_the_others_are_loaded() {
        let ways_to_2 = |slow_s: f64| {
            let pipe = |from: u32, to: u32| Resource::Shared(SharedId(3 * from + to));
            let held = |from: u32, to: u32| match (from, to) {
                (0, 2) => vec![(pipe(0, 2), slow_s)],
                _ => vec![(pipe(from, to), 1.0)],
            };
            let held_s = (0..3).map(|from| (0..3).map(|to| held(from, to)).collect()).collect();
            let between = Between { latency_s: vec![vec![1.0; 3]; 3], held_s };
            let by_place = balanced(&[4, 0, 0], &between);
            by_place.iter().map(|of_sites| of_sites[0].before[2]).collect::<Vec<_>>()
        };
        assert_eq!(ways_to_2(10.0), [Some(1); 4]);
        assert_eq!(ways_to_2(4.0), [Some(1), Some(1), Some(0), Some(1)]);
    }
}
