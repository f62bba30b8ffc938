//! Rates of links between machines.

use super::settings::ports::SAME_RATE;
use crate::platform::{NodeId, Platform};

/// The rate of a link's large messages, bytes/s; `None` for nodes of one machine, and without a link.
pub fn rate(platform: &Platform, from: NodeId, to: NodeId) -> Option<f64> {
    if from == to || platform.node(from).host() == platform.node(to).host() {
        return None;
    }
    const LARGE_BYTES: u64 = 1 << 20;
    let class = platform.class(platform.link(from, to)?);
    Some(LARGE_BYTES as f64 / class.time.seconds(LARGE_BYTES))
}

/// The rate of a node's fastest link to another machine, bytes/s.
pub fn fastest_out(platform: &Platform, node: NodeId) -> Option<f64> {
    platform.nodes().filter_map(|other| rate(platform, node, other)).max_by(f64::total_cmp)
}

/// The rate of the fastest link from another machine, bytes/s.
pub fn fastest_in(platform: &Platform, node: NodeId) -> Option<f64> {
    platform.nodes().filter_map(|other| rate(platform, other, node)).max_by(f64::total_cmp)
}

/// Whether two rates count as equal.
pub fn is_same_rate(one: f64, other: f64) -> bool {
    (one / other).ln().abs() < SAME_RATE
}
