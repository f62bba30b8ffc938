//! The grid of a platform: its clusters by their coordinators, or its hosts where there are no clusters.

use super::graft;
use super::grid::{Grid, Pipes};
use super::host_times::{HostTimes, SendTimes};
use super::inner_tree::{self, Inner};
use super::sends::ClusterSend;
use crate::plan::TreeBuilder;
use crate::planners::Instance;
use crate::platform::{LinkClass, NodeId, Platform, SharedId};
use std::collections::HashMap;

/// One cluster, or one host.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Receives between clusters: the root in its own cluster, else the first member.
    pub coordinator: NodeId,
    /// Coordinator included.
    pub members: Vec<NodeId>,
    pub inner: Option<Inner>,
}

/// A platform as the grid planners see it.
pub(super) struct Units {
    pub units: Vec<Unit>,
    pub grid: Grid,
}

impl Units {
    /// Two levels where some cluster has several hosts and there is more than one cluster.
    pub fn new(instance: &Instance) -> Self {
        let mut units = group(instance);
        let mut links = HostTimes::new(instance);
        let marks = Marks::new(instance.platform);
        let mut grid = grid_of(instance, &units, &mut links, None, &marks);
        let has_inner = units.iter().any(|unit| unit.members.len() > 1);
        if has_inner {
            for (cluster, unit) in units.iter_mut().enumerate() {
                if unit.members.len() > 1 {
                    let inner =
                        inner_tree::best(instance, unit.coordinator, &unit.members, &mut links, &marks);
                    grid.set_local_s(cluster, inner.time_s);
                    unit.inner = Some(inner);
                }
            }
        }
        Units { units, grid }
    }

    /// Every host a unit of its own, with links inside clusters and to coordinators only: the message enters
    /// every cluster once. Shared resources are followed.
    pub fn of_hosts(instance: &Instance) -> Self {
        let count = instance.platform.node_count();
        let mut homes = Homes { coordinator: vec![NodeId(0); count], is_shared: vec![false; count] };
        let mut units = Vec::new();
        for unit in group(instance) {
            for &host in &unit.members {
                homes.coordinator[host.index()] = unit.coordinator;
                homes.is_shared[host.index()] = unit.members.len() > 1;
                units.push(Unit { coordinator: host, members: vec![host], inner: None });
            }
        }
        // As the platform has them: ties go to the smaller id.
        units.sort_by_key(|unit| unit.coordinator);
        let mut grid = grid_of(
            instance,
            &units,
            &mut HostTimes::by_segment(instance),
            Some(&homes),
            &Marks::new(instance.platform),
        );
        grid.set_pipes(pipes(instance, &units, &grid));
        Units { units, grid }
    }

    /// How many kinds of units differ, without looking at any pair.
    pub fn count_kinds(instance: &Instance) -> usize {
        kinds(instance.platform, &group(instance), None, &Marks::new(instance.platform)).1.len()
    }

    /// How many units there are.
    pub fn count(instance: &Instance) -> usize {
        group(instance).len()
    }

    /// The sends between units as one tree over all hosts.
    pub fn graft(&self, instance: &Instance, sends: &[ClusterSend]) -> TreeBuilder {
        graft::tree(instance, &self.units, sends)
    }
}

/// The hosts by cluster, those without one on their own; hosts alone where that would make one unit or units
/// of one host only.
fn group(instance: &Instance) -> Vec<Unit> {
    let platform = instance.platform;
    let alone = |host| Unit { coordinator: host, members: vec![host], inner: None };
    let mut units: Vec<Unit> = Vec::new();
    let mut unit_of = vec![None; platform.clusters().len()];
    for host in platform.hosts() {
        let Some(cluster) = platform.node(host).cluster else {
            units.push(alone(host));
            continue;
        };
        match unit_of[cluster.index()] {
            None => {
                unit_of[cluster.index()] = Some(units.len());
                units.push(alone(host));
            }
            Some(unit) => {
                let unit: &mut Unit = &mut units[unit];
                unit.members.push(host);
                if host == instance.root {
                    unit.coordinator = host;
                }
            }
        }
    }
    if units.len() == 1 {
        return platform.hosts().map(alone).collect();
    }
    units
}

/// Which cluster a host is at home in, by node.
pub(super) struct Homes {
    coordinator: Vec<NodeId>,
    /// Whether the cluster has other hosts.
    is_shared: Vec<bool>,
}

impl Homes {
    fn is_coordinator(&self, host: NodeId) -> bool {
        self.coordinator[host.index()] == host
    }

    fn allow(&self, from: NodeId, to: NodeId) -> bool {
        self.coordinator[from.index()] == self.coordinator[to.index()] || self.is_coordinator(to)
    }
}

/// What tells hosts apart that have no links of their own. A unit of several hosts is its own kind.
#[derive(PartialEq, Eq, Hash)]
enum Likeness {
    Own(usize),
    Shared { cluster: Option<u32>, meshes: Vec<u32>, numbers: [Option<u64>; 3] },
}

/// What is known of every node, gathered once for all clusters.
pub(super) struct Marks {
    has_own_links: Vec<bool>,
    /// The meshes it is in.
    meshes: Vec<Vec<u32>>,
}

impl Marks {
    fn new(platform: &Platform) -> Self {
        let mut has_own_links = vec![false; platform.node_count()];
        for link in platform.explicit_links() {
            has_own_links[link.from.index()] = true;
            has_own_links[link.to.index()] = true;
        }
        let mut meshes = vec![Vec::new(); platform.node_count()];
        for (index, mesh) in platform.meshes().iter().enumerate() {
            for node in &mesh.nodes {
                meshes[node.index()].push(index as u32);
            }
        }
        Marks { has_own_links, meshes }
    }
}

/// The kind of each unit, and the units of each kind.
fn kinds(
    platform: &Platform,
    units: &[Unit],
    homes: Option<&Homes>,
    marks: &Marks,
) -> (Vec<u32>, Vec<Vec<usize>>) {
    let mut known: HashMap<Likeness, u32> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut kind_of = Vec::with_capacity(units.len());
    for (index, unit) in units.iter().enumerate() {
        let at = unit.coordinator.index();
        let node = platform.node(unit.coordinator);
        let speaks = homes.is_some_and(|homes| homes.is_shared[at] && homes.is_coordinator(unit.coordinator));
        let likeness = if marks.has_own_links[at] || unit.members.len() > 1 || speaks {
            Likeness::Own(index)
        } else {
            let numbers = [node.local_broadcast_s, node.out_bytes_per_s, node.in_bytes_per_s];
            Likeness::Shared {
                cluster: node.cluster.map(|cluster| cluster.0),
                meshes: marks.meshes[at].clone(),
                numbers: numbers.map(|number| number.map(f64::to_bits)),
            }
        };
        let kind = *known.entry(likeness).or_insert(members.len() as u32);
        if kind as usize == members.len() {
            members.push(Vec::new());
        }
        members[kind as usize].push(index);
        kind_of.push(kind);
    }
    (kind_of, members)
}

/// The grid between coordinators; T_i is that of the coordinator alone.
pub(super) fn grid_of(
    instance: &Instance,
    units: &[Unit],
    links: &mut HostTimes,
    homes: Option<&Homes>,
    marks: &Marks,
) -> Grid {
    let (kind_of, members) = kinds(instance.platform, units, homes, marks);
    let host = |unit: usize| units[unit].coordinator;
    let pairs = members.len();
    let mut costs = vec![SendTimes::NONE; pairs * pairs];
    for (from, senders) in members.iter().enumerate() {
        for (to, receivers) in members.iter().enumerate() {
            // Any two of the kinds stand for all.
            let receiver = if from == to { senders.get(1) } else { receivers.first() };
            if let Some(cost) = receiver.and_then(|&to| links.direct(host(senders[0]), host(to))) {
                costs[from * pairs + to] = cost;
            }
        }
    }
    let root = units.iter().position(|unit| unit.members.contains(&instance.root)).unwrap_or(0);
    let suffices = |costs: &[SendTimes]| connects(costs, kind_of[root] as usize, &members);
    let entering = |costs: &[SendTimes]| {
        let entering = entering_once(costs, &members, units, homes?);
        suffices(&entering).then_some(entering)
    };
    let costs = entering(&costs).or_else(|| suffices(&costs).then_some(costs)).unwrap_or_else(|| {
        // Some hosts are behind switches or hosts of other clusters: the quickest paths stand for links.
        let routed = routed(&members, units, links);
        entering(&routed).unwrap_or(routed)
    });
    let gap_s = costs.iter().map(|cost| cost.gap_s).collect();
    let latency_s = costs.iter().map(|cost| cost.latency_s).collect();
    let local_s = members
        .iter()
        .map(|units| instance.platform.node(host(units[0])).local_broadcast_s.unwrap_or(0.0))
        .collect();
    Grid::from_kinds(kind_of, gap_s, latency_s, local_s, root, instance.platform.local_start())
}

/// The costs of the quickest paths between kinds.
fn routed(members: &[Vec<usize>], units: &[Unit], links: &mut HostTimes) -> Vec<SendTimes> {
    let host = |unit: usize| units[unit].coordinator;
    let mut costs = Vec::with_capacity(members.len() * members.len());
    for (from, senders) in members.iter().enumerate() {
        let sender = host(senders[0]);
        let target = |(to, receivers): (usize, &Vec<usize>)| match from == to {
            true => senders.get(1).map_or(sender, |&unit| host(unit)),
            false => host(receivers[0]),
        };
        let targets: Vec<NodeId> = members.iter().enumerate().map(target).collect();
        costs.extend(links.routed(sender, &targets));
    }
    costs
}

/// The costs without the links that enter a cluster elsewhere than at its coordinator.
fn entering_once(
    costs: &[SendTimes],
    members: &[Vec<usize>],
    units: &[Unit],
    homes: &Homes,
) -> Vec<SendTimes> {
    let host = |kind: usize| units[members[kind][0]].coordinator;
    let kinds = members.len();
    let allowed = |pair: usize| homes.allow(host(pair / kinds), host(pair % kinds));
    let entering =
        costs.iter().enumerate().map(|(pair, &cost)| if allowed(pair) { cost } else { SendTimes::NONE });
    entering.collect()
}

/// The shared resources of every direct link of the grid.
fn pipes(instance: &Instance, units: &[Unit], grid: &Grid) -> Pipes {
    let platform = instance.platform;
    if platform.shared().is_empty() {
        return Pipes::default();
    }
    let held_s = |shared: SharedId| {
        instance.message_bytes as f64 / platform.shared()[shared.index()].bandwidth_bytes_per_s
    };
    let of_use = |(shared, times): (SharedId, u32)| (shared.0, f64::from(times) * held_s(shared));
    let of_class = |class: &LinkClass| class.shared_uses().into_iter().map(of_use).collect();
    let mut held: Vec<Vec<(u32, f64)>> = platform.classes().iter().map(of_class).collect();
    // Beyond the classes: pairs without a link.
    let nothing = held.len() as u32;
    held.push(Vec::new());
    let kinds = grid.kinds();
    let host = |kind: usize, place: usize| {
        grid.members(kind).get(place).map(|&unit| units[unit as usize].coordinator)
    };
    let class_of = |pair: usize| {
        let (from, to) = (pair / kinds, pair % kinds);
        // Any two of the kinds stand for all.
        let link = host(from, 0).zip(host(to, usize::from(from == to)));
        link.and_then(|(from, to)| platform.link(from, to)).map_or(nothing, |class| class.0)
    };
    Pipes { class_of: (0..kinds * kinds).map(class_of).collect(), held, count: platform.shared().len() }
}

/// Whether direct links lead from the root's kind to every unit.
fn connects(costs: &[SendTimes], root: usize, members: &[Vec<usize>]) -> bool {
    let kinds = members.len();
    let mut seen = vec![false; kinds];
    seen[root] = true;
    let mut open = vec![root];
    let mut whole = vec![false; kinds];
    whole[root] = members[root].len() == 1;
    while let Some(from) = open.pop() {
        for to in 0..kinds {
            if !costs[from * kinds + to].gap_s.is_finite() {
                continue;
            }
            whole[to] = true;
            if !std::mem::replace(&mut seen[to], true) {
                open.push(to);
            }
        }
    }
    whole.into_iter().all(|whole| whole)
}
