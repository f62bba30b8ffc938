//! One message after the other through a port that all messages under way share from their first byte on (SMPI).
//!
//! With w messages in flight over such a port, all of them begin together, arrive together and are followed
//! together: for a latency nothing is on the wire, in every round, and it stays like that. Fewer in flight leave a
//! long link idle. So a rank gives every message the time that its port takes for it before it begins the next, as
//! a port does that serves one at a time; a few more than fit on the wire may be in flight, and share nothing. A whole
//! message comes to the port when its latency is over: to someone far away it is sent so much earlier, or what is
//! sent to near ones after it would overtake it and take the port from it.

use crate::ranks::Edge;
use crate::transport::MpiTransport;
use broadleaf::execute::Item;
use std::sync::Arc;

/// When this rank's port is free.
pub(crate) struct Pace {
    edges: Arc<Vec<Vec<Edge>>>,
    free_at_s: f64,
}

impl MpiTransport<'_> {
    /// From now on a segment waits until the port has done with the one before, where that is not the network's part.
    pub fn pace(&mut self, edges: &Arc<Vec<Vec<Edge>>>) {
        let is_needed = self.mpi.shares_port();
        self.pace = is_needed.then(|| Pace { edges: Arc::clone(edges), free_at_s: 0.0 });
    }

    /// `bytes` of it are about to be sent.
    pub(crate) fn wait_for_port(&mut self, item: &Item, bytes: u64) {
        let Some(pace) = &mut self.pace else { return };
        let Edge { turn_s, ahead_s, .. } = pace.edges[item.tree as usize][item.target.index()];
        let part = bytes as f64 / self.plan.segment_bytes as f64;
        let sent_s = self.mpi.wait_until(pace.free_at_s - f64::from(ahead_s));
        pace.free_at_s = sent_s + f64::from(ahead_s) + part * f64::from(turn_s);
    }
}
