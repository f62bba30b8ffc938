//! Stage 2: inside each cluster, one large message per pair.
//!
//! Equal latencies do not mean equal bandwidths. Before any table is measured, every ordered pair of a
//! cluster sends a few large messages; those that differ from the others are tried again, so that a
//! busy moment does not make a link. A cluster too large for that is tried in a few rounds of a tournament.
//!
//! After the tables, when some time has gone by, the pairs that still differ are tried a last time.
//!
//! A tournament's pairs run at the same time where they do not disturb each other. Whether they do is
//! tried out first: a round's pairs together, then two of them alone.

use super::experiment::{Round, Samples, Task, Trial};
use super::findings::Findings;
use super::hosts::Pair;
use super::modes::usual;
use super::probe::{Clock, Stage};
use super::statistic::median;
use super::tournament;
use crate::platform::NodeId;
use std::collections::{HashMap, VecDeque};

const WINDOW: u32 = 4;
const REPEATS: u32 = 3;
/// The message that tells how large a large message should be, and the time that a burst should take.
const SIZING_BYTES: u64 = 16 << 10;
const BURST_S: f64 = 0.02;
const LEAST_BYTES: u64 = 32 << 10;
const MOST_BYTES: u64 = 1 << 20;
/// Pairs disturb each other when one takes longer by more than this in company.
const DISTURBED: f64 = 0.15;
/// Clusters up to this size have every pair tried; larger ones as many rounds as that.
const EVERY_PAIR: usize = 24;
const ROUNDS_OF_LARGE: usize = 6;
/// How often pairs that differ are tried again; one pass in which they do not is enough to end that.
const CONFIRMATIONS: u32 = 3;

/// Why a round is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Sizing,
    Together,
    Alone,
    Pass,
    Confirm(u32),
}

pub struct Screening {
    name: &'static str,
    /// Clusters of two and more nodes, still to do after the one under way.
    clusters: VecDeque<usize>,
    cluster: Option<usize>,
    purpose: Purpose,
    rounds: VecDeque<Vec<Pair>>,
    /// Gaps of the rounds that decide the size, and whether pairs disturb each other, seconds.
    sizing: Vec<f64>,
    together: HashMap<Pair, f64>,
    alone: HashMap<Pair, f64>,
    done: usize,
    total: usize,
}

impl Screening {
    pub fn new(known: &Findings) -> Screening {
        let clusters: VecDeque<usize> =
            (0..known.clusters.len()).filter(|&cluster| known.clusters[cluster].len() > 1).collect();
        let total = clusters.iter().map(|&cluster| passes(&known.clusters[cluster]).concat().len()).sum();
        Screening { clusters, total, ..Screening::idle("screening") }
    }

    /// The last try of the pairs that differ.
    pub fn again(known: &Findings) -> Screening {
        let differ = |&cluster: &usize| !known.sorted_pairs(cluster).unlike.is_empty();
        let clusters = (0..known.clusters.len()).filter(differ).collect();
        Screening { clusters, ..Screening::idle("again") }
    }

    fn idle(name: &'static str) -> Screening {
        Screening {
            name,
            clusters: VecDeque::new(),
            cluster: None,
            purpose: Purpose::Sizing,
            rounds: VecDeque::new(),
            sizing: Vec::new(),
            together: HashMap::new(),
            alone: HashMap::new(),
            done: 0,
            total: 0,
        }
    }

    fn start(&mut self, cluster: usize, known: &Findings) {
        self.cluster = Some(cluster);
        if self.name == "again" {
            return self.confirm(cluster, known, CONFIRMATIONS);
        }
        self.purpose = Purpose::Sizing;
        self.sizing.clear();
        self.together.clear();
        self.alone.clear();
        let members = &known.clusters[cluster];
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
    fn advance(&mut self, cluster: usize, known: &mut Findings) {
        let members = known.clusters[cluster].clone();
        match self.purpose {
            Purpose::Sizing => {
                let bytes_per_s = SIZING_BYTES as f64 / median(&self.sizing);
                let wanted = (bytes_per_s * BURST_S / f64::from(WINDOW)) as u64;
                let power = wanted.max(1).ilog2();
                known.large_bytes[cluster] =
                    (1u64 << power).clamp(LEAST_BYTES, MOST_BYTES).min(known.settings.largest_bytes);
                self.purpose = Purpose::Together;
                let first = passes(&members).swap_remove(0);
                let group = known.hosts.groups(&first).swap_remove(0);
                if group.len() > 1 {
                    self.rounds.push_back(group);
                }
            }
            Purpose::Together => {
                self.purpose = Purpose::Alone;
                let mut two: Vec<Pair> = self.together.keys().copied().collect();
                two.sort_unstable();
                self.rounds.extend(two.into_iter().take(2).map(|pair| vec![pair]));
            }
            Purpose::Alone => {
                let undisturbed =
                    |(pair, alone_s): (&Pair, &f64)| self.together[pair] <= (1.0 + DISTURBED) * alone_s;
                known.quiet[cluster] = !self.alone.is_empty() && self.alone.iter().all(undisturbed);
                if known.quiet[cluster] {
                    self.together.iter().for_each(|(&pair, &gap_s)| record(known, pair, gap_s));
                }
                self.purpose = Purpose::Pass;
                for mut round in passes(&members) {
                    round.retain(|pair| !known.large_gaps.contains_key(pair));
                    self.rounds.extend(groups(known, cluster, &round));
                }
                self.total = self.done + self.rounds.iter().map(Vec::len).sum::<usize>() + self.others(known);
            }
            Purpose::Pass => self.confirm(cluster, known, 1),
            Purpose::Confirm(times) if times < CONFIRMATIONS => self.confirm(cluster, known, times + 1),
            Purpose::Confirm(_) => self.cluster = None,
        }
    }

    fn confirm(&mut self, cluster: usize, known: &Findings, times: u32) {
        self.purpose = Purpose::Confirm(times);
        let mut pairs: Vec<Pair> =
            known.sorted_pairs(cluster).unlike.into_iter().map(|unlike| unlike.pair).collect();
        pairs.retain(|pair| known.large_gaps.contains_key(pair));
        self.total += pairs.len();
        self.rounds.extend(groups(known, cluster, &pairs));
    }

    /// Pairs of the clusters still to come.
    fn others(&self, known: &Findings) -> usize {
        self.clusters.iter().map(|&cluster| passes(&known.clusters[cluster]).concat().len()).sum()
    }
}

/// Rounds of disjoint ordered pairs, each in one direction and then the other.
pub fn passes(members: &[NodeId]) -> Vec<Vec<Pair>> {
    let mut rounds = tournament::rounds(members.len());
    if members.len() > EVERY_PAIR {
        rounds.truncate(ROUNDS_OF_LARGE);
    }
    let there = |round: &[(usize, usize)]| round.iter().map(|&(a, b)| (members[a], members[b])).collect();
    let back = |round: &[(usize, usize)]| round.iter().map(|&(a, b)| (members[b], members[a])).collect();
    rounds.iter().flat_map(|round| [there(round), back(round)]).collect()
}

/// The pairs of a cluster in groups that may run at the same time.
pub fn groups(known: &Findings, cluster: usize, pairs: &[Pair]) -> Vec<Vec<Pair>> {
    if known.quiet[cluster] {
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

    fn next(&mut self, known: &mut Findings, _clock: Clock) -> Option<Round> {
        while self.rounds.is_empty() {
            match self.cluster {
                Some(cluster) => self.advance(cluster, known),
                None => {
                    let cluster = self.clusters.pop_front()?;
                    self.start(cluster, known);
                }
            }
        }
        let bytes = match self.cluster {
            Some(cluster) if self.purpose != Purpose::Sizing => known.large_bytes[cluster],
            _ => SIZING_BYTES,
        };
        let trials = vec![Trial::Burst { bytes, window: WINDOW, repeats: REPEATS }];
        let task = |(from, to): Pair| Task { from, to, trials: trials.clone() };
        self.rounds.pop_front().map(|pairs| pairs.into_iter().map(task).collect())
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        if matches!(self.purpose, Purpose::Pass | Purpose::Confirm(_)) {
            self.done += round.len();
        }
        for (task, trials) in round.iter().zip(samples) {
            let pair = (task.from, task.to);
            let burst_s: Vec<f64> =
                trials.into_iter().flat_map(|samples| samples.settled().undisturbed().seconds).collect();
            let burst_s = match self.purpose {
                // What is seen in company must not be the one burst at which the others paused.
                Purpose::Together => usual(&burst_s).median,
                // Delays only add, and a few bursts are too few for their median to be free of them.
                _ => burst_s.iter().copied().fold(f64::INFINITY, f64::min),
            };
            // The answer and the way there are in the burst once; never less than a hundredth is left.
            let sending_s = (burst_s - known.round_trip_s(pair)).max(burst_s / 100.0);
            let gap_s = sending_s / f64::from(WINDOW);
            match self.purpose {
                Purpose::Sizing => self.sizing.push(gap_s),
                Purpose::Together => {
                    self.together.insert(pair, gap_s);
                }
                Purpose::Alone => {
                    self.alone.insert(pair, gap_s);
                }
                Purpose::Pass | Purpose::Confirm(_) => record(known, pair, gap_s),
            }
        }
    }
}
