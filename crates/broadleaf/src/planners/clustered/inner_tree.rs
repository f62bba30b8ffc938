//! A cluster's own broadcast: the quickest of a few trees from the coordinator.
//!
//! The paper takes the best of paper 4's models. Here each tree's time comes from the occupation table by
//! following its segments, which gives those models' predictions for a homogeneous cluster.

use super::coordinator_grid::grid_of;
use super::frontier::earliest_arrival_first;
use super::grid::Grid;
use super::host_times::HostTimes;
use super::kinds::Marks;
use super::unit::Unit;
use crate::planners::Instance;
use crate::platform::NodeId;

/// A tree inside a cluster and its time.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    /// Sender, receiver; each sender's in serving order, each after the one that reaches its sender.
    pub edges: Vec<(NodeId, NodeId)>,
    /// T_i, from the coordinator's arrival to the last member's, local broadcasts included, seconds.
    pub time_s: f64,
}

/// The best of ECEF over the members (optimal for an unsegmented message where links are equal), binomial,
/// chain, binary and flat.
pub(super) fn best(
    instance: &Instance,
    coordinator: NodeId,
    members: &[NodeId],
    links: &mut HostTimes,
    marks: &Marks,
) -> Inner {
    let alone = |host| Unit { coordinator: host, members: vec![host] };
    let units: Vec<Unit> = members.iter().map(|&host| alone(host)).collect();
    let inside = Instance { root: coordinator, ..*instance };
    let grid = grid_of(&inside, &units, links, None, marks);
    // Positions as in the shapes: the coordinator is 0, the others follow in order.
    let root = grid.root();
    let at = |position: usize| match position {
        0 => root,
        position if position <= root => position - 1,
        position => position,
    };
    let count = members.len();
    let early: Vec<(usize, usize)> =
        earliest_arrival_first(&grid).iter().map(|send| (send.from as usize, send.to as usize)).collect();
    let shape = |parent: fn(usize) -> usize| -> Vec<(usize, usize)> {
        (1..count).map(|position| (at(parent(position)), at(position))).collect()
    };
    let shapes = [
        early,
        binomial(count).into_iter().map(|(from, to)| (at(from), at(to))).collect(),
        shape(|position| position - 1),
        shape(|position| (position - 1) / 2),
        shape(|_| 0),
    ];
    let pace = Pace::new(&inside, members);
    let timed = shapes.into_iter().map(|edges| (pace.time_s(&edges, root, &grid), edges));
    // The first of equals, so that repeated runs agree.
    let (time_s, edges) = timed
        .reduce(|best, next| if next.0 < best.0 { next } else { best })
        .expect("there are shapes to choose from");
    Inner { edges: edges.into_iter().map(|(from, to)| (members[from], members[to])).collect(), time_s }
}

/// The best of the same trees from the root to all hosts of a platform that is one cluster: sender, receiver, each
/// sender's in serving order, each after the one that reaches its sender.
pub fn quickest_tree(instance: &Instance) -> Vec<(NodeId, NodeId)> {
    let members: Vec<NodeId> = instance.platform.hosts().collect();
    let (mut links, marks) = (HostTimes::new(instance), Marks::new(instance.platform));
    best(instance, instance.root, &members, &mut links, &marks).edges
}

/// Largest subtree first, as MPI's binomial trees.
fn binomial(count: usize) -> Vec<(usize, usize)> {
    let mut edges = Vec::with_capacity(count - 1);
    let mut step = count.next_power_of_two() / 2;
    while step > 0 {
        edges.extend(
            (0..count).step_by(2 * step).map(|from| (from, from + step)).filter(|edge| edge.1 < count),
        );
        step /= 2;
    }
    edges
}

/// Follows segments down a tree.
struct Pace<'i, 'p> {
    instance: &'i Instance<'p>,
    members: &'i [NodeId],
    segments: u64,
}

/// Segments followed individually; beyond them the slowest node on the way sets the pace.
const FOLLOWED_SEGMENTS: u64 = 64;

impl<'i, 'p> Pace<'i, 'p> {
    fn new(instance: &'i Instance<'p>, members: &'i [NodeId]) -> Self {
        let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
        Pace { instance, members, segments }
    }

    /// When the last member has the whole message; infinite where a link is missing.
    fn time_s(&self, edges: &[(usize, usize)], root: usize, grid: &Grid) -> f64 {
        let count = self.members.len();
        let followed = self.segments.min(FOLLOWED_SEGMENTS) as usize;
        let whole = self.segments as f64;
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &(from, to) in edges {
            children[from].push(to);
        }
        // Each segment takes its part of the whole message's gap; the first arrives a latency later.
        let gap_s = |from, to| grid.gap_s(from, to) / whole;
        let mut finish_s: f64 = 0.0;
        let mut open = vec![(root, vec![0.0; followed], 0.0f64)];
        while let Some((node, held_s, pace_s)) = open.pop() {
            let last_s = held_s[followed - 1] + (self.segments - followed as u64) as f64 * pace_s;
            let own_s = self.instance.platform.node(self.members[node]).local_broadcast_s.unwrap_or(0.0);
            finish_s = finish_s.max(last_s + own_s);
            let round_s: f64 = children[node].iter().map(|&child| gap_s(node, child)).sum();
            let mut arrivals = vec![Vec::with_capacity(followed); children[node].len()];
            let mut ready_s: f64 = 0.0;
            for &held in &held_s {
                for (&child, arrivals) in children[node].iter().zip(&mut arrivals) {
                    let start_s = ready_s.max(held);
                    ready_s = start_s + gap_s(node, child);
                    arrivals.push(ready_s + grid.latency_s(node, child));
                }
            }
            for (&child, arrivals) in children[node].iter().zip(arrivals) {
                open.push((child, arrivals, pace_s.max(round_s)));
            }
        }
        if finish_s.is_nan() {
            f64::INFINITY
        } else {
            finish_s
        }
    }
}
