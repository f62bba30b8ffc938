//! The trees of an all-gather between sites: one for each host, which enters each other site and each cluster once.
//!
//! A block goes between sites by the least latencies, over other sites where that is shorter, or straight from its own
//! site to each other one, which leaves out the pipes on the way. In each site the host at which it enters gives it to
//! a host of each other cluster, and each of these to its cluster by a binomial tree. Blocks enter at the hosts of a
//! site in turn, so their ports share the work of handing them on. The next site comes before the own one: what takes
//! longest starts first.

use crate::plan::{Tree, TreeBuilder};
use crate::planners::shapes::add_binomial;
use crate::platform::{NodeId, Platform};
use std::cmp::Reverse;

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

/// A tree for each host, those of different sites in turn.
pub(super) fn trees(platform: &Platform, sites: &Sites, ways: &[Ways]) -> Vec<Tree> {
    let hosts = |site: &Vec<Vec<NodeId>>| site.iter().flatten().copied().collect::<Vec<_>>();
    let of_site: Vec<Vec<NodeId>> = sites.iter().map(hosts).collect();
    let mut entries = Entries {
        of_site: vec![0; sites.len()],
        of_cluster: sites.iter().map(|site| vec![0; site.len()]).collect(),
    };
    let most = of_site.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..most).flat_map(|place| (0..sites.len()).map(move |site| (site, place)));
    let roots = turns.filter_map(|(site, place)| Some((site, *of_site[site].get(place)?)));
    let tree = |(own, root): (usize, NodeId)| {
        let mut tree = TreeBuilder::new(platform.node_count()).root(root);
        let mut entered = vec![root; sites.len()];
        for &site in &ways[own].order {
            entered[site] = Entries::next(&mut entries.of_site[site], &of_site[site]);
            let before = ways[own].before[site].expect("another site");
            tree.add(entered[before], entered[site]);
        }
        for (at, site) in sites.iter().enumerate() {
            add_site(&mut tree, site, entered[at], &mut entries.of_cluster[at]);
        }
        tree.build()
    };
    roots.map(tree).collect()
}

/// The number of blocks that have entered each site and each cluster.
struct Entries {
    of_site: Vec<usize>,
    of_cluster: Vec<Vec<usize>>,
}

impl Entries {
    /// The host at which the next block enters.
    fn next(count: &mut usize, hosts: &[NodeId]) -> NodeId {
        *count += 1;
        hosts[(*count - 1) % hosts.len()]
    }
}

/// Hands a block on inside the site that it enters at `entered`, the largest cluster first.
fn add_site(tree: &mut TreeBuilder, clusters: &[Vec<NodeId>], entered: NodeId, counts: &mut [usize]) {
    let mut heads: Vec<(&Vec<NodeId>, NodeId)> = Vec::new();
    for (cluster, count) in clusters.iter().zip(counts) {
        let head = match cluster.contains(&entered) {
            true => entered,
            false => Entries::next(count, cluster),
        };
        heads.push((cluster, head));
    }
    heads.sort_by_key(|&(cluster, head)| (head != entered, Reverse(cluster.len()), head));
    heads[1..].iter().for_each(|&(_, head)| {
        tree.add(entered, head);
    });
    for (cluster, head) in heads {
        let mut hosts = cluster.clone();
        let at = hosts.iter().position(|&host| host == head).expect("a host of the cluster");
        hosts.rotate_left(at);
        add_binomial(tree, &hosts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
