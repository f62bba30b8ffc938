//! Stage 2: one large message per pair.
//!
//! Equal latencies do not mean equal bandwidths. Before any table is measured, every ordered pair of a
//! cluster sends a few large messages; those that differ from the others are tried again, so that a
//! busy moment does not make a link. A cluster too large for that is tried in a few rounds of a tournament.
//! From one cluster to another each node sends or receives once, and all pairs are tried if those differ.
//!
//! After the tables, when some time has gone by, the pairs that still differ are tried a last time.
//!
//! A tournament's pairs run at the same time where they do not disturb each other. Whether they do is
//! tried out first: a round's pairs together, then some of them alone. Routes may meet in one round and not in
//! another, so the slowest pair of every round is tried alone as well, and if it was faster its round again.

use super::experiment::{Round, Samples, Task, Trial};
use super::findings::{Findings, Stretch};
use super::hosts::Pair;
use super::modes::usual;
use super::probe::{Clock, Stage};
use super::statistic::median;
use super::tournament;
use std::collections::{HashMap, VecDeque};

const WINDOW: u32 = 4;
const REPEATS: u32 = 3;
/// The message that tells how large a large message should be, and the time that a burst should take: of pairs one
/// at a time, less.
const SIZING_BYTES: u64 = 16 << 10;
const BURST_S: f64 = 0.01;
const BURST_ALONE_S: f64 = 0.005;
/// Between clusters it takes so many round trips, within these.
const ROUND_TRIPS: f64 = 2.0;
const LEAST_BYTES: u64 = 32 << 10;
const MOST_BYTES: u64 = 1 << 20;
/// Pairs disturb each other when one takes longer by more than this in company.
const DISTURBED: f64 = 0.15;
/// So many of a round's pairs are tried alone before any round is believed.
const FIRST_ALONE: usize = 4;
/// Clusters up to this size have every pair tried; larger ones as many rounds as that.
const EVERY_PAIR: usize = 24;
const ROUNDS_OF_LARGE: usize = 6;
/// How often pairs that differ are tried again; one pass in which they do not is enough to end that.
const CONFIRMATIONS: u32 = 3;
/// Once the visits of a pair differ by no more than this, relatively, more of them tell nothing.
const EXACT: f64 = 0.003;
/// Share of the time budget after which pairs are no longer tried again; after which not all pairs between two
/// clusters are tried, and after which none; and at the end, after the tables and the pipes.
const SHARE: f64 = 0.2;
const SHARE_OF_REST: f64 = 0.4;
const SHARE_ACROSS: f64 = 0.6;
const SHARE_AT_THE_END: f64 = 1.2;

/// Why a round is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Sizing,
    Together,
    Alone,
    Pass,
    /// The slowest pair of each round of a pass alone, and the rounds again in which one was slower.
    Slowest,
    Company,
    /// The pairs between two clusters that the first pass left out.
    Rest,
    Confirm(u32),
}

pub struct Screening {
    name: &'static str,
    /// Of two and more ordered pairs, still to do after the one under way.
    stretches: VecDeque<Stretch>,
    stretch: Option<Stretch>,
    purpose: Purpose,
    rounds: VecDeque<Vec<Pair>>,
    /// The rounds of several pairs that the pass was made of.
    ran: Vec<Vec<Pair>>,
    /// Gaps of the rounds that decide the size, and whether pairs disturb each other, seconds.
    sizing: Vec<f64>,
    together: HashMap<Pair, f64>,
    alone: HashMap<Pair, f64>,
    company: HashMap<Pair, f64>,
    done: usize,
    total: usize,
}

impl Screening {
    pub fn new(known: &Findings) -> Screening {
        let stretches: VecDeque<Stretch> =
            known.stretches().filter(|&stretch| known.pairs_of(stretch).nth(1).is_some()).collect();
        let total = stretches.iter().map(|&stretch| pass(known, stretch).concat().len()).sum();
        Screening { stretches, total, ..Screening::idle("screening") }
    }

    /// The last try of the pairs that differ.
    pub fn again(known: &Findings) -> Screening {
        let differ = |&stretch: &Stretch| !known.sorted_pairs(stretch).unlike.is_empty();
        let stretches = known.stretches().filter(differ).collect();
        Screening { stretches, ..Screening::idle("again") }
    }

    fn idle(name: &'static str) -> Screening {
        Screening {
            name,
            stretches: VecDeque::new(),
            stretch: None,
            purpose: Purpose::Sizing,
            rounds: VecDeque::new(),
            ran: Vec::new(),
            sizing: Vec::new(),
            together: HashMap::new(),
            alone: HashMap::new(),
            company: HashMap::new(),
            done: 0,
            total: 0,
        }
    }

    fn start(&mut self, stretch: Stretch, known: &Findings, clock: Clock) {
        self.stretch = Some(stretch);
        if self.name == "again" {
            self.purpose = Purpose::Confirm(CONFIRMATIONS);
            if clock.left(SHARE_AT_THE_END) > 0.0 {
                self.confirm(stretch, known, CONFIRMATIONS);
            }
            return;
        }
        self.purpose = Purpose::Sizing;
        self.sizing.clear();
        for gaps in [&mut self.together, &mut self.alone, &mut self.company] {
            gaps.clear();
        }
        self.ran.clear();
        if stretch.0 != stretch.1 {
            return self.rounds.push_back(vec![known.representative(stretch)]);
        }
        let members = &known.clusters[stretch.0];
        let last = members.len() - 1;
        // Three pairs, in case one of them is not like the others.
        let mut tried = vec![
            (members[0], members[last]),
            (members[last], members[last / 2]),
            (members[last / 2], members[0]),
        ];
        tried.retain(|(a, b)| a != b);
        self.rounds.extend(tried.into_iter().map(|pair| vec![pair]));
    }

    /// What follows once the rounds of one purpose are done.
    fn advance(&mut self, stretch: Stretch, known: &mut Findings, clock: Clock) {
        let is_inside = stretch.0 == stretch.1;
        match self.purpose {
            Purpose::Sizing => {
                let trips_s = ROUND_TRIPS * known.round_trip_s(known.representative(stretch));
                let burst_s = if is_inside { BURST_S } else { trips_s.clamp(BURST_ALONE_S, BURST_S) };
                self.set_size(stretch, known, burst_s);
                if !is_inside {
                    return self.start_pass(stretch, known);
                }
                self.purpose = Purpose::Together;
                let first = pass(known, stretch).swap_remove(0);
                let group = known.hosts.groups(&first).swap_remove(0);
                if group.len() > 1 {
                    self.rounds.push_back(group);
                }
            }
            Purpose::Together => {
                self.purpose = Purpose::Alone;
                let mut some: Vec<Pair> = self.together.keys().copied().collect();
                some.sort_unstable();
                self.rounds.extend(some.into_iter().take(FIRST_ALONE).map(|pair| vec![pair]));
            }
            Purpose::Alone => {
                let undisturbed = |(pair, &alone_s): (&Pair, &f64)| !is_slower(self.together[pair], alone_s);
                known.quiet[stretch.0] = !self.alone.is_empty() && self.alone.iter().all(undisturbed);
                if known.quiet[stretch.0] {
                    self.together.iter().for_each(|(&pair, &gap_s)| record(known, pair, gap_s));
                } else {
                    self.set_size(stretch, known, BURST_ALONE_S);
                }
                self.start_pass(stretch, known);
            }
            Purpose::Pass if is_inside && known.quiet[stretch.0] => {
                self.purpose = Purpose::Slowest;
                let gap_s = |pair: &Pair| known.large_gaps.get(pair).map_or(0.0, |passes| median(passes));
                let slowest =
                    |round: &Vec<Pair>| round.iter().copied().max_by(|a, b| gap_s(a).total_cmp(&gap_s(b)));
                self.rounds.extend(self.ran.iter().filter_map(slowest).map(|pair| vec![pair]));
                self.alone.clear();
            }
            Purpose::Slowest => {
                self.purpose = Purpose::Company;
                self.alone.retain(|pair, &mut alone_s| is_slower(median(&known.large_gaps[pair]), alone_s));
                let disturbed = |round: &&Vec<Pair>| round.iter().any(|pair| self.alone.contains_key(pair));
                self.rounds.extend(self.ran.iter().filter(disturbed).cloned());
            }
            Purpose::Company => {
                let again = |(pair, &alone_s): (&Pair, &f64)| is_slower(self.company[pair], alone_s);
                if self.alone.iter().any(again) {
                    known.quiet[stretch.0] = false;
                    let inside: Vec<Pair> = known.pairs_of(stretch).collect();
                    inside.iter().for_each(|pair| drop(known.large_gaps.remove(pair)));
                    self.set_size(stretch, known, BURST_ALONE_S);
                    self.start_pass(stretch, known);
                } else {
                    self.confirm(stretch, known, 1);
                }
            }
            Purpose::Pass if !is_inside && !known.sorted_pairs(stretch).unlike.is_empty() => {
                self.purpose = Purpose::Rest;
                let is_small = known.pairs_of(stretch).count() <= EVERY_PAIR * EVERY_PAIR;
                let before = self.rounds.len();
                let rest: Vec<Pair> = if is_small && clock.left(SHARE_OF_REST) > 0.0 {
                    known.pairs_of(stretch).collect()
                } else {
                    // Each node once more with another: who met only a slow one is not slow for that.
                    neighbours(known, stretch, 1).collect()
                };
                let is_new = |pair: &Pair| !known.large_gaps.contains_key(pair);
                self.rounds.extend(rest.into_iter().filter(is_new).map(|pair| vec![pair]));
                self.total += self.rounds.len() - before;
            }
            Purpose::Pass | Purpose::Rest => self.confirm(stretch, known, 1),
            Purpose::Confirm(times) => {
                let is_exact = known.visited_twice(stretch) && known.noise(stretch) <= EXACT;
                if times < CONFIRMATIONS && !is_exact && clock.left(SHARE) > 0.0 {
                    self.confirm(stretch, known, times + 1);
                } else {
                    self.stretch = None;
                }
            }
        }
    }

    /// A large message is one of which a burst takes about this long.
    fn set_size(&self, stretch: Stretch, known: &mut Findings, burst_s: f64) {
        let bytes_per_s = SIZING_BYTES as f64 / median(&self.sizing);
        let wanted = (bytes_per_s * burst_s / f64::from(WINDOW)) as u64;
        let power = wanted.max(1).ilog2();
        let bytes = (1u64 << power).clamp(LEAST_BYTES, MOST_BYTES).min(known.settings.largest_bytes);
        known.large_bytes.insert(stretch, bytes);
    }

    fn start_pass(&mut self, stretch: Stretch, known: &Findings) {
        self.purpose = Purpose::Pass;
        for mut round in pass(known, stretch) {
            round.retain(|pair| !known.large_gaps.contains_key(pair));
            self.rounds.extend(groups(known, stretch, &round));
        }
        self.ran = self.rounds.iter().filter(|round| round.len() > 1).cloned().collect();
        self.total = self.done + self.rounds.iter().map(Vec::len).sum::<usize>() + self.others(known);
    }

    fn confirm(&mut self, stretch: Stretch, known: &Findings, times: u32) {
        self.purpose = Purpose::Confirm(times);
        let mut pairs: Vec<Pair> =
            known.sorted_pairs(stretch).unlike.into_iter().map(|unlike| unlike.pair).collect();
        pairs.retain(|pair| known.large_gaps.contains_key(pair));
        self.total += pairs.len();
        self.rounds.extend(groups(known, stretch, &pairs));
    }

    /// Pairs of the stretches still to come.
    fn others(&self, known: &Findings) -> usize {
        self.stretches.iter().map(|&stretch| pass(known, stretch).concat().len()).sum()
    }
}

fn is_slower(in_company_s: f64, alone_s: f64) -> bool {
    in_company_s > (1.0 + DISTURBED) * alone_s
}

/// Rounds of disjoint ordered pairs. Inside a cluster each is there in one direction and then the other; between two
/// clusters every node takes part, and those of the smaller one several times.
pub fn pass(known: &Findings, (from, to): Stretch) -> Vec<Vec<Pair>> {
    let senders = &known.clusters[from];
    if from != to {
        return neighbours(known, (from, to), 0).map(|pair| vec![pair]).collect();
    }
    let mut rounds = tournament::rounds(senders.len());
    if senders.len() > EVERY_PAIR {
        rounds.truncate(ROUNDS_OF_LARGE);
    }
    let there = |round: &[(usize, usize)]| round.iter().map(|&(a, b)| (senders[a], senders[b])).collect();
    let back = |round: &[(usize, usize)]| round.iter().map(|&(a, b)| (senders[b], senders[a])).collect();
    rounds.iter().flat_map(|round| [there(round), back(round)]).collect()
}

/// Pairs from one cluster to another in which every node takes part, the receivers moved on by so many places.
fn neighbours(known: &Findings, (from, to): Stretch, moved: usize) -> impl Iterator<Item = Pair> + '_ {
    let (senders, receivers) = (&known.clusters[from], &known.clusters[to]);
    let count = senders.len().max(receivers.len());
    (0..count).map(move |at| (senders[at % senders.len()], receivers[(at + moved) % receivers.len()]))
}

/// The pairs of a stretch in groups that may run at the same time.
pub fn groups(known: &Findings, (from, to): Stretch, pairs: &[Pair]) -> Vec<Vec<Pair>> {
    if from == to && known.quiet[from] {
        known.hosts.groups(pairs)
    } else {
        pairs.iter().map(|&pair| vec![pair]).collect()
    }
}

fn record(known: &mut Findings, pair: Pair, gap_s: f64) {
    known.large_gaps.entry(pair).or_default().push(gap_s);
}

impl Stage for Screening {
    fn name(&self) -> &'static str {
        self.name
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        while self.rounds.is_empty() {
            match self.stretch {
                Some(stretch) => self.advance(stretch, known, clock),
                None => {
                    let stretch = self.stretches.pop_front()?;
                    if stretch.0 == stretch.1 || self.name == "again" || clock.left(SHARE_ACROSS) > 0.0 {
                        self.start(stretch, known, clock);
                    }
                }
            }
        }
        let bytes = match self.stretch {
            Some(stretch) if self.purpose != Purpose::Sizing => known.large_bytes[&stretch],
            _ => SIZING_BYTES,
        };
        let trials = vec![Trial::Burst { bytes, window: WINDOW, repeats: REPEATS }];
        let task = |(from, to): Pair| Task { from, to, trials: trials.clone() };
        self.rounds.pop_front().map(|pairs| pairs.into_iter().map(task).collect())
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        if matches!(self.purpose, Purpose::Pass | Purpose::Rest | Purpose::Confirm(_)) {
            self.done += round.len();
        }
        for (task, trials) in round.iter().zip(samples) {
            let pair = (task.from, task.to);
            let burst_s: Vec<f64> =
                trials.into_iter().flat_map(|samples| samples.settled().undisturbed().seconds).collect();
            let burst_s = match self.purpose {
                // What is seen in company must not be the one burst at which the others paused.
                Purpose::Together | Purpose::Company => usual(&burst_s).median,
                // Delays only add, and a few bursts are too few for their median to be free of them.
                _ => burst_s.iter().copied().fold(f64::INFINITY, f64::min),
            };
            // The answer and the way there are in the burst once; never less than a hundredth is left.
            let sending_s = (burst_s - known.round_trip_s(pair)).max(burst_s / 100.0);
            let gap_s = sending_s / f64::from(WINDOW);
            match self.purpose {
                Purpose::Sizing => self.sizing.push(gap_s),
                Purpose::Together => drop(self.together.insert(pair, gap_s)),
                Purpose::Company => drop(self.company.insert(pair, gap_s)),
                Purpose::Alone | Purpose::Slowest => drop(self.alone.insert(pair, gap_s)),
                Purpose::Pass | Purpose::Rest | Purpose::Confirm(_) => record(known, pair, gap_s),
            }
        }
    }
}
