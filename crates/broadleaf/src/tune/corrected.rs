//! The plans' times on a homogeneous one-port network, in closed form.
//!
//! Differences from the printed models:
//! - a node serves *all* its children one after the other, so that the binomial tree's root sends ⌈log2 P⌉
//!   times, not ⌊log2 P⌋ times; an incomplete subtree has fewer levels;
//! - the binary tree is followed to its last leaf instead of being bounded;
//! - the last segment is the rest of the message;
//! - in a rendezvous a node sends requests to all its children at once, so that it waits only for the first answer;
//! - a scatter's incomplete subtree carries only the blocks of the nodes it has;
//! - in a scatter, a node's transfers after its first take the bulk gap, if it was measured (in §4.2 the flat scatter
//!   is faster than its model by this effect, which the model lacks).
//!
//! Exact for gaps that do not fall with the size (a test compares with the event simulation).
//! Complexity: O(log² P); the chain scatter O(P), as each of its transfers has another size.

use super::algorithm::Algorithm;
use super::plogp::PLogP;
use super::printed::log2_ceil;

impl Algorithm {
    /// The time of this algorithm's plan, seconds; the arguments are those of [`Algorithm::printed_s`].
    pub fn corrected_s(self, network: &PLogP, nodes: u64, message_bytes: u64, segment_bytes: u64) -> f64 {
        use Algorithm::*;
        if nodes <= 1 {
            return 0.0;
        }
        let others = nodes - 1;
        let m = message_bytes;
        let latency_s = network.latency_s;
        let gap_s = network.g(m);
        let whole = SegmentTimes { full_s: gap_s, count: 1, last_s: gap_s };
        let segments = if self.is_segmented() { SegmentTimes::of(network, m, segment_bytes) } else { whole };
        match self {
            Flat | SegmentedFlat => others as f64 * segments.sum_s() + latency_s,
            FlatScatter => gap_s + (others - 1) as f64 * network.following(m) + latency_s,
            FlatRendezvous => shake_s(network, others) + others as f64 * gap_s + latency_s,
            Chain | SegmentedChain => chain_s(others, segments, latency_s),
            ChainRendezvous => others as f64 * (shake_s(network, 1) + gap_s + latency_s),
            Binary => binary_s(nodes, gap_s, latency_s),
            Binomial | SegmentedBinomial => binomial_s(nodes, segments, latency_s),
            BinomialRendezvous => binomial_rendezvous_s(network, nodes, gap_s),
            ChainScatter => (1..nodes).map(|blocks| network.g(blocks.saturating_mul(m)) + latency_s).sum(),
            BinomialScatter => binomial_scatter_s(network, nodes, m),
        }
    }

    /// How often the slower of a full and the last segment is waited for once the full ones are out: w, where
    /// these models are, but for latencies and a factor, q·g(s) + g(r) + w·max(g(s), g(r)) of q segments of s
    /// bytes and a last one of r.
    pub(super) fn waits(self, nodes: u64) -> f64 {
        if self == Algorithm::SegmentedChain {
            nodes.saturating_sub(2) as f64
        } else {
            0.0
        }
    }
}

/// The gaps of a message's segments: all equal but the last.
#[derive(Clone, Copy)]
struct SegmentTimes {
    full_s: f64,
    count: u64,
    last_s: f64,
}

impl SegmentTimes {
    fn of(network: &PLogP, message_bytes: u64, segment_bytes: u64) -> SegmentTimes {
        let segment = segment_bytes.clamp(1, message_bytes.max(1));
        let count = message_bytes.div_ceil(segment).max(1);
        let last = message_bytes - (count - 1) * segment;
        let full_s = network.g(segment);
        let last_s = if last == segment { full_s } else { network.g(last) };
        SegmentTimes { full_s, count, last_s }
    }

    fn before_last(&self) -> f64 {
        (self.count - 1) as f64
    }

    fn sum_s(&self) -> f64 {
        self.before_last() * self.full_s + self.last_s
    }
}

/// From a node's first request to its first transfer. Its requests leave one after the other, the first answer is back
/// after two gaps and two latencies, and the others arrive while data leaves.
fn shake_s(network: &PLogP, children: u64) -> f64 {
    let control_s = network.g(1);
    (2.0 * control_s + 2.0 * network.latency_s).max(children as f64 * control_s)
}

/// The last segment goes down the chain behind the full one ahead of it: out of the root and off the last link
/// it takes its own gap, and in between that of the slower of the two.
fn chain_s(links: u64, segments: SegmentTimes, latency_s: f64) -> f64 {
    let slower_s = if segments.count > 1 { segments.full_s.max(segments.last_s) } else { segments.last_s };
    segments.sum_s() + (links - 1) as f64 * slower_s + links as f64 * latency_s
}

/// The path to node x of the heap order 1 … P follows the bits of x below its leading one: a 0 is the first child and
/// takes one gap, a 1 is the second and takes two. So the last of each level is the one with the most ones.
fn binary_s(nodes: u64, gap_s: f64, latency_s: f64) -> f64 {
    let depth = nodes.ilog2();
    let reached_s =
        |level: u32, seconds: u32| f64::from(level + seconds) * gap_s + f64::from(level) * latency_s;
    let most_ones = most_ones_up_to(nodes) - 1;
    let above = depth.saturating_sub(1);
    reached_s(depth, most_ones).max(reached_s(above, above))
}

/// The most one bits among the numbers of the same length up to `limit`.
fn most_ones_up_to(limit: u64) -> u32 {
    let below = (0..limit.ilog2()).filter(|&bit| limit >> bit & 1 == 1).map(|bit| {
        // This bit 0 instead of 1, all lower ones 1.
        ((limit >> (bit + 1)).count_ones()) + bit
    });
    below.chain([limit.count_ones()]).max().unwrap_or(1)
}

/// The root sends each segment ⌈log2 P⌉ times and sets the pace, since no node below sends as often. The last one
/// then arrives after ⌈log2 P⌉ gaps and ⌊log2 P⌋ latencies. In a full tree of 2^d nodes, whose child i (from 1)
/// has 2^(d − i): whatever the way, its children's numbers add up to at most d, and that over first children does
/// so in d hops. Otherwise only the first subtree is incomplete, with R < 2^(⌈log2 P⌉ − 1) nodes and by induction
/// at most 1 + ⌈log2 R⌉ gaps and 1 + ⌊log2 R⌋ ≤ ⌊log2 P⌋ hops; the second has both.
fn binomial_s(nodes: u64, segments: SegmentTimes, latency_s: f64) -> f64 {
    f64::from(log2_ceil(nodes)) * segments.sum_s() + f64::from(nodes.ilog2()) * latency_s
}

/// A node of a full subtree of 2^d nodes serves d children, after the handshake.
fn binomial_rendezvous_s(network: &PLogP, nodes: u64, gap_s: f64) -> f64 {
    let latency_s = network.latency_s;
    let delay_s = |children: u32| shake_s(network, u64::from(children));
    let levels = log2_ceil(nodes) as usize;
    // full_s[d]: from a node's having the message until all its 2^d nodes have it.
    let mut full_s = vec![0.0f64; levels + 1];
    for d in 1..=levels {
        let last = (1..=d).map(|i| i as f64 * gap_s + latency_s + full_s[d - i]).fold(0.0, f64::max);
        full_s[d] = delay_s(d as u32) + last;
    }
    incomplete_s(nodes, gap_s, latency_s, &delay_s, &full_s)
}

fn incomplete_s(
    nodes: u64,
    gap_s: f64,
    latency_s: f64,
    delay_s: &impl Fn(u32) -> f64,
    full_s: &[f64],
) -> f64 {
    if nodes <= 1 {
        return 0.0;
    }
    let d = log2_ceil(nodes) as usize;
    if nodes.is_power_of_two() {
        return full_s[d];
    }
    // Only the first and largest of its subtrees is incomplete.
    let rest = nodes - (1 << (d - 1));
    let first_s = gap_s + latency_s + incomplete_s(rest, gap_s, latency_s, delay_s, full_s);
    let others_s = (2..=d).map(|i| i as f64 * gap_s + latency_s + full_s[d - i]).fold(0.0, f64::max);
    delay_s(d as u32) + first_s.max(others_s)
}

/// As the binomial tree, each transfer with the blocks of all nodes below.
fn binomial_scatter_s(network: &PLogP, nodes: u64, block_bytes: u64) -> f64 {
    let gap_s = |blocks: u64| network.g(blocks.saturating_mul(block_bytes));
    let following_s = |blocks: u64| network.following(blocks.saturating_mul(block_bytes));
    let mut rest = nodes;
    // From the root down along the incomplete subtrees: the time so far, and the last arrival so far.
    let (mut now_s, mut last_s) = (0.0f64, 0.0f64);
    while rest > 1 {
        let levels = log2_ceil(rest);
        let first = rest - (1 << (levels - 1));
        let first_s = gap_s(first);
        // The node's other children are full: their last arrival is that of a full tree of half the size,
        // after the first transfer. Its own second transfer follows that; on the way down each is a node's first,
        // which takes no less than a later one would and adds a latency.
        if levels >= 2 {
            let below_s: f64 = (0..levels - 2).map(|level| gap_s(1 << level)).sum();
            let others_s = following_s(1 << (levels - 2)) + below_s;
            last_s = last_s.max(now_s + first_s + others_s + f64::from(levels - 1) * network.latency_s);
        }
        now_s += first_s + network.latency_s;
        last_s = last_s.max(now_s);
        rest = first;
    }
    last_s
}
