//! Senders with one port that pass over busy receivers (`skip_busy`).
//!
//! Whenever its port is free, a sender begins, of the messages that are ready, the one of the lowest segment that can
//! start at once. Nothing is reserved ahead: with windows for the first that asked, messages stay in the order in which
//! they became ready, and late segments hold up early ones.

use super::event::Happening;
use super::Network;
use crate::plan::Programs;
use crate::platform::{NodeId, Platform, PortModel};
use crate::simulate::calendar::same_until;

/// The turn of its segment, its receiver, and its flight.
pub(super) type Ready = (u64, NodeId, u32);

/// By node.
pub(super) struct Passing {
    /// Messages not yet begun, at most one for each receiver, in the order of preference.
    ready: Vec<Vec<Ready>>,
    /// When the next try is scheduled, seconds.
    retry_s: Vec<f64>,
}

impl Passing {
    /// For a plan with `skip_busy` under the one-port models. Elsewhere a port serves several links at once, and each
    /// link has a queue of its own.
    pub fn of(platform: &Platform, programs: &Programs) -> Option<Passing> {
        let has_port = !matches!(platform.port_model(), PortModel::MultiPort | PortModel::LinkCapacity);
        let nodes = platform.node_count();
        (has_port && programs.transfers().skips_busy())
            .then(|| Passing { ready: vec![Vec::new(); nodes], retry_s: vec![f64::INFINITY; nodes] })
    }

    pub fn add(&mut self, from: NodeId, message: Ready) {
        let ready = &mut self.ready[from.index()];
        let at = ready.partition_point(|other| *other < message);
        ready.insert(at, message);
    }
}

impl Network<'_> {
    /// Begins a node's first ready message that can start now, or schedules the next try.
    pub(super) fn send_first_free(&mut self, now_s: f64, node: NodeId) {
        let at = node.index();
        while let Some(passing) = &mut self.passing {
            // The end of a message in the port brings the sender back here.
            if passing.ready[at].is_empty() || self.last_release_s[at] > same_until(now_s) {
                return;
            }
            if passing.retry_s[at] <= same_until(now_s) {
                passing.retry_s[at] = f64::INFINITY;
            }
            let ready = std::mem::take(&mut passing.ready[at]);
            let mut next_s = f64::INFINITY;
            let free = ready.iter().position(|&(.., flight)| {
                let start_s = self.start_s(now_s, flight);
                next_s = next_s.min(start_s);
                start_s <= same_until(now_s)
            });
            let Some(passing) = &mut self.passing else { return };
            passing.ready[at] = ready;
            let Some(free) = free else {
                if next_s < passing.retry_s[at] {
                    passing.retry_s[at] = next_s;
                    self.schedule(next_s, Happening::Retry { node });
                }
                return;
            };
            let (.., flight) = passing.ready[at].remove(free);
            self.grant(now_s, flight);
        }
    }

    /// The earliest time from `now_s` on at which a message can start on its first hop, seconds.
    fn start_s(&mut self, now_s: f64, flight: u32) -> f64 {
        let flight = self.flights[flight as usize].as_ref().expect("a live flight");
        let (hop, bytes) = (self.routes.hops(flight.route)[0], flight.bytes);
        if let Some(rates) = self.rates {
            return self.reservations.start_varying(now_s, rates, hop, bytes, None).0;
        }
        if bytes == self.programs.transfers().segment_bytes {
            let timing = self.routes.full_timing(flight.route, 0, bytes, &mut self.reservations);
            return self.reservations.start_s(now_s, timing, None);
        }
        let timing = self.reservations.timing(hop, bytes);
        self.reservations.start_s(now_s, &timing, None)
    }
}
