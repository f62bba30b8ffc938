//! Arrivals in the order of sending.

use broadleaf::execute::Completion;
use std::collections::BTreeMap;

/// Puts what arrives on one channel into the order in which it was sent. MPI matches messages in order, but a
/// short one may be complete before a long one that was sent earlier, and the executor counts segments.
#[derive(Debug, Default)]
pub(crate) struct Reorder {
    posted: u64,
    due: u64,
    early: BTreeMap<u64, Vec<Completion>>,
}

impl Reorder {
    /// The next receive's place.
    pub(crate) fn next(&mut self) -> u64 {
        self.posted += 1;
        self.posted - 1
    }

    pub(crate) fn arrive(
        &mut self,
        turn: u64,
        arrived: impl Iterator<Item = Completion>,
        done: &mut Vec<Completion>,
    ) {
        if turn != self.due {
            self.early.insert(turn, arrived.collect());
            return;
        }
        done.extend(arrived);
        self.due += 1;
        while let Some(arrived) = self.early.remove(&self.due) {
            done.extend(arrived);
            self.due += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::execute::Kind;
    use broadleaf::platform::NodeId;

    #[test]
    fn what_comes_early_waits_for_its_turn() {
        let (mut channel, mut done) = (Reorder::default(), Vec::new());
        let turns: Vec<u64> = (0..4).map(|_| channel.next()).collect();
        let arrival = |segment| Completion::Received { from: NodeId(0), kind: Kind::Data, tag: 0, segment };
        for at in [2, 0, 3, 1] {
            channel.arrive(turns[at], std::iter::once(arrival(at as u64)), &mut done);
        }
        assert_eq!(done, [0, 1, 2, 3].map(arrival));
    }
}
