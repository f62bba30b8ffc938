//! Stage 4: pipes that several links share.
//!
//! From one cluster to another, and among the nodes of a machine (whose links are its memory and its
//! processors) or of a cluster whose pairs disturb each other: one pair alone, then two and four disjoint
//! pairs at once, and twice as many until they are slower than so many times one pair or there are no more: then they
//! share a pipe, and the rate of them all is its total. Unless four are no faster than two, each is timed alone as
//! well before that is believed: the others might be slower pairs.
//!
//! The two directions between two clusters are two pipes, unless both are found and together carry less
//! than the two apart: then they are one.

use super::experiment::{Round, Samples, Task, Trial};
use super::findings::{Findings, Pipe, PipePlace};
use super::hosts::Pair;
use super::modes::usual;
use super::probe::{Clock, Stage};
use super::statistic::median;
use crate::platform::NodeId;
use std::collections::VecDeque;

/// Pairs at once that are always tried, where there are as many, and at most: a pipe that more cannot fill limits
/// nobody.
const PAIRS: [usize; 2] = [2, 4];
const MOST_PAIRS: usize = 64;
/// Pairs share a pipe when together they lose more than this share of what they carry apart.
const FALL: f64 = 0.15;
/// Two directions share a pipe when together they carry what nearer is to one of them than to both, and lose more
/// than this.
const FALL_OF_DIRECTIONS: f64 = 0.05;
/// One message takes about this long, within these sizes; where there are so many places that time would not do
/// for them all, less, but no less than this.
const MESSAGE_S: f64 = 0.005;
const LEAST_MESSAGE_S: f64 = 0.001;
/// Tests in a search, usually.
const TESTS: f64 = 4.0;
const LEAST_BYTES: u64 = 32 << 10;
const MOST_BYTES: u64 = 1 << 20;
/// A burst lasts that many round trips, so that waiting for its answer hardly counts, within these limits.
const ROUND_TRIPS: f64 = 12.0;
const LEAST_WINDOW: u32 = 8;
/// Where a window has no room for that, on a way of high rate and latency, pairs that have begun together wait for
/// their answers together, as long as a burst takes no more than so many round trips.
const IN_STEP: f64 = 6.0;
const MOST_WINDOW_BYTES: u64 = 32 << 20;
/// A test lasts about this long, in so many bursts.
const TEST_S: f64 = 0.1;
const FEWEST_BURSTS: u32 = 3;
/// The others may not have begun at the first burst, and may be through at the last, if bursts are so short.
const SHORT_BURST_S: f64 = 0.2;
const FEWEST_SHORT_BURSTS: u32 = 6;
const MOST_BURSTS: u32 = 30;
/// Past this share of the time budget, pipes are no longer looked for.
const SHARE: f64 = 1.3;

/// What a test adds to the search for a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    FirstAlone,
    Together,
    OtherAlone,
}

/// The search for one pipe.
struct Search {
    place: PipePlace,
    /// Disjoint, on different machines as far as there are such.
    pairs: Vec<Pair>,
    tests: VecDeque<(Purpose, Vec<Pair>)>,
    trial: Trial,
    /// bytes/s of each pair alone, in order of `pairs`.
    alone: Vec<f64>,
    /// bytes/s of 2, of 4 and of more pairs together.
    together: Vec<(usize, f64)>,
    /// Interquartile range of the last of them, relatively.
    spread: f64,
}

impl Search {
    fn new(place: PipePlace, pairs: Vec<Pair>, known: &Findings) -> Search {
        let first = pairs[0];
        let mut tests = VecDeque::from([(Purpose::FirstAlone, vec![first])]);
        for count in PAIRS {
            if count <= pairs.len() {
                tests.push_back((Purpose::Together, pairs[..count].to_vec()));
            }
        }
        let trial = trial(known, first, MESSAGE_S);
        Search { place, pairs, tests, trial, alone: Vec::new(), together: Vec::new(), spread: 0.0 }
    }

    /// Both directions at once, half of the pairs each; `carried` is what the pairs carry with one direction
    /// at a time, and `pipe` what the fuller direction carries, bytes/s.
    fn of_directions(
        there: &Search,
        back: &[Pair],
        (carried, pipe): (f64, f64),
        known: &Findings,
    ) -> Option<Search> {
        let PipePlace::OneWay(a, b) = there.place else { return None };
        let half = there.pairs.len() / 2;
        // The second half of the nodes sends back, so that no node does both.
        let pairs: Vec<Pair> = there.pairs[..half].iter().chain(&back[half..2 * half]).copied().collect();
        let tests = VecDeque::from([(Purpose::Together, pairs.clone())]);
        let place = PipePlace::BothWays(a.min(b), a.max(b));
        let trial = trial(known, pairs[0], MESSAGE_S);
        let alone = vec![carried, pipe];
        Some(Search { place, pairs, tests, trial, alone, together: Vec::new(), spread: 0.0 })
    }

    /// The total of the pipe that two directions share, bytes/s: what they carry together, or one of them alone if that
    /// is more, since half of the pairs each may not fill it.
    fn conclude_directions(&self) -> Option<f64> {
        let (total, carried, pipe) = (self.together[0].1, self.alone[0], self.alone[1]);
        let is_shared = total < (carried * pipe).sqrt() && total < (1.0 - FALL_OF_DIRECTIONS) * carried;
        is_shared.then_some(total.max(pipe))
    }

    /// What the first pairs carry one at a time, in all, bytes/s; those not timed alone count as the first.
    fn apart(&self, count: usize) -> f64 {
        (0..count).map(|pair| self.alone.get(pair).unwrap_or(&self.alone[0])).sum()
    }

    fn fell(&self, count: usize, total: f64) -> bool {
        total < (1.0 - FALL) * self.apart(count)
    }

    /// The pipe's total once the tests are done, bytes/s; `None` while more tests are needed (they are
    /// queued) or if there is no pipe.
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
        // As much with four pairs as with two: that is the pipe. If it still grows, it may be slow pairs.
        let levelled = self.together.len() > 1 && {
            let (two, four) = (self.together[0].1, self.together[1].1);
            self.fell(2, two) && four < (1.0 + FALL) * two
        };
        if !levelled && self.alone.len() < count {
            let others = &self.pairs[self.alone.len()..count];
            self.tests.extend(others.iter().map(|&pair| (Purpose::OtherAlone, vec![pair])));
            return None;
        }
        Some(total)
    }
}

/// A burst long enough for its place in the network, of messages that take about so long.
fn trial(known: &Findings, pair: Pair, message_s: f64) -> Trial {
    let (from, to) = pair;
    // Between clusters the pair's own table is there; inside one, any table of the cluster will do.
    let inside = known
        .tables
        .iter()
        .find(|(other, _)| known.cluster_of[other.0.index()] == known.cluster_of[from.index()]);
    let across = known.tables.get(&known.representative(known.stretch_of((from, to))));
    let table = across.or(inside.map(|(_, table)| table));
    let gap_s = |bytes: u64| table.map_or(0.0, |table| table.at(bytes).gap_s);
    let mut bytes = MOST_BYTES;
    while bytes > LEAST_BYTES && gap_s(bytes) > 2.0 * message_s {
        bytes /= 2;
    }
    let one_s = gap_s(bytes).max(1e-6);
    let window = (ROUND_TRIPS * known.round_trip_s(pair) / one_s).min(f64::from(u32::MAX)) as u32;
    let window = window.clamp(LEAST_WINDOW, (MOST_WINDOW_BYTES / bytes) as u32);
    let burst_s = one_s * f64::from(window);
    let fewest = if burst_s < SHORT_BURST_S { FEWEST_SHORT_BURSTS } else { FEWEST_BURSTS };
    Trial::Burst { bytes, window, repeats: ((TEST_S / burst_s) as u32).clamp(fewest, MOST_BURSTS) }
}

pub struct Pipes {
    searches: VecDeque<Search>,
    found: Vec<(Search, f64)>,
    purpose: Purpose,
    directions_tried: bool,
    done: usize,
    total: usize,
}

impl Pipes {
    pub fn new(known: &Findings) -> Pipes {
        let mut searches = VecDeque::new();
        let mut add = |place, pairs: Vec<Pair>| {
            if pairs.len() > 1 {
                searches.push_back(Search::new(place, pairs, known));
            }
        };
        for (host, members) in known.hosts.members().iter().enumerate() {
            add(PipePlace::InsideHost(host), couples(members));
        }
        for (cluster, members) in known.clusters.iter().enumerate() {
            let in_one_host = members.iter().all(|&node| known.hosts.together(node, members[0]));
            if !known.quiet[cluster] && !in_one_host {
                add(PipePlace::InsideCluster(cluster), couples(&by_host(known, members)));
            }
        }
        for from in 0..known.clusters.len() {
            for to in (0..known.clusters.len()).filter(|&to| to != from) {
                add(PipePlace::OneWay(from, to), across(known, from, to));
            }
        }
        let total = searches.len();
        Pipes {
            searches,
            found: Vec::new(),
            purpose: Purpose::FirstAlone,
            directions_tried: false,
            done: 0,
            total,
        }
    }

    /// The searches for pipes that both directions between two clusters share.
    fn try_directions(&mut self, known: &Findings) {
        self.directions_tried = true;
        for (there, total) in &self.found {
            let PipePlace::OneWay(a, b) = there.place else { continue };
            let back = self.found.iter().find(|(back, _)| back.place == PipePlace::OneWay(b, a));
            let Some((back, back_total)) = back.filter(|_| a < b) else { continue };
            let half = there.pairs.len() / 2;
            let carried = |search: &Search, total: f64| total.min(search.apart(half));
            let sum = carried(there, *total) + carried(back, *back_total);
            // `across` pairs the same nodes in both directions.
            let back: Vec<Pair> = there.pairs.iter().map(|&(from, to)| (to, from)).collect();
            let pipe = total.max(*back_total);
            self.searches.extend(Search::of_directions(there, &back, (sum, pipe), known));
        }
        self.total += self.searches.len();
    }

    fn conclude(&self, known: &mut Findings) {
        let shared = |found: &[(Search, f64)], a: usize, b: usize| {
            found.iter().any(|(search, _)| search.place == PipePlace::BothWays(a.min(b), a.max(b)))
        };
        for (search, total) in &self.found {
            if matches!(search.place, PipePlace::OneWay(a, b) if shared(&self.found, a, b)) {
                continue;
            }
            known.pipes.push(Pipe {
                place: search.place.clone(),
                bytes_per_s: *total,
                spread: search.spread,
            });
        }
    }
}

/// Disjoint pairs of neighbours in a list.
fn couples(members: &[NodeId]) -> Vec<Pair> {
    members.chunks_exact(2).take(MOST_PAIRS).map(|two| (two[0], two[1])).collect()
}

/// Disjoint pairs from one cluster to another.
fn across(known: &Findings, from: usize, to: usize) -> Vec<Pair> {
    let (senders, receivers) = (by_host(known, &known.clusters[from]), by_host(known, &known.clusters[to]));
    senders.into_iter().zip(receivers).take(MOST_PAIRS).collect()
}

/// The nodes with one of each machine first, then the second ones, and so on.
fn by_host(known: &Findings, members: &[NodeId]) -> Vec<NodeId> {
    let mut ordered = members.to_vec();
    ordered.sort_by_key(|&node| (known.hosts.place(node), node));
    ordered
}

impl Stage for Pipes {
    fn name(&self) -> &'static str {
        "pipes"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        loop {
            if clock.left(SHARE) <= 0.0 {
                known.untried_pipes += self.searches.len();
                self.searches.clear();
                self.directions_tried = true;
            }
            let slice_s = clock.left(SHARE) / self.searches.len().max(1) as f64;
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
                if purpose == Purpose::FirstAlone || matches!(search.place, PipePlace::BothWays(..)) {
                    let messages = TESTS * f64::from(FEWEST_SHORT_BURSTS * LEAST_WINDOW);
                    let message_s = (slice_s / messages).clamp(LEAST_MESSAGE_S, MESSAGE_S);
                    search.trial = trial(known, pairs[0], message_s);
                }
                let trials = vec![search.trial];
                let task = |(from, to): Pair| Task { from, to, trials: trials.clone() };
                return Some(pairs.into_iter().map(task).collect());
            }
            let total = match search.place {
                PipePlace::BothWays(..) => search.conclude_directions(),
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
        known.untried_pipes += self.searches.len();
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        let Some(search) = self.searches.front_mut() else { return };
        let rate = |(task, trials): (&Task, Vec<Samples>)| -> (f64, f64) {
            let mut bursts = trials.into_iter().next().unwrap_or_default();
            if bursts.seconds.len() >= FEWEST_SHORT_BURSTS as usize {
                bursts.seconds.pop();
                bursts.waited_s.pop();
            }
            let burst = usual(&bursts.settled().undisturbed().seconds);
            let round_trip_s = known.round_trip_s((task.from, task.to));
            // While a pair waits for its answer, the others may or may not use the pipe: half of that counts, unless
            // all wait at the same time.
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
