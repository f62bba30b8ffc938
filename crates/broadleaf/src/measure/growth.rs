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

use super::experiment::{Samples, Task, Trial};
use super::fit::{PairTable, Row, SHORTEST_GAP_S};
use super::hosts::Pair;
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
/// Messages of a saturation: the most for g(0), else as many as a round trip has room for.
const WINDOW: u32 = 4;
const MOST_WINDOW: u32 = 64;
/// The bytes they may have together.
const WINDOW_BYTES: u64 = 8 << 20;
/// Share of the gap from which on the latency matters: a rendezvous's extra round trip is twice that.
const LATENCY_MATTERS: f64 = 0.01;
/// A round trip shorter than a scheduler's time slice is timed again with every size, that often: all gaps
/// hang on RTT(0), and a single moment may have been a busy one.
const SHORT_ROUND_TRIP_S: f64 = 1e-3;
const MORE_EMPTY: u32 = 10;
/// A size is visited again, up to that often, while its median may be off by more than this.
const UNCERTAIN: f64 = 0.08;
const MOST_VISITS: u32 = 4;
/// Doubling may take this share of the slice, so that something is left for the bends.
const DOUBLING_SHARE: f64 = 0.6;
/// It goes on to this size even when its time is up, unless a single message takes too long.
const LEAST_LARGEST_BYTES: u64 = 256 << 10;
const SLOW_MESSAGE_S: f64 = 0.05;

/// What has been measured at one size.
#[derive(Clone, Debug, Default)]
struct Point {
    round_trip_s: Vec<f64>,
    send_s: Vec<f64>,
    receive_s: Vec<f64>,
    /// Whole bursts of `window` messages.
    burst_s: Vec<f64>,
    window: u32,
    visits: u32,
}

/// The growing table of one ordered pair.
#[derive(Clone, Debug)]
pub struct Growth {
    pair: Pair,
    largest_bytes: u64,
    /// Time to stay within, seconds.
    slice_s: f64,
    spent_s: f64,
    /// RTT(0), seconds: what was known before, then the median of all samples.
    round_trip_s: f64,
    round_trips_s: Vec<f64>,
    /// g(0), seconds, once it is known.
    empty_gap_s: Option<f64>,
    points: BTreeMap<u64, Point>,
    doubled: bool,
    bisections: usize,
}

impl Growth {
    /// `round_trip_s` is what is known of RTT(0); `slice_s` the time the whole table should take.
    pub fn new(pair: Pair, round_trip_s: f64, largest_bytes: u64, slice_s: f64) -> Growth {
        Growth {
            pair,
            largest_bytes: largest_bytes.max(FIRST_BYTES),
            slice_s,
            spent_s: 0.0,
            round_trip_s,
            round_trips_s: Vec::new(),
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
        if self.bisections < MOST_BISECTIONS {
            if let Some(bytes) = self.bent_interval() {
                self.bisections += 1;
                return Some(bytes);
            }
        }
        self.noisiest()
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
                let gap_s = self.gap(size).0;
                gap_s * if size < FIRST_BYTES { 1.0 } else { bytes as f64 / size as f64 }
            }
        }
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
        ((self.slice_s / 40.0 / each_s) as u32).clamp(fewest, MOST)
    }

    fn trials(&self, bytes: u64) -> Vec<Trial> {
        let gap_s = self.expected_s(bytes);
        let each_s = gap_s + self.round_trip_s;
        // One more than is used: the first message of a size may pay for buffers and page faults.
        let mut trials = vec![Trial::PingPong { bytes, repeats: self.repeats(each_s) + 1 }];
        let window = ((self.round_trip_s / gap_s.max(SHORTEST_GAP_S)) as u32).clamp(WINDOW, MOST_WINDOW);
        let window = u64::from(window).min(WINDOW_BYTES / bytes) as u32;
        // Bursts of all visits are pooled, so they have one length.
        let window =
            self.points.get(&bytes).map(|point| point.window).filter(|&first| first > 0).unwrap_or(window);
        if window >= 2 && self.latency_s() > LATENCY_MATTERS * gap_s {
            let repeats = self.repeats(f64::from(window) * gap_s + self.round_trip_s).min(FEWEST);
            trials.push(Trial::Burst { bytes, window, repeats: repeats + 1 });
        }
        if self.round_trip_s < SHORT_ROUND_TRIP_S {
            trials.push(Trial::PingPong { bytes: 0, repeats: MORE_EMPTY + 1 });
        }
        // Long enough for the message to have arrived, if it travels before it is received at all.
        let pause_s = 1.2 * each_s + 2e-5;
        let repeats = self.repeats(pause_s + gap_s).min(FEWEST);
        trials.push(Trial::LateReceive { bytes, repeats, pause_s });
        trials
    }

    /// Takes the samples of the task that [`Growth::next`] gave, which took `took_s` seconds in all.
    pub fn take(&mut self, task: &Task, samples: Vec<Samples>, took_s: f64) {
        self.spent_s += took_s;
        for (trial, samples) in task.trials.iter().zip(samples) {
            let seconds = settled(samples.seconds);
            match *trial {
                Trial::PingPong { bytes: 0, .. } => {
                    self.round_trips_s.extend(seconds);
                    self.round_trip_s = median(&self.round_trips_s);
                }
                Trial::Burst { bytes: 0, window, .. } => {
                    let gap_s = (median(&seconds) - self.round_trip_s) / f64::from(window - 1);
                    self.empty_gap_s =
                        Some(gap_s.clamp(SHORTEST_GAP_S, (self.round_trip_s / 2.0).max(SHORTEST_GAP_S)));
                }
                Trial::PingPong { bytes, .. } => {
                    let point = self.points.entry(bytes).or_default();
                    point.visits += 1;
                    point.round_trip_s.extend(seconds);
                    point.send_s.extend(settled(samples.send_s));
                }
                Trial::Burst { bytes, window, .. } => {
                    let point = self.points.entry(bytes).or_default();
                    point.window = window;
                    point.burst_s.extend(seconds);
                }
                Trial::LateReceive { bytes, .. } => {
                    self.points.entry(bytes).or_default().receive_s.extend(seconds);
                }
            }
        }
    }

    /// L = (RTT(0) − 2 g(0)) / 2.
    fn latency_s(&self) -> f64 {
        (self.round_trip_s / 2.0 - self.empty_gap_s.unwrap_or(0.0)).max(0.0)
    }

    /// g(m) and its interquartile range.
    fn gap(&self, bytes: u64) -> (f64, f64) {
        let point = &self.points[&bytes];
        let there_and_back = Summary::of(&point.round_trip_s);
        let empty_gap_s = self.empty_gap_s.unwrap_or(0.0);
        let single_s = (there_and_back.median - self.round_trip_s + empty_gap_s).max(SHORTEST_GAP_S);
        if !point.burst_s.is_empty() {
            let burst = Summary::of(&point.burst_s);
            let others = f64::from(point.window - 1);
            let back_to_back_s = ((burst.median - there_and_back.median) / others).max(SHORTEST_GAP_S);
            let range_s = (burst.range + there_and_back.range) / others;
            let waits = single_s - back_to_back_s > self.latency_s();
            let blurred = there_and_back.range > BEND * single_s && range_s < there_and_back.range;
            if waits || blurred {
                return (back_to_back_s, range_s);
            }
        }
        (single_s, there_and_back.range)
    }

    /// The middle of the first interval in which g bends: neither neighbour's line leads across it.
    ///
    /// One neighbour alone would not do: beside a kink the line that crosses it misleads.
    fn bent_interval(&self) -> Option<u64> {
        let sizes: Vec<u64> = self.points.keys().copied().collect();
        let gaps: Vec<(f64, f64)> = sizes.iter().map(|&bytes| self.gap(bytes)).collect();
        let leads = |a: usize, b: usize, to: usize| {
            let slope = (gaps[b].0 - gaps[a].0) / (sizes[b] as f64 - sizes[a] as f64);
            let line_s = gaps[b].0 + slope * (sizes[to] as f64 - sizes[b] as f64);
            // A median of a few samples wanders by less than half their range; the line doubles that of b.
            let noise_s = (gaps[a].1 + 2.0 * gaps[b].1 + gaps[to].1) / 2.0;
            (line_s - gaps[to].0).abs() <= BEND * gaps[to].0 + noise_s
        };
        (1..sizes.len()).find_map(|at| {
            let (low, high) = (sizes[at - 1], sizes[at]);
            let from_left = at >= 2 && leads(at - 2, at - 1, at);
            let from_right = at + 1 < sizes.len() && leads(at + 1, at, at - 1);
            let wide = (high - low) as f64 > FINEST * high as f64 && high > FIRST_BYTES;
            (wide && !from_left && !from_right).then_some(low + (high - low) / 2)
        })
    }

    /// The size whose gap is least certain, while that is worth another visit.
    fn noisiest(&self) -> Option<u64> {
        let uncertainty = |bytes: u64, point: &Point| {
            let (gap_s, range_s) = self.gap(bytes);
            // About the standard error of a median.
            range_s / gap_s / (point.round_trip_s.len() as f64).sqrt()
        };
        self.points
            .iter()
            .filter(|(_, point)| point.visits < MOST_VISITS)
            .map(|(&bytes, point)| (bytes, uncertainty(bytes, point)))
            .filter(|&(_, uncertainty)| uncertainty > UNCERTAIN)
            .max_by(|x, y| x.1.total_cmp(&y.1))
            .map(|(bytes, _)| bytes)
    }

    /// The table, `None` where not even one byte was measured.
    pub fn finish(&self) -> Option<PairTable> {
        let row = |(&bytes, point): (&u64, &Point)| {
            let (gap_s, range_s) = self.gap(bytes);
            let receive_s = if point.receive_s.is_empty() { 0.0 } else { median(&point.receive_s) };
            Row { bytes, gap_s, send_s: median(&point.send_s), receive_s, spread: range_s / gap_s }
        };
        let rows: Vec<Row> = self.points.iter().map(row).collect();
        let last = rows.last()?.bytes;
        let table = PairTable::new(self.latency_s(), rows);
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
