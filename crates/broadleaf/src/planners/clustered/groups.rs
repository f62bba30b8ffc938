//! Hosts grouped by site and by cluster, for the planners that work level by level.

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
