//! Tables 1 and 2, as printed.
//!
//! One difference: k = ⌈m/s⌉, since the paper's ⌊m/s⌋ loses the rest of the message.

use super::algorithm::Algorithm;
use super::plogp::PLogP;

/// ⌊log2 n⌋ of n ≥ 1.
fn log2_floor(nodes: u64) -> u32 {
    nodes.max(1).ilog2()
}

/// ⌈log2 n⌉ of n ≥ 1.
pub(super) fn log2_ceil(nodes: u64) -> u32 {
    nodes.max(1).next_power_of_two().ilog2()
}

impl Algorithm {
    /// The prediction of the paper's model for `nodes` nodes (the root included), a message (a block, for a scatter) of
    /// `message_bytes`, and segments of `segment_bytes` if it is segmented, seconds. For [`Algorithm::Binary`] an upper
    /// bound. Optimistic for the binomial trees off powers of two: of three nodes the root serves two, one after the
    /// other, where ⌊log2 3⌋ g(m) counts one.
    pub fn printed_s(self, network: &PLogP, nodes: u64, message_bytes: u64, segment_bytes: u64) -> f64 {
        use Algorithm::*;
        let latency_s = network.latency_s;
        let others = nodes.saturating_sub(1) as f64;
        let (floor, ceil) = (f64::from(log2_floor(nodes)), f64::from(log2_ceil(nodes)));
        let g = |bytes: u64| network.g(bytes);
        let m = message_bytes;
        let s = segment_bytes.clamp(1, m.max(1));
        let k = m.div_ceil(s) as f64;
        let shake_s = 2.0 * g(1) + 3.0 * latency_s;
        match self {
            Flat | FlatScatter => others * g(m) + latency_s,
            FlatRendezvous => others * g(m) + shake_s,
            SegmentedFlat => others * (g(s) * k) + latency_s,
            Chain => others * (g(m) + latency_s),
            ChainRendezvous => others * (g(m) + shake_s),
            SegmentedChain => others * (g(s) + latency_s) + g(s) * (k - 1.0),
            Binary => ceil * (2.0 * g(m) + latency_s),
            Binomial => floor * g(m) + ceil * latency_s,
            BinomialRendezvous => floor * g(m) + ceil * shake_s,
            SegmentedBinomial => floor * g(s) * k + ceil * latency_s,
            ChainScatter => (1..nodes).map(|j| g(j.saturating_mul(m))).sum::<f64>() + others * latency_s,
            BinomialScatter => {
                let sent_s: f64 = (0..log2_ceil(nodes)).map(|j| g(m.saturating_mul(1 << j))).sum();
                sent_s + ceil * latency_s
            }
        }
    }
}
