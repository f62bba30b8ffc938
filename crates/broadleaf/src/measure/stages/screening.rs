//! Stage 2: one large message per pair.
//!
//! Equal latencies do not mean equal bandwidths. Before any table is measured, every ordered pair of a cluster sends a
//! few large messages; those that differ from the others are timed again, so that a transient load does not become a
//! slow link. For a cluster too large for that, a few rounds of a tournament are run. `screening_between` has the pairs
//! from one cluster to another.
//!
//! After the tables, some time later, the pairs that still differ are timed a last time.
//!
//! A tournament's pairs run at the same time where they do not disturb each other. This is tested first: a round's
//! pairs together, then some of them alone. Routes may overlap in one round and not in another, so the slowest pair of
//! every round is timed alone as well; if it is faster alone, its round is run again.

use super::pair_rounds::{concurrent_groups, covering_rounds};
use super::{Clock, Stage};
use crate::measure::delay_modes::usual;
use crate::measure::experiment::{Round, Samples, Task, Trial};
use crate::measure::findings::{ClusterPair, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::screening::{
    BURST_ALONE_S, BURST_S, CONFIRMATIONS, CONFIRM_BUDGET_SHARE, DISTURBED, EXACT, FIRST_ALONE,
    LAST_BUDGET_SHARE, MAX_BYTES, MIN_BYTES, REPEATS, SIZING_BYTES, WINDOW,
};
use crate::measure::statistics::median;
use std::collections::{HashMap, VecDeque};

/// The purpose of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Sizing,
    Together,
    Alone,
    Pass,
    /// The slowest pair of each round of a pass alone, and the rounds again in which one was slower.
    Slowest,
    Company,
    Confirm(u32),
}

pub struct Screening {
    name: &'static str,
    /// Of two and more ordered pairs, still to do after the one under way.
    cluster_pairs: VecDeque<ClusterPair>,
    cluster_pair: Option<ClusterPair>,
    purpose: Purpose,
    rounds: VecDeque<Vec<NodePair>>,
    /// The rounds of several pairs in the pass.
    ran: Vec<Vec<NodePair>>,
    /// Gaps of the rounds that decide the size, and whether pairs disturb each other, seconds.
    sizing: Vec<f64>,
    together: HashMap<NodePair, f64>,
    alone: HashMap<NodePair, f64>,
    company: HashMap<NodePair, f64>,
    done: usize,
    total: usize,
}

impl Screening {
    pub fn new(known: &Findings) -> Screening {
        let is_inside = |&(from, to): &ClusterPair| from == to && known.clusters[from].len() > 1;
        let cluster_pairs: VecDeque<ClusterPair> = known.cluster_pairs().filter(is_inside).collect();
        let total = cluster_pairs
            .iter()
            .map(|&cluster_pair| covering_rounds(known, cluster_pair).concat().len())
            .sum();
        Screening { cluster_pairs, total, ..Screening::idle("screening") }
    }

    /// The last visit of the pairs that differ.
    pub fn again(known: &Findings) -> Screening {
        let differ = |&cluster_pair: &ClusterPair| !known.split_pairs(cluster_pair).outliers.is_empty();
        let cluster_pairs = known.cluster_pairs().filter(differ).collect();
        Screening { cluster_pairs, ..Screening::idle("again") }
    }

    fn idle(name: &'static str) -> Screening {
        Screening {
            name,
            cluster_pairs: VecDeque::new(),
            cluster_pair: None,
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

    fn start(&mut self, cluster_pair: ClusterPair, known: &Findings, clock: Clock) {
        self.cluster_pair = Some(cluster_pair);
        if self.name == "again" {
            self.purpose = Purpose::Confirm(CONFIRMATIONS);
            if clock.left(LAST_BUDGET_SHARE) > 0.0 {
                self.confirm(cluster_pair, known, CONFIRMATIONS);
            }
            return;
        }
        self.purpose = Purpose::Sizing;
        self.sizing.clear();
        for gaps in [&mut self.together, &mut self.alone, &mut self.company] {
            gaps.clear();
        }
        self.ran.clear();
        let members = &known.clusters[cluster_pair.0];
        let last = members.len() - 1;
        // Three pairs, in case one of them is an outlier.
        let mut tried = vec![
            (members[0], members[last]),
            (members[last], members[last / 2]),
            (members[last / 2], members[0]),
        ];
        tried.retain(|(a, b)| a != b);
        self.rounds.extend(tried.into_iter().map(|pair| vec![pair]));
    }

    /// Starts the next purpose after the rounds of one.
    fn advance(&mut self, cluster_pair: ClusterPair, known: &mut Findings, clock: Clock) {
        match self.purpose {
            Purpose::Sizing => {
                set_size(known, cluster_pair, median(&self.sizing), BURST_S);
                self.try_together(cluster_pair, known);
            }
            Purpose::Together => {
                self.purpose = Purpose::Alone;
                let mut some: Vec<NodePair> = self.together.keys().copied().collect();
                some.sort_unstable();
                self.rounds.extend(some.into_iter().take(FIRST_ALONE).map(|pair| vec![pair]));
            }
            Purpose::Alone => {
                let undisturbed =
                    |(pair, &alone_s): (&NodePair, &f64)| !is_slower(self.together[pair], alone_s);
                known.independent[cluster_pair.0] =
                    !self.alone.is_empty() && self.alone.iter().all(undisturbed);
                if known.independent[cluster_pair.0] {
                    self.together.iter().for_each(|(&pair, &gap_s)| record(known, pair, gap_s));
                } else {
                    set_size(known, cluster_pair, median(&self.sizing), BURST_ALONE_S);
                }
                self.start_pass(cluster_pair, known);
            }
            Purpose::Pass if known.independent[cluster_pair.0] => self.try_slowest(known),
            Purpose::Slowest => {
                self.purpose = Purpose::Company;
                self.alone.retain(|pair, &mut alone_s| is_slower(median(&known.large_gaps[pair]), alone_s));
                let disturbed =
                    |round: &&Vec<NodePair>| round.iter().any(|pair| self.alone.contains_key(pair));
                self.rounds.extend(self.ran.iter().filter(disturbed).cloned());
            }
            Purpose::Company => {
                let again = |(pair, &alone_s): (&NodePair, &f64)| is_slower(self.company[pair], alone_s);
                if self.alone.iter().any(again) {
                    self.restart_one_at_a_time(cluster_pair, known);
                } else {
                    self.confirm(cluster_pair, known, 1);
                }
            }
            Purpose::Pass => self.confirm(cluster_pair, known, 1),
            Purpose::Confirm(times) => {
                if times < CONFIRMATIONS
                    && !is_exact(known, cluster_pair)
                    && clock.left(CONFIRM_BUDGET_SHARE) > 0.0
                {
                    self.confirm(cluster_pair, known, times + 1);
                } else {
                    self.cluster_pair = None;
                }
            }
        }
    }

    /// The pairs of one round at the same time.
    fn try_together(&mut self, cluster_pair: ClusterPair, known: &Findings) {
        self.purpose = Purpose::Together;
        let first = covering_rounds(known, cluster_pair).swap_remove(0);
        let group = known.hosts.groups(&first).swap_remove(0);
        if group.len() > 1 {
            self.rounds.push_back(group);
        }
    }

    /// The slowest pair of each round that ran together, alone.
    fn try_slowest(&mut self, known: &Findings) {
        self.purpose = Purpose::Slowest;
        let gap_s = |pair: &NodePair| known.large_gaps.get(pair).map_or(0.0, |passes| median(passes));
        let slowest =
            |round: &Vec<NodePair>| round.iter().copied().max_by(|a, b| gap_s(a).total_cmp(&gap_s(b)));
        self.rounds.extend(self.ran.iter().filter_map(slowest).map(|pair| vec![pair]));
        self.alone.clear();
    }

    /// The cluster's pairs disturb each other: their concurrent times are dropped.
    fn restart_one_at_a_time(&mut self, cluster_pair: ClusterPair, known: &mut Findings) {
        known.independent[cluster_pair.0] = false;
        let inside: Vec<NodePair> = known.pairs_of(cluster_pair).collect();
        inside.iter().for_each(|pair| drop(known.large_gaps.remove(pair)));
        set_size(known, cluster_pair, median(&self.sizing), BURST_ALONE_S);
        self.start_pass(cluster_pair, known);
    }

    fn start_pass(&mut self, cluster_pair: ClusterPair, known: &Findings) {
        self.purpose = Purpose::Pass;
        for mut round in covering_rounds(known, cluster_pair) {
            round.retain(|pair| !known.large_gaps.contains_key(pair));
            self.rounds.extend(concurrent_groups(known, cluster_pair, &round));
        }
        self.ran = self.rounds.iter().filter(|round| round.len() > 1).cloned().collect();
        self.total = self.done + self.rounds.iter().map(Vec::len).sum::<usize>() + self.others(known);
    }

    fn confirm(&mut self, cluster_pair: ClusterPair, known: &Findings, times: u32) {
        self.purpose = Purpose::Confirm(times);
        let pairs = to_confirm(known, cluster_pair);
        self.total += pairs.len();
        self.rounds.extend(concurrent_groups(known, cluster_pair, &pairs));
    }

    /// Node pairs still to come.
    fn others(&self, known: &Findings) -> usize {
        self.cluster_pairs
            .iter()
            .map(|&cluster_pair| covering_rounds(known, cluster_pair).concat().len())
            .sum()
    }
}

/// A large message is one of which a burst takes about this long.
pub fn set_size(known: &mut Findings, cluster_pair: ClusterPair, sizing_gap_s: f64, burst_s: f64) {
    let bytes_per_s = SIZING_BYTES as f64 / sizing_gap_s;
    let wanted = (bytes_per_s * burst_s / f64::from(WINDOW)) as u64;
    let power = wanted.max(1).ilog2();
    let bytes = (1u64 << power).clamp(MIN_BYTES, MAX_BYTES).min(known.settings.largest_bytes);
    known.large_bytes.insert(cluster_pair, bytes);
}

/// The pairs that were timed and differ.
pub fn to_confirm(known: &Findings, cluster_pair: ClusterPair) -> Vec<NodePair> {
    let outliers = known.split_pairs(cluster_pair).outliers.into_iter().map(|outlier| outlier.pair);
    outliers.filter(|pair| known.large_gaps.contains_key(pair)).collect()
}

/// Whether a further visit of the pairs that differ would add nothing.
pub fn is_exact(known: &Findings, cluster_pair: ClusterPair) -> bool {
    known.visited_twice(cluster_pair) && known.noise(cluster_pair) <= EXACT
}

pub fn is_slower(in_company_s: f64, alone_s: f64) -> bool {
    in_company_s > (1.0 + DISTURBED) * alone_s
}

/// Seconds a message in bursts of [`WINDOW`], of the fastest burst: delays only add, and the median of a few bursts may
/// include one.
pub fn burst_gap_s(known: &Findings, pair: NodePair, trials: Vec<Samples>) -> f64 {
    let bursts = trials.into_iter().flat_map(|samples| samples.settled().undisturbed().seconds);
    gap_in_s(known, pair, bursts.fold(f64::INFINITY, f64::min))
}

/// A burst includes one round trip; at least a hundredth of it is kept.
fn gap_in_s(known: &Findings, pair: NodePair, burst_s: f64) -> f64 {
    (burst_s - known.round_trip_s(pair)).max(burst_s / 100.0) / f64::from(WINDOW)
}

pub fn record(known: &mut Findings, pair: NodePair, gap_s: f64) {
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
            match self.cluster_pair {
                Some(cluster_pair) => self.advance(cluster_pair, known, clock),
                None => {
                    let cluster_pair = self.cluster_pairs.pop_front()?;
                    self.start(cluster_pair, known, clock);
                }
            }
        }
        let bytes = match self.cluster_pair {
            Some(cluster_pair) if self.purpose != Purpose::Sizing => known.large_bytes[&cluster_pair],
            _ => SIZING_BYTES,
        };
        let trials = vec![Trial::Burst { bytes, window: WINDOW, repeats: REPEATS }];
        let task = |(from, to): NodePair| Task { from, to, trials: trials.clone() };
        self.rounds.pop_front().map(|pairs| pairs.into_iter().map(task).collect())
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        if matches!(self.purpose, Purpose::Pass | Purpose::Confirm(_)) {
            self.done += round.len();
        }
        for (task, trials) in round.iter().zip(samples) {
            let pair = (task.from, task.to);
            let gap_s = match self.purpose {
                // The time in company must not be from the one burst during which the others paused.
                Purpose::Together | Purpose::Company => {
                    let bursts = trials.into_iter().flat_map(|all| all.settled().undisturbed().seconds);
                    gap_in_s(known, pair, usual(&bursts.collect::<Vec<f64>>()).median)
                }
                _ => burst_gap_s(known, pair, trials),
            };
            match self.purpose {
                Purpose::Sizing => self.sizing.push(gap_s),
                Purpose::Together => drop(self.together.insert(pair, gap_s)),
                Purpose::Company => drop(self.company.insert(pair, gap_s)),
                Purpose::Alone | Purpose::Slowest => drop(self.alone.insert(pair, gap_s)),
                Purpose::Pass | Purpose::Confirm(_) => record(known, pair, gap_s),
            }
        }
    }
}
