//! Van de Geijn: a scatter along a binomial tree, then an all-gather.
//!
//! The message is cut into n blocks, block r for node r by index relative to the root. A node passes on the
//! blocks of its subtree's nodes; then all exchange: by recursive doubling where n is a power of two (in
//! round i node r exchanges all it has with node r XOR 2^i), around a ring otherwise. A node is never sent a
//! block that the scatter left with it.
//!
//! As a plan: one tree a block, and one period whose slots are the rounds in order. Blocks that travel
//! together are one transfer. A recursive-doubling round lists the blocks that its sender got last first,
//! so that it waits for the round before and sends once. Ring slots of one sender never stand side by side,
//! so each block travels alone: joined, the root's blocks would all go to its neighbour at once.
//!
//! Reference: Barnett, Littlefield, Payne and van de Geijn, *On the efficiency of global combine operations*;
//! Axida, Viet and Yoshinaga, *Pipelined broadcast by round-robin*, section 2 and table 1, whose printed sum
//! should be 2·log2(n)·startup + 2·(n − 1)/n·m/bandwidth.
//! Cost: log2(n) transfers of m/2, m/4 … m/n and again as many back on a homogeneous one-port network; with the
//! ring log2(n) + n − 1 transfers. Complexity: O(n²), as many as there are slots.
//! Guarantee: within 2·(n − 1)/n of the time for m bytes, but for start-ups and latency, on a homogeneous
//! one-port network with n a power of two.
//!
//! ```
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = "abcd".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("van-de-geijn").unwrap().plan(&Instance::new(&platform, nodes[0], 400).unwrap()).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Blocks of 1 s. Scatter: a sends 2 and 3 to c until 2 s, then 1 to b and c sends 3 to d until 3 s.
//! // Round 0: a and b exchange 0 (b has 1), c and d 2, until 4 s.
//! // Round 1: b lacks 2 and 3, c and d lack 0 and 1: two blocks each, until 6 s.
//! assert_eq!(trace.finish_s, [0.0, 6.0, 6.0, 6.0]);
//! // Three transfers of the scatter; b and d receive in round 0, all but a in round 1.
//! assert_eq!(trace.transfer_count, 3 + 2 + 3);
//! ```

use super::binomial::{children, span};
use super::{Card, Instance, Planner, Unsupported};
use crate::plan::{Period, Plan, PlanError, Slot, TreeBuilder};

pub struct VanDeGeijn;

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
const MOST_NODES: usize = 1024;
/// Up to here n² slots are planned and simulated in less than 10 ms.
const QUICK_NODES: usize = 96;

static CARD: Card = Card {
    name: "van-de-geijn",
    summary: "binomial scatter, then all-gather by recursive doubling or around a ring; n blocks",
    reference:
        "Barnett, Littlefield, Payne and van de Geijn, On the efficiency of global combine operations, \
                1993",
    objective: "makespan of long messages on a homogeneous network",
    guarantee: "at most twice the time of the message over one link, but for start-ups and latency, on a \
                homogeneous one-port network with n a power of two",
    complexity: "O(n^2)",
};

impl Planner for VanDeGeijn {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let count = instance.platform.hosts().count();
        if count > MOST_NODES {
            return Err(Unsupported(format!(
                "{count} nodes, and its plan has a slot for every pair; at most {MOST_NODES}"
            )));
        }
        if instance.message_bytes < count as u64 {
            return Err(Unsupported(format!(
                "a message of {} bytes cannot be cut into {count} blocks, one a node",
                instance.message_bytes
            )));
        }
        Ok(())
    }

    fn plan(&self, instance: &Instance) -> Result<Plan, PlanError> {
        let hosts = instance.hosts_from_root();
        let count = hosts.len();
        let mut moves = scatter(count);
        moves.extend(if count.is_power_of_two() { recursive_doubling(count) } else { ring(count) });
        let mut trees: Vec<TreeBuilder> = (0..count)
            .map(|_| TreeBuilder::new(instance.platform.node_count()).share(1.0 / count as f64))
            .collect();
        let mut slots = Vec::with_capacity(moves.len());
        for Move { block, from, to } in moves {
            let (from, to) = (hosts[from], hosts[to]);
            trees[block].add(from, to);
            slots.push(Slot { segment: block as u32, from, to, lag: 0 });
        }
        let segment_bytes = instance.message_bytes.div_ceil(count as u64);
        let trees = trees.into_iter().map(TreeBuilder::build).collect();
        let (platform, root) = (instance.platform, instance.root);
        let plan = Plan::bcast(platform, CARD.name, root, instance.message_bytes, segment_bytes, trees);
        let period = Some(Period { segments: count as u32, slots });
        Ok(Plan { period, combine: true, seed: instance.seed, ..plan })
    }

    /// One segment a node.
    fn is_segmentable(&self) -> bool {
        false
    }

    fn is_quick(&self, instance: &Instance) -> bool {
        instance.platform.hosts().count() <= QUICK_NODES
    }
}

/// One block over one edge; nodes by index relative to the root.
struct Move {
    block: usize,
    from: usize,
    to: usize,
}

/// Whether the scatter leaves `block` with `place`: it does for the places of its subtree.
fn scattered_to(place: usize, block: usize, count: usize) -> bool {
    (place..place + span(place, count)).contains(&block)
}

/// Each node passes on the blocks of its children's subtrees, the largest first.
fn scatter(count: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    for from in 0..count {
        for to in children(from, count) {
            let blocks = to..(to + span(to, count)).min(count);
            moves.extend(blocks.map(|block| Move { block, from, to }));
        }
    }
    moves
}

/// Round i: node r gives node r XOR 2^i what is its group's, as far as that one lacks it.
fn recursive_doubling(count: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    let rounds = std::iter::successors(Some(1), |width| Some(width * 2)).take_while(|&width| width < count);
    for width in rounds {
        for from in 0..count {
            let to = from ^ width;
            let group = from & !(width - 1);
            let mut blocks: Vec<usize> =
                (group..group + width).filter(|&block| !scattered_to(to, block, count)).collect();
            // What came in round i differs from the node's own index in bit i at most; scattered blocks came
            // before all rounds.
            blocks.sort_by_key(|&block| {
                let last_bit = (from ^ block).checked_ilog2().unwrap_or(0);
                let round = if scattered_to(from, block, count) { 0 } else { 1 + last_bit };
                (std::cmp::Reverse(round), block)
            });
            moves.extend(blocks.into_iter().map(|block| Move { block, from, to }));
        }
    }
    moves
}

/// Step t: node r gives its right neighbour block r − t, if that one lacks it.
fn ring(count: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    for step in 0..count - 1 {
        for from in 0..count {
            let to = (from + 1) % count;
            let block = (from + count - step) % count;
            if !scattered_to(to, block, count) {
                moves.push(Move { block, from, to });
            }
        }
    }
    moves
}
