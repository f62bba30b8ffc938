//! The sites of a platform, and what trees between them promise before any simulation.

use super::groups::{by_cluster, by_latency, by_site};
use crate::model::{occupation, Resource};
use crate::plan::{Flow, PlanError, Tree};
use crate::planners::exchange::longest_way_s;
use crate::planners::{Instance, Unsupported};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::BTreeMap;

/// By site, its clusters, the largest first; where there is one site only, each cluster counts as a site, and where
/// there is one cluster only, each group of near hosts.
pub(super) fn sites(platform: &Platform) -> Vec<Vec<Vec<NodeId>>> {
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let mut sites = by_site(platform, hosts.clone());
    if sites.len() == 1 {
        sites = by_cluster(platform, hosts.clone());
    }
    let mut sites: Vec<Vec<Vec<NodeId>>> = match sites.len() {
        1 => by_latency(platform, &hosts),
        _ => sites.into_iter().map(|site| by_cluster(platform, site)).collect(),
    };
    for clusters in &mut sites {
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
    }
    sites
}

/// Whether there are several sites, clusters or groups of near hosts.
pub(super) fn has_sites(instance: &Instance) -> Result<(), Unsupported> {
    match sites(instance.platform).len() {
        0 | 1 => Err(Unsupported("all hosts are in one cluster of one site, and equally near".to_string())),
        _ => Ok(()),
    }
}

/// The latencies between the sites' first hosts, seconds; infinite where they have no link.
pub(super) fn latencies_s(platform: &Platform, sites: &[Vec<Vec<NodeId>>]) -> Vec<Vec<f64>> {
    let first: Vec<NodeId> = sites.iter().map(|site| site[0][0]).collect();
    let latency_s = |from: NodeId, to: NodeId| match platform.link(from, to) {
        _ if from == to => 0.0,
        Some(class) => platform.class(class).latency_s,
        None => f64::INFINITY,
    };
    first.iter().map(|&from| first.iter().map(|&to| latency_s(from, to)).collect()).collect()
}

/// The set of trees that promises to be quickest, by its number; the first of equal ones.
pub(super) fn quickest(
    planner: &str,
    instance: &Instance,
    sets: &[Vec<Tree>],
    ways: &[bool],
) -> Result<(Promise, usize), PlanError> {
    let promised = sets.iter().enumerate();
    let promised = promised.map(|(at, trees)| promise(instance, trees, ways).map(|promise| (promise, at)));
    let quickest = promised.flatten().min_by(|(a, _), (b, _)| a.all_s().total_cmp(&b.all_s()));
    quickest.ok_or_else(|| {
        let reason = "two heads of sites or clusters have no link between them".to_string();
        PlanError::Unsupported { planner: planner.to_string(), reason }
    })
}

/// What trees promise, seconds.
pub(super) struct Promise {
    /// The time of the busiest resource, and of the busiest pipe.
    busiest_s: f64,
    pub pipe_s: f64,
    /// That of a segment by the longest way.
    pub longest_s: f64,
}

impl Promise {
    pub fn all_s(&self) -> f64 {
        self.busiest_s + self.longest_s
    }
}

/// `ways` states for each way of a segment whether it is inward. `None` where an edge of a tree has no link.
pub(super) fn promise(instance: &Instance, trees: &[Tree], ways: &[bool]) -> Option<Promise> {
    let Instance { platform, message_bytes, segment_bytes, .. } = *instance;
    let segments = message_bytes.div_ceil(segment_bytes) as f64;
    let mut held_s: BTreeMap<Resource, f64> = BTreeMap::new();
    let mut longest_s: f64 = 0.0;
    for tree in trees {
        let root = tree.root.unwrap_or(instance.root);
        for &is_inward in ways {
            let flow = Flow { index: 0, tree, is_inward, exchange: &tree.exchange };
            for (parent, child) in flow.edges(root) {
                let (from, to) = flow.ends(parent, child);
                let class = platform.link(from, to)?;
                let held = occupation(platform, Hop { from, to, class }, segment_bytes);
                for window in held.windows {
                    *held_s.entry(window.resource).or_default() += window.duration_s * segments * tree.share;
                }
            }
        }
        let of_way = |is_inward: bool| ways.contains(&is_inward).then_some(tree);
        let both = [of_way(true), of_way(false)];
        longest_s = longest_s.max(longest_way_s(platform, segment_bytes, root, both, &tree.exchange)?);
    }
    let pipes = held_s.iter().filter(|(resource, _)| matches!(resource, Resource::Shared(_)));
    let pipe_s = pipes.map(|(_, &held_s)| held_s).fold(0.0, f64::max);
    Some(Promise { busiest_s: held_s.into_values().fold(0.0, f64::max), pipe_s, longest_s })
}
