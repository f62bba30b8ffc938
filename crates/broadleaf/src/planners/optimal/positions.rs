//! The trees of a plan, and the positions of its period that they take.

use crate::optimum::WeightedTree;
use crate::plan::{tree_of_positions, Collective, Period, Slot, Tree};
use crate::platform::NodeId;
use std::collections::BTreeMap;

/// By receiver, the switches on the way from its parent.
type Ways = BTreeMap<NodeId, Vec<NodeId>>;

/// Equal trees as one of their common share: positions of a period differ by their trees' edges.
pub(super) fn merged(trees: &[WeightedTree]) -> Vec<Tree> {
    distinct(trees).iter().map(WeightedTree::plan_tree).collect()
}

/// The distinct trees, in the order in which their edges come first; those that differ only in switches are in an order
/// that does not depend on the positions.
fn distinct(trees: &[WeightedTree]) -> Vec<WeightedTree> {
    let mut alike: Vec<(&WeightedTree, BTreeMap<&Ways, usize>)> = Vec::new();
    for tree in trees {
        match alike.iter_mut().find(|(known, _)| known.parent == tree.parent) {
            Some((_, ways)) => *ways.entry(&tree.via).or_default() += 1,
            None => alike.push((tree, BTreeMap::from([(&tree.via, 1)]))),
        }
    }
    let ways = alike.iter().flat_map(|(tree, ways)| ways.iter().map(|(&via, &count)| (*tree, via, count)));
    ways.map(|(tree, via, count)| WeightedTree {
        share: count as f64 / trees.len() as f64,
        parent: tree.parent.clone(),
        via: via.clone(),
    })
    .collect()
}

/// The trees in the order in which the readers of a plan deal them to the positions of a period: the slots of a position
/// do not tell which switches its segments pass.
pub(super) fn as_dealt(trees: &[WeightedTree]) -> Vec<WeightedTree> {
    let distinct = distinct(trees);
    let planned: Vec<Tree> = distinct.iter().map(WeightedTree::plan_tree).collect();
    let slots = trees.iter().zip(0..).flat_map(|(tree, segment)| {
        let edges = tree.parent.iter().zip(0..).filter_map(|(from, to)| from.map(|from| (from, NodeId(to))));
        edges.map(move |(from, to)| Slot { segment, from, to, lag: 0 })
    });
    let period = Period { segments: trees.len() as u32, slots: slots.collect() };
    let dealt = tree_of_positions(&period, Collective::Bcast, &planned, &[]);
    dealt.into_iter().map(|tree| distinct[tree as usize].clone()).collect()
}
