//! Hosts grouped by site, by cluster and by latency, for the planners that work level by level.

use crate::platform::{ClusterId, NodeId, Platform};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// The hosts of each site; those without a site are one group. Groups in order of their first host.
pub(super) fn by_site(platform: &Platform, hosts: Vec<NodeId>) -> Vec<Vec<NodeId>> {
    group(hosts, |host| site(platform, host))
}

/// The hosts of each cluster; those without a cluster are one group a site. Groups in order of their first
/// host.
pub(super) fn by_cluster(platform: &Platform, hosts: Vec<NodeId>) -> Vec<Vec<NodeId>> {
    group(hosts, |host| match platform.node(host).cluster {
        Some(cluster) => Place::Cluster(cluster),
        None => Place::Site(site(platform, host)),
    })
}

/// Latencies that differ by less than this factor are alike; Lowekamp's tolerance.
const ALIKE: f64 = 1.3;
/// Latencies of all pairs of more hosts take too long to look at.
const MOST_PAIRED: usize = 1024;

/// By group of the coarsest level, the groups of the finest one in it, where the latencies have levels, as those of
/// switches below switches do; else all hosts as one group.
///
/// A level is a latency within which all hosts of a group reach each other. It counts if it leaves at most half as many
/// groups as the level below it.
pub(super) fn by_latency(platform: &Platform, hosts: &[NodeId]) -> Vec<Vec<Vec<NodeId>>> {
    let one_way_s =
        |from, to| platform.link(from, to).map_or(f64::INFINITY, |class| platform.class(class).latency_s);
    let [least_s, most_s] = match hosts {
        [first, others @ ..] if others.len() < MOST_PAIRED => {
            others.iter().fold([f64::INFINITY, 0.0], |[least_s, most_s], &host| {
                let latency_s = one_way_s(*first, host);
                [latency_s.min(least_s), latency_s.max(most_s)]
            })
        }
        _ => [0.0; 2],
    };
    // On most networks without levels the first host's latencies show it.
    if most_s <= ALIKE * least_s {
        return vec![vec![hosts.to_vec()]];
    }
    let latency_s = |a: NodeId, b: NodeId| one_way_s(a, b).max(one_way_s(b, a));
    let mut all_s: Vec<f64> = hosts
        .iter()
        .enumerate()
        .flat_map(|(at, &a)| hosts[at + 1..].iter().map(move |&b| (a, b)))
        .map(|(a, b)| latency_s(a, b))
        .collect();
    all_s.sort_unstable_by(f64::total_cmp);
    let (mut finest_s, mut coarsest) = (None, hosts.iter().map(|&host| vec![host]).collect::<Vec<_>>());
    let mut next = 0;
    while let Some(least_s) = all_s.get(next) {
        let within_s = ALIKE * least_s;
        let groups = within(hosts, within_s, &latency_s);
        if groups.len() == 1 {
            break;
        }
        if 2 * groups.len() <= coarsest.len() {
            finest_s.get_or_insert(within_s);
            coarsest = groups;
        }
        next += all_s[next..].partition_point(|&s| s <= within_s);
    }
    match finest_s {
        Some(finest_s) => coarsest.into_iter().map(|group| within(&group, finest_s, &latency_s)).collect(),
        None => vec![vec![hosts.to_vec()]],
    }
}

/// Groups of hosts that all reach each other within `most_s`: each host is in the first group that it reaches all of.
fn within(hosts: &[NodeId], most_s: f64, latency_s: &impl Fn(NodeId, NodeId) -> f64) -> Vec<Vec<NodeId>> {
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    for &host in hosts {
        let reaches_all =
            |group: &&mut Vec<NodeId>| group.iter().all(|&other| latency_s(host, other) <= most_s);
        match groups.iter_mut().find(reaches_all) {
            Some(group) => group.push(host),
            None => groups.push(vec![host]),
        }
    }
    groups
}

#[derive(PartialEq, Eq, Hash)]
enum Place {
    Cluster(ClusterId),
    Site(Option<Arc<str>>),
}

fn site(platform: &Platform, host: NodeId) -> Option<Arc<str>> {
    platform.node(host).site.clone()
}

fn group<K: Eq + Hash>(hosts: Vec<NodeId>, key: impl Fn(NodeId) -> K) -> Vec<Vec<NodeId>> {
    let mut place_of = HashMap::new();
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    for host in hosts {
        let place = *place_of.entry(key(host)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(host);
    }
    groups
}

/// The groups with the root's first and the root first in it; the others keep their order.
pub(super) fn with_root_first(mut groups: Vec<Vec<NodeId>>, root: NodeId) -> Vec<Vec<NodeId>> {
    let position = |group: &Vec<NodeId>| group.iter().position(|&host| host == root);
    let own = groups.iter().position(|group| position(group).is_some()).expect("the root is a host");
    groups[..=own].rotate_right(1);
    // By index relative to the root, wrapping, as everywhere else.
    let at = position(&groups[0]).expect("the root is in its group");
    groups[0].rotate_left(at);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{ExplicitLink, LinkClass, PlatformBuilder, PortModel};

    fn levels(hosts: usize, latency_us: impl Fn(usize, usize) -> f64) -> Vec<Vec<Vec<u32>>> {
        let mut builder = PlatformBuilder::new("levels", PortModel::OnePort);
        let nodes: Vec<NodeId> = (0..hosts).map(|at| builder.add_host(format!("h{at}")).unwrap()).collect();
        for (from, to) in
            (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(a, b)| a != b)
        {
            let class = builder.add_class(LinkClass::affine(1e-6 * latency_us(from, to), 1e9));
            builder
                .add_link(ExplicitLink { from: nodes[from], to: nodes[to], class, both_ways: false })
                .unwrap();
        }
        let found = by_latency(&builder.build().unwrap(), &nodes);
        found
            .iter()
            .map(|group| group.iter().map(|part| part.iter().map(|node| node.0).collect()).collect())
            .collect()
    }

    /// By definition: two hosts on a switch, two switches on one above, two of these on the topmost; 10 % of noise.
    #[test]
    fn switches_below_switches_are_groups_of_groups() {
        let noise = |a: usize, b: usize| 1.0 + 0.01 * ((a * 7 + b * 3) % 11) as f64;
        let of_tree = |a: usize, b: usize| {
            noise(a, b)
                * if a / 2 == b / 2 {
                    10.0
                } else if a / 4 == b / 4 {
                    20.0
                } else {
                    30.0
                }
        };
        let expected = [[vec![0, 1], vec![2, 3]], [vec![4, 5], vec![6, 7]]];
        assert_eq!(levels(8, of_tree), expected);
        // In two levels, the coarsest is the finest.
        assert_eq!(levels(4, of_tree), [[vec![0, 1]], [vec![2, 3]]]);
    }

    /// A line of hosts: within 1.3 of the least distance a host has two neighbours, and pairs halve the number of groups.
    #[test]
    fn a_line_falls_into_runs() {
        let found = levels(8, |a, b| a.abs_diff(b) as f64);
        assert_eq!(found, [[vec![0, 1], vec![2, 3]], [vec![4, 5], vec![6, 7]]]);
    }

    #[test]
    fn equal_latencies_and_single_outsiders_have_no_levels() {
        assert_eq!(levels(5, |_, _| 20.0), [[vec![0, 1, 2, 3, 4]]]);
        assert_eq!(
            levels(5, |a, b| if a == 4 || b == 4 { 60.0 } else { 20.0 }),
            [[vec![0, 1, 2, 3]], [vec![4]]]
        );
        assert_eq!(levels(1, |_, _| 20.0), [[vec![0]]]);
    }
}
