//! The grid between units: gaps and latencies between their coordinators, over quickest paths where links are missing.

use super::grid::{Grid, Pipes};
use super::host_times::{HostTimes, SendTimes};
use super::kinds::{kinds, Homes, Marks};
use super::unit::Unit;
use crate::planners::Instance;
use crate::platform::{LinkClass, NodeId, SharedId};

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
            // Any two members represent their kinds.
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
        // Some hosts are behind switches or hosts of other clusters: the quickest paths replace links.
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
pub(super) fn pipes(instance: &Instance, units: &[Unit], grid: &Grid) -> Pipes {
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
        // Any two members represent their kinds.
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
