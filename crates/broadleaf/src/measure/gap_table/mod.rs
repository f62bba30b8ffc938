//! One pair's pLogP table, refined where g bends.
//!
//! Kielmann's method: g(0) by saturation, the other gaps from round trips; sizes are doubled, each gap is compared with
//! the linear extrapolation of its neighbours, and the interval between two sizes is bisected where they differ. Then
//! sizes are visited again, the least certain first, until every gap is accurate to 2 % or the time is up.
//!
//! `samples` holds the samples, by size in `point`; `visit` decides the number of timings of a size.

mod point;
mod samples;
mod visit;

use crate::measure::experiment::{Samples, Task};
use crate::measure::hosts::NodePair;
use crate::measure::pair_table::PairTable;
use crate::measure::settings::gap_tables::{
    BEND, CREDIT_BYTES, DISTURBED, DOUBLING_SHARE, FINEST_INTERVAL, FIRST_BYTES, LATENCY_COUNTS,
    MAX_BISECTIONS, MAX_EMPTY_VISITS, MAX_OVERTIME, MAX_VISITS, MIN_LARGEST_BYTES, ON_CREDIT,
    SHORT_ROUND_TRIP_S, SLOW_MESSAGE_S, UNCERTAIN, VAGUE, VISITS_OF_VAGUE,
};
use point::{Gap, Point};
use samples::PairSamples;
use visit::Visit;

/// The table of one ordered pair during its measurement.
#[derive(Clone, Debug)]
pub struct GapTableBuilder {
    pair: NodePair,
    largest_bytes: u64,
    /// Time to stay within, seconds.
    slice_s: f64,
    /// The relative error that a gap may have.
    uncertain: f64,
    spent_s: f64,
    samples: PairSamples,
    /// Whether the doubling of sizes has ended.
    doubled: bool,
    bisections: usize,
    is_hurried: bool,
}

impl GapTableBuilder {
    /// `round_trip_s` is the RTT(0) known so far, `slice_s` the time for the whole table, and `uncertain` the relative
    /// error that its gaps may have.
    pub fn new(
        pair: NodePair,
        round_trip_s: f64,
        largest_bytes: u64,
        slice_s: f64,
        uncertain: f64,
    ) -> GapTableBuilder {
        GapTableBuilder {
            pair,
            largest_bytes: largest_bytes.max(FIRST_BYTES),
            slice_s,
            uncertain,
            spent_s: 0.0,
            samples: PairSamples { round_trip_s, ..PairSamples::default() },
            doubled: false,
            bisections: 0,
            is_hurried: false,
        }
    }

    /// Quadruples sizes whose gap is so far below the latency that only its share of that counts.
    pub fn hurried(self) -> GapTableBuilder {
        GapTableBuilder { is_hurried: true, ..self }
    }

    pub fn pair(&self) -> NodePair {
        self.pair
    }

    /// The next size's trials, `None` when the table is complete or its time is up.
    pub fn next(&mut self) -> Option<Task> {
        let (from, to) = self.pair;
        let PairSamples { empty_visits, empty_round_trip, empty_burst, .. } = &self.samples;
        let is_quiet = empty_round_trip.is_quiet && empty_burst.is_quiet;
        if *empty_visits == 0 || (!is_quiet && *empty_visits < MAX_EMPTY_VISITS) {
            return Some(Task { from, to, trials: self.visit().of_empty() });
        }
        let bytes = self.next_size()?;
        Some(Task { from, to, trials: self.visit().trials(bytes) })
    }

    fn visit(&self) -> Visit<'_> {
        Visit { samples: &self.samples, slice_s: self.slice_s, is_refining: self.doubled }
    }

    fn next_size(&mut self) -> Option<u64> {
        if !self.doubled {
            let next = match self.samples.points.keys().next_back() {
                None => 1,
                Some(&last) if last < FIRST_BYTES => FIRST_BYTES,
                Some(&last) if self.can_quadruple_to(4 * last) => 4 * last,
                Some(&last) => 2 * last,
            };
            if next <= self.largest_bytes && self.can_double_to(next) {
                return Some(next);
            }
            self.doubled = true;
        }
        // Before the check of the time: these visits are short, and the present values are wrong by any factor.
        if let Some(bytes) = self.on_credit() {
            return Some(bytes);
        }
        if self.spent_s > self.slice_s {
            return None;
        }
        // No search for bends among gaps with large errors.
        if let Some(bytes) = self.noisiest(VAGUE, VISITS_OF_VAGUE) {
            return Some(bytes);
        }
        if self.bisections < MAX_BISECTIONS {
            if let Some(bytes) = self.bent_interval() {
                self.bisections += 1;
                return Some(bytes);
            }
        }
        self.noisiest(self.uncertain, MAX_VISITS)
    }

    fn can_quadruple_to(&self, bytes: u64) -> bool {
        let is_below = || self.visit().expected_s(bytes) < LATENCY_COUNTS * self.samples.latency_s();
        self.is_hurried && bytes <= self.largest_bytes && is_below()
    }

    /// The smallest size that may have passed a shaper on credit: few bytes have been moved, in one or two visits, and
    /// a byte took clearly less than in the largest message, or the round trips differ and take negligible time.
    fn on_credit(&self) -> Option<u64> {
        let (&largest, _) = self.samples.points.last_key_value()?;
        let byte_s = |bytes: u64| self.samples.gap(bytes).median_s / bytes as f64;
        let has_time = self.spent_s < MAX_OVERTIME * self.slice_s;
        let found = |&(&bytes, point): &(&u64, &Point)| {
            let few = bytes * (point.round_trip.count as u64) < CREDIT_BYTES;
            let mixed = point
                .round_trip
                .summary
                .is_some_and(|trip| trip.median < SHORT_ROUND_TRIP_S && trip.range > UNCERTAIN * trip.median);
            bytes >= FIRST_BYTES
                && point.visits <= 2
                && few
                && (mixed && has_time || byte_s(bytes) < ON_CREDIT * byte_s(largest))
        };
        self.samples.points.iter().find(found).map(|(&bytes, _)| bytes)
    }

    fn can_double_to(&self, bytes: u64) -> bool {
        let in_time = self.spent_s + self.visit().cost_s(bytes) <= DOUBLING_SHARE * self.slice_s;
        let needed = bytes <= MIN_LARGEST_BYTES && self.visit().expected_s(bytes) <= SLOW_MESSAGE_S;
        in_time || needed || bytes <= 2 * FIRST_BYTES
    }

    /// Takes the samples of the task from [`GapTableBuilder::next`], which took `took_s` seconds.
    pub fn take(&mut self, task: &Task, samples: Vec<Samples>, took_s: f64) {
        self.spent_s += took_s;
        for (&trial, samples) in task.trials.iter().zip(samples) {
            self.samples.take(trial, samples);
        }
    }

    /// The middle of the first interval in which g bends: neither neighbour's line leads across it.
    ///
    /// One neighbour is not enough: beside a kink, the line that crosses it is misleading.
    fn bent_interval(&self) -> Option<u64> {
        let sizes: Vec<u64> = self.samples.points.keys().copied().collect();
        let gaps: Vec<Gap> = sizes.iter().map(|&bytes| self.samples.gap(bytes)).collect();
        let leads = |a: usize, b: usize, to: usize| {
            let slope = (gaps[b].median_s - gaps[a].median_s) / (sizes[b] as f64 - sizes[a] as f64);
            let line_s = gaps[b].median_s + slope * (sizes[to] as f64 - sizes[b] as f64);
            // The error of a median of a few samples is below half their range; the line doubles that of b.
            let noise_s = (gaps[a].range_s + 2.0 * gaps[b].range_s + gaps[to].range_s) / 2.0;
            (line_s - gaps[to].median_s).abs() <= BEND * gaps[to].median_s + noise_s
        };
        (1..sizes.len()).find_map(|at| {
            let (low, high) = (sizes[at - 1], sizes[at]);
            let from_left = at >= 2 && leads(at - 2, at - 1, at);
            let from_right = at + 1 < sizes.len() && leads(at + 1, at, at - 1);
            let wide = (high - low) as f64 > FINEST_INTERVAL * high as f64 && high > FIRST_BYTES;
            (wide && !from_left && !from_right).then_some(low + (high - low) / 2)
        })
    }

    /// The size with the least certain gap, if its relative error may exceed `limit` and it was visited less than
    /// `most` times.
    fn noisiest(&self, limit: f64, most: u32) -> Option<u64> {
        let uncertainty = |bytes: u64| {
            let gap = self.samples.gap(bytes);
            let error = gap.error_s / gap.median_s.max(LATENCY_COUNTS * self.samples.latency_s());
            error.max(if self.samples.points[&bytes].round_trip.is_quiet { 0.0 } else { DISTURBED })
        };
        self.samples
            .points
            .iter()
            .filter(|(_, point)| point.visits < most)
            .map(|(&bytes, _)| (bytes, uncertainty(bytes)))
            .filter(|&(_, uncertainty)| uncertainty > limit)
            .max_by(|x, y| x.1.total_cmp(&y.1))
            .map(|(bytes, _)| bytes)
    }

    /// Whether the table has all required sizes.
    pub fn is_usable(&self) -> bool {
        let last = self.samples.points.keys().next_back().copied().unwrap_or(0);
        self.doubled || last >= MIN_LARGEST_BYTES
    }

    /// The table, `None` if not even one byte was measured.
    pub fn finish(&self) -> Option<PairTable> {
        let table = self.samples.table()?;
        let is_whole = table.rows.last().is_some_and(|last| last.bytes >= self.largest_bytes);
        Some(if is_whole { table } else { table.continued() })
    }
}
