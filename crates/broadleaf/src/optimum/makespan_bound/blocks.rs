//! What no scatter and no all-gather can beat, and, with every link turned round, no gather and no reduce-scatter.
//!
//! Blocks that differ cannot stand in for each other: into a group of hosts come all blocks that are for its members
//! (scatter), or all that the others contribute (all-gather), each at least once. So argument 2 of the makespan bound holds
//! for each group with that many bytes, which are there from the start: for each host by itself, for each cluster and
//! site, for all but those, and for what the root reaches only by one shared resource.

use super::crossing::{Cover, Crossings};
use super::{makespan_bound_within, ROUNDING};
use crate::budget::Budget;
use crate::platform::{NodeId, Platform, SharedId};

/// A time below which no plan sends every host a block of `message_bytes` from `root`, seconds; 0 where there is nothing to
/// do. Within a budget: as valid, and lower, where that is spent first.
pub fn scatter_bound_s(platform: &Platform, root: NodeId, message_bytes: u64, budget: &Budget) -> f64 {
    let hosts_of = |behind: &[bool]| platform.hosts().filter(|host| behind[host.index()]).count() as u64;
    let mut groups = groups(platform);
    groups.push(platform.nodes().map(|node| node != root).collect());
    for shared in (0..platform.shared().len() as u32).map(SharedId) {
        let without = |class| match platform.class(class).uses.contains(&shared) {
            true => f64::INFINITY,
            false => 0.0,
        };
        groups.push(platform.distances(root, without).into_iter().map(f64::is_infinite).collect());
    }
    let entered = groups.iter().filter(|behind| !behind[root.index()]).take_while(|_| !budget.is_spent());
    let entered_s = entered.map(|behind| entered_s(platform, behind, hosts_of(behind), message_bytes));
    // Blocks that happen to be equal make it a broadcast.
    let one_block_s = makespan_bound_within(platform, root, message_bytes, budget);
    (entered_s.fold(0.0, f64::max) * (1.0 - ROUNDING)).max(one_block_s)
}

/// A time below which no plan gathers the `message_bytes` of every host on every host, seconds; 0 where there is
/// nothing to do.
pub fn allgather_bound_s(platform: &Platform, message_bytes: u64) -> f64 {
    let hosts = platform.hosts().count() as u64;
    // Beyond 2^64 bytes the bound is that of fewer.
    let received_bytes = message_bytes.saturating_mul(hosts - 1);
    if received_bytes == 0 {
        return 0.0;
    }
    let crossings = crossings(platform, received_bytes);
    let alone_s = platform.hosts().map(|host| crossings.alone_s(host)).fold(0.0, f64::max);
    let others = |behind: &[bool]| platform.hosts().filter(|host| !behind[host.index()]).count() as u64;
    let entered_s = groups(platform)
        .iter()
        .filter(|behind| platform.hosts().any(|host| behind[host.index()]))
        .map(|behind| entered_s(platform, behind, others(behind), message_bytes))
        .fold(0.0, f64::max);
    alone_s.max(entered_s) * (1.0 - ROUNDING)
}

fn crossings(platform: &Platform, bytes: u64) -> Crossings<'_> {
    let from_the_start = vec![0.0; platform.node_count()];
    Crossings::new(platform, &from_the_start, bytes, &Budget::UNLIMITED).expect("there is time")
}

/// When so many blocks can have come behind a cut, seconds.
fn entered_s(platform: &Platform, behind: &[bool], blocks: u64, message_bytes: u64) -> f64 {
    let bytes = message_bytes.saturating_mul(blocks);
    if bytes == 0 {
        return 0.0;
    }
    crossings(platform, bytes).crossed_s(behind, Cover::ALL).0
}

/// Each cluster and each site, and all but it.
fn groups(platform: &Platform) -> Vec<Vec<bool>> {
    let cluster = |node: NodeId| platform.node(node).cluster.map(|cluster| cluster.index());
    let mut names: Vec<&str> =
        platform.nodes().filter_map(|node| platform.node(node).site.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let site =
        |node: NodeId| platform.node(node).site.as_deref().and_then(|site| names.binary_search(&site).ok());
    let mut groups = Vec::new();
    let labels: [Vec<Option<usize>>; 2] =
        [platform.nodes().map(cluster).collect(), platform.nodes().map(site).collect()];
    for labels in labels {
        let most = labels.iter().flatten().max().map_or(0, |&most| most + 1);
        for group in 0..most {
            let inside: Vec<bool> = labels.iter().map(|&label| label == Some(group)).collect();
            groups.push(inside.iter().map(|inside| !inside).collect());
            groups.push(inside);
        }
    }
    groups
}
