//! All samples of one ordered pair, and the pLogP values that follow from them.

use super::point::{Empty, Gap, Point, Series};
use crate::measure::delay_modes::{timers, Step};
use crate::measure::experiment::{Samples, Trial};
use crate::measure::pair_table::{PairTable, Row};
use crate::measure::settings::gap_tables::MAX_WINDOW;
use crate::measure::settings::samples::SHORTEST_GAP_S;
use crate::measure::statistics::median;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The samples of a pair.
#[derive(Clone, Debug, Default)]
pub struct PairSamples {
    /// RTT(0), seconds: from the earlier stage, then the median of all samples.
    pub round_trip_s: f64,
    pub empty_round_trip: Series,
    /// The one-way times in them, with a common clock.
    pub empty_way: Series,
    /// Of `MAX_WINDOW` messages.
    pub empty_burst: Series,
    /// The number of measurements of g(0).
    pub empty_visits: u32,
    /// By size, bytes.
    pub points: BTreeMap<u64, Point>,
}

impl PairSamples {
    /// Adds one trial's samples.
    pub fn take(&mut self, trial: Trial, samples: Samples) {
        let samples = samples.settled();
        match trial {
            Trial::PingPong { bytes: 0, .. } => {
                self.empty_way.extend(samples.one_way());
                self.empty_round_trip.extend(samples);
                self.round_trip_s = self.empty_round_trip.median().unwrap_or(self.round_trip_s);
            }
            Trial::Burst { bytes: 0, .. } => {
                self.empty_visits += 1;
                self.empty_burst.extend(samples);
            }
            Trial::PingPong { bytes, .. } => {
                let point = self.points.entry(bytes).or_default();
                point.visits += 1;
                point.round_trip.extend(samples);
            }
            Trial::Burst { bytes, window, .. } => {
                let point = self.points.entry(bytes).or_default();
                if point.window != window {
                    (point.window, point.burst) = (window, Series::default());
                }
                point.burst.extend(samples);
            }
            Trial::LateReceive { bytes, .. } => {
                self.points.entry(bytes).or_default().receive.extend(samples);
            }
        }
    }

    /// g(0), seconds, if measured: by saturation, and at most half of the present round trip.
    pub fn empty_gap_s(&self) -> Option<f64> {
        let others = f64::from(MAX_WINDOW - 1);
        let most_s = (self.round_trip_s / 2.0).max(SHORTEST_GAP_S);
        self.empty_burst
            .median()
            .map(|burst_s| ((burst_s - self.round_trip_s) / others).clamp(SHORTEST_GAP_S, most_s))
    }

    pub fn empty(&self) -> Empty {
        Empty {
            round_trip_s: self.round_trip_s,
            error_s: self.empty_round_trip.summary.map_or(0.0, |empty| empty.error),
            gap_s: self.empty_gap_s().unwrap_or(0.0),
        }
    }

    /// L = (RTT(0) − 2 g(0)) / 2, or from the one-way time if it is known.
    pub fn latency_s(&self) -> f64 {
        let empty = self.empty();
        self.empty_way.median().map_or(empty.latency_s(), |way_s| (way_s - empty.gap_s).max(0.0))
    }

    pub fn gap(&self, bytes: u64) -> Gap {
        self.points[&bytes].gap(&self.empty())
    }

    /// The sizes at which samples have one of the steps at which the delays of all sizes agree.
    fn steps(&self) -> BTreeMap<u64, Step> {
        let timers = timers(self.points.values().flat_map(|point| point.round_trip.delays.clone()).collect());
        let step = |(&bytes, point): (&u64, &Point)| {
            let Series { count, delays, .. } = &point.round_trip;
            let of_timer = |timer: &RangeInclusive<f64>| -> Vec<f64> {
                delays.iter().filter(|delay| timer.contains(delay)).copied().collect()
            };
            let agreeing: Vec<Vec<f64>> = timers.iter().map(of_timer).collect();
            let (delayed, samples) = (agreeing.iter().map(Vec::len).sum(), *count);
            // A median over two timers would be between them.
            let most = agreeing.iter().max_by_key(|delays| delays.len())?;
            (delayed > 0).then(|| (bytes, Step { delayed, samples, delay_s: median(most) }))
        };
        self.points.iter().filter_map(step).collect()
    }

    /// The table up to the largest size measured, `None` where not even one byte was.
    pub fn table(&self) -> Option<PairTable> {
        let row = |(&bytes, point): (&u64, &Point)| {
            let gap = self.gap(bytes);
            let bulk = point.back_to_back();
            Row {
                bytes,
                gap_s: gap.median_s,
                send_s: point.round_trip.send_s.unwrap_or(0.0),
                receive_s: point.receive.median().unwrap_or(0.0),
                bulk_s: bulk.map(|bulk| bulk.median_s),
                spread: (point.round_trip.count > 1).then_some(gap.range_s / gap.median_s),
            }
        };
        let rows: Vec<Row> = self.points.iter().map(row).collect();
        rows.last()?;
        Some(PairTable { steps: self.steps(), ..PairTable::new(self.latency_s(), rows) })
    }
}
