//! The earliest time at which all bytes can have crossed a cut.
//!
//! Take the transfers that bring a byte behind the cut for the first time: together they carry at least m bytes. Assign
//! each to one resource that it holds (a *cover* of the cut). If all have arrived by time t, then the windows of those
//! on resource r lie between when the first byte can be there and t, and are disjoint, so they carry at most (t −
//! ready_r) / s_per_byte_r bytes. The least t at which these sum to m is a bound, for any cover.
//!
//! A pipe may be held for long after a transfer's arrival. But where everything crosses by that pipe and several hosts
//! are behind the cut, the new bytes of the last such window are either passed on by its receiver, which takes that
//! long after the arrival, or cross once more, after that window. So all hosts together have them later than the last
//! arrival from outside. (The window may carry old bytes too: these are then carried in addition, so it is at least as
//! long as the bound either way.)

use super::imprint::{imprints, outlasts_s, Imprint, Imprints, Role};
use super::lanes::{Held, Holder, Lanes};
use crate::budget::Budget;
use crate::platform::{Hop, LinkClassId, NodeId, Platform, SharedId};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Up to this many nodes, every pair is treated by itself if links override meshes or bridges, or if links alone limit.
/// With more nodes, an overridden pair counts with both its links, and all of a group's links count from the time at
/// which the first of its senders has a byte, which can only lower the bound.
const PAIRWISE_NODES: usize = 128;

/// Links added between two checks of the budget, and links per unit of work.
const LINKS_PER_LOOK: usize = 1024;
const LINKS_PER_UNIT: usize = 4;

/// The resource that covers a crossing hop: the first of these that it occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// The sender's port, else the slowest shared resource, the link, the receiver's port.
    Out,
    /// The receiver's port, else the slowest shared resource, the link, the sender's port.
    In,
    /// The slowest shared resource, else the link, the receiver's port, the sender's.
    Pipe,
    /// That shared resource.
    Shared(SharedId),
    /// That shared resource, if the bound is for all hosts behind the cut together, not for each one.
    PassedOn(SharedId),
}

impl Cover {
    pub const ALL: &'static [Cover] = &[Cover::Out, Cover::In, Cover::Pipe];

    fn role(self, of: &Imprints) -> Option<Role> {
        let has = |role| of.on(role).map(|_| role);
        let shared = of.on.iter().filter(|imprint| matches!(imprint.role, Role::Shared(_)));
        let slowest = shared.max_by(|a, b| a.s_per_byte.total_cmp(&b.s_per_byte)).map(|imprint| imprint.role);
        match self {
            Cover::Out => has(Role::Out).or(slowest).or(has(Role::Link)).or(has(Role::In)),
            Cover::In => has(Role::In).or(slowest).or(has(Role::Link)).or(has(Role::Out)),
            Cover::Pipe => slowest.or(has(Role::Link)).or(has(Role::In)).or(has(Role::Out)),
            Cover::Shared(shared) | Cover::PassedOn(shared) => has(Role::Shared(shared)),
        }
    }
}

/// All links from some nodes to others, equal in class and each side either hosts or switches.
struct LinkBundle {
    class: LinkClassId,
    senders: Vec<NodeId>,
    receivers: Vec<NodeId>,
    /// The earliest time of a byte at the first of the senders, seconds.
    ready_s: f64,
}

/// Links of one class that cross a cut; the ends on each side are either all hosts or all switches.
#[derive(Clone)]
pub(super) struct Crossing {
    pub class: LinkClassId,
    pub from: Vec<NodeId>,
    pub to: Vec<NodeId>,
    /// Whether new bytes behind the cut must be sent on to another host there, or cross once more.
    pub passes_on: bool,
}

/// The properties on which the imprints of a hop depend: its class, its ends' NICs (bits of the rates), and whether
/// they are hosts.
type Kind = (LinkClassId, Option<u64>, Option<u64>, bool, bool);

/// All links of the platform whose senders can be reached.
pub(super) struct Crossings<'a> {
    platform: &'a Platform,
    message_bytes: u64,
    first_s: Vec<f64>,
    groups: Vec<LinkBundle>,
    /// The groups a node receives from.
    into: Vec<Vec<u32>>,
    known: RefCell<HashMap<Kind, Rc<Imprints>>>,
    passing_on: OnceCell<Vec<f64>>,
}

impl<'a> Crossings<'a> {
    /// `first_s` is the earliest time of the first byte at each node, infinite for unreachable nodes. `None` if the
    /// budget is spent first.
    pub fn new(
        platform: &'a Platform,
        first_s: &[f64],
        message_bytes: u64,
        budget: &Budget,
    ) -> Option<Crossings<'a>> {
        let mut crossings = Crossings {
            platform,
            message_bytes,
            first_s: first_s.to_vec(),
            groups: Vec::new(),
            into: vec![Vec::new(); platform.node_count()],
            known: RefCell::default(),
            passing_on: OnceCell::new(),
        };
        let has_groups = !platform.meshes().is_empty() || !platform.bridges().is_empty();
        let overridden = has_groups && !platform.explicit_links().is_empty();
        if overridden && platform.node_count() <= PAIRWISE_NODES {
            for from in platform.nodes() {
                if budget.spend((platform.node_count() / LINKS_PER_UNIT) as u64) {
                    return None;
                }
                for (to, class) in platform.successors(from) {
                    crossings.add(class, &[from], &[to]);
                }
            }
            return Some(crossings);
        }
        for (at, link) in platform.explicit_links().iter().enumerate() {
            if at % LINKS_PER_LOOK == 0 && budget.spend((LINKS_PER_LOOK / LINKS_PER_UNIT) as u64) {
                return None;
            }
            crossings.add(link.class, &[link.from], &[link.to]);
            if link.both_ways {
                crossings.add(link.class, &[link.to], &[link.from]);
            }
        }
        for bridge in platform.bridges() {
            let from = &platform.clusters()[bridge.from.index()].members;
            let to = &platform.clusters()[bridge.to.index()].members;
            crossings.add(bridge.class, from, to);
            if bridge.both_ways && bridge.from != bridge.to {
                crossings.add(bridge.class, to, from);
            }
        }
        for mesh in platform.meshes() {
            crossings.add(mesh.class, &mesh.nodes, &mesh.nodes);
        }
        Some(crossings)
    }

    fn add(&mut self, class: LinkClassId, senders: &[NodeId], receivers: &[NodeId]) {
        let platform = self.platform;
        let halves = |nodes: &[NodeId]| -> [Vec<NodeId>; 2] {
            let (hosts, switches) = nodes.iter().partition(|&&node| platform.node(node).is_host());
            [hosts, switches]
        };
        let receivers = halves(receivers);
        for senders in halves(senders) {
            let ready_s = self.earliest_s(&senders);
            if ready_s.is_infinite() {
                continue;
            }
            for receivers in receivers.iter().filter(|receivers| !receivers.is_empty()) {
                let index = self.groups.len() as u32;
                receivers.iter().for_each(|node| self.into[node.index()].push(index));
                let (senders, receivers) = (senders.clone(), receivers.clone());
                self.groups.push(LinkBundle { class, senders, receivers, ready_s });
            }
        }
    }

    fn earliest_s(&self, nodes: &[NodeId]) -> f64 {
        nodes.iter().map(|node| self.first_s[node.index()]).fold(f64::INFINITY, f64::min)
    }

    /// The number of nodes in all groups, which is the cost of a pass over them.
    pub fn size(&self) -> usize {
        self.groups.iter().map(|group| group.senders.len() + group.receivers.len()).sum()
    }

    pub fn imprints(&self, hop: Hop) -> Rc<Imprints> {
        let (from, to) = (self.platform.node(hop.from), self.platform.node(hop.to));
        let bits = |rate: Option<f64>| rate.map(f64::to_bits);
        let kind =
            (hop.class, bits(from.out_bytes_per_s), bits(to.in_bytes_per_s), from.is_host(), to.is_host());
        let mut known = self.known.borrow_mut();
        let made =
            known.entry(kind).or_insert_with(|| Rc::new(imprints(self.platform, hop, self.message_bytes)));
        Rc::clone(made)
    }

    /// One hop out of every host of every group, which represents the host's sends in the group.
    pub fn sends(&self) -> impl Iterator<Item = Hop> + '_ {
        let from_hosts = self.groups.iter().filter(|group| self.platform.node(group.senders[0]).is_host());
        from_hosts.flat_map(|group| {
            group.senders.iter().filter_map(|&from| {
                let to = *group.receivers.iter().find(|&&to| to != from)?;
                self.first_s[from.index()].is_finite().then_some(Hop { from, to, class: group.class })
            })
        })
    }

    /// The least time per byte from a node's receipt of bytes until its port has sent them and they have arrived,
    /// s/byte; 0 where windows outlast arrivals, infinite where the node cannot send.
    pub fn passing_on(&self) -> &[f64] {
        self.passing_on.get_or_init(|| {
            let mut least = vec![f64::INFINITY; self.into.len()];
            for hop in self.sends() {
                let imprints = self.imprints(hop);
                let port = imprints.on(Role::Out).filter(|port| port.after_arrival_s <= 0.0);
                let s_per_byte = port.map_or(0.0, |port| port.s_per_byte);
                least[hop.from.index()] = least[hop.from.index()].min(s_per_byte);
            }
            least
        })
    }

    /// The least in-port time per byte of a host, s/byte; 0 where a transfer reaches it without.
    pub fn in_port_s_per_byte(&self, host: NodeId) -> f64 {
        let hops = self.into[host.index()].iter().filter_map(|&group| {
            let group = &self.groups[group as usize];
            let from = *group.senders.iter().find(|&&from| from != host)?;
            Some(self.imprints(Hop { from, to: host, class: group.class }))
        });
        let rate = |imprints: Rc<Imprints>| imprints.on(Role::In).map_or(0.0, |port| port.s_per_byte);
        let least = hops.map(rate).fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            least
        } else {
            0.0
        }
    }

    /// The windows of a host's in-port; none where a transfer reaches it without, or nothing does.
    pub fn in_port(&self, host: NodeId) -> Option<Held> {
        let mut all: Option<Held> = None;
        for &index in &self.into[host.index()] {
            let group = &self.groups[index as usize];
            let Some(&from) = group.senders.iter().find(|&&from| from != host) else { continue };
            let imprints = self.imprints(Hop { from, to: host, class: group.class });
            let held = Held::of(imprints.on(Role::In)?, group.ready_s);
            all = Some(all.map_or(held, |all| all.and(held)));
        }
        all
    }

    /// The earliest time at which `bytes` bytes, at most the message, can have arrived at a host, by the cut around it,
    /// seconds.
    pub fn alone_s(&self, host: NodeId, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        let bound_s = |cover: Cover| {
            let mut lanes = Lanes::default();
            for &index in &self.into[host.index()] {
                let group = &self.groups[index as usize];
                let Some(&from) = group.senders.iter().find(|&&from| from != host) else { continue };
                let imprints = self.imprints(Hop { from, to: host, class: group.class });
                let role = cover.role(&imprints);
                let imprint = role.and_then(|role| imprints.on(role));
                match (role, imprint) {
                    (Some(Role::In), Some(port)) => {
                        lanes.hold(Holder::In(host), Held::of(port, group.ready_s))
                    }
                    (Some(Role::Shared(shared)), Some(pipe)) => {
                        lanes.hold(Holder::Shared(shared), Held::of(pipe, group.ready_s));
                    }
                    (Some(Role::Link), Some(link)) if group.senders.len() <= PAIRWISE_NODES => {
                        let others = group.senders.iter().filter(|&&from| from != host);
                        for ready_s in others.map(|from| self.first_s[from.index()]) {
                            lanes.add(Held::of(link, ready_s), 1);
                        }
                    }
                    (Some(Role::Link), Some(link)) => {
                        lanes.add(Held::of(link, group.ready_s), group.senders.len());
                    }
                    _ => lanes.open(group.ready_s + imprints.arrival_s),
                }
            }
            lanes.carried_s(bytes as f64)
        };
        bound_s(Cover::In).max(bound_s(Cover::Pipe))
    }

    /// The groups that some of `nodes` receive from.
    fn groups_into(&self, nodes: &[NodeId]) -> impl Iterator<Item = &LinkBundle> {
        let mut groups: Vec<u32> = nodes.iter().flat_map(|node| &self.into[node.index()]).copied().collect();
        groups.sort_unstable();
        groups.dedup();
        groups.into_iter().map(|group| &self.groups[group as usize])
    }

    /// The earliest time at which all bytes can have arrived behind a cut, by the covers, seconds; and the nodes there
    /// with a link across it.
    pub fn crossed_s(&self, behind: &[bool], covers: &[Cover]) -> (f64, Vec<bool>) {
        let hosts = self.platform.hosts().filter(|host| behind[host.index()]);
        let several = hosts.count() > 1;
        let mut lanes: Vec<Lanes> = vec![Lanes::default(); covers.len()];
        let mut entered = vec![false; behind.len()];
        for crossing in self.entering(behind) {
            crossing.to.iter().for_each(|node| entered[node.index()] = true);
            for (&cover, lanes) in covers.iter().zip(&mut lanes) {
                let passes_on = several && matches!(cover, Cover::PassedOn(_));
                self.cross(&Crossing { passes_on, ..crossing.clone() }, cover, lanes);
            }
        }
        let crossed_s =
            lanes.into_iter().map(|lanes| lanes.carried_s(self.message_bytes as f64)).fold(0.0, f64::max);
        (crossed_s, entered)
    }

    /// The links that cross into the nodes `behind` a cut, from nodes with a first byte.
    pub fn entering(&self, behind: &[bool]) -> Vec<Crossing> {
        let inside: Vec<NodeId> = self.platform.nodes().filter(|node| behind[node.index()]).collect();
        let crossings = self.groups_into(&inside).map(|group| {
            let before = |node: &&NodeId| !behind[node.index()] && self.first_s[node.index()].is_finite();
            let is_behind = |node: &&NodeId| behind[node.index()];
            let from = group.senders.iter().filter(before).copied().collect();
            let to = group.receivers.iter().filter(is_behind).copied().collect();
            Crossing { class: group.class, from, to, passes_on: false }
        });
        crossings.filter(|crossing| !crossing.from.is_empty()).collect()
    }

    /// Adds what a cover of the links of a crossing can carry.
    pub fn cross(&self, crossing: &Crossing, cover: Cover, lanes: &mut Lanes) {
        let &Crossing { class, ref from, ref to, passes_on } = crossing;
        let ready_s = self.earliest_s(from);
        let first_s = |node: NodeId| self.first_s[node.index()];
        let hop = |from: NodeId, to: NodeId| self.imprints(Hop { from, to, class });
        let any = hop(from[0], to[0]);
        // A resource that only some of the group's hops occupy does not cover the others: these are open.
        let mut held =
            |imprints: &Imprints, role: Role, ready_s: f64, take: &mut dyn FnMut(&mut Lanes, &Imprint)| {
                match imprints.on(role) {
                    Some(imprint) => take(lanes, imprint),
                    None => lanes.open(ready_s + imprints.arrival_s),
                }
            };
        match cover.role(&any) {
            Some(Role::Out) => {
                for &sender in from {
                    let ready_s = first_s(sender);
                    held(&hop(sender, to[0]), Role::Out, ready_s, &mut |lanes, port| {
                        lanes.hold(Holder::Out(sender), Held::of(port, ready_s));
                    });
                }
            }
            Some(Role::In) => {
                for &receiver in to {
                    held(&hop(from[0], receiver), Role::In, ready_s, &mut |lanes, port| {
                        lanes.hold(Holder::In(receiver), Held::of(port, ready_s));
                    });
                }
            }
            Some(Role::Shared(shared)) => {
                let after_s = match passes_on {
                    true => self.outlasting_s(class, from[0], to, shared),
                    false => f64::INFINITY,
                };
                held(&any, Role::Shared(shared), ready_s, &mut |lanes, pipe| {
                    lanes.hold(Holder::Shared(shared), Held::of(pipe, ready_s).ending(after_s));
                });
            }
            Some(Role::Link) => {
                for &sender in from {
                    let ready_s = first_s(sender);
                    held(&any, Role::Link, ready_s, &mut |lanes, link| {
                        lanes.add(Held::of(link, ready_s), to.len());
                    });
                }
            }
            None => lanes.open(ready_s + any.arrival_s),
        }
    }

    /// The most by which the last window on a pipe that brings new bytes behind a cut with several hosts may outlast
    /// the time at which all of them have the bytes, seconds.
    fn outlasting_s(&self, class: LinkClassId, from: NodeId, to: &[NodeId], shared: SharedId) -> f64 {
        if !self.platform.node(to[0]).is_host() {
            return f64::INFINITY;
        }
        // Receivers that cannot send leave it to another crossing.
        let can_send =
            to.iter().map(|to| self.passing_on()[to.index()]).filter(|seconds| seconds.is_finite());
        let onward_s_per_byte = can_send.fold(f64::INFINITY, f64::min);
        if onward_s_per_byte.is_infinite() {
            return 0.0;
        }
        let hop = Hop { from, to: to[0], class };
        outlasts_s(self.platform, hop, shared, self.message_bytes, onward_s_per_byte).max(0.0)
    }
}
