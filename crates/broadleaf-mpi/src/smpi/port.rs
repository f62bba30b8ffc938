//! Reservation of a simulated sender's port.
//!
//! In SMPI's network, all messages in flight share a port from their first byte. With w of them, all arrive together
//! and their successors leave together: in every round nothing is on the wire for a latency. Fewer in flight leave a
//! long link idle. So every message reserves the port for its own time, as on a port that sends one message at a
//! time; a few more messages than fit on the wire may be in flight, without sharing. A whole message reaches the port
//! when its latency is over, so it gets the first free time after that, which may precede that of a farther one.

use super::is_on;
use crate::error::Malformed;
use crate::mpi::Mpi;
use crate::wire::{put_u32, Reader};

/// One edge's use of its sender's port; zero where time is not simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// The port's time for a segment, s.
    pub port_s: f32,
    /// The time before a whole message uses the port, s: its latency. 0 for segments, since others are in flight
    /// meanwhile.
    pub ahead_s: f32,
}

impl Turn {
    pub fn put(self, out: &mut Vec<u8>) {
        if is_on() {
            put_u32(out, self.port_s.to_bits());
            put_u32(out, self.ahead_s.to_bits());
        }
    }

    pub fn read(from: &mut Reader) -> Result<Turn, Malformed> {
        if !is_on() {
            return Ok(Turn::default());
        }
        Ok(Turn { port_s: f32::from_bits(from.u32()?), ahead_s: f32::from_bits(from.u32()?) })
    }
}

/// The reserved times of this rank's port.
#[derive(Default)]
pub struct Port(Reserved);

impl Port {
    /// Waits until the message of `part` of a segment may be sent.
    pub fn wait(&mut self, mpi: &Mpi, turn: Turn, part: f64) {
        // Every simulated rank has its own copy of the C part and its clock.
        if let Some(wait_until) = mpi.simulated_clock() {
            wait_until(self.start_s(wait_until(0.0), turn, part));
        }
    }

    /// Reserves the port for a message of `part` of a segment, and returns when it may be sent.
    pub fn start_s(&mut self, now_s: f64, turn: Turn, part: f64) -> f64 {
        let (ahead_s, port_s) = (f64::from(turn.ahead_s), part * f64::from(turn.port_s));
        self.0.reserve(now_s, ahead_s, port_s) - ahead_s
    }
}

/// Disjoint intervals, ascending, s.
#[derive(Default)]
struct Reserved(Vec<(f64, f64)>);

impl Reserved {
    /// Reserves the first free interval of this length that begins `ahead_s` from now or later; returns its begin.
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
        // Past intervals are dropped.
        assert_eq!(port.reserve(12.5, 0.0, 1.0), 16.0);
        assert_eq!(port.0.len(), 3);
    }
}
