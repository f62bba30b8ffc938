//! The links between two groups of nodes, which count as equal, and single links inside a group.

use crate::platform::{LinkEnd, NodeId, Platform};

/// The links out of a group (false) or into it (true).
pub(super) type End = (bool, LinkEnd);

/// The links from one group of nodes to another, or one link inside a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The senders' group.
    pub from: LinkEnd,
    /// The receivers' group.
    pub to: LinkEnd,
}

impl Pair {
    /// The pair of a link. Between clusters links share a way, and one stands for all; inside a cluster each host has
    /// its own way, and one slow host slows no other links than its own.
    pub(super) fn of(platform: &Platform, from: NodeId, to: NodeId) -> Pair {
        let (source, target) = (platform.group(from), platform.group(to));
        if source == target {
            return Pair { from: LinkEnd::Node(from), to: LinkEnd::Node(to) };
        }
        Pair { from: source, to: target }
    }

    /// The ends that its links have in common with those of other pairs.
    pub(super) fn ends(self) -> [End; 2] {
        [(false, self.from), (true, self.to)]
    }
}
