//! A lower bound on the makespan of all plans, for any trees, orders and segment sizes.
//!
//! Every plan moves the message in transfers of 1 to m bytes, store and forward, each holding the resources of
//! [`crate::model::occupation`]. The bound is the largest of these, each with its argument where it is computed:
//!
//! 1. *Distance*: a byte travels to a node at the earliest along the path of least latency + T, T taken at its
//!    best size.
//! 2. *Cuts* ([`crossing`]): all m bytes cross every cut between the root and a host; the resources that carry them
//!    across move bytes at a bounded rate and only from when the first byte can be there. The cuts separate each host
//!    by itself, all but the root, each cluster and site, all but the root's cluster and site, and the nodes that only
//!    one shared resource connects.
//!    *Entries* ([`entries`]): a cluster's or site's hosts get every byte, and the first of them from outside.
//! 3. *Spreading* ([`spread`]): hosts that hold a byte pass it on one send at a time, so their number grows no
//!    faster than a broadcast of one byte among nodes with the platform's least times; and the last byte starts
//!    spreading only when the root has sent all others.
//! 4. *Single ports*: under unidirectional one-port every byte a host gets also occupies its sender's only port.
//! 5. *Prices* ([`priced`]): the time for which all trees together hold all resources, weighted by the prices of the
//!    throughput optimum: the bound for a pipe that several receivers need, or for cuts between other sets of nodes. For
//!    short messages, by prices for what each resource can still carry from when its first byte can be there.
//!
//! A host that stands for a cluster adds its local broadcast to its own completion.

mod blocks;
mod crossing;
mod entries;
mod exchanged;
mod imprint;
mod lanes;
mod last_window;
mod priced;
mod spread;

pub use blocks::{allgather_bound_s, scatter_bound_s};
pub(super) use exchanged::exchanged_s;

use crate::budget::Budget;
use crate::platform::{LocalStart, NodeId, Platform, PortModel};
use crossing::{Cover, Crossings};
use last_window::LastWindow;
use priced::priced_s;
use spread::Sending;

/// The simulator adds times in another order than the bound does; rounding must not raise a tight bound above the
/// simulated time.
const ROUNDING: f64 = 1e-9;

/// Limit of the work, in links visited, of the cuts by shared resources; beyond it they are left out, and the bound
/// stays valid.
const SHARED_WORK: usize = 20_000_000;

/// Units of work of the argument for a single host, and nodes of a cut per unit.
const HOST_UNITS: u64 = 2;
const NODES_PER_UNIT: usize = 50;

/// A lower bound on the time to broadcast `message_bytes` from `root`, seconds; 0 for an empty broadcast.
///
/// Hosts that the root cannot reach are left out. O(nodes·log + links · clusters) on most platforms.
pub fn makespan_bound_s(platform: &Platform, root: NodeId, message_bytes: u64) -> f64 {
    makespan_bound_within(platform, root, message_bytes, &Budget::UNLIMITED)
}

/// [`makespan_bound_s`] within a budget: lower but valid if the budget is spent before all arguments are used.
/// Distances always are.
pub fn makespan_bound_within(platform: &Platform, root: NodeId, message_bytes: u64, budget: &Budget) -> f64 {
    one_message_bound_s(platform, false, root, message_bytes, budget)
}

/// The bound of a broadcast, or, on the reversed network, of a reduction. Played backwards, a pipe's window begins before
/// its transfer where it outlasted it, so of a reduction's arguments the one about the last window on a pipe is its own.
pub(super) fn one_message_bound_s(
    platform: &Platform,
    is_inward: bool,
    root: NodeId,
    message_bytes: u64,
    budget: &Budget,
) -> f64 {
    if message_bytes == 0 || !platform.node(root).is_host() {
        return 0.0;
    }
    // 1. Arrival is start + latency + T under every port model, and a relay starts when it has the byte.
    let least_s = |class| {
        let class = platform.class(class);
        class.latency_s + class.time.least_seconds(message_bytes)
    };
    let first_s = platform.distances(root, least_s);
    let bound_s = match Crossings::new(platform, &first_s, message_bytes, budget) {
        Some(crossings) => {
            MakespanBound { platform, is_inward, root, message_bytes, first_s, crossings, budget }
                .makespan_s()
        }
        None => {
            let hosts = platform.hosts().filter(|host| first_s[host.index()].is_finite());
            let whole_s =
                |host: NodeId| first_s[host.index()] + platform.node(host).local_broadcast_s.unwrap_or(0.0);
            hosts.map(whole_s).fold(0.0, f64::max)
        }
    };
    bound_s * (1.0 - ROUNDING)
}

/// The links of a platform where every node has bytes from the start, of transfers of up to `bytes` bytes.
fn outset(platform: &Platform, bytes: u64) -> Crossings<'_> {
    let from_the_start = vec![0.0; platform.node_count()];
    Crossings::new(platform, &from_the_start, bytes, &Budget::UNLIMITED).expect("there is time")
}

struct MakespanBound<'a> {
    platform: &'a Platform,
    is_inward: bool,
    root: NodeId,
    message_bytes: u64,
    /// The earliest time of the first byte at each node, seconds.
    first_s: Vec<f64>,
    crossings: Crossings<'a>,
    budget: &'a Budget,
}

impl<'a> MakespanBound<'a> {
    fn receivers(&self) -> impl Iterator<Item = NodeId> + '_ {
        let reached = |host: &NodeId| *host != self.root && self.first_s[host.index()].is_finite();
        self.platform.hosts().filter(reached)
    }

    fn makespan_s(&self) -> f64 {
        if self.receivers().next().is_none() {
            return self.root_s();
        }
        // The earliest time of the whole message at each host.
        let mut whole_s = self.first_s.clone();
        whole_s.iter_mut().filter(|seconds| seconds.is_infinite()).for_each(|seconds| *seconds = 0.0);
        for host in self.receivers().take_while(|_| !self.budget.spend(HOST_UNITS)) {
            let alone_s = self.crossings.alone_s(host, self.message_bytes);
            whole_s[host.index()] = whole_s[host.index()].max(alone_s);
        }
        // Each argument visits every link; leaving one out only lowers the bound.
        let has_time = || !self.budget.is_spent();
        if has_time() {
            self.cut_off_all_but_root(&mut whole_s);
        }
        let filled_s = if has_time() { self.cut_off_groups(&mut whole_s) } else { 0.0 };
        let passed_on_s = if has_time() { self.cut_off_by_shared(&mut whole_s) } else { 0.0 };
        let together_s = filled_s.max(passed_on_s);
        let local_s = |host: NodeId| self.local_s(host);
        let by_host = self.receivers().map(|host| whole_s[host.index()] + local_s(host)).fold(0.0, f64::max);
        let least_local_s = self.receivers().map(local_s).fold(f64::INFINITY, f64::min);
        let spread_s = if has_time() { self.spread_s() } else { None };
        let spread_s = spread_s.map_or(0.0, |spread_s| spread_s + least_local_s);
        let priced_s = match has_time() {
            false => 0.0,
            true => priced_s(
                self.platform,
                self.root,
                self.message_bytes,
                &self.first_s,
                &self.crossings,
                by_host.max(spread_s).max(together_s) - least_local_s,
                self.budget,
            ),
        };
        let priced_s = priced_s + least_local_s;
        let single_ports_s = if has_time() { self.single_ports_s() } else { 0.0 };
        by_host.max(spread_s).max(priced_s).max(together_s).max(single_ports_s).max(self.root_s())
    }

    fn local_s(&self, host: NodeId) -> f64 {
        self.platform.node(host).local_broadcast_s.unwrap_or(0.0)
    }

    fn cut_off_all_but_root(&self, whole_s: &mut [f64]) {
        let mut behind = vec![true; self.platform.node_count()];
        behind[self.root.index()] = false;
        self.cut_off(&behind, Cover::ALL, whole_s);
    }

    /// Each cluster and each site but the root's, and all but the root's. Returns the latest of the least times in which all
    /// hosts of a group together can have the message, local broadcasts included.
    fn cut_off_groups(&self, whole_s: &mut [f64]) -> f64 {
        let mut filled_s: f64 = 0.0;
        let cluster = |node: NodeId| self.platform.node(node).cluster.map(|cluster| cluster.index());
        let clusters: Vec<Option<usize>> = self.platform.nodes().map(cluster).collect();
        let mut names: Vec<&str> = self.platform.nodes().filter_map(|node| self.site(node)).collect();
        names.sort_unstable();
        names.dedup();
        let sites: Vec<Option<usize>> = self
            .platform
            .nodes()
            .map(|node| self.site(node).and_then(|site| names.binary_search(&site).ok()))
            .collect();
        for labels in [clusters, sites] {
            let own = labels[self.root.index()];
            let mut sizes: Vec<usize> = Vec::new();
            for &label in labels.iter().flatten() {
                sizes.resize(sizes.len().max(label + 1), 0);
                sizes[label] += 1;
            }
            let behind: Vec<bool> = labels.iter().map(|&label| label != own).collect();
            self.cut_off(&behind, Cover::ALL, whole_s);
            // A group of one host has its cut already.
            let others = (0..sizes.len()).filter(|&label| sizes[label] > 1 && Some(label) != own);
            let units = self.cut_units();
            for group in others.take_while(|_| !self.budget.spend(units)) {
                let behind: Vec<bool> = labels.iter().map(|&label| label == Some(group)).collect();
                self.cut_off(&behind, Cover::ALL, whole_s);
                filled_s = filled_s.max(self.filled_s(&behind));
            }
        }
        filled_s
    }

    fn filled_s(&self, behind: &[bool]) -> f64 {
        let hosts: Vec<NodeId> = self.receivers().filter(|host| behind[host.index()]).collect();
        let least_local_s = hosts.iter().map(|&host| self.local_s(host)).fold(f64::INFINITY, f64::min);
        let filled_s = self.crossings.filled_s(behind, &hosts, self.message_bytes);
        if filled_s > 0.0 {
            filled_s + least_local_s
        } else {
            0.0
        }
    }

    /// The cost of a cut, units of work.
    fn cut_units(&self) -> u64 {
        ((self.platform.node_count() + self.crossings.size()) / NODES_PER_UNIT) as u64
    }

    fn site(&self, node: NodeId) -> Option<&'a str> {
        self.platform.node(node).site.as_deref()
    }

    /// Nodes that the root cannot reach without a shared resource get the whole message through it. Returns the latest,
    /// over these groups, of the earliest times at which all of a group's hosts can be done, local broadcasts included.
    fn cut_off_by_shared(&self, whole_s: &mut [f64]) -> f64 {
        let used = self.platform.shared().len();
        if used.saturating_mul(self.platform.node_count() + self.crossings.size()) > SHARED_WORK {
            return 0.0;
        }
        let mut done_s: f64 = 0.0;
        let shared = (0..used as u32).map(crate::platform::SharedId);
        let units = self.cut_units();
        for shared in shared.take_while(|_| !self.budget.spend(units)) {
            let without = |class| match self.platform.class(class).uses.contains(&shared) {
                true => f64::INFINITY,
                false => 0.0,
            };
            let open = self.platform.distances(self.root, without);
            let behind: Vec<bool> = open.iter().map(|distance| distance.is_infinite()).collect();
            self.cut_off(&behind, &[Cover::Shared(shared)], whole_s);
            let passed_on_s = match self.is_inward {
                true => self.put_together_s(&behind),
                false => self.crossings.crossed_s(&behind, &[Cover::PassedOn(shared)]).0,
            };
            let hosts = self.receivers().filter(|host| behind[host.index()]);
            let least_local_s = hosts.map(|host| self.local_s(host)).fold(f64::INFINITY, f64::min);
            if least_local_s.is_finite() {
                done_s = done_s.max(passed_on_s + least_local_s);
            }
        }
        done_s
    }

    /// The least time in which a reduction's contributions of the hosts behind a pipe can have crossed it, seconds.
    fn put_together_s(&self, behind: &[bool]) -> f64 {
        let several = self.receivers().filter(|host| behind[host.index()]).count() > 1;
        let receiver_keeps = if several { 0.0 } else { f64::INFINITY };
        let last_window = LastWindow { sender_keeps: None, receiver_keeps, is_inward: true };
        last_window.bound_s(self.platform, &self.crossings, behind, self.message_bytes)
    }

    /// Raises the completion of the hosts `behind` a cut to the earliest time at which all bytes can have crossed it,
    /// and that of hosts without a link across the cut to the earliest time at which the last byte can have been
    /// forwarded to them.
    fn cut_off(&self, behind: &[bool], covers: &[Cover], whole_s: &mut [f64]) {
        let hosts: Vec<NodeId> = self.receivers().filter(|host| behind[host.index()]).collect();
        if hosts.is_empty() {
            return;
        }
        let (crossed_s, entered) = self.crossings.crossed_s(behind, covers);
        let mut onward_s = None;
        for host in hosts {
            let mut seconds = crossed_s;
            if !entered[host.index()] {
                let onward_s = onward_s.get_or_insert_with(|| self.onward_s(&entered));
                if onward_s[host.index()].is_finite() {
                    seconds += onward_s[host.index()];
                }
            }
            whole_s[host.index()] = whole_s[host.index()].max(seconds);
        }
    }

    /// The least time of a byte from the nearest node with a link across the cut, seconds.
    fn onward_s(&self, entered: &[bool]) -> Vec<f64> {
        let sources: Vec<NodeId> = self.platform.nodes().filter(|node| entered[node.index()]).collect();
        let least_s = |class| {
            let class = self.platform.class(class);
            class.latency_s + class.time.least_seconds(self.message_bytes)
        };
        self.platform.shortest_paths_from(&sources, least_s).0
    }

    /// The least times of the hops out of `sender`, or of all hosts.
    fn sending(&self, sender: Option<NodeId>) -> Option<Sending> {
        let chosen = self.crossings.sends().filter(|hop| sender.is_none_or(|sender| hop.from == sender));
        Sending::least(chosen.map(|hop| self.crossings.imprints(hop)))
    }

    /// 3. `None` where sends of one node do not wait for each other.
    fn spread_s(&self) -> Option<f64> {
        let receivers = self.receivers().count();
        let (all, root) = (self.sending(None)?, self.sending(Some(self.root))?);
        let any_s = all.spread_s(receivers, all.arrival_s, all.busy_s + all.arrival_s);
        // The root's out-port is busy with bytes that it sends for the first time for at least m times its least
        // rate. The last of them are with a first receiver no earlier than that plus the least time from the
        // end of a window to its arrival, and the root starts no second copy of them before.
        let all_out_s = self.message_bytes as f64 * root.s_per_byte;
        let last_s = all_out_s + all.spread_s(receivers, root.after_s, all.arrival_s);
        Some(any_s.max(last_s))
    }

    /// Argument 4: each of the m bytes of each receiver holds its in-port and, once for each receiver, some
    /// host's out-port (a switch never multiplies); under unidirectional one-port these are the only ports of n
    /// hosts.
    fn single_ports_s(&self) -> f64 {
        if self.platform.port_model() != PortModel::OnePortUnidirectional {
            return 0.0;
        }
        let receivers = self.receivers().count();
        let Some(out) = self.sending(None) else { return 0.0 };
        let into: f64 = self.receivers().map(|host| self.crossings.in_port_s_per_byte(host)).sum();
        let held_s = self.message_bytes as f64 * (into + receivers as f64 * out.s_per_byte);
        held_s / (receivers + 1) as f64
    }

    /// The root's own local broadcast, after its last send if the platform starts it there.
    fn root_s(&self) -> f64 {
        let Some(local_s) = self.platform.node(self.root).local_broadcast_s else { return 0.0 };
        match (self.platform.local_start(), self.sending(Some(self.root))) {
            (LocalStart::AfterLastSend, Some(out)) if self.receivers().next().is_some() => {
                local_s + self.message_bytes as f64 * out.s_per_byte
            }
            _ => local_s,
        }
    }
}
