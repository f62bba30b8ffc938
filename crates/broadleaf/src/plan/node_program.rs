//! What one node does in a plan: which channels it receives and sends on, in which order.
//!
//! A *channel* is the stream of one tree's segments over one ordered pair of hosts.

use crate::platform::NodeId;
use std::sync::Arc;

/// Where a sending channel takes its segments from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What the node holds of the message; inward, once all inputs of the tree have brought their part.
    Held,
    /// A receiving channel (by index) whose segments this node only relays.
    Relay(u32),
}

/// Segments of `tree` that come from `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InChannel {
    /// The sender.
    pub from: NodeId,
    /// The channel's number among those of the ordered pair; both ends count alike.
    pub tag: u32,
    /// The tree whose segments travel on it.
    pub tree: u32,
    /// The node the segments are for: this one, or a host beyond it.
    pub target: NodeId,
    /// The tree's edge this hop belongs to, by its lower end.
    pub child: NodeId,
    /// Whether they go towards the tree's root.
    pub is_inward: bool,
    /// Segments are combined with what this node holds of them.
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
    /// The receiver at the end of the edge combines them with what it holds.
    pub combines: bool,
    /// Where this node has the segments from.
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
    /// Whose program it is.
    pub node: NodeId,
    /// The plan's root, or of a tree with a block: outward, it holds that from the start; inward, it ends up with it.
    pub is_root: bool,
    /// Every host holds a contribution from the start, since segments go towards the roots, first at least.
    pub is_inward: bool,
    /// The block that is the node's own: what it is sent by a scatter or a reduce-scatter, what it gives to a gather or an
    /// all-gather; 0 for a broadcast and a reduction.
    pub block: u32,
    /// Sorted by (from, tag).
    pub inputs: Vec<InChannel>,
    /// Sorted by tree: to the parent, to the node's own children in serving order, then what it relays.
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
