//! A lower bound on the time of all-reduces.
//!
//! 1. Any host's result contains all contributions, so the all-reduce contains a reduction to it. Its own contribution
//!    is in all results, so the all-reduce also contains a broadcast from it. Both bounds hold, and are computed for
//!    one host, for the one that is farthest from it, and for the one that is farthest from that.
//! 2. *Transfers*: each byte of the result is combined from n contributions, which takes n − 1 transfers until some host
//!    has it; each of the n − 1 others gets it by one more transfer. Together 2·(n − 1)·m bytes come in at the hosts, each
//!    at most at the rate of its fastest link in, and go out likewise. On a homogeneous network: Patarasuk and Yuan,
//!    *Bandwidth optimal all-reduce algorithms for clusters of workstations*, section 3.
//! 3. *Groups*: the same between sites and between clusters, whose pipes are slower ([`exchanged_s`]).

use super::makespan_bound::{exchanged_s, one_message_bound_s};
use super::occupation_table::link_count;
use crate::budget::Budget;
use crate::platform::{LinkClassId, NodeId, Platform, PortModel, TransferTime};

/// Rounding of sums, as for every bound.
const ROUNDING: f64 = 1e-9;

/// With more hosts than this, every host is assumed to have the fastest link. The bound stays valid, without a pass
/// over n² links.
const MOST_LOOKED_AT: usize = 2000;

/// Links looked at in a second. Measured: 40 ms for the 670,000 of 2,000 hosts in 40 clusters
/// (`benches/time_limits.py clusters-2000 --collective allreduce`).
const LINKS_PER_S: f64 = 1e7;

/// A lower bound on the time to combine the `message_bytes` of every host and have the result at each, seconds; `root`
/// is the first host of argument 1.
pub fn allreduce_bound_s(platform: &Platform, root: NodeId, message_bytes: u64, budget: &Budget) -> f64 {
    let (inward, outward) = (platform.reversed(), platform);
    let one_way_s = |platform: &Platform, is_inward: bool, host: NodeId| {
        one_message_bound_s(platform, is_inward, host, message_bytes, budget)
    };
    let of_host = |host: NodeId| one_way_s(inward, true, host).max(one_way_s(outward, false, host));
    let mut halves_s = of_host(root);
    for host in far_ends(platform, root, message_bytes) {
        if budget.is_spent() {
            break;
        }
        halves_s = halves_s.max(of_host(host));
    }
    let in_s = transfers_s(platform, message_bytes, budget);
    let by_hosts_s = in_s.max(transfers_s(inward, message_bytes, budget)) * (1.0 - ROUNDING);
    let by_groups_s = if budget.is_spent() { 0.0 } else { exchanged_s(platform, message_bytes) };
    halves_s.max(by_hosts_s).max(by_groups_s)
}

/// The host that a message from `root` reaches last, and the one that a message from that host reaches last, without
/// `root` itself and without repetition; none among more than [`MOST_LOOKED_AT`] hosts.
fn far_ends(platform: &Platform, root: NodeId, message_bytes: u64) -> Vec<NodeId> {
    if platform.hosts().count() > MOST_LOOKED_AT {
        return Vec::new();
    }
    let seconds = |class: LinkClassId| {
        let class = platform.class(class);
        class.latency_s + class.time.least_seconds(message_bytes)
    };
    let mut ends = vec![root];
    for _ in 0..2 {
        let away_s = platform.distances(ends[ends.len() - 1], seconds);
        let reached = platform.hosts().filter(|host| away_s[host.index()].is_finite());
        let last = reached.max_by(|a, b| away_s[a.index()].total_cmp(&away_s[b.index()]).then(b.cmp(a)));
        ends.extend(last.filter(|host| !ends.contains(host)));
    }
    ends.split_off(1)
}

/// Argument 2 for receives; 0 where a port may receive several messages at a time, or needs no time.
fn transfers_s(platform: &Platform, message_bytes: u64, budget: &Budget) -> f64 {
    let has_one_port = match platform.port_model() {
        PortModel::OnePort | PortModel::OnePortUnidirectional | PortModel::OnePortSamePartner => true,
        PortModel::MultiPort | PortModel::LinkCapacity => false,
    };
    let hosts = platform.hosts().count();
    if !has_one_port || hosts < 2 {
        return 0.0;
    }
    let rate = |class: LinkClassId| fastest_rate(&platform.class(class).time, message_bytes);
    let into = |host: NodeId| {
        let links = platform.predecessors(host);
        links.into_iter().map(|(_, class)| rate(class)).fold(0.0, f64::max)
    };
    let fastest = || {
        platform.classes().iter().map(|class| fastest_rate(&class.time, message_bytes)).fold(0.0, f64::max)
    };
    let has_time = budget.has_time_for(link_count(platform) as f64 / LINKS_PER_S);
    let rates: f64 = match hosts <= MOST_LOOKED_AT && has_time {
        true => platform.hosts().map(into).sum(),
        false => hosts as f64 * fastest(),
    };
    if rates == 0.0 {
        return 0.0;
    }
    2.0 * (hosts - 1) as f64 * message_bytes as f64 / rates
}

/// The most bytes/s that transfers of any size up to `most_bytes` move; infinite where they take no time.
fn fastest_rate(time: &TransferTime, most_bytes: u64) -> f64 {
    let at = |bytes: u64| bytes as f64 / time.seconds(bytes);
    match time {
        // Start-ups count least in the longest transfer.
        TransferTime::Affine { .. } => at(most_bytes),
        // On a straight piece, bytes over seconds are greatest at one of its ends.
        TransferTime::Gap(table) => {
            let sizes = table.rows().iter().map(|&(size, _)| size).filter(|&size| size < most_bytes);
            sizes.chain([1, most_bytes]).filter(|&size| size > 0).map(at).fold(0.0, f64::max)
        }
    }
}
