//! The messages of executors.

use crate::plan::{InChannel, OutChannel, Source};
use crate::platform::NodeId;

/// One segment on its way over one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The channel's number on the ordered pair of sender and receiver.
    pub tag: u32,
    /// Number of the segment, in the order of [`crate::plan::Segments`].
    pub segment: u64,
    /// The tree along which it travels.
    pub tree: u32,
    /// The receiver at the end of the tree's edge that this hop belongs to.
    pub target: NodeId,
    /// That edge, by its lower end.
    pub child: NodeId,
    /// On a send: the bytes were received for `target` only and wait in the transport's scratch space.
    /// On a receive: they go there and not to the message buffer.
    pub relayed: bool,
    /// The receiver combines the bytes with its own of the segment instead of storing them.
    pub combines: bool,
    /// The bytes are the sum that a head of an exchange gives to another one ([`crate::plan::Tree::exchange`]). The receiver
    /// keeps its own sum apart until it has sent it to every other head.
    pub exchanged: bool,
}

impl Item {
    /// The item of a rendezvous answer to `to`, which moves no bytes.
    pub fn answer(to: NodeId, tag: u32, segment: u64) -> Item {
        let (relayed, combines, exchanged) = (false, false, false);
        Item { tag, segment, tree: 0, target: to, child: to, relayed, combines, exchanged }
    }

    /// A segment that `node` receives on a channel.
    pub fn received(input: &InChannel, node: NodeId, segment: u64) -> Item {
        let InChannel { tag, tree, target, child, is_exchanged: exchanged, .. } = *input;
        let relayed = target != node;
        Item { tag, segment, tree, target, child, relayed, combines: input.combines && !relayed, exchanged }
    }

    /// A segment that a node sends on a channel.
    pub fn sent(output: &OutChannel, segment: u64) -> Item {
        let OutChannel { to, tag, tree, target, child, source, is_exchanged: exchanged, .. } = *output;
        let combines = output.combines && to == target;
        Item { tag, segment, tree, target, child, relayed: source != Source::Held, combines, exchanged }
    }
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Segments.
    Data,
    /// Rendezvous: the request to send an item. One byte.
    Request,
    /// Rendezvous: the permission. One byte.
    Ready,
}

/// A message that the transport is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The receiver.
    pub to: NodeId,
    /// Its content.
    pub kind: Kind,
    /// The sender's output channel of the first item; none for [`Kind::Ready`].
    pub output: Option<u32>,
    /// Its first segment; for a control message, the segment to be sent.
    pub first: Item,
    /// Further items of a combined transfer.
    pub rest: Vec<Item>,
}

impl Message {
    /// All segments in it, in the order in which their bytes follow.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }
}

/// A receive that the transport is to post: messages of one channel arrive in the order of posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The sender.
    pub from: NodeId,
    /// The segment.
    pub item: Item,
}
