//! One pair's pLogP table, grown where g bends.
//!
//! Kielmann's method: g(0) by saturation, the other gaps from round trips; sizes are doubled, each gap is
//! compared with the linear extrapolation of its neighbours, and the interval between two sizes is bisected
//! where they differ.
//!
//! `point` holds what was measured at one size.
//!
//! Sizes are visited again, the least certain first, until every gap is known to 2 % or the time is up.

use super::experiment::{Samples, Task, Trial};
use super::fit::{PairTable, Row, SHORTEST_GAP_S};
use super::hosts::Pair;
use super::modes::{timers, Step};
use super::point::{Empty, Gap, Point, Series};
use super::statistic::median;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// First size of the doubling; below it only 1 byte is measured.
pub const FIRST_BYTES: u64 = 1024;
/// Largest size that can be asked for: the probe keeps a buffer of that size in every rank.
pub const MOST_BYTES: u64 = 64 << 20;
/// Relative deviation from the extrapolation at which g is taken to bend.
const BEND: f64 = 0.05;
/// An interval is not bisected below this share of its upper end.
const FINEST: f64 = 0.1;
/// Sizes added by bisection at most: a noisy pair bends everywhere.
const MOST_BISECTIONS: usize = 10;
/// Round trips per visit of a size. What lasts longer than a scheduler's time slice needs fewer of them.
const FEWEST: u32 = 5;
const FEWEST_SLOW: u32 = 3;
const SLOW_S: f64 = 0.01;
const MOST: u32 = 200;
const MOST_BURSTS: u32 = 20;
/// Of a size's first visit, when it is not known yet what a delay costs either.
const FIRST_REPEATS: u32 = 20;
/// Messages of a saturation: the most for g(0), else as many as a round trip has room for.
const WINDOW: u32 = 4;
const MOST_WINDOW: u32 = 64;
/// The bytes they may have together.
const WINDOW_BYTES: u64 = 8 << 20;
/// A round trip shorter than a scheduler's time slice is timed again with every size, that often: all gaps
/// hang on RTT(0), and a single moment may have been a busy one. So is that of one byte, whose gap is the difference
/// of two round trips that must be of the same moments.
const SHORT_ROUND_TRIP_S: f64 = 1e-3;
const MORE_EMPTY: u32 = 10;
/// How far off a gap may be, relatively, for two runs to agree within 5 %.
pub const UNCERTAIN: f64 = 0.02;
/// Where all its samples were disturbed, g(0) is measured again that often: every gap stands on it.
const MOST_EMPTY_VISITS: u32 = 10;
/// A gap whose samples were all disturbed may be off by this, relatively, whatever their range is.
const DISTURBED: f64 = 0.5;
/// A size is visited that often at most to get there.
const MOST_VISITS: u32 = 40;
/// A gap that may be off by more than this is visited again before anything else, that often.
const VAGUE: f64 = 0.25;
const VISITS_OF_VAGUE: u32 = 8;
/// A gap far below the latency need not be known to that share of itself, but of this much of the latency.
const LATENCY_COUNTS: f64 = 0.1;
/// Shapers let some bytes pass at once after a pause, those at hand 16 KiB: what was measured with fewer bytes
/// than this in all is visited again where a byte took less than this share of what it takes in a large message,
/// and where round trips are short and differ: of 20 messages of 1 KiB, the median was on credit or not by chance.
const CREDIT_BYTES: u64 = 256 << 10;
const ON_CREDIT: f64 = 0.75;
/// That is left out where the time is up by this factor: on a busy machine many short messages take long.
const MOST_OVERTIME: f64 = 2.0;
/// Doubling may take this share of the slice, so that something is left for the bends.
const DOUBLING_SHARE: f64 = 0.6;
/// It goes on to this size even when its time is up, unless a single message takes too long.
const LEAST_LARGEST_BYTES: u64 = 256 << 10;
const SLOW_MESSAGE_S: f64 = 0.05;

/// The growing table of one ordered pair.
#[derive(Clone, Debug)]
pub struct Growth {
    pair: Pair,
    largest_bytes: u64,
    /// Time to stay within, seconds.
    slice_s: f64,
    /// How far off a gap may be, relatively.
    uncertain: f64,
    spent_s: f64,
    /// RTT(0), seconds: what was known before, then the median of all samples.
    round_trip_s: f64,
    empty_round_trip: Series,
    /// The ways there in them, where both ends read one clock.
    empty_way: Series,
    /// Of `MOST_WINDOW` messages.
    empty_burst: Series,
    /// How often g(0) was measured.
    empty_visits: u32,
    points: BTreeMap<u64, Point>,
    doubled: bool,
    bisections: usize,
}

impl Growth {
    /// `round_trip_s` is what is known of RTT(0); `slice_s` the time the whole table should take, and `uncertain`
    /// how far off its gaps may be, relatively.
    pub fn new(pair: Pair, round_trip_s: f64, largest_bytes: u64, slice_s: f64, uncertain: f64) -> Growth {
        Growth {
            pair,
            largest_bytes: largest_bytes.max(FIRST_BYTES),
            slice_s,
            uncertain,
            spent_s: 0.0,
            round_trip_s,
            empty_round_trip: Series::default(),
            empty_way: Series::default(),
            empty_burst: Series::default(),
            empty_visits: 0,
            points: BTreeMap::new(),
            doubled: false,
            bisections: 0,
        }
    }

    pub fn pair(&self) -> Pair {
        self.pair
    }

    /// The next size's trials, `None` when the table is complete or its time is up.
    pub fn next(&mut self) -> Option<Task> {
        let (from, to) = self.pair;
        let is_quiet = self.empty_round_trip.is_quiet && self.empty_burst.is_quiet;
        if self.empty_visits == 0 || (!is_quiet && self.empty_visits < MOST_EMPTY_VISITS) {
            let repeats = self.repeats(self.round_trip_s);
            let saturation = Trial::Burst { bytes: 0, window: MOST_WINDOW, repeats: repeats + 1 };
            let trials = vec![Trial::PingPong { bytes: 0, repeats: repeats + 1 }, saturation];
            return Some(Task { from, to, trials });
        }
        let bytes = self.next_size()?;
        Some(Task { from, to, trials: self.trials(bytes) })
    }

    fn next_size(&mut self) -> Option<u64> {
        if !self.doubled {
            let next = match self.points.keys().next_back() {
                None => 1,
                Some(&last) => (2 * last).max(FIRST_BYTES),
            };
            if next <= self.largest_bytes && self.can_double_to(next) {
                return Some(next);
            }
            self.doubled = true;
        }
        // Before the time is looked at: these are short, and what stands there is wrong by any factor.
        if let Some(bytes) = self.on_credit() {
            return Some(bytes);
        }
        if self.spent_s > self.slice_s {
            return None;
        }
        // A bend is not looked for among gaps that are hardly known.
        if let Some(bytes) = self.noisiest(VAGUE, VISITS_OF_VAGUE) {
            return Some(bytes);
        }
        if self.bisections < MOST_BISECTIONS {
            if let Some(bytes) = self.bent_interval() {
                self.bisections += 1;
                return Some(bytes);
            }
        }
        self.noisiest(self.uncertain, MOST_VISITS)
    }

    /// The smallest size that may have passed a shaper on credit: few bytes have been moved, in one or two visits,
    /// and a byte took clearly less than in the largest message, or the round trips differ and cost next to nothing.
    fn on_credit(&self) -> Option<u64> {
        let (&largest, _) = self.points.last_key_value()?;
        let byte_s = |bytes: u64| self.gap(bytes).median_s / bytes as f64;
        let has_time = self.spent_s < MOST_OVERTIME * self.slice_s;
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
        self.points.iter().find(found).map(|(&bytes, _)| bytes)
    }

    fn can_double_to(&self, bytes: u64) -> bool {
        let in_time = self.spent_s + self.cost_s(bytes) <= DOUBLING_SHARE * self.slice_s;
        let needed = bytes <= LEAST_LARGEST_BYTES && self.expected_s(bytes) <= SLOW_MESSAGE_S;
        in_time || needed || bytes <= 2 * FIRST_BYTES
    }

    /// g at a size not measured yet, from the next smaller one; never less than it, never more than in
    /// proportion.
    fn expected_s(&self, bytes: u64) -> f64 {
        match self.points.range(..bytes).next_back() {
            None => self.empty_gap_s().unwrap_or(0.0),
            Some((&size, _)) => {
                let gap_s = self.gap(size).median_s;
                gap_s * if size < FIRST_BYTES { 1.0 } else { bytes as f64 / size as f64 }
            }
        }
    }

    /// What held-back acknowledgements add to a round trip: as much as at the next smaller size.
    fn expected_delay_s(&self, bytes: u64) -> f64 {
        let point = self.points.range(..=bytes).next_back().map(|(_, point)| &point.round_trip);
        point.unwrap_or(&self.empty_round_trip).mean_delay_s()
    }

    /// What a visit of a size not measured yet should take, seconds.
    fn cost_s(&self, bytes: u64) -> f64 {
        let gap_s = self.expected_s(bytes);
        let each_s = |trial: &Trial| match *trial {
            Trial::PingPong { .. } => gap_s + self.round_trip_s,
            Trial::Burst { window, .. } => f64::from(window) * gap_s + self.round_trip_s,
            Trial::LateReceive { pause_s, .. } => pause_s + gap_s,
        };
        self.trials(bytes).iter().map(|trial| f64::from(trial.repeats()) * each_s(trial)).sum()
    }

    /// Round trips that a visit of a fortieth of the slice has room for.
    fn repeats(&self, each_s: f64) -> u32 {
        let fewest = if each_s > SLOW_S { FEWEST_SLOW } else { FEWEST };
        // Every size is seen once before any is seen well: an interrupted measurement has a whole table early.
        let most = if self.doubled { MOST } else { FIRST_REPEATS };
        ((self.slice_s / 40.0 / each_s) as u32).clamp(fewest, most)
    }

    fn trials(&self, bytes: u64) -> Vec<Trial> {
        let known = self.points.contains_key(&bytes);
        let gap_s = if known { self.gap(bytes).median_s } else { self.expected_s(bytes) };
        let each_s = gap_s + self.round_trip_s + self.expected_delay_s(bytes);
        // One more than is used: the first message of a size may pay for buffers and page faults.
        let mut trials = vec![Trial::PingPong { bytes, repeats: self.repeats(each_s) + 1 }];
        let (window, repeats) = self.burst(bytes, gap_s);
        if repeats > 0 {
            trials.push(Trial::Burst { bytes, window, repeats });
        }
        if self.round_trip_s + self.empty_round_trip.mean_delay_s() < SHORT_ROUND_TRIP_S {
            trials.push(Trial::PingPong { bytes: 0, repeats: MORE_EMPTY + 1 });
            if bytes > 1 {
                trials.push(Trial::PingPong { bytes: 1, repeats: MORE_EMPTY + 1 });
            }
        }
        // Long enough for the message to have arrived, if it travels before it is received at all.
        let pause_s = 1.2 * each_s + 2e-5;
        let repeats = self.repeats(pause_s + gap_s).min(FEWEST);
        trials.push(Trial::LateReceive { bytes, repeats, pause_s });
        trials
    }

    /// The messages of a burst, and how many bursts a visit makes.
    fn burst(&self, bytes: u64, gap_s: f64) -> (u32, u32) {
        // As many as a round trip has room for where waiting counts; else only the bulk effect is to be seen.
        let counts = self.empty().latency_counts(gap_s);
        let room = if counts { self.round_trip_s / gap_s.max(SHORTEST_GAP_S) } else { 0.0 };
        let wanted = u64::from((room as u32).clamp(WINDOW, MOST_WINDOW)).min(WINDOW_BYTES / bytes) as u32;
        let point = self.points.get(&bytes);
        // Bursts of all visits are pooled, so they have one length, unless it turns out far too short.
        let window = match point.map_or(0, |point| point.window) {
            before if before > 0 && wanted <= 2 * before => before,
            _ => wanted,
        };
        let seen_before = point.is_some_and(|point| point.burst.summary.is_some());
        if window < 2 || (!counts && seen_before && gap_s > SLOW_S) {
            return (window, 0);
        }
        let each_s = f64::from(window) * gap_s + self.round_trip_s + self.expected_delay_s(bytes);
        let repeats = self.repeats(each_s).min(MOST_BURSTS);
        (window, repeats + 1)
    }

    /// Takes the samples of the task that [`Growth::next`] gave, which took `took_s` seconds in all.
    pub fn take(&mut self, task: &Task, samples: Vec<Samples>, took_s: f64) {
        self.spent_s += took_s;
        for (trial, samples) in task.trials.iter().zip(samples) {
            let samples = samples.settled();
            match *trial {
                Trial::PingPong { bytes: 0, .. } => {
                    self.empty_way.extend(samples.ways());
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
    }

    /// g(0), seconds, once it is known: by saturation, and no more than half of what a round trip takes by now.
    fn empty_gap_s(&self) -> Option<f64> {
        let others = f64::from(MOST_WINDOW - 1);
        let most_s = (self.round_trip_s / 2.0).max(SHORTEST_GAP_S);
        self.empty_burst
            .median()
            .map(|burst_s| ((burst_s - self.round_trip_s) / others).clamp(SHORTEST_GAP_S, most_s))
    }

    fn empty(&self) -> Empty {
        Empty {
            round_trip_s: self.round_trip_s,
            error_s: self.empty_round_trip.summary.map_or(0.0, |empty| empty.error),
            gap_s: self.empty_gap_s().unwrap_or(0.0),
        }
    }

    /// L = (RTT(0) − 2 g(0)) / 2; of the way there alone where that is known.
    fn latency_s(&self) -> f64 {
        let empty = self.empty();
        self.empty_way.median().map_or(empty.latency_s(), |way_s| (way_s - empty.gap_s).max(0.0))
    }

    fn gap(&self, bytes: u64) -> Gap {
        self.points[&bytes].gap(&self.empty())
    }

    /// The middle of the first interval in which g bends: neither neighbour's line leads across it.
    ///
    /// One neighbour alone would not do: beside a kink the line that crosses it misleads.
    fn bent_interval(&self) -> Option<u64> {
        let sizes: Vec<u64> = self.points.keys().copied().collect();
        let gaps: Vec<Gap> = sizes.iter().map(|&bytes| self.gap(bytes)).collect();
        let leads = |a: usize, b: usize, to: usize| {
            let slope = (gaps[b].median_s - gaps[a].median_s) / (sizes[b] as f64 - sizes[a] as f64);
            let line_s = gaps[b].median_s + slope * (sizes[to] as f64 - sizes[b] as f64);
            // A median of a few samples wanders by less than half their range; the line doubles that of b.
            let noise_s = (gaps[a].range_s + 2.0 * gaps[b].range_s + gaps[to].range_s) / 2.0;
            (line_s - gaps[to].median_s).abs() <= BEND * gaps[to].median_s + noise_s
        };
        (1..sizes.len()).find_map(|at| {
            let (low, high) = (sizes[at - 1], sizes[at]);
            let from_left = at >= 2 && leads(at - 2, at - 1, at);
            let from_right = at + 1 < sizes.len() && leads(at + 1, at, at - 1);
            let wide = (high - low) as f64 > FINEST * high as f64 && high > FIRST_BYTES;
            (wide && !from_left && !from_right).then_some(low + (high - low) / 2)
        })
    }

    /// The size whose gap is least certain, if it may be off by more than `limit`, relatively, and was visited
    /// less than `most` times.
    fn noisiest(&self, limit: f64, most: u32) -> Option<u64> {
        let uncertainty = |bytes: u64| {
            let gap = self.gap(bytes);
            let error = gap.error_s / gap.median_s.max(LATENCY_COUNTS * self.latency_s());
            error.max(if self.points[&bytes].round_trip.is_quiet { 0.0 } else { DISTURBED })
        };
        self.points
            .iter()
            .filter(|(_, point)| point.visits < most)
            .map(|(&bytes, _)| (bytes, uncertainty(bytes)))
            .filter(|&(_, uncertainty)| uncertainty > limit)
            .max_by(|x, y| x.1.total_cmp(&y.1))
            .map(|(bytes, _)| bytes)
    }

    /// The sizes at which samples took one of the steps that the delays of all sizes agree on.
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

    /// Whether the table has the sizes that it cannot do without.
    pub fn is_usable(&self) -> bool {
        let last = self.points.keys().next_back().copied().unwrap_or(0);
        self.doubled || last >= LEAST_LARGEST_BYTES
    }

    /// The table, `None` where not even one byte was measured.
    pub fn finish(&self) -> Option<PairTable> {
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
        let last = rows.last()?.bytes;
        let mut table = PairTable::new(self.latency_s(), rows);
        table.steps = self.steps();
        Some(if last < self.largest_bytes { table.continued() } else { table })
    }
}
