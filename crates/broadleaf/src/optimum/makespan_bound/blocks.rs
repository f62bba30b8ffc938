//! Lower bounds of scatters and all-gathers, and, with every link reversed, of gathers and reduce-scatters.
//!
//! Different blocks cannot replace each other: a group of hosts receives all blocks for its members (scatter), or all
//! contributions of the others (all-gather), each at least once. So argument 2 of the makespan bound holds for each
//! group with that many bytes, which are there from the start: for each host by itself, for each cluster and site, for
//! the complements of those, and for the nodes that the root reaches only by one shared resource. What a host gets from
//! the hosts of another cluster or site is not there from the start, but by argument 1 from when a byte can have come
//! from the nearest of them: a message that all of them have. Where all links into a
//! group use one pipe, [`last_window`](super::last_window) holds too, and for all hosts together the prices of
//! [`priced`](super::priced).
//!
//! All blocks for the hosts at some latency from the root or farther leave by the root's port, and the last of them to
//! leave has that latency before it: [`sent_away_s`], for each latency, which is the optimum of one machine by Jackson,
//! *Scheduling a production line to minimize maximum tardiness* (1955).

use super::crossing::{Cover, Crossings};
use super::last_window::LastWindow;
use super::priced::priced_blocks_s;
use super::spread::Sending;
use super::{one_message_bound_s, outset, HOST_UNITS, ROUNDING};
use crate::budget::Budget;
use crate::plan::{block_bytes, Collective};
use crate::platform::{Hop, NodeId, Platform, SharedId};

/// The bytes of each node's block; none of a switch.
struct BlockBytes {
    of_node: Vec<u64>,
}

impl BlockBytes {
    fn new(platform: &Platform, message_bytes: u64, weights: Option<&[f64]>) -> BlockBytes {
        let bytes = |node: NodeId| match weights {
            _ if !platform.node(node).is_host() => 0,
            Some(weights) => block_bytes(message_bytes, weights[node.index()]),
            None => message_bytes,
        };
        BlockBytes { of_node: platform.nodes().map(bytes).collect() }
    }

    /// The sum over all nodes for which `holds` is true; saturates at 2^64, which lowers the bound.
    fn of(&self, holds: impl Fn(usize) -> bool) -> u64 {
        let counted = self.of_node.iter().enumerate().filter(|&(node, _)| holds(node));
        counted.fold(0, |sum, (_, &bytes)| sum.saturating_add(bytes))
    }

    fn longest(&self) -> f64 {
        self.of_node.iter().copied().max().unwrap_or(0) as f64
    }
}

/// A lower bound on the time to send every host its block from `root`, seconds; 0 for an empty scatter. A block has
/// `message_bytes`, times its node's weight if there are weights. If the budget is spent first, the bound is lower but
/// valid. `collective` is a scatter, or a gather on the reversed network.
pub fn scatter_bound_s(
    platform: &Platform,
    collective: Collective,
    root: NodeId,
    message_bytes: u64,
    weights: Option<&[f64]>,
    budget: &Budget,
) -> f64 {
    let blocks = BlockBytes::new(platform, message_bytes, weights);
    let mut groups = groups(platform);
    groups.push(platform.nodes().map(|node| node != root).collect());
    for shared in (0..platform.shared().len() as u32).map(SharedId) {
        let without = |class| match platform.class(class).uses.contains(&shared) {
            true => f64::INFINITY,
            false => 0.0,
        };
        groups.push(platform.distances(root, without).into_iter().map(f64::is_infinite).collect());
    }
    let last_window = LastWindow {
        sender_keeps: None,
        receiver_keeps: blocks.longest(),
        is_inward: collective.is_inward(),
    };
    let all_bytes = blocks.of(|node| node != root.index());
    let of_all = (all_bytes > 0).then(|| outset(platform, all_bytes));
    let entered = groups.iter().filter(|behind| !behind[root.index()]).take_while(|_| !budget.is_spent());
    let entered_s = entered.map(|behind| {
        let bytes = blocks.of(|node| behind[node]);
        let by_pipe_s = |of_all| last_window.bound_s(platform, of_all, behind, bytes);
        entered_s(platform, behind, bytes).max(of_all.as_ref().map_or(0.0, by_pipe_s))
    });
    let bytes = |host: NodeId| blocks.of_node[host.index()];
    let receivers = || platform.hosts().filter(|&host| host != root);
    let shortest = receivers().map(bytes).min().unwrap_or(0);
    let are_equal = receivers().all(|host| bytes(host) == shortest);
    // If all blocks begin with equal bytes, the scatter contains a broadcast of the shortest block, with every transfer
    // cut down to its length. Shorter transfers must not take longer.
    let one_block_s = match are_equal || platform.classes().iter().all(|class| class.time.is_monotone()) {
        true => one_message_bound_s(platform, collective.is_inward(), root, shortest, budget),
        false => 0.0,
    };
    let most_s = match (weights, receivers().map(bytes).max()) {
        (Some(_), Some(longest)) if longest > 0 => {
            let crossings = outset(platform, longest);
            receivers().map(|host| crossings.alone_s(host, bytes(host))).fold(0.0, f64::max)
        }
        _ => 0.0,
    };
    let by_cuts_s = entered_s.fold(most_s, f64::max);
    let sent_s = of_all.as_ref().map_or(0.0, |of_all| sent_away_s(platform, root, &blocks, of_all));
    let priced_s =
        of_all.map_or(0.0, |of_all| priced_blocks_s(platform, Some(root), &blocks.of_node, &of_all, budget));
    (by_cuts_s.max(sent_s).max(priced_s) * (1.0 - ROUNDING)).max(one_block_s)
}

/// The most, over all latencies, of the time for which the blocks of the hosts at that latency from the root or farther
/// hold the root's port, and that latency, seconds.
///
/// Of the transfers out of the root, take those with bytes that their hosts get by them. The last one ends no sooner than
/// all of them take, and its bytes have the latency of a path before them, but for what a window may outlast the first
/// hop's arrival.
fn sent_away_s(platform: &Platform, root: NodeId, blocks: &BlockBytes, of_all: &Crossings) -> f64 {
    let hops = || of_all.sends().filter(|hop| hop.from == root);
    let Some(sending) = Sending::least(hops().map(|hop| of_all.imprints(hop))) else { return 0.0 };
    let after_s = |hop| Sending::least(std::iter::once(of_all.imprints(hop))).map_or(0.0, |hop| hop.after_s);
    let beyond_latency_s = |hop: Hop| after_s(hop) - platform.class(hop.class).latency_s;
    let sooner_s = hops().map(beyond_latency_s).fold(0.0, f64::min);
    let latency_s = platform.distances(root, |class| platform.class(class).latency_s);
    let gets = |host: &NodeId| *host != root && blocks.of_node[host.index()] > 0;
    let mut farthest: Vec<NodeId> = platform.hosts().filter(gets).collect();
    farthest.sort_by(|a, b| latency_s[b.index()].total_cmp(&latency_s[a.index()]));
    let sent = farthest.into_iter().scan(0.0, |bytes, host| {
        *bytes += blocks.of_node[host.index()] as f64;
        Some(*bytes * sending.s_per_byte + latency_s[host.index()] + sooner_s)
    });
    sent.filter(|seconds| seconds.is_finite()).fold(0.0, f64::max)
}

/// A lower bound on the time to gather the blocks of all hosts on every host, seconds; 0 for an empty all-gather. A
/// block has `message_bytes`, times its node's weight if there are weights. If the budget is spent first, the bound is
/// lower but valid. `collective` is an all-gather, or a reduce-scatter on the reversed network.
pub fn allgather_bound_s(
    platform: &Platform,
    collective: Collective,
    message_bytes: u64,
    weights: Option<&[f64]>,
    budget: &Budget,
) -> f64 {
    let blocks = BlockBytes::new(platform, message_bytes, weights);
    let received = |host: NodeId| blocks.of(|node| node != host.index());
    let most = match weights {
        Some(_) => platform.hosts().map(received).max(),
        None => platform.hosts().next().map(received),
    };
    let Some(most) = most.filter(|&most| most > 0) else { return 0.0 };
    let of_one = outset(platform, most);
    let received = |host: NodeId| if weights.is_some() { received(host) } else { most };
    let alone_s = platform.hosts().map(|host| of_one.alone_s(host, received(host))).fold(0.0, f64::max);
    let of_all = outset(platform, blocks.of(|_| true));
    let groups = groups(platform);
    let hosts_in = |behind: &[bool]| platform.hosts().filter(|host| behind[host.index()]).count();
    let entered = groups.iter().filter(|behind| hosts_in(behind) > 0).take_while(|_| !budget.is_spent());
    let entered_s = entered.map(|behind| {
        let bytes = blocks.of(|node| !behind[node]);
        // A host by itself passes nothing on.
        let receiver_keeps = if hosts_in(behind) > 1 { 0.0 } else { f64::INFINITY };
        let sender_keeps = Some(blocks.longest());
        let last_window = LastWindow { sender_keeps, receiver_keeps, is_inward: collective.is_inward() };
        let by_pipe_s = last_window.bound_s(platform, &of_all, behind, bytes);
        entered_s(platform, behind, bytes).max(by_pipe_s)
    });
    let by_cuts_s = entered_s.fold(alone_s, f64::max).max(from_groups_s(platform, &blocks, &groups, budget));
    let priced_s = priced_blocks_s(platform, None, &blocks.of_node, &of_all, budget);
    by_cuts_s.max(priced_s) * (1.0 - ROUNDING)
}

/// The latest time at which some host has all blocks of a group that it does not belong to, seconds.
fn from_groups_s(platform: &Platform, blocks: &BlockBytes, groups: &[Vec<bool>], budget: &Budget) -> f64 {
    // A transfer may carry other blocks beside those of the group.
    let most = blocks.of(|_| true);
    let least_s = |class| {
        let class = platform.class(class);
        class.latency_s + class.time.least_seconds(most)
    };
    let from_group_s = |inside: &Vec<bool>| {
        let bytes = blocks.of(|node| inside[node]);
        let (sources, others): (Vec<NodeId>, Vec<NodeId>) =
            platform.hosts().partition(|host| inside[host.index()]);
        if sources.is_empty() || bytes == 0 {
            return 0.0;
        }
        let (first_s, _) = platform.shortest_paths_from(&sources, least_s);
        let reached = others.into_iter().filter(|host| first_s[host.index()].is_finite());
        match Crossings::new(platform, &first_s, most, budget) {
            Some(crossings) => reached
                .take_while(|_| !budget.spend(HOST_UNITS))
                .map(|host| crossings.alone_s(host, bytes))
                .fold(0.0, f64::max),
            None => 0.0,
        }
    };
    groups.iter().map(from_group_s).fold(0.0, f64::max)
}

/// The earliest time at which `bytes` bytes can have crossed a cut, seconds.
fn entered_s(platform: &Platform, behind: &[bool], bytes: u64) -> f64 {
    if bytes == 0 {
        return 0.0;
    }
    outset(platform, bytes).crossed_s(behind, Cover::ALL).0
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
