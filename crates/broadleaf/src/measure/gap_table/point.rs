//! The samples of one size, and the resulting gap.
//!
//! The round trip gives the gap if the waiting in it does not depend on the size. A rendezvous waits for one more round
//! trip, and so does a TCP connection in slow start; with several messages under way there is no such wait. So where
//! the latency is not small beside the gap, g(m) is measured by its definition too: the time between messages sent back
//! to back. This gap is used if the round trip is longer by more than a latency, or spreads too much to measure a small
//! g.
//!
//! The bulk effect (paper 4, §4.2) is kept separately: messages sent back to back may each take less than a single one,
//! because the first message's set-up serves the second. g(m) stays the gap of a single message unless waiting explains
//! the longer round trip.

use crate::measure::delay_modes::{usual, Modes};
use crate::measure::experiment::Samples;
use crate::measure::settings::gap_tables::{BLURRED, FAR_OFF, LATENCY_BLURS, LATENCY_MATTERS};
use crate::measure::settings::samples::SHORTEST_GAP_S;
use crate::measure::statistics::Summary;

/// The samples of one experiment, over all visits.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// All samples: disturbed ones are only found among all visits.
    all: Samples,
    /// The number of undisturbed samples, or of their substitutes if those were too few.
    pub count: usize,
    /// Whether the undisturbed samples were enough.
    pub is_quiet: bool,
    /// Of the usual ones.
    pub summary: Option<Summary>,
    /// The delays of the others, seconds.
    pub delays: Vec<f64>,
    /// The send calls in them, median, seconds.
    pub send_s: Option<f64>,
}

impl Series {
    pub fn extend(&mut self, samples: Samples) {
        self.all.extend(samples);
        self.is_quiet = self.all.is_quiet();
        let kept = self.all.clone().undisturbed();
        self.count = kept.seconds.len();
        if self.count > 0 {
            let modes = Modes::of(&kept.seconds);
            let longest_s = modes.usual.last().copied().unwrap_or(f64::INFINITY);
            let in_turn: Vec<f64> = kept.seconds.iter().copied().filter(|&each| each <= longest_s).collect();
            (self.summary, self.delays) = (Some(Summary::in_turn(&in_turn)), modes.delays());
            self.send_s = (!kept.send_s.is_empty()).then(|| usual(&kept.send_s).median);
        }
    }

    pub fn median(&self) -> Option<f64> {
        self.summary.map(|summary| summary.median)
    }

    /// The mean delay of a sample, seconds.
    pub fn mean_delay_s(&self) -> f64 {
        self.delays.iter().sum::<f64>() / self.count.max(1) as f64
    }
}

/// The values for empty messages.
#[derive(Clone, Copy, Debug)]
pub struct Empty {
    /// RTT(0) and its error, seconds.
    pub round_trip_s: f64,
    pub error_s: f64,
    /// g(0), seconds.
    pub gap_s: f64,
}

impl Empty {
    /// L = (RTT(0) − 2 g(0)) / 2.
    pub fn latency_s(&self) -> f64 {
        (self.round_trip_s / 2.0 - self.gap_s).max(0.0)
    }

    /// Whether waiting for the other side would be visible in a round trip.
    pub fn latency_counts(&self, gap_s: f64) -> bool {
        self.latency_s() > LATENCY_MATTERS * gap_s
    }
}

/// The samples of one size.
#[derive(Clone, Debug, Default)]
pub struct Point {
    pub round_trip: Series,
    pub receive: Series,
    /// Whole bursts of `window` messages.
    pub burst: Series,
    pub window: u32,
    pub visits: u32,
}

/// A gap that was measured, seconds.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    pub median_s: f64,
    /// Interquartile range of the samples.
    pub range_s: f64,
    /// Error of the median.
    pub error_s: f64,
}

impl Point {
    /// g(m): by the round trip, or by messages sent back to back where the round trip is too long or too short.
    pub fn gap(&self, empty: &Empty) -> Gap {
        let there_and_back = self.round_trip.summary.expect("every point has round trips");
        let single = Gap {
            // No message takes less than an empty one; smaller values are noise.
            median_s: ((there_and_back.median - empty.round_trip_s).max(0.0) + empty.gap_s)
                .max(SHORTEST_GAP_S),
            range_s: there_and_back.range,
            error_s: there_and_back.error + empty.error_s,
        };
        match self.back_to_back() {
            Some(bulk) if empty.latency_counts(single.median_s) => {
                // A wait is at least as long as a message's latency; a smaller difference is the bulk effect.
                let waits = single.median_s - bulk.median_s > empty.round_trip_s / 2.0;
                // If there are few bursts, all may have been delayed; then they are not used.
                let possible = bulk.median_s <= single.median_s + FAR_OFF * single.range_s;
                let blurred = empty.latency_s() > LATENCY_BLURS * single.median_s
                    && single.range_s > BLURRED * single.median_s
                    && bulk.range_s < single.range_s;
                if waits || (blurred && possible) {
                    bulk
                } else {
                    single
                }
            }
            _ => single,
        }
    }

    /// The time each message but the first adds to a burst.
    pub fn back_to_back(&self) -> Option<Gap> {
        let (burst, there_and_back) = (self.burst.summary?, self.round_trip.summary?);
        let others = f64::from(self.window - 1);
        // On a busy machine a burst may appear shorter than a single message; then it is not used.
        if burst.median <= there_and_back.median {
            return None;
        }
        Some(Gap {
            median_s: ((burst.median - there_and_back.median) / others).max(SHORTEST_GAP_S),
            range_s: (burst.range + there_and_back.range) / others,
            error_s: (burst.error + there_and_back.error) / others,
        })
    }
}
