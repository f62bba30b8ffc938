//! One message after the other through a port that all messages under way share from their first byte on (SMPI).
//!
//! With w messages in flight over such a port, all of them begin together, arrive together and are followed
//! together: for a latency nothing is on the wire, in every round, and it stays like that. Fewer in flight leave a
//! long link idle. So every message gets the port for as long as it takes of it, as from a port that serves one at a
//! time; a few more than fit on the wire may be in flight, and share nothing. A whole message comes to the port when
//! its latency is over, so it gets the first free time after that, which may be before that of a farther one.

use crate::mpi::Mpi;
use crate::rank_plan::Edge;
use broadleaf::execute::Item;
use std::sync::Arc;

/// The times for which this rank's port is given away.
pub(crate) struct Pace {
    edges: Arc<Vec<Vec<Edge>>>,
    taken: Reserved,
}

impl Pace {
    /// From now on segments get the port one after the other; `None` where that is the network's part.
    pub fn of(mpi: &Mpi, edges: &Arc<Vec<Vec<Edge>>>) -> Option<Pace> {
        mpi.shares_port().then(|| Pace { edges: Arc::clone(edges), taken: Reserved::default() })
    }

    /// `part` of a segment is about to be sent.
    pub fn wait_for_port(&mut self, mpi: &Mpi, item: &Item, part: f64) {
        let Edge { turn_s, ahead_s, .. } = self.edges[item.tree as usize][item.target.index()];
        let (ahead_s, turn_s) = (f64::from(ahead_s), part * f64::from(turn_s));
        let begin_s = self.taken.reserve(mpi.wait_until(0.0), ahead_s, turn_s);
        mpi.wait_until(begin_s - ahead_s);
    }
}

/// Disjoint intervals, ascending, s.
#[derive(Default)]
struct Reserved(Vec<(f64, f64)>);

impl Reserved {
    /// Takes the first free interval of that length that begins `ahead_s` from now or later; gives its begin.
    fn reserve(&mut self, now_s: f64, ahead_s: f64, length_s: f64) -> f64 {
        self.0.retain(|&(_, end_s)| end_s > now_s);
        let mut begin_s = now_s + ahead_s;
        let mut at = 0;
        while let Some(&(from_s, until_s)) = self.0.get(at) {
            if begin_s + length_s <= from_s {
                break;
            }
            begin_s = begin_s.max(until_s);
            at += 1;
        }
        self.0.insert(at, (begin_s, begin_s + length_s));
        begin_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_message_goes_before_a_far_one_where_there_is_room() {
        let mut port = Reserved::default();
        // Two far ones, then near ones: before the far ones come there is room for two, after them for the rest.
        let begins = [(10.0, 2.0), (10.0, 2.0), (5.0, 2.0), (5.0, 2.0), (5.0, 2.0)]
            .map(|(ahead_s, length_s)| port.reserve(0.0, ahead_s, length_s));
        assert_eq!(begins, [10.0, 12.0, 5.0, 7.0, 14.0]);
        // What is over is forgotten.
        assert_eq!(port.reserve(12.5, 0.0, 1.0), 16.0);
        assert_eq!(port.0.len(), 3);
    }
}
