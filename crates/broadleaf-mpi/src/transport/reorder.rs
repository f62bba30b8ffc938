//! Arrivals in the order of sending.

use broadleaf::execute::Completion;
use broadleaf::platform::NodeId;
use std::collections::{BTreeMap, HashMap};

/// Puts what arrives on each channel into the order in which it was sent. MPI matches messages in order, but a
/// short one may be complete before a long one that was sent earlier, and the executor counts segments.
#[derive(Debug, Default)]
pub(super) struct Reorder(HashMap<ChannelKey, Channel>);

/// Sender and tag.
pub(super) type ChannelKey = (NodeId, u32);

#[derive(Debug, Default)]
struct Channel {
    posted: u64,
    due: u64,
    early: BTreeMap<u64, Vec<Completion>>,
}

impl Reorder {
    /// The place of a channel's next receive.
    pub fn next(&mut self, channel: ChannelKey) -> u64 {
        let channel = self.0.entry(channel).or_default();
        channel.posted += 1;
        channel.posted - 1
    }

    /// Takes an arrival; appends to `done` all that are now in order.
    pub fn arrive(
        &mut self,
        channel: ChannelKey,
        turn: u64,
        arrived: impl Iterator<Item = Completion>,
        done: &mut Vec<Completion>,
    ) {
        let channel = self.0.entry(channel).or_default();
        if turn != channel.due {
            channel.early.insert(turn, arrived.collect());
            return;
        }
        done.extend(arrived);
        channel.due += 1;
        while let Some(arrived) = channel.early.remove(&channel.due) {
            done.extend(arrived);
            channel.due += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::execute::Kind;

    #[test]
    fn what_comes_early_waits_for_its_turn() {
        let (mut reorder, mut done) = (Reorder::default(), Vec::new());
        let (channel, other) = ((NodeId(0), 0), (NodeId(1), 0));
        let turns: Vec<u64> = (0..4).map(|_| reorder.next(channel)).collect();
        assert_eq!(reorder.next(other), 0);
        let arrival = |segment| Completion::Received { from: NodeId(0), kind: Kind::Data, tag: 0, segment };
        for at in [2, 0, 3, 1] {
            reorder.arrive(channel, turns[at], std::iter::once(arrival(at as u64)), &mut done);
        }
        assert_eq!(done, [0, 1, 2, 3].map(arrival));
    }
}
