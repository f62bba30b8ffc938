//! The tags of channels: their numbers among those of one ordered pair of hosts.

use super::OutChannel;
use crate::platform::NodeId;

/// Numbers runs of equal peers 0, 1, 2 …
pub(super) fn number_tags<'a>(sorted: impl Iterator<Item = (NodeId, &'a mut u32)>) {
    let mut before = None;
    let mut next = 0;
    for (peer, tag) in sorted {
        next = if before == Some(peer) { next + 1 } else { 0 };
        before = Some(peer);
        *tag = next;
    }
}

/// The same for the channels at the places `order`, by receiver.
pub(super) fn number_tags_at(order: &[usize], outputs: &[OutChannel], tags: &mut [u32]) {
    let mut before = None;
    let mut next = 0;
    for &at in order {
        next = if before == Some(outputs[at].to) { next + 1 } else { 0 };
        before = Some(outputs[at].to);
        tags[at] = next;
    }
}
