//! The most bytes that a set of resources can have carried by a given time.

use super::imprint::Imprint;
use crate::platform::{NodeId, SharedId};
use std::collections::BTreeMap;

/// The common resource of the windows of several links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    Out(NodeId),
    In(NodeId),
    Shared(SharedId),
}

/// The windows of one resource: none begins before `begin_s`, none ends later than `after_s` past the last
/// arrival, and none is shorter than `s_per_byte` a byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    begin_s: f64,
    after_s: f64,
    s_per_byte: f64,
}

impl Held {
    /// The windows of transfers that start at `ready_s` at the earliest.
    pub fn of(imprint: &Imprint, ready_s: f64) -> Held {
        Held {
            begin_s: ready_s + imprint.begin_s,
            after_s: imprint.after_arrival_s,
            s_per_byte: imprint.s_per_byte,
        }
    }

    /// The same with a tighter limit on the time by which windows outlast the last arrival.
    pub fn ending(self, after_s: f64) -> Held {
        Held { after_s: self.after_s.min(after_s), ..self }
    }

    pub fn and(self, other: Held) -> Held {
        Held {
            begin_s: self.begin_s.min(other.begin_s),
            after_s: self.after_s.max(other.after_s),
            s_per_byte: self.s_per_byte.min(other.s_per_byte),
        }
    }

    /// By time t the resource has been held for at most t − this long, seconds.
    pub fn ready_s(self) -> f64 {
        self.begin_s - self.after_s
    }

    pub fn s_per_byte(self) -> f64 {
        self.s_per_byte
    }

    /// (ready, s/byte): by time t the resource has carried at most (t − ready) / s_per_byte bytes.
    fn lane(self) -> (f64, f64) {
        (self.ready_s(), self.s_per_byte)
    }
}

/// Error of a sum of a few times, relative to its terms.
const ROUNDING: f64 = 1e-12;

/// Resources side by side.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    held: BTreeMap<Holder, Held>,
    alone: Vec<(f64, f64)>,
}

impl Lanes {
    pub fn hold(&mut self, holder: Holder, held: Held) {
        self.held.entry(holder).and_modify(|known| *known = known.and(held)).or_insert(held);
    }

    /// `count` links, each with its own resource.
    pub fn add(&mut self, held: Held, count: usize) {
        let (ready_s, s_per_byte) = held.lane();
        self.alone.push((ready_s, s_per_byte / count as f64));
    }

    /// A lane that carries `rate` bytes/s from `ready_s` on; none at a rate of 0.
    pub fn rated(&mut self, ready_s: f64, rate: f64) {
        if rate > 0.0 {
            self.alone.push((ready_s, 1.0 / rate));
        }
    }

    /// A lane without limit from `ready_s` on.
    pub fn open(&mut self, ready_s: f64) {
        self.alone.push((ready_s, 0.0));
    }

    /// The least time at which all lanes together can have carried `bytes`, at least 0; 0 without lanes.
    pub fn carried_s(self, bytes: f64) -> f64 {
        let mut lanes = self.alone;
        lanes.extend(self.held.into_values().map(Held::lane));
        lanes.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Σ (t − ready) / s_per_byte over the lanes that are ready by t is m: t = (m + Σ ready·rate) / Σ rate.
        // Where windows outlast arrivals, leads are negative and may cancel all but the rounding of the sum.
        let (mut rate, mut lead, mut carried_s, mut rounding_s) = (0.0, 0.0, f64::INFINITY, 0.0);
        for (ready_s, s_per_byte) in lanes {
            if ready_s >= carried_s {
                break;
            }
            if s_per_byte <= 0.0 {
                (carried_s, rounding_s) = (ready_s, 0.0);
                break;
            }
            rate += 1.0 / s_per_byte;
            lead += ready_s / s_per_byte;
            carried_s = (bytes + lead) / rate;
            rounding_s = ROUNDING * (bytes + f64::abs(lead)) / rate;
        }
        if carried_s.is_finite() {
            (carried_s - rounding_s).max(0.0)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(of: &[(f64, f64)]) -> Lanes {
        Lanes { alone: of.to_vec(), ..Lanes::default() }
    }

    #[test]
    fn lanes_fill_one_after_the_other() {
        let assert_carried = |of: &[(f64, f64)], bytes: f64, wanted_s: f64| {
            let carried_s = lanes(of).carried_s(bytes);
            assert!((carried_s - wanted_s).abs() <= 1e-10, "{carried_s} s, not {wanted_s} s");
        };
        // 2 s/byte from 1 s, and 1 s/byte from 5 s: 2 bytes by 5 s, then 1.5 bytes/s for the other 3.
        assert_carried(&[(5.0, 1.0), (1.0, 2.0)], 5.0, 7.0);
        assert_carried(&[(1.0, 2.0), (5.0, 1.0)], 2.0, 5.0);
        assert_carried(&[(1.0, 2.0)], 5.0, 11.0);
        // Without limit from 4 s on: all bytes have arrived at 4 s.
        assert_carried(&[(1.0, 2.0), (4.0, 0.0)], 5.0, 4.0);
        assert_carried(&[], 5.0, 0.0);
        // A window that outlasts the arrival by all its length: nothing is proved, not even a rounding.
        assert_eq!(lanes(&[(-0.3, 0.1)]).carried_s(3.0), 0.0);
    }
}
