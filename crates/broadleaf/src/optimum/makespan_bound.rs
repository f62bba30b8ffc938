//! What no plan can beat, whatever its trees and its segment size.

use crate::platform::{NodeId, Platform};

/// A time below which no plan broadcasts the message from `root`, seconds.
pub fn makespan_bound_s(platform: &Platform, root: NodeId, message_bytes: u64) -> f64 {
    let least_s = |class| {
        let class = platform.class(class);
        class.latency_s + class.time.least_seconds(message_bytes)
    };
    let first_s = platform.distances(root, least_s);
    platform.hosts().map(|host| first_s[host.index()]).fold(0.0, f64::max)
}
