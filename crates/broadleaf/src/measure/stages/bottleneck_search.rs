//! The search for one of the [`bottlenecks`](super::bottlenecks).

use crate::measure::experiment::Trial;
use crate::measure::findings::{BottleneckPlace, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::bottlenecks::{
    FIRST_PAIRS, MAX_BURSTS, MAX_BYTES, MAX_WINDOW_BYTES, MESSAGE_S, MIN_BURSTS, MIN_BYTES, MIN_SHORT_BURSTS,
    MIN_WINDOW, RATE_LOSS, ROUND_TRIPS, SHORT_BURST_S, TESTS, TEST_S,
};
use std::collections::{BTreeMap, VecDeque};

/// The purpose of a test in the search for a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    FirstAlone,
    Together,
    OtherAlone,
}

/// The search for one bottleneck.
pub struct BottleneckSearch {
    pub place: BottleneckPlace,
    /// Disjoint, on different machines as far as possible.
    pub pairs: Vec<NodePair>,
    pub tests: VecDeque<(Purpose, Vec<NodePair>)>,
    pub trial: Trial,
    /// bytes/s of each pair alone, in order of `pairs`.
    pub alone: Vec<f64>,
    /// bytes/s of a number of pairs together.
    pub together: BTreeMap<usize, f64>,
    /// Relative interquartile range of the last of them.
    pub spread: f64,
    /// Whether other searches run at the same time.
    pub in_company: bool,
    /// Whether none may.
    pub alone_only: bool,
    /// The pipes found before that may be one.
    pub two: Option<TwoPipes>,
}

/// Two known pipes that may share a bottleneck; bytes/s.
#[derive(Clone, Copy, Debug)]
pub struct TwoPipes {
    /// The total rate of the pairs that are tried, with one pipe at a time.
    pub apart: f64,
    /// The faster pipe's.
    pub fastest: f64,
    /// The total rate of both at once, with the waits for answers.
    pub carried: f64,
    /// They share one if together they lose more than this share of `apart`.
    pub loss: f64,
}

impl TwoPipes {
    /// The bottleneck's total, bytes/s: their rate together, or that of the faster one if it is higher, since half of
    /// the pairs may not saturate it, or lower by no more than the share that waits have of a burst.
    fn shared(&self, total: f64) -> Option<f64> {
        let is_known = self.carried < (1.0 + 1.0 / ROUND_TRIPS) * self.fastest;
        let bottleneck = if is_known { self.fastest } else { self.carried };
        (total < (1.0 - self.loss) * self.apart).then_some(bottleneck)
    }
}

impl BottleneckSearch {
    pub fn new(place: BottleneckPlace, pairs: Vec<NodePair>, known: &Findings) -> BottleneckSearch {
        let first = pairs[0];
        let several = pairs[..pairs.len().min(FIRST_PAIRS)].to_vec();
        BottleneckSearch {
            place,
            tests: VecDeque::from([(Purpose::FirstAlone, vec![first]), (Purpose::Together, several)]),
            trial: trial(known, first, MESSAGE_S, false),
            pairs,
            alone: Vec::new(),
            together: BTreeMap::new(),
            spread: 0.0,
            in_company: false,
            alone_only: false,
            two: None,
        }
    }

    /// Whether two known pipes share one; `pairs` are of both.
    pub fn of_two_pipes(
        place: BottleneckPlace,
        pairs: Vec<NodePair>,
        two: TwoPipes,
        known: &Findings,
    ) -> BottleneckSearch {
        let tests = VecDeque::from([(Purpose::Together, pairs.clone())]);
        BottleneckSearch { tests, two: Some(two), ..BottleneckSearch::new(place, pairs, known) }
    }

    /// The same search from the start, for which nothing else may run.
    pub fn alone_again(self, known: &Findings) -> BottleneckSearch {
        let again = match self.two {
            Some(two) => BottleneckSearch::of_two_pipes(self.place, self.pairs, two, known),
            None => BottleneckSearch::new(self.place, self.pairs, known),
        };
        BottleneckSearch { alone_only: true, ..again }
    }

    /// The sum of the first pairs' separate rates, bytes/s; pairs not timed alone count as the first one.
    pub fn apart(&self, count: usize) -> f64 {
        (0..count).map(|pair| self.alone.get(pair).unwrap_or(&self.alone[0])).sum()
    }

    /// Whether the first pair alone is about as fast as this total.
    pub fn is_filled_by_one(&self, total: f64) -> bool {
        total <= (1.0 + RATE_LOSS) * self.alone[0]
    }

    fn fell(&self, count: usize, total: f64) -> bool {
        total < (1.0 - RATE_LOSS) * self.apart(count)
    }

    /// The bottleneck's total once the tests are done, bytes/s; `None` while more tests are needed (they are
    /// queued) or if there is no bottleneck.
    pub fn conclude(&mut self) -> Option<f64> {
        if let Some(two) = self.two {
            let (_, &total) = self.together.last_key_value()?;
            return two.shared(total);
        }
        let (&most, _) = self.together.last_key_value()?;
        let Some((&count, &total)) =
            self.together.iter().rev().find(|&(&count, &total)| self.fell(count, total))
        else {
            if most < self.pairs.len() {
                let more = self.pairs[..self.pairs.len().min(2 * most)].to_vec();
                self.tests.push_back((Purpose::Together, more));
            }
            return None;
        };
        if self.is_filled_by_one(total) {
            return Some(total);
        }
        let has_first_only = self.together.len() == 1;
        if has_first_only && self.pairs.len() > FIRST_PAIRS {
            let more = self.pairs[..self.pairs.len().min(2 * FIRST_PAIRS)].to_vec();
            self.tests.push_back((Purpose::Together, more));
            return None;
        }
        // An equal rate with four pairs as with two shows the bottleneck. A rate that still grows may be due to slow
        // pairs.
        let mut rates = self.together.iter();
        let levelled = rates
            .next()
            .zip(rates.next())
            .is_some_and(|((&few, &two), (_, &four))| self.fell(few, two) && four < (1.0 + RATE_LOSS) * two);
        if !levelled && self.alone.len() < count {
            let others = &self.pairs[self.alone.len()..count];
            self.tests.extend(others.iter().map(|&pair| (Purpose::OtherAlone, vec![pair])));
            return None;
        }
        Some(total)
    }

    /// Whether other searches at the same time may have changed the result.
    pub fn is_disturbed(&self, total: Option<f64>, known: &Findings) -> bool {
        if !self.in_company {
            return false;
        }
        let BottleneckPlace::OneWay(from, to) = self.place else { return total.is_some() };
        let table = known.tables.get(&known.representative((from, to)));
        let bytes = match self.trial {
            Trial::Burst { bytes, .. } | Trial::PingPong { bytes, .. } | Trial::LateReceive { bytes, .. } => {
                bytes
            }
        };
        let usual = table.map_or(f64::INFINITY, |table| bytes as f64 / table.at(bytes).gap_s);
        let is_lower = |rate: f64| rate < (1.0 - RATE_LOSS) * usual;
        let is_certain = |total: f64| !is_lower(total) && self.is_filled_by_one(total);
        is_lower(self.alone[0]) || total.is_some_and(|total| !is_certain(total))
    }

    /// Whether its bursts are half as long and few. Most sites have no access; one that is found is tried again alone.
    pub fn is_brief(&self) -> bool {
        matches!(self.place, BottleneckPlace::Access { .. }) && !self.alone_only
    }

    /// The time of all its tests, seconds, about.
    pub fn time_s(&self, known: &Findings) -> f64 {
        let tests = if self.two.is_some() { 1.0 } else { TESTS };
        tests * TEST_S.max(f64::from(MIN_BURSTS) * ROUND_TRIPS * known.round_trip_s(self.pairs[0]))
    }
}

/// Bursts long enough for their place in the network, of messages of about `message_s`.
pub fn trial(known: &Findings, pair: NodePair, message_s: f64, is_brief: bool) -> Trial {
    let (round_trips, fewest) =
        if is_brief { (ROUND_TRIPS / 2.0, MIN_BURSTS) } else { (ROUND_TRIPS, MIN_SHORT_BURSTS) };
    let (from, to) = pair;
    // Between clusters the pair has its own table; inside one, any table of the cluster is used.
    let inside = known
        .tables
        .iter()
        .find(|(other, _)| known.cluster_of[other.0.index()] == known.cluster_of[from.index()]);
    let across = known.tables.get(&known.representative(known.cluster_pair_of((from, to))));
    let table = across.or(inside.map(|(_, table)| table));
    let gap_s = |bytes: u64| table.map_or(0.0, |table| table.at(bytes).gap_s);
    let mut bytes = MAX_BYTES;
    while bytes > MIN_BYTES && gap_s(bytes) > 2.0 * message_s {
        bytes /= 2;
    }
    let one_s = gap_s(bytes).max(1e-6);
    let window = (round_trips * known.round_trip_s(pair) / one_s).min(f64::from(u32::MAX)) as u32;
    let window = window.clamp(MIN_WINDOW, (MAX_WINDOW_BYTES / bytes) as u32);
    let burst_s = one_s * f64::from(window);
    let fewest = if burst_s < SHORT_BURST_S { fewest } else { MIN_BURSTS };
    let test_s = if is_brief { 0.0 } else { TEST_S };
    Trial::Burst { bytes, window, repeats: ((test_s / burst_s) as u32).clamp(fewest, MAX_BURSTS) }
}
