//! All-gathers and reduce-scatters from a plan over nodes to a plan over ranks: a tree for every rank, and blocks in rank
//! order.

use super::edge::Edge;
use super::RankPlan;
use crate::topology::placement::memory_link;
use broadleaf::plan::{Collective, Period, Plan, Protocol, Slot, Transfers, TreeBuilder};
use broadleaf::platform::{NodeId, Platform};
use std::sync::Arc;

/// `ranked` is `plan` with ranks for nodes, one on each; added here are the root of each tree and the period's
/// positions, which count contributions by node there and by rank here.
pub fn blocks_over_ranks(plan: &Plan, ranked: RankPlan, platform: &Platform, ranks: &[Vec<u32>]) -> RankPlan {
    let rank_of = |node: NodeId| ranks[node.index()][0];
    let by_place: Vec<u32> = platform.hosts().map(rank_of).collect();
    let mut trees = ranked.transfers.trees.clone();
    for (tree, before) in trees.iter_mut().zip(&plan.trees) {
        tree.root = Some(NodeId(rank_of(plan.root_of(before))));
    }
    let count = by_place.len() as u32;
    let period = ranked.transfers.period.as_ref().map(|period| {
        let moved = |slot: &Slot| {
            let (round, place) = (slot.segment / count, slot.segment % count);
            Slot { segment: round * count + by_place[place as usize], ..*slot }
        };
        Period { segments: period.segments, slots: period.slots.iter().map(moved).collect() }
    });
    let transfers = Transfers { trees, period, ..(*ranked.transfers).clone() };
    RankPlan { transfers: Arc::new(transfers), ..ranked }
}

/// A block of an all-gather or reduce-scatter, and the segments that it travels in.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub bytes: u64,
    pub segment_bytes: u64,
}

/// Every rank forwards to the next rank what it last received, around the nodes one by one. So each contribution
/// enters each node once, and goes through its memory from there. A reduce-scatter is the reverse.
pub fn ring_by_node(collective: Collective, node_of_rank: &[NodeId], block: Block) -> RankPlan {
    let Block { bytes, segment_bytes } = block;
    let count = node_of_rank.len();
    let mut around: Vec<usize> = (0..count).collect();
    around.sort_by_key(|&rank| (node_of_rank[rank], rank));
    let mut trees: Vec<TreeBuilder> =
        (0..count).map(|rank| TreeBuilder::new(count).root(NodeId(rank as u32))).collect();
    let mut slots = Vec::with_capacity(count * count);
    for round in 0..count - 1 {
        for place in 0..count {
            let owner = around[(place + count - round) % count];
            let (from, to) = (around[place], around[(place + 1) % count]);
            let (from, to) = (NodeId(from as u32), NodeId(to as u32));
            trees[owner].add(from, to);
            slots.push(Slot { segment: owner as u32, from, to, lag: 0 });
        }
    }
    if collective.is_inward() {
        slots.reverse();
        slots.iter_mut().for_each(|slot| std::mem::swap(&mut slot.from, &mut slot.to));
    }
    let transfers = Transfers {
        collective,
        root: NodeId(0),
        message_bytes: bytes,
        segment_bytes,
        weights: None,
        element_bytes: 1,
        trees: trees.into_iter().map(TreeBuilder::build).collect(),
        inward: Vec::new().into(),
        period: Some(Period { segments: count as u32, slots }),
        combine: false,
        skip_busy: false,
        protocol: Protocol::Eager,
    };
    let edges = vec![vec![Edge::local(&memory_link(), segment_bytes); count]; count];
    RankPlan {
        planner: "ring".to_string(),
        transfers: Arc::new(transfers),
        edges: Arc::new(edges),
        between: Arc::default(),
        led: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::execute::threads;
    use broadleaf::plan::Programs;
    use std::collections::HashMap;

    /// Three nodes of 2, 1 and 3 ranks, ranks dealt to nodes in turn.
    #[test]
    fn the_ring_comes_to_every_node_once() {
        let nodes = [0, 1, 2, 0, 2, 2].map(NodeId);
        let ranked = ring_by_node(Collective::Allgather, &nodes, Block { bytes: 5, segment_bytes: 5 });
        let mut entries: HashMap<(u32, NodeId), usize> = HashMap::new();
        let Some(period) = &ranked.transfers.period else { panic!("a ring has a period") };
        for slot in &period.slots {
            let (from, to) = (nodes[slot.from.index()], nodes[slot.to.index()]);
            if from != to {
                *entries.entry((slot.segment, to)).or_default() += 1;
            }
        }
        // A contribution never enters its owner's node, or only after all others.
        for (&(segment, to), &count) in &entries {
            assert_eq!(count, 1, "contribution {segment} into node {}", to.0);
        }
        let message: Vec<u8> = (0..30).collect();
        let buffers = threads::run(&Programs::for_ranks(Arc::clone(&ranked.transfers)), &message).unwrap();
        assert!(buffers.iter().all(|buffer| *buffer == message));
    }

    /// Each rank contributes its number to every byte, and has the sum in its own block.
    #[test]
    fn the_ring_turned_round_combines_every_rank_once() {
        let nodes = [0, 1, 2, 0, 2, 2].map(NodeId);
        let ranked = ring_by_node(Collective::ReduceScatter, &nodes, Block { bytes: 5, segment_bytes: 2 });
        let programs = Programs::for_ranks(Arc::clone(&ranked.transfers));
        let buffers = threads::run_on(&programs, |rank| vec![rank.0 as u8 + 1; 30]).unwrap();
        for (rank, buffer) in buffers.iter().enumerate() {
            assert_eq!(buffer[rank * 5..][..5], [21; 5], "rank {rank}");
        }
    }
}
