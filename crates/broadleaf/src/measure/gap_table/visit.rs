//! The trials of a visit to one size, and their time.

use super::samples::PairSamples;
use crate::measure::experiment::Trial;
use crate::measure::settings::gap_tables::{
    FIRST_BYTES, FIRST_REPEATS, MAX_BURSTS, MAX_REPEATS, MAX_WINDOW, MIN_REPEATS, MIN_REPEATS_SLOW,
    MORE_EMPTY, SHORT_ROUND_TRIP_S, SLOW_S, VISITS_PER_SLICE, WINDOW, WINDOW_BYTES,
};
use crate::measure::settings::samples::SHORTEST_GAP_S;

/// A visit, with the samples so far.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    pub samples: &'a PairSamples,
    /// Time for the whole table, seconds.
    pub slice_s: f64,
    /// Whether every size has been visited: until then visits are short, so that an interrupted measurement has a whole
    /// table early.
    pub is_refining: bool,
}

impl Visit<'_> {
    /// The trials for g(0) and RTT(0).
    pub fn of_empty(&self) -> Vec<Trial> {
        let repeats = self.repeats(self.samples.round_trip_s);
        let saturation = Trial::Burst { bytes: 0, window: MAX_WINDOW, repeats: repeats + 1 };
        vec![Trial::PingPong { bytes: 0, repeats: repeats + 1 }, saturation]
    }

    /// The trials of one size, bytes.
    pub fn trials(&self, bytes: u64) -> Vec<Trial> {
        let known = self.samples.points.contains_key(&bytes);
        let gap_s = if known { self.samples.gap(bytes).median_s } else { self.expected_s(bytes) };
        let each_s = gap_s + self.samples.round_trip_s + self.expected_delay_s(bytes);
        // One more than is used: the first message of a size may include the set-up of buffers and page faults.
        let mut trials = vec![Trial::PingPong { bytes, repeats: self.repeats(each_s) + 1 }];
        let (window, repeats) = self.burst(bytes, gap_s);
        if repeats > 0 {
            trials.push(Trial::Burst { bytes, window, repeats });
        }
        if self.samples.round_trip_s + self.samples.empty_round_trip.mean_delay_s() < SHORT_ROUND_TRIP_S {
            trials.push(Trial::PingPong { bytes: 0, repeats: MORE_EMPTY + 1 });
            if bytes > 1 {
                trials.push(Trial::PingPong { bytes: 1, repeats: MORE_EMPTY + 1 });
            }
        }
        // Long enough for the message to arrive, if it is sent before the receive call.
        let pause_s = 1.2 * each_s + 2e-5;
        let repeats = self.repeats(pause_s + gap_s).min(MIN_REPEATS);
        trials.push(Trial::LateReceive { bytes, repeats, pause_s });
        trials
    }

    /// The messages of a burst, and the bursts of a visit.
    fn burst(&self, bytes: u64, gap_s: f64) -> (u32, u32) {
        // As many as fit in a round trip if waiting counts; else bursts only measure the bulk effect.
        let counts = self.samples.empty().latency_counts(gap_s);
        let room = if counts { self.samples.round_trip_s / gap_s.max(SHORTEST_GAP_S) } else { 0.0 };
        let wanted = u64::from((room as u32).clamp(WINDOW, MAX_WINDOW)).min(WINDOW_BYTES / bytes) as u32;
        let point = self.samples.points.get(&bytes);
        // Bursts of all visits are pooled, so they have one length, unless it is far too short.
        let window = match point.map_or(0, |point| point.window) {
            before if before > 0 && wanted <= 2 * before => before,
            _ => wanted,
        };
        let seen_before = point.is_some_and(|point| point.burst.summary.is_some());
        if window < 2 || (!counts && seen_before && gap_s > SLOW_S) {
            return (window, 0);
        }
        let each_s = f64::from(window) * gap_s + self.samples.round_trip_s + self.expected_delay_s(bytes);
        let repeats = self.repeats(each_s).min(MAX_BURSTS);
        (window, repeats + 1)
    }

    /// The round trips that fit in a visit's share of the slice.
    fn repeats(&self, each_s: f64) -> u32 {
        let fewest = if each_s > SLOW_S { MIN_REPEATS_SLOW } else { MIN_REPEATS };
        let most = if self.is_refining { MAX_REPEATS } else { FIRST_REPEATS };
        ((self.slice_s / VISITS_PER_SLICE / each_s) as u32).clamp(fewest, most)
    }

    /// g at a size not measured yet, from the next smaller one; never less than it, never more than in
    /// proportion.
    pub fn expected_s(&self, bytes: u64) -> f64 {
        match self.samples.points.range(..bytes).next_back() {
            None => self.samples.empty_gap_s().unwrap_or(0.0),
            Some((&size, _)) => {
                let gap_s = self.samples.gap(size).median_s;
                gap_s * if size < FIRST_BYTES { 1.0 } else { bytes as f64 / size as f64 }
            }
        }
    }

    /// The expected delay of a round trip by held-back acknowledgements: that of the next smaller size.
    fn expected_delay_s(&self, bytes: u64) -> f64 {
        let point = self.samples.points.range(..=bytes).next_back().map(|(_, point)| &point.round_trip);
        point.unwrap_or(&self.samples.empty_round_trip).mean_delay_s()
    }

    /// The expected time of a visit to a size that is not measured yet, seconds.
    pub fn cost_s(&self, bytes: u64) -> f64 {
        let gap_s = self.expected_s(bytes);
        let each_s = |trial: &Trial| match *trial {
            Trial::PingPong { .. } => gap_s + self.samples.round_trip_s,
            Trial::Burst { window, .. } => f64::from(window) * gap_s + self.samples.round_trip_s,
            Trial::LateReceive { pause_s, .. } => pause_s + gap_s,
        };
        self.trials(bytes).iter().map(|trial| f64::from(trial.repeats()) * each_s(trial)).sum()
    }
}
