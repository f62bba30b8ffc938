//! Shallower trees of the same loads.
//!
//! Two trees may exchange the parents of a node: no link and no port carries more or less, so a period need not become
//! longer, but segments can be everywhere sooner. Exchanges are made as long as they lower the sum of all depths'
//! [`POWER`]th powers, in which the deepest count most.

use super::solution::WeightedTree;
use crate::budget::Budget;
use crate::model::occupation;
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// The power of a depth. Chosen: the message ends with the deepest, but one exchange seldom lifts the deepest alone.
const POWER: i32 = 8;
/// The wait for a link's window at each hop, as a part of the period. Chosen: half the time between two windows of a link
/// that is used twice in a period.
const WAIT: f64 = 0.25;
/// Passes over all nodes at most. Chosen.
const PASSES: usize = 30;
/// Pairs of trees that are examined in a unit of work.
const PAIRS_PER_UNIT: usize = 30;
/// A gain below this, of powers in units of the deepest, is rounding.
const LEAST_GAIN: f64 = 1e-9;

/// Makes equal trees shallower within the budget, for segments of `segment_bytes`; `period_s` is the least time for a
/// segment along each of them, seconds.
pub(super) fn exchange_parents(
    platform: &Platform,
    (root, segment_bytes): (NodeId, u64),
    trees: &mut [WeightedTree],
    period_s: f64,
    budget: &Budget,
) {
    let hops = HopTimes::of(platform, segment_bytes, trees, period_s);
    let mut deep: Vec<DeepTree> = trees.iter().map(|tree| DeepTree::of(root, tree, &hops)).collect();
    let deepest_s = deep.iter().flat_map(|tree| &tree.depth_s).copied().fold(0.0, f64::max);
    // Trees through switches keep their ways.
    let nodes: Vec<usize> = (0..platform.node_count())
        .filter(|&node| {
            trees
                .iter()
                .all(|tree| tree.parent[node].is_some() && !tree.via.contains_key(&NodeId(node as u32)))
        })
        .collect();
    for _ in 0..PASSES {
        let mut changed = false;
        for &node in &nodes {
            if budget.spend((trees.len() * trees.len() / PAIRS_PER_UNIT) as u64) {
                break;
            }
            for one in 1..deep.len() {
                let (before, after) = deep.split_at_mut(one);
                for other in before {
                    changed |= exchange(&mut after[0], other, node, &hops, deepest_s);
                }
            }
        }
        if !changed || budget.is_spent() {
            break;
        }
    }
    for (tree, deep) in trees.iter_mut().zip(deep) {
        for &node in &nodes {
            tree.parent[node] = Some(NodeId(deep.parent[node]));
        }
    }
}

/// Exchanges the parents of a node in two trees if both stay trees and their depths fall.
fn exchange(one: &mut DeepTree, other: &mut DeepTree, node: usize, hops: &HopTimes, deepest_s: f64) -> bool {
    let (a, b) = (one.parent[node], other.parent[node]);
    let later = |tree: &DeepTree, from: u32| {
        tree.depth_s[from as usize] + hops.seconds[&(from, node as u32)] - tree.depth_s[node]
    };
    if a == b {
        return false;
    }
    let (one_later_s, other_later_s) = (later(one, b), later(other, a));
    if (one_later_s >= 0.0 && other_later_s >= 0.0) || one.is_below(b, node) || other.is_below(a, node) {
        return false;
    }
    let gain = one.growth(node, one_later_s, deepest_s) + other.growth(node, other_later_s, deepest_s);
    if gain >= -LEAST_GAIN {
        return false;
    }
    one.hang(node, b, one_later_s);
    other.hang(node, a, other_later_s);
    true
}

/// How long a segment takes from the beginning of a node's wait for a window to its arrival at the receiver, seconds.
struct HopTimes {
    seconds: HashMap<(u32, u32), f64>,
}

impl HopTimes {
    fn of(platform: &Platform, segment_bytes: u64, trees: &[WeightedTree], period_s: f64) -> HopTimes {
        let mut seconds = HashMap::new();
        for (to, from) in trees.iter().flat_map(|tree| tree.parent.iter().enumerate()) {
            let Some(from) = *from else { continue };
            let to = NodeId(to as u32);
            seconds.entry((from.0, to.0)).or_insert_with(|| {
                let wait_s = WAIT * period_s;
                // A way through switches is never exchanged.
                let arrival_s =
                    |class| occupation(platform, Hop { from, to, class }, segment_bytes).arrival_s;
                wait_s + platform.link(from, to).map_or(0.0, arrival_s)
            });
        }
        HopTimes { seconds }
    }
}

/// A tree with the depth of each node, seconds.
struct DeepTree {
    parent: Vec<u32>,
    children: Vec<Vec<u32>>,
    depth_s: Vec<f64>,
}

impl DeepTree {
    fn of(root: NodeId, tree: &WeightedTree, hops: &HopTimes) -> DeepTree {
        let count = tree.parent.len();
        let mut deep = DeepTree {
            parent: vec![root.0; count],
            children: vec![Vec::new(); count],
            depth_s: vec![0.0; count],
        };
        for (node, parent) in tree.parent.iter().enumerate() {
            if let Some(parent) = parent {
                deep.parent[node] = parent.0;
                deep.children[parent.index()].push(node as u32);
            }
        }
        for node in deep.from(root.index()).into_iter().skip(1) {
            let from = deep.parent[node];
            deep.depth_s[node] = deep.depth_s[from as usize] + hops.seconds[&(from, node as u32)];
        }
        deep
    }

    /// A node and all below it, parents first.
    fn from(&self, node: usize) -> Vec<usize> {
        let mut all = vec![node];
        let mut at = 0;
        while at < all.len() {
            all.extend(self.children[all[at]].iter().map(|&child| child as usize));
            at += 1;
        }
        all
    }

    fn is_below(&self, node: u32, top: usize) -> bool {
        let mut at = node as usize;
        while at != top && self.depth_s[at] > 0.0 {
            at = self.parent[at] as usize;
        }
        at == top
    }

    /// How much the sum of powers grows if a node and all below it are later, in units of the deepest.
    fn growth(&self, node: usize, later_s: f64, deepest_s: f64) -> f64 {
        let power = |depth_s: f64| (depth_s / deepest_s).powi(POWER);
        let of = |at: usize| power(self.depth_s[at] + later_s) - power(self.depth_s[at]);
        self.from(node).into_iter().map(of).sum()
    }

    fn hang(&mut self, node: usize, parent: u32, later_s: f64) {
        let before = self.parent[node] as usize;
        self.children[before].retain(|&child| child as usize != node);
        self.children[parent as usize].push(node as u32);
        self.parent[node] = parent;
        for at in self.from(node) {
            self.depth_s[at] += later_s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{ExplicitLink, LinkClass, PlatformBuilder, PortModel};
    use crate::random::Random;
    use std::collections::BTreeMap;

    const NODES: usize = 12;

    /// A complete graph of 100 bytes/s.
    fn complete() -> Platform {
        let mut builder = PlatformBuilder::new("complete", PortModel::OnePort);
        let nodes: Vec<NodeId> = (0..NODES).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(0.0, 100.0));
        for (at, &from) in nodes.iter().enumerate() {
            for &to in &nodes[at + 1..] {
                builder.add_link(ExplicitLink { from, to, both_ways: true, class }).unwrap();
            }
        }
        builder.build().unwrap()
    }

    /// A chain through all nodes in a random order, from node 0.
    fn chain(random: &mut Random) -> WeightedTree {
        let mut order: Vec<usize> = (1..NODES).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        let mut parent = vec![None; NODES];
        let mut before = 0;
        for node in order {
            parent[node] = Some(NodeId(before as u32));
            before = node;
        }
        WeightedTree { share: 0.25, parent, via: BTreeMap::new() }
    }

    fn links(trees: &[WeightedTree]) -> Vec<(Option<NodeId>, usize)> {
        let of = |tree: &WeightedTree| tree.parent.iter().copied().zip(0..).collect::<Vec<_>>();
        let mut links: Vec<_> = trees.iter().flat_map(of).collect();
        links.sort_unstable();
        links
    }

    /// Hops to the farthest node; every node is reached.
    fn height(tree: &WeightedTree) -> usize {
        let hops = |node: usize| {
            let up = std::iter::successors(Some(node), |&at| tree.parent[at].map(NodeId::index));
            up.take(NODES + 1).count() - 1
        };
        let most = (0..NODES).map(hops).max().unwrap();
        assert!(most < NODES, "a circle");
        most
    }

    #[test]
    fn trees_become_shallower_and_keep_their_links() {
        let platform = complete();
        let mut random = Random::new(4);
        let mut heights = 0;
        for _ in 0..20 {
            let mut trees: Vec<WeightedTree> = (0..4).map(|_| chain(&mut random)).collect();
            let before = links(&trees);
            exchange_parents(&platform, (NodeId(0), 100), &mut trees, 4.0, &Budget::UNLIMITED);
            assert_eq!(links(&trees), before);
            heights += trees.iter().map(height).sum::<usize>();
        }
        // Chains have a height of 11.
        assert!(heights < 20 * 4 * 8, "{heights}");
    }

    #[test]
    fn a_spent_budget_leaves_trees_as_they_are() {
        let mut random = Random::new(4);
        let mut trees: Vec<WeightedTree> = (0..4).map(|_| chain(&mut random)).collect();
        let before = trees.clone();
        exchange_parents(&complete(), (NodeId(0), 100), &mut trees, 4.0, &Budget::of_work(0));
        assert!(trees.iter().zip(&before).all(|(tree, known)| tree.parent == known.parent));
    }
}
