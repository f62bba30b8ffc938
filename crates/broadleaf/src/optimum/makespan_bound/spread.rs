//! The rate at which one byte can spread if every node sends one transfer at a time.

use super::imprint::{Imprints, Role};
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// The least times of sends out of some hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sending {
    /// The least window on the sender's port, seconds.
    pub busy_s: f64,
    pub s_per_byte: f64,
    /// From the start of a send to the first arrival it leads to, seconds.
    pub arrival_s: f64,
    /// From the end of the window to the arrival; negative where windows may end later, seconds.
    pub after_s: f64,
}

impl Sending {
    /// The least over hops out of hosts; `None` without hops, or if a hop holds no port.
    pub fn least(hops: impl Iterator<Item = Rc<Imprints>>) -> Option<Sending> {
        let mut least: Option<Sending> = None;
        for hop in hops {
            let port = hop.on(Role::Out)?;
            let known = least.get_or_insert(Sending {
                busy_s: f64::INFINITY,
                s_per_byte: f64::INFINITY,
                arrival_s: f64::INFINITY,
                after_s: f64::INFINITY,
            });
            known.busy_s = known.busy_s.min(port.busy_s);
            known.s_per_byte = known.s_per_byte.min(port.s_per_byte);
            known.arrival_s = known.arrival_s.min(hop.arrival_s);
            known.after_s = known.after_s.min(-port.after_arrival_s);
        }
        least
    }

    /// The earliest time at which `receivers` nodes can have the byte, if the root's first copy arrives at `first_s`
    /// and its second at `second_s`, and from then on each holder's copies arrive one `busy_s` apart and the first of a
    /// new holder `arrival_s` after it got the byte: the greedy broadcast of the postal model (Bar-Noy and Kipnis),
    /// which is optimal. Seconds; O(receivers · log).
    pub fn spread_s(&self, receivers: usize, first_s: f64, second_s: f64) -> f64 {
        let mut next: BinaryHeap<Reverse<OrderedFloat<f64>>> = BinaryHeap::new();
        // First arrivals may be before 0, where windows outlast them.
        let mut last_s = if receivers == 0 { 0.0 } else { f64::NEG_INFINITY };
        for received in 0..receivers {
            let at_s = match (received, next.pop()) {
                (_, Some(Reverse(OrderedFloat(at_s)))) => {
                    next.push(Reverse(OrderedFloat(at_s + self.busy_s)));
                    at_s
                }
                (_, None) => {
                    next.push(Reverse(OrderedFloat(second_s)));
                    first_s
                }
            };
            last_s = last_s.max(at_s);
            next.push(Reverse(OrderedFloat(at_s + self.arrival_s)));
        }
        last_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_and_the_postal_model_by_hand() {
        // Without latency a holder sends once a second and each copy is there after a second: 1, 2, 4, 8 nodes.
        let plain = Sending { busy_s: 1.0, s_per_byte: 1.0, arrival_s: 1.0, after_s: 0.0 };
        for (receivers, wanted) in [(0, 0.0), (1, 1.0), (2, 2.0), (3, 2.0), (4, 3.0), (7, 3.0), (8, 4.0)] {
            assert_eq!(plain.spread_s(receivers, 1.0, 2.0), wanted, "{receivers} receivers");
        }
        // Latency 2: copies arrive 3 s after they start. Holders by time: 0: 1, 3: 2, 4: 3, 5: 4, 6: 6 (the
        // root's fourth and the first receiver's first), 7: 9.
        let postal = Sending { arrival_s: 3.0, ..plain };
        for (receivers, wanted) in [(1, 3.0), (2, 4.0), (3, 5.0), (5, 6.0), (8, 7.0)] {
            assert_eq!(postal.spread_s(receivers, 3.0, 4.0), wanted, "{receivers} receivers");
        }
    }
}
