//! The order of a chain where hosts next to each other by index have no link: a walk over the clusters.
//!
//! The walk goes from cluster to cluster along the links between them, depth first, nearest first, and comes back
//! through clusters where it has been. A cluster lends one of its hosts to each return and has all others in line at
//! the first visit, so every host passes the message on once, over a link of its own.

use crate::planners::Instance;
use crate::platform::{ClusterId, NodeId, Platform};
use std::collections::HashMap;

/// The hosts from the root on, by index relative to it where these pairs are linked, or else by a walk over their
/// clusters where that finds linked pairs; otherwise by index after all, relayed.
pub(super) fn chain_order(instance: &Instance) -> Vec<NodeId> {
    let by_index = instance.hosts_from_root();
    if is_linked(instance.platform, &by_index) {
        return by_index;
    }
    let walked = walk(instance.platform, &by_index);
    walked.filter(|order| is_linked(instance.platform, order)).unwrap_or(by_index)
}

fn is_linked(platform: &Platform, order: &[NodeId]) -> bool {
    order.windows(2).all(|pair| platform.link(pair[0], pair[1]).is_some())
}

/// A visit of a cluster, which the walk entered from its `parent`.
struct Visit {
    hosts: Vec<NodeId>,
    children: Vec<usize>,
    /// The clusters on the longest way down, itself included.
    height: usize,
}

/// `None` where a host has no cluster, where links do not join the clusters, and where one has too few hosts.
fn walk(platform: &Platform, by_index: &[NodeId]) -> Option<Vec<NodeId>> {
    let mut visits: Vec<Visit> = Vec::new();
    let mut place_of: HashMap<ClusterId, usize> = HashMap::new();
    for &host in by_index {
        let next = visits.len();
        let place = *place_of.entry(platform.node(host).cluster?).or_insert(next);
        if place == next {
            visits.push(Visit { hosts: Vec::new(), children: Vec::new(), height: 1 });
        }
        visits[place].hosts.push(host);
    }
    let joined = join(platform, &mut visits);
    joined.then(|| line_up(&mut visits)).flatten()
}

/// Gives each cluster but the root's a parent, depth first; whether all are reached. Clusters without a link between
/// their first hosts count as apart.
fn join(platform: &Platform, visits: &mut [Visit]) -> bool {
    let first: Vec<NodeId> = visits.iter().map(|visit| visit.hosts[0]).collect();
    let latency_s = |from: usize, to: usize| {
        let back = platform.link(first[to], first[from]);
        let class = platform.link(first[from], first[to]).filter(|_| back.is_some());
        class.map(|class| platform.class(class).latency_s)
    };
    let mut is_reached = vec![false; visits.len()];
    is_reached[0] = true;
    let mut path = vec![0];
    while let Some(&at) = path.last() {
        let near = (0..visits.len()).filter(|&to| !is_reached[to]);
        let near = near.filter_map(|to| latency_s(at, to).map(|latency_s| (latency_s, to)));
        let Some((_, next)) = near.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else {
            path.pop();
            if let Some(&parent) = path.last() {
                visits[parent].height = visits[parent].height.max(1 + visits[at].height);
            }
            continue;
        };
        is_reached[next] = true;
        visits[at].children.push(next);
        path.push(next);
    }
    is_reached.into_iter().all(|reached| reached)
}

/// The hosts in the order of the walk. The longest way down comes last, since nothing comes back from there.
fn line_up(visits: &mut [Visit]) -> Option<Vec<NodeId>> {
    for at in 0..visits.len() {
        let mut children = std::mem::take(&mut visits[at].children);
        children.sort_by_key(|&child| (visits[child].height, child));
        visits[at].children = children;
    }
    let mut order = Vec::new();
    // A cluster, the number of its children that are done, and whether the walk returns from it.
    let mut path = vec![(0, 0, false)];
    while let Some((at, done, returns)) = path.pop() {
        let visit = &mut visits[at];
        let left = visit.children.len() - done;
        // One host for each return to this cluster.
        let later = if returns { left } else { left.saturating_sub(1) };
        let now = if done == 0 { visit.hosts.len().checked_sub(later).filter(|&now| now > 0)? } else { 1 };
        order.extend(visit.hosts.drain(..now));
        if left > 0 {
            let comes_back = returns || left > 1;
            if comes_back {
                path.push((at, done + 1, returns));
            }
            path.push((visit.children[done], 0, comes_back));
        }
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clusters r, a, b with their hosts; r is linked with a and with b.
    fn order(hosts: &[&str], root: &str) -> Vec<String> {
        let nodes: Vec<String> =
            hosts.iter().map(|id| format!(r#"{{"id": "{id}", "cluster": "{}"}}"#, &id[..1])).collect();
        let mesh = |cluster: &str| {
            let of: Vec<String> =
                hosts.iter().filter(|id| id.starts_with(cluster)).map(|id| format!("{id:?}")).collect();
            format!(r#"{{"nodes": [{}], "link": {{"bandwidth_bytes_per_s": 1}}}}"#, of.join(", "))
        };
        let bridge = |to: &str| {
            let between = format!(r#""from_cluster": "r", "to_cluster": "{to}", "both_ways": true"#);
            format!(r#"{{{between}, "link": {{"latency_s": 1, "bandwidth_bytes_per_s": 1}}}}"#)
        };
        let text = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "star", "port_model": "one-port",
            "nodes": [{}], "meshes": [{}, {}, {}], "bridges": [{}, {}]}}"#,
            nodes.join(", "),
            mesh("r"),
            mesh("a"),
            mesh("b"),
            bridge("a"),
            bridge("b")
        );
        let platform = Platform::from_json(&text).unwrap();
        let instance = Instance::new(&platform, platform.find(root).unwrap(), 8).unwrap();
        chain_order(&instance).iter().map(|&host| platform.node(host).id.clone()).collect()
    }

    /// Worked by hand.
    #[test]
    fn every_host_passes_on_once_over_a_link() {
        let star = ["r0", "r1", "r2", "a0", "a1", "b0", "b1"];
        assert_eq!(order(&star, "r0"), ["r0", "r1", "a0", "a1", "r2", "b0", "b1"], "r2 waits for the return");
        assert_eq!(order(&star, "a1"), ["a1", "a0", "r0", "r1", "r2", "b0", "b1"]);
        assert_eq!(order(&["a0", "r0", "b0"], "a0"), ["a0", "r0", "b0"], "by index, all linked");
    }

    #[test]
    fn without_a_host_for_the_return_the_order_is_by_index() {
        assert_eq!(order(&["r0", "a0", "b0"], "r0"), ["r0", "a0", "b0"]);
    }
}
