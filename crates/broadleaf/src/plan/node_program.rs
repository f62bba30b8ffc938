//! What one node does in a plan: which channels it receives and sends on, in which order.
//!
//! A *channel* is the stream of one tree's segments over one ordered pair of hosts.

use crate::platform::NodeId;
use std::sync::Arc;

/// Where a sending channel takes its segments from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What the node holds of the message.
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
    /// The tree's edge this hop belongs to: the node the segments are for.
    pub target: NodeId,
}

/// Segments of `tree` that go to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutChannel {
    /// The receiver.
    pub to: NodeId,
    /// Tells the channels between two nodes apart.
    pub tag: u32,
    /// The tree whose segments travel on it.
    pub tree: u32,
    /// The node that the segments are for: `to`, or a host beyond it.
    pub target: NodeId,
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
    /// The node holds a block from the start: a broadcast's or scatter's root, every host of an all-gather.
    pub is_root: bool,
    /// The block that is the node's own: what it is sent by a scatter, what it gives to an all-gather; 0 for a
    /// broadcast.
    pub block: u32,
    /// Sorted by (from, tag).
    pub inputs: Vec<InChannel>,
    /// Sorted by tree, the node's own children in serving order, then what it relays.
    pub outputs: Vec<OutChannel>,
    /// For a scatter, the blocks that each input and output carries, rising; else empty: a channel carries
    /// everything of its tree.
    pub input_blocks: Vec<Arc<[u32]>>,
    /// By output: the blocks of a scatter that go over it.
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
