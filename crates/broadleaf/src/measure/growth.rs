//! One pair's pLogP table, grown where g bends.
//!
//! Kielmann's method: g(0) by saturation, the other gaps from round trips; sizes are doubled, each gap is
//! compared with the linear extrapolation of its neighbours, and the interval between two sizes is bisected
//! where they differ.
//!
//! The round trip is a shortcut that holds while the waiting in it does not depend on the size. A rendezvous
//! waits for one more round trip, and so does a TCP connection that starts slowly; with several messages
//! under way nobody waits. So where the latency is not small beside the gap, g(m) is measured by its
//! definition too: the time between messages sent back to back. That is taken where the round trip says more
//! than a latency more, or where it spreads too much to say anything about a small g.
//!
//! The bulk effect (paper 4, §4.2) is a number of its own: messages sent back to back may take less each than
//! one alone, because the second finds ready what the first had to set up. It is kept beside g(m), which stays
//! that of a single message wherever waiting cannot be what the round trip has more.
//!
//! Sizes are visited again, the least certain first, until every gap is known to 2 % or the time is up.

use super::experiment::{Samples, Task, Trial};
use super::fit::{PairTable, Row, SHORTEST_GAP_S};
use super::hosts::Pair;
use super::modes::{timers, usual, Modes, Step};
use super::statistic::{median, Summary};
use std::collections::BTreeMap;

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
/// A gap by round trips is not further off than so many of their interquartile ranges.
const FAR_OFF: f64 = 4.0;
/// Share of the gap from which on the latency matters: a rendezvous's extra round trip is twice that.
const LATENCY_MATTERS: f64 = 0.01;
/// A round trip shorter than a scheduler's time slice is timed again with every size, that often: all gaps
/// hang on RTT(0), and a single moment may have been a busy one.
const SHORT_ROUND_TRIP_S: f64 = 1e-3;
const MORE_EMPTY: u32 = 10;
/// How far off a gap may be, relatively, for two runs to agree within 5 %.
pub const UNCERTAIN: f64 = 0.02;
/// A size is visited that often at most to get there.
const MOST_VISITS: u32 = 40;
/// A gap that may be off by more than this is visited again before anything else, that often.
const VAGUE: f64 = 0.25;
const VISITS_OF_VAGUE: u32 = 8;
/// A gap far below the latency need not be known to that share of itself, but of this much of the latency.
const LATENCY_COUNTS: f64 = 0.1;
/// Doubling may take this share of the slice, so that something is left for the bends.
const DOUBLING_SHARE: f64 = 0.6;
/// It goes on to this size even when its time is up, unless a single message takes too long.
const LEAST_LARGEST_BYTES: u64 = 256 << 10;
const SLOW_MESSAGE_S: f64 = 0.05;

/// The samples of one experiment, over all visits.
#[derive(Clone, Debug, Default)]
struct Series {
    samples_s: Vec<f64>,
    /// Of the usual ones.
    summary: Option<Summary>,
    /// How much longer the others took, seconds.
    delays: Vec<f64>,
}

impl Series {
    fn extend(&mut self, samples_s: Vec<f64>) {
        self.samples_s.extend(samples_s);
        if !self.samples_s.is_empty() {
            let modes = Modes::of(&self.samples_s);
            (self.summary, self.delays) = (Some(modes.summary()), modes.delays());
        }
    }

    fn median(&self) -> Option<f64> {
        self.summary.map(|summary| summary.median)
    }

    /// What the delays add to a sample on average, seconds.
    fn mean_delay_s(&self) -> f64 {
        self.delays.iter().sum::<f64>() / self.samples_s.len().max(1) as f64
    }
}

/// What has been measured at one size.
#[derive(Clone, Debug, Default)]
struct Point {
    round_trip: Series,
    send: Series,
    receive: Series,
    /// Whole bursts of `window` messages.
    burst: Series,
    window: u32,
    visits: u32,
}

/// A gap that was measured, seconds.
#[derive(Clone, Copy, Debug)]
struct Gap {
    median_s: f64,
    /// Interquartile range of the samples.
    range_s: f64,
    /// How far off the median may be.
    error_s: f64,
}

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
    /// g(0), seconds, once it is known.
    empty_gap_s: Option<f64>,
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
            empty_gap_s: None,
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
        if self.empty_gap_s.is_none() {
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

    fn can_double_to(&self, bytes: u64) -> bool {
        let in_time = self.spent_s + self.cost_s(bytes) <= DOUBLING_SHARE * self.slice_s;
        let needed = bytes <= LEAST_LARGEST_BYTES && self.expected_s(bytes) <= SLOW_MESSAGE_S;
        in_time || needed || bytes <= 2 * FIRST_BYTES
    }

    /// g at a size not measured yet, from the next smaller one; never less than it, never more than in
    /// proportion.
    fn expected_s(&self, bytes: u64) -> f64 {
        match self.points.range(..bytes).next_back() {
            None => self.empty_gap_s.unwrap_or(0.0),
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
        let counts = self.latency_counts(gap_s);
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
            let seconds = settled(samples.seconds);
            match *trial {
                Trial::PingPong { bytes: 0, .. } => {
                    self.empty_round_trip.extend(seconds);
                    self.round_trip_s = self.empty_round_trip.median().unwrap_or(self.round_trip_s);
                }
                Trial::Burst { bytes: 0, window, .. } => {
                    let gap_s = (usual(&seconds).median - self.round_trip_s) / f64::from(window - 1);
                    self.empty_gap_s =
                        Some(gap_s.clamp(SHORTEST_GAP_S, (self.round_trip_s / 2.0).max(SHORTEST_GAP_S)));
                }
                Trial::PingPong { bytes, .. } => {
                    let point = self.points.entry(bytes).or_default();
                    point.visits += 1;
                    point.round_trip.extend(seconds);
                    point.send.extend(settled(samples.send_s));
                }
                Trial::Burst { bytes, window, .. } => {
                    let point = self.points.entry(bytes).or_default();
                    if point.window != window {
                        (point.window, point.burst) = (window, Series::default());
                    }
                    point.burst.extend(seconds);
                }
                Trial::LateReceive { bytes, .. } => {
                    self.points.entry(bytes).or_default().receive.extend(seconds);
                }
            }
        }
    }

    /// L = (RTT(0) − 2 g(0)) / 2.
    fn latency_s(&self) -> f64 {
        (self.round_trip_s / 2.0 - self.empty_gap_s.unwrap_or(0.0)).max(0.0)
    }

    /// g(m): by the round trip, or by messages sent back to back where the round trip says too much or too little.
    fn gap(&self, bytes: u64) -> Gap {
        let point = &self.points[&bytes];
        let there_and_back = point.round_trip.summary.expect("every point has round trips");
        let empty_gap_s = self.empty_gap_s.unwrap_or(0.0);
        let single = Gap {
            median_s: (there_and_back.median - self.round_trip_s + empty_gap_s).max(SHORTEST_GAP_S),
            range_s: there_and_back.range,
            error_s: there_and_back.error + self.empty_round_trip.summary.map_or(0.0, |empty| empty.error),
        };
        match self.back_to_back(bytes) {
            Some(bulk) if self.latency_counts(single.median_s) => {
                let waits = single.median_s - bulk.median_s > self.latency_s();
                // All bursts of a few may have been held back: then they say nothing.
                let possible = bulk.median_s <= single.median_s + FAR_OFF * single.range_s;
                let blurred = single.range_s > BEND * single.median_s && bulk.range_s < single.range_s;
                if waits || (blurred && possible) {
                    bulk
                } else {
                    single
                }
            }
            _ => single,
        }
    }

    /// Whether waiting for the other side could be seen in a round trip.
    fn latency_counts(&self, gap_s: f64) -> bool {
        self.latency_s() > LATENCY_MATTERS * gap_s
    }

    /// The time each message but the first adds to a burst.
    fn back_to_back(&self, bytes: u64) -> Option<Gap> {
        let point = &self.points[&bytes];
        let (burst, there_and_back) = (point.burst.summary?, point.round_trip.summary?);
        let others = f64::from(point.window - 1);
        // On a busy machine a burst may seem shorter than a single message: then it says nothing.
        if burst.median <= there_and_back.median {
            return None;
        }
        Some(Gap {
            median_s: ((burst.median - there_and_back.median) / others).max(SHORTEST_GAP_S),
            range_s: (burst.range + there_and_back.range) / others,
            error_s: (burst.error + there_and_back.error) / others,
        })
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
            gap.error_s / gap.median_s.max(LATENCY_COUNTS * self.latency_s())
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
            let Series { samples_s, delays, .. } = &point.round_trip;
            let of_timers = |delay: &&f64| timers.iter().any(|timer| timer.contains(delay));
            let agreeing: Vec<f64> = delays.iter().filter(of_timers).copied().collect();
            let (delayed, samples) = (agreeing.len(), samples_s.len());
            (delayed > 0).then(|| (bytes, Step { delayed, samples, delay_s: median(&agreeing) }))
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
            let bulk = self.back_to_back(bytes);
            Row {
                bytes,
                gap_s: gap.median_s,
                send_s: point.send.median().unwrap_or(0.0),
                receive_s: point.receive.median().unwrap_or(0.0),
                bulk_s: bulk.map(|bulk| bulk.median_s),
                spread: (point.round_trip.samples_s.len() > 1).then_some(gap.range_s / gap.median_s),
            }
        };
        let rows: Vec<Row> = self.points.iter().map(row).collect();
        let last = rows.last()?.bytes;
        let mut table = PairTable::new(self.latency_s(), rows);
        table.steps = self.steps();
        Some(if last < self.largest_bytes { table.continued() } else { table })
    }
}

/// The samples without the first, which pays for buffers and page faults; all of them where there are few.
pub fn settled(mut samples: Vec<f64>) -> Vec<f64> {
    if samples.len() > 2 {
        samples.remove(0);
    }
    samples
}
