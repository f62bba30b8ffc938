//! Stage 5: bottlenecks that several links share.
//!
//! From one cluster to another, and among the nodes of a machine (whose links are its memory and its processors) or of
//! a cluster whose pairs disturb each other: one pair alone, then two and four disjoint pairs at once, then twice as
//! many, until all are used or their total is below that number times the rate of one pair. In the latter case they
//! share a bottleneck, and their total rate is its rate. Unless four pairs are no faster than two, each is first timed
//! alone as well: the others might be slower pairs.
//!
//! The two directions between two clusters are two bottlenecks, unless both are found and together carry less than the
//! sum of the two: then they are one.

use super::{Clock, Stage};
use crate::measure::delay_modes::usual;
use crate::measure::experiment::{Round, Samples, Task, Trial};
use crate::measure::findings::{Bottleneck, BottleneckPlace, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::bottlenecks::{
    BUDGET_SHARE, IN_STEP, MAX_BURSTS, MAX_BYTES, MAX_PAIRS, MAX_WINDOW_BYTES, MESSAGE_S, MIN_BURSTS,
    MIN_BYTES, MIN_MESSAGE_S, MIN_SHORT_BURSTS, MIN_WINDOW, PAIRS, RATE_LOSS, RATE_LOSS_OF_DIRECTIONS,
    ROUND_TRIPS, SHORT_BURST_S, TESTS, TEST_S,
};
use crate::measure::statistics::median;
use crate::platform::NodeId;
use std::collections::VecDeque;

/// The purpose of a test in the search for a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    FirstAlone,
    Together,
    OtherAlone,
}

/// The search for one bottleneck.
struct BottleneckSearch {
    place: BottleneckPlace,
    /// Disjoint, on different machines as far as possible.
    pairs: Vec<NodePair>,
    tests: VecDeque<(Purpose, Vec<NodePair>)>,
    trial: Trial,
    /// bytes/s of each pair alone, in order of `pairs`.
    alone: Vec<f64>,
    /// bytes/s of 2, of 4 and of more pairs together.
    together: Vec<(usize, f64)>,
    /// Relative interquartile range of the last of them.
    spread: f64,
}

impl BottleneckSearch {
    fn new(place: BottleneckPlace, pairs: Vec<NodePair>, known: &Findings) -> BottleneckSearch {
        let first = pairs[0];
        let mut tests = VecDeque::from([(Purpose::FirstAlone, vec![first])]);
        for count in PAIRS {
            if count <= pairs.len() {
                tests.push_back((Purpose::Together, pairs[..count].to_vec()));
            }
        }
        let trial = trial(known, first, MESSAGE_S);
        BottleneckSearch { place, pairs, tests, trial, alone: Vec::new(), together: Vec::new(), spread: 0.0 }
    }

    /// Both directions at once, half of the pairs each; `carried` is the pairs' total rate with one direction at a
    /// time, and `bottleneck` that of the faster direction, bytes/s.
    fn of_directions(
        there: &BottleneckSearch,
        back: &[NodePair],
        (carried, bottleneck): (f64, f64),
        known: &Findings,
    ) -> Option<BottleneckSearch> {
        let BottleneckPlace::OneWay(a, b) = there.place else { return None };
        let half = there.pairs.len() / 2;
        // The second half of the nodes sends back, so that no node does both.
        let pairs: Vec<NodePair> = there.pairs[..half].iter().chain(&back[half..2 * half]).copied().collect();
        let tests = VecDeque::from([(Purpose::Together, pairs.clone())]);
        let place = BottleneckPlace::BothWays(a.min(b), a.max(b));
        let trial = trial(known, pairs[0], MESSAGE_S);
        let alone = vec![carried, bottleneck];
        Some(BottleneckSearch { place, pairs, tests, trial, alone, together: Vec::new(), spread: 0.0 })
    }

    /// The total of the bottleneck that two directions share, bytes/s: their rate together, or that of one of them
    /// alone if it is higher, since half of the pairs may not saturate it.
    fn conclude_directions(&self) -> Option<f64> {
        let (total, carried, bottleneck) = (self.together[0].1, self.alone[0], self.alone[1]);
        let is_shared =
            total < (carried * bottleneck).sqrt() && total < (1.0 - RATE_LOSS_OF_DIRECTIONS) * carried;
        is_shared.then_some(total.max(bottleneck))
    }

    /// The sum of the first pairs' separate rates, bytes/s; pairs not timed alone count as the first one.
    fn apart(&self, count: usize) -> f64 {
        (0..count).map(|pair| self.alone.get(pair).unwrap_or(&self.alone[0])).sum()
    }

    fn fell(&self, count: usize, total: f64) -> bool {
        total < (1.0 - RATE_LOSS) * self.apart(count)
    }

    /// The bottleneck's total once the tests are done, bytes/s; `None` while more tests are needed (they are
    /// queued) or if there is no bottleneck.
    fn conclude(&mut self) -> Option<f64> {
        let &(most, _) = self.together.last()?;
        let Some(&(count, total)) =
            self.together.iter().rev().find(|&&(count, total)| self.fell(count, total))
        else {
            if most < self.pairs.len() {
                let more = self.pairs[..self.pairs.len().min(2 * most)].to_vec();
                self.tests.push_back((Purpose::Together, more));
            }
            return None;
        };
        // An equal rate with four pairs as with two shows the bottleneck. A rate that still grows may be due to slow
        // pairs.
        let levelled = self.together.len() > 1 && {
            let (two, four) = (self.together[0].1, self.together[1].1);
            self.fell(2, two) && four < (1.0 + RATE_LOSS) * two
        };
        if !levelled && self.alone.len() < count {
            let others = &self.pairs[self.alone.len()..count];
            self.tests.extend(others.iter().map(|&pair| (Purpose::OtherAlone, vec![pair])));
            return None;
        }
        Some(total)
    }
}

/// A burst long enough for its place in the network, of messages of about `message_s`.
fn trial(known: &Findings, pair: NodePair, message_s: f64) -> Trial {
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
    let window = (ROUND_TRIPS * known.round_trip_s(pair) / one_s).min(f64::from(u32::MAX)) as u32;
    let window = window.clamp(MIN_WINDOW, (MAX_WINDOW_BYTES / bytes) as u32);
    let burst_s = one_s * f64::from(window);
    let fewest = if burst_s < SHORT_BURST_S { MIN_SHORT_BURSTS } else { MIN_BURSTS };
    Trial::Burst { bytes, window, repeats: ((TEST_S / burst_s) as u32).clamp(fewest, MAX_BURSTS) }
}

pub struct Bottlenecks {
    searches: VecDeque<BottleneckSearch>,
    found: Vec<(BottleneckSearch, f64)>,
    purpose: Purpose,
    directions_tried: bool,
    done: usize,
    total: usize,
}

impl Bottlenecks {
    pub fn new(known: &Findings) -> Bottlenecks {
        let mut searches = VecDeque::new();
        let mut add = |place, pairs: Vec<NodePair>| {
            if pairs.len() > 1 {
                searches.push_back(BottleneckSearch::new(place, pairs, known));
            }
        };
        for (host, members) in known.hosts.members().iter().enumerate() {
            add(BottleneckPlace::InsideHost(host), couples(members));
        }
        for (cluster, members) in known.clusters.iter().enumerate() {
            let in_one_host = members.iter().all(|&node| known.hosts.same_host(node, members[0]));
            if !known.independent[cluster] && !in_one_host {
                add(BottleneckPlace::InsideCluster(cluster), couples(&by_host(known, members)));
            }
        }
        for from in 0..known.clusters.len() {
            for to in (0..known.clusters.len()).filter(|&to| to != from) {
                add(BottleneckPlace::OneWay(from, to), across(known, from, to));
            }
        }
        let total = searches.len();
        Bottlenecks {
            searches,
            found: Vec::new(),
            purpose: Purpose::FirstAlone,
            directions_tried: false,
            done: 0,
            total,
        }
    }

    /// The searches for bottlenecks that both directions between two clusters share.
    fn try_directions(&mut self, known: &Findings) {
        self.directions_tried = true;
        for (there, total) in &self.found {
            let BottleneckPlace::OneWay(a, b) = there.place else { continue };
            let back = self.found.iter().find(|(back, _)| back.place == BottleneckPlace::OneWay(b, a));
            let Some((back, back_total)) = back.filter(|_| a < b) else { continue };
            let half = there.pairs.len() / 2;
            let carried = |search: &BottleneckSearch, total: f64| total.min(search.apart(half));
            let sum = carried(there, *total) + carried(back, *back_total);
            // `across` pairs the same nodes in both directions.
            let back: Vec<NodePair> = there.pairs.iter().map(|&(from, to)| (to, from)).collect();
            let bottleneck = total.max(*back_total);
            self.searches.extend(BottleneckSearch::of_directions(there, &back, (sum, bottleneck), known));
        }
        self.total += self.searches.len();
    }

    fn conclude(&self, known: &mut Findings) {
        let shared = |found: &[(BottleneckSearch, f64)], a: usize, b: usize| {
            found.iter().any(|(search, _)| search.place == BottleneckPlace::BothWays(a.min(b), a.max(b)))
        };
        for (search, total) in &self.found {
            if matches!(search.place, BottleneckPlace::OneWay(a, b) if shared(&self.found, a, b)) {
                continue;
            }
            known.bottlenecks.push(Bottleneck {
                place: search.place.clone(),
                bytes_per_s: *total,
                spread: search.spread,
            });
        }
    }
}

/// Disjoint pairs of neighbours in a list.
fn couples(members: &[NodeId]) -> Vec<NodePair> {
    members.chunks_exact(2).take(MAX_PAIRS).map(|two| (two[0], two[1])).collect()
}

/// Disjoint pairs from one cluster to another.
fn across(known: &Findings, from: usize, to: usize) -> Vec<NodePair> {
    let (senders, receivers) = (by_host(known, &known.clusters[from]), by_host(known, &known.clusters[to]));
    senders.into_iter().zip(receivers).take(MAX_PAIRS).collect()
}

/// The nodes with one of each machine first, then the second ones, and so on.
fn by_host(known: &Findings, members: &[NodeId]) -> Vec<NodeId> {
    let mut ordered = members.to_vec();
    ordered.sort_by_key(|&node| (known.hosts.place(node), node));
    ordered
}

impl Stage for Bottlenecks {
    fn name(&self) -> &'static str {
        "pipes"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        loop {
            if clock.left(BUDGET_SHARE) <= 0.0 {
                known.untried_bottlenecks += self.searches.len();
                self.searches.clear();
                self.directions_tried = true;
            }
            let slice_s = clock.left(BUDGET_SHARE) / self.searches.len().max(1) as f64;
            let Some(search) = self.searches.front_mut() else {
                if !self.directions_tried {
                    self.try_directions(known);
                    continue;
                }
                self.conclude(known);
                return None;
            };
            if let Some((purpose, pairs)) = search.tests.pop_front() {
                self.purpose = purpose;
                if purpose == Purpose::FirstAlone || matches!(search.place, BottleneckPlace::BothWays(..)) {
                    let messages = TESTS * f64::from(MIN_SHORT_BURSTS * MIN_WINDOW);
                    let message_s = (slice_s / messages).clamp(MIN_MESSAGE_S, MESSAGE_S);
                    search.trial = trial(known, pairs[0], message_s);
                }
                let trials = vec![search.trial];
                let task = |(from, to): NodePair| Task { from, to, trials: trials.clone() };
                return Some(pairs.into_iter().map(task).collect());
            }
            let total = match search.place {
                BottleneckPlace::BothWays(..) => search.conclude_directions(),
                _ => search.conclude(),
            };
            if search.tests.is_empty() {
                self.done += 1;
                let search = self.searches.pop_front();
                self.found.extend(search.zip(total));
            }
        }
    }

    fn so_far(&self, known: &mut Findings) {
        self.conclude(known);
        known.untried_bottlenecks += self.searches.len();
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        let Some(search) = self.searches.front_mut() else { return };
        let rate = |(task, trials): (&Task, Vec<Samples>)| -> (f64, f64) {
            let mut bursts = trials.into_iter().next().unwrap_or_default();
            if bursts.seconds.len() >= MIN_SHORT_BURSTS as usize {
                bursts.seconds.pop();
                bursts.waited_s.pop();
            }
            let burst = usual(&bursts.settled().undisturbed().seconds);
            let round_trip_s = known.round_trip_s((task.from, task.to));
            // While a pair waits for its answer, the others may or may not use the bottleneck: half of the wait counts,
            // unless all wait at the same time.
            let is_in_step = burst.median < IN_STEP * round_trip_s;
            let busy_s = burst.median - if is_in_step { round_trip_s } else { round_trip_s / 2.0 };
            (task.trials[0].bytes_per_repeat() as f64 / busy_s, burst.spread())
        };
        let (rates, spreads): (Vec<f64>, Vec<f64>) = round.iter().zip(samples).map(rate).unzip();
        let total = rates.iter().sum();
        match self.purpose {
            Purpose::Together => {
                search.together.push((round.len(), total));
                search.spread = median(&spreads);
            }
            Purpose::FirstAlone | Purpose::OtherAlone => search.alone.push(total),
        }
    }
}
