//! The bound of a pipe through which all blocks for some hosts, or from them, must pass.
//!
//! A pipe may be held for long after a transfer's arrival: a message of half of the blocks arrives at the link's rate,
//! and nothing waits for the end of its window. So the pipe's windows alone prove little. But such a message has to be
//! put together before it leaves, and taken apart after it has arrived.
//!
//! Let all of B bytes cross into a group of hosts by links that use one pipe, and let the last window there bring s
//! bytes that are new to the group. The windows before have brought the other B − s. Its sender has received all of
//! them but its own block, except the root of a scatter. Its receiver sends all of them on, except its own block in a
//! scatter, where there are several hosts in the group. So with the least times per byte of ports and pipe the time is
//! at least the least over s of
//!
//! max(collecting(s), (B − s) · pipe) + latency + T(s) + passing_on(s).
//!
//! An inward collective is turned round: on the reversed network its sender, inside the group, collects what there the
//! receiver passes on. In a reduce-scatter a byte's last crossing carries a sum with what its sender has received, or
//! others' parts of it crossed before.

use super::crossing::Crossings;
use crate::platform::{LinkClassId, NodeId, Platform, SharedId, TransferTime};

/// More nodes than this have too many links to be visited for every group.
const MOST_NODES: usize = 1000;

/// Which bytes of the last window need no other transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastWindow {
    /// The most that its sender need not have received; `None` if all.
    pub sender_keeps: Option<f64>,
    /// The most that its receiver need not pass on.
    pub receiver_keeps: f64,
    /// Whether the collective is inward, on the reversed network.
    pub is_inward: bool,
}

impl LastWindow {
    /// The least time for `bytes` bytes into the nodes `behind`, seconds; 0 where not all their links in use one pipe.
    pub fn bound_s(&self, platform: &Platform, crossings: &Crossings, behind: &[bool], bytes: u64) -> f64 {
        if bytes == 0 || platform.shared().is_empty() || platform.node_count() > MOST_NODES {
            return 0.0;
        }
        let before = platform.nodes().filter(|node| !behind[node.index()]);
        let hops = before.flat_map(|from| {
            let inside = platform.successors(from).into_iter().filter(|(to, _)| behind[to.index()]);
            inside.map(move |(to, class)| (from, to, class)).collect::<Vec<_>>()
        });
        let hops: Vec<(NodeId, NodeId, LinkClassId)> = hops.collect();
        let uses = |class: LinkClassId, pipe: SharedId| platform.class(class).uses.contains(&pipe);
        let pipes = (0..platform.shared().len() as u32).map(SharedId);
        let is_common = |pipe: &SharedId| hops.iter().all(|&(_, _, class)| uses(class, *pipe));
        let common: Vec<SharedId> = pipes.filter(is_common).collect();
        let is_monotone = |class: LinkClassId| platform.class(class).time.is_monotone();
        if hops.is_empty() || !hops.iter().all(|&(_, _, class)| is_monotone(class)) {
            return 0.0;
        }
        let mut ways: Vec<Way> = Vec::new();
        for (from, to, class) in hops {
            // A switch neither collects nor passes on.
            let is_host = |node: NodeId| platform.node(node).is_host();
            let collecting = if is_host(from) { crossings.in_port_s_per_byte(from) } else { 0.0 };
            let passing_on = crossings.passing_on()[to.index()];
            let passing_on = if is_host(to) && passing_on.is_finite() { passing_on } else { 0.0 };
            match ways.iter_mut().find(|way| way.class == class) {
                Some(way) => {
                    way.collecting = way.collecting.min(collecting);
                    way.passing_on = way.passing_on.min(passing_on);
                }
                None => ways.push(Way { class, collecting, passing_on }),
            }
        }
        let bound_s = |pipe: SharedId| {
            let s_per_byte = 1.0 / platform.shared()[pipe.index()].bandwidth_bytes_per_s;
            let least_s = |way: &Way| self.least_s(platform, way, s_per_byte, bytes);
            ways.iter().map(least_s).fold(f64::INFINITY, f64::min)
        };
        common.into_iter().map(bound_s).fold(0.0, f64::max)
    }

    /// The least over the size of the last window, which goes by `way`.
    fn least_s(&self, platform: &Platform, way: &Way, pipe: f64, bytes: u64) -> f64 {
        let class = platform.class(way.class);
        let all = bytes as f64;
        let collecting = |size: f64| match self.sender_keeps {
            Some(kept) => way.collecting * (size - kept).max(0.0),
            None => 0.0,
        };
        let passing_on = |size: f64| way.passing_on * (size - self.receiver_keeps).max(0.0);
        let first = |size: f64| if self.is_inward { passing_on(size) } else { collecting(size) };
        let then = |size: f64| if self.is_inward { collecting(size) } else { passing_on(size) };
        let before = |size: f64| (all - size) * pipe;
        let after = |size: f64| class.latency_s + class.time.seconds(size as u64) + then(size);
        let whole_s = |size: f64| first(size).max(before(size)) + after(size);
        // Between these sizes every term is linear, so the least is at one of them or where the maximum changes sides.
        let rows = match &class.time {
            TransferTime::Affine { .. } => &[][..],
            TransferTime::Gap(table) => table.rows(),
        };
        let kept = [self.sender_keeps.unwrap_or(0.0), self.receiver_keeps];
        let mut sizes: Vec<f64> =
            rows.iter().map(|&(size, _)| size as f64).chain(kept).chain([1.0, all]).collect();
        sizes.retain(|&size| (1.0..=all).contains(&size));
        sizes.sort_by(f64::total_cmp);
        let change = |low: f64, high: f64| {
            let (at_low, at_high) = (first(low) - before(low), first(high) - before(high));
            (at_low < 0.0 && at_high > 0.0).then(|| low + (high - low) * at_low / (at_low - at_high))
        };
        let changes = sizes.windows(2).filter_map(|pair| change(pair[0], pair[1]));
        // Sizes between bytes are rounded down, which only lowers T.
        sizes.iter().copied().chain(changes).map(whole_s).fold(f64::INFINITY, f64::min)
    }
}

/// Links of a class into the group, with the least times per byte at their ends.
struct Way {
    class: LinkClassId,
    collecting: f64,
    passing_on: f64,
}
