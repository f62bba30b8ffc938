//! One node's part of a plan: the channels on which it receives and sends, and their order.
//!
//! A *channel* is the stream of one tree's segments over one ordered pair of hosts.

use crate::platform::NodeId;
use std::sync::Arc;

/// The source of a sending channel's segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The node's own part of the message; inward, after all inputs of the tree have brought their parts.
    Held,
    /// A receiving channel (by index) whose segments this node only relays.
    Relay(u32),
}

/// Segments of `tree` that come from `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InChannel {
    /// The sender.
    pub from: NodeId,
    /// The channel's number among those of the ordered pair; both ends have the same numbering.
    pub tag: u32,
    /// The tree whose segments travel on it.
    pub tree: u32,
    /// The node the segments are for: this one, or a host beyond it.
    pub target: NodeId,
    /// The tree's edge this hop belongs to, by its lower end.
    pub child: NodeId,
    /// Whether they go towards the tree's root.
    pub is_inward: bool,
    /// Whether they come from another head of an exchange ([`Tree::exchange`](super::Tree::exchange)), with its sums.
    pub is_exchanged: bool,
    /// Segments are combined with this node's own.
    pub combines: bool,
}

/// Segments of `tree` that go to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutChannel {
    /// The receiver.
    pub to: NodeId,
    /// Distinguishes the channels between two nodes.
    pub tag: u32,
    /// The tree whose segments travel on it.
    pub tree: u32,
    /// The node that the segments are for: `to`, or a host beyond it.
    pub target: NodeId,
    /// The tree's edge this hop belongs to, by its lower end.
    pub child: NodeId,
    /// Whether they go towards the tree's root.
    pub is_inward: bool,
    /// Whether they go to another head of an exchange ([`Tree::exchange`](super::Tree::exchange)), with this one's sums.
    pub is_exchanged: bool,
    /// The receiver at the end of the edge combines them with its own.
    pub combines: bool,
    /// The source of the segments.
    pub source: Source,
}

/// A slot in which the node sends on its channel `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSend {
    /// Position of the segment in its period, from 0.
    pub segment: u32,
    /// Periods by which the segment is behind the one that runs.
    pub lag: u32,
    /// Index into [`NodeProgram::outputs`].
    pub out: u32,
    /// The slot stands right behind one of the same sender and receiver in the plan's list, and may travel
    /// with it where the plan combines.
    pub joins: bool,
}

/// A slot in which the node receives on its channel `input`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotReceive {
    /// Position of the segment in its period, from 0.
    pub segment: u32,
    /// Periods by which the segment is behind the one that runs.
    pub lag: u32,
    /// Index into [`NodeProgram::inputs`].
    pub input: u32,
}

/// One node's part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProgram {
    /// The node of the program.
    pub node: NodeId,
    /// Whether the node is the plan's root or has a tree of its own: outward, it holds that tree's data from the start;
    /// inward, it has them in the end.
    pub is_root: bool,
    /// Whether every host holds a contribution from the start, since segments go towards the roots (in an all-reduce,
    /// first).
    pub is_inward: bool,
    /// The node's own block: it receives it in a scatter or a reduce-scatter, and sends it in a gather or an
    /// all-gather; 0 for a broadcast and a reduction.
    pub block: u32,
    /// Sorted by (from, tag).
    pub inputs: Vec<InChannel>,
    /// Sorted by tree: to the parent, to the node's own children in serving order, then relayed channels.
    pub outputs: Vec<OutChannel>,
    /// For a scatter and a gather, the blocks that each input and output carries, rising; else empty: a channel carries
    /// everything of its tree.
    pub input_blocks: Vec<Arc<[u32]>>,
    /// By output: the blocks of a scatter or a gather that go over it.
    pub output_blocks: Vec<Arc<[u32]>>,
    /// The slots of one period in the node's order; empty without a period.
    pub sends: Vec<SlotSend>,
    /// Of one period, in order.
    pub receives: Vec<SlotReceive>,
}

impl NodeProgram {
    /// The index of the receiving channel with that tag. Panics if the program has none: messages come only
    /// on the program's channels.
    pub fn input(&self, from: NodeId, tag: u32) -> usize {
        let key = |input: &InChannel| (input.from, input.tag);
        self.inputs.binary_search_by_key(&(from, tag), key).expect("a message on a channel of the program")
    }
}
