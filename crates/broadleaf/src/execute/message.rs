//! What executors exchange.

use crate::platform::NodeId;

/// One segment on its way over one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The channel's number on the ordered pair of sender and receiver.
    pub tag: u32,
    pub segment: u64,
    pub tree: u32,
    /// The end of the tree's edge that this hop belongs to.
    pub target: NodeId,
    /// On a send: the bytes were received for `target` only and wait in the transport's scratch space.
    /// On a receive: they go there and not to the message buffer.
    pub relayed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Data,
    /// Rendezvous: may I send this item? One byte.
    Request,
    /// Rendezvous: yes. One byte.
    Ready,
}

/// A message that the executor wants sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub to: NodeId,
    pub kind: Kind,
    /// The sender's output channel of the first item; none for [`Kind::Ready`].
    pub output: Option<u32>,
    pub first: Item,
    /// Further items of a combined transfer.
    pub rest: Vec<Item>,
}

impl Message {
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }
}

/// A receive that the executor wants posted: messages of one channel arrive in the order of posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    pub from: NodeId,
    pub item: Item,
}
