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
}

impl Flow<'_> {
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
            flows.extend(inward.get(at).map(|tree| Flow { index, tree, is_inward: true }));
        }
        flows.push(Flow { index, tree, is_inward: collective.is_inward() });
    }
    flows
}

/// Whether no host passes on what it receives, in any tree; `root` is that of trees without their own.
pub(crate) fn are_direct(root: NodeId, trees: &[Tree], inward: &[Tree]) -> bool {
    trees.iter().chain(inward).all(|tree| tree.serves_leaves(tree.root.unwrap_or(root)))
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
