//! One message after the other through a port that all messages under way share from their first byte on (SMPI).
//!
//! With w messages in flight over such a port, all of them begin together, arrive together and are followed
//! together: for a latency nothing is on the wire, in every round, and it stays like that. Fewer in flight leave a
//! long link idle. So a rank gives every message the time that its port takes for it before it begins the next, as
//! a port does that serves one at a time; a few more than fit on the wire may be in flight, and share nothing. A whole
//! message comes to the port when its latency is over: to someone far away it is sent so much earlier, or what is
//! sent to near ones after it would overtake it and take the port from it.

use crate::mpi::Mpi;
use crate::rank_plan::Edge;
use broadleaf::execute::Item;
use std::sync::Arc;

/// When this rank's port is free.
pub(crate) struct Pace {
    edges: Arc<Vec<Vec<Edge>>>,
    free_at_s: f64,
}

impl Pace {
    /// From now on a segment waits until the port has done with the one before; `None` where that is the network's
    /// part.
    pub fn of(mpi: &Mpi, edges: &Arc<Vec<Vec<Edge>>>) -> Option<Pace> {
        mpi.shares_port().then(|| Pace { edges: Arc::clone(edges), free_at_s: 0.0 })
    }

    /// `part` of a segment is about to be sent.
    pub fn wait_for_port(&mut self, mpi: &Mpi, item: &Item, part: f64) {
        let Edge { turn_s, ahead_s, .. } = self.edges[item.tree as usize][item.target.index()];
        let sent_s = mpi.wait_until(self.free_at_s - f64::from(ahead_s));
        self.free_at_s = sent_s + f64::from(ahead_s) + part * f64::from(turn_s);
    }
}
