//! The links between two groups of nodes, which count as equal.

use crate::platform::LinkEnd;

/// The links out of a group (false) or into it (true).
pub(super) type End = (bool, LinkEnd);

/// The links from one group of nodes to another, or inside one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The senders' group.
    pub from: LinkEnd,
    /// The receivers' group.
    pub to: LinkEnd,
}

impl Pair {
    /// The ends that its links have in common with those of other pairs.
    pub(super) fn ends(self) -> [End; 2] {
        [(false, self.from), (true, self.to)]
    }
}
