//! A tree with the direction of its data, from which programs, routes and loads are made.

use super::{Collective, Direction, Period, Slot, Tree};
use crate::platform::NodeId;

/// A tree of a plan and the direction of its data. An all-reduce has two for each share: inward, then outward.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow<'a> {
    /// The share's place among the plan's.
    pub index: u32,
    pub tree: &'a Tree,
    pub is_inward: bool,
    /// [`Tree::exchange`] of the share's way in.
    pub exchange: &'a [NodeId],
}

impl Flow<'_> {
    /// For a node that is one of the heads, the others, from the next one on: each sends to another one first. `root` is the
    /// tree's.
    pub fn other_heads(&self, root: NodeId, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let count = if self.is_head(root, node) { self.exchange.len() + 1 } else { 0 };
        let head = move |at: usize| if at == 0 { root } else { self.exchange[at - 1] };
        let own = (0..count).position(|at| head(at) == node).unwrap_or(0);
        (1..count).map(move |further| head((own + further) % count))
    }

    /// Whether the node exchanges what has come in.
    pub fn is_head(&self, root: NodeId, node: NodeId) -> bool {
        !self.exchange.is_empty() && (node == root || self.exchange.contains(&node))
    }

    /// The (parent, child) of every transfer of a segment: the tree's edges, except those between heads on the way out; on
    /// the way in, every other head counts as a head's parent.
    pub fn edges(&self, root: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let between = move |&(parent, child): &(NodeId, NodeId)| {
            self.is_head(root, parent) && self.is_head(root, child)
        };
        let exchanged = std::iter::once(root).chain(self.exchange.iter().copied()).filter(|_| self.is_inward);
        let exchanged =
            exchanged.flat_map(move |child| self.other_heads(root, child).map(move |parent| (parent, child)));
        self.tree.edges().filter(move |edge| !between(edge)).chain(exchanged)
    }

    /// Sender and receiver of an edge.
    pub fn ends(&self, parent: NodeId, child: NodeId) -> (NodeId, NodeId) {
        if self.is_inward {
            (child, parent)
        } else {
            (parent, child)
        }
    }
}

/// The flows of a plan, by share; `inward` are an all-reduce's further trees.
pub(crate) fn flows<'a>(collective: Collective, trees: &'a [Tree], inward: &'a [Tree]) -> Vec<Flow<'a>> {
    let mut flows = Vec::with_capacity(trees.len() + inward.len());
    for (at, tree) in trees.iter().enumerate() {
        let index = at as u32;
        if collective.direction() == Direction::Both {
            let exchange = inward.get(at).map_or(&[][..], |tree| &tree.exchange);
            flows.extend(inward.get(at).map(|tree| Flow { index, tree, is_inward: true, exchange }));
            flows.push(Flow { index, tree, is_inward: false, exchange });
            continue;
        }
        flows.push(Flow { index, tree, is_inward: collective.is_inward(), exchange: &[] });
    }
    flows
}

/// Whether no host passes on what it receives, in any tree; `root` is that of trees without their own.
pub(crate) fn are_direct(root: NodeId, trees: &[Tree], inward: &[Tree]) -> bool {
    let is_direct = |tree: &Tree| tree.exchange.is_empty() && tree.serves_leaves(tree.root.unwrap_or(root));
    trees.iter().chain(inward).all(is_direct)
}

impl Period {
    /// Whether a slot carries data towards the root. In an all-reduce the positions count twice: on the way in, and,
    /// after all those, on the way out.
    pub fn goes_inward(&self, slot: &Slot, collective: Collective) -> bool {
        match collective.direction() {
            Direction::Outward => false,
            Direction::Inward => true,
            Direction::Both => slot.segment < self.segments,
        }
    }
}
