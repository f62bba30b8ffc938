//! Stage 2, between clusters: each node sends or receives once, and all pairs are tried if those differ.
//!
//! One pair of clusters is screened after the other. Where there are too many for that, several are at the same time,
//! and what differs is confirmed alone, as always.

use super::pair_rounds::{groups_between, neighbours};
use super::screening::{burst_gap_s, is_exact, record, set_size, to_confirm};
use super::{Clock, Stage};
use crate::measure::experiment::{Round, Samples, Task, Trial};
use crate::measure::findings::{ClusterPair, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::screening::{
    ACROSS_BUDGET_SHARE, ALL_PAIRS_BUDGET_SHARE, BURST_ALONE_S, BURST_S, CONFIRMATIONS, CONFIRM_BUDGET_SHARE,
    EVERY_PAIR, REPEATS, ROUND_TRIPS, SIZING_BYTES, WINDOW,
};
use std::collections::VecDeque;

/// The purpose of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Sizing,
    Pass,
    /// The pairs that the pass left out.
    Rest,
    Confirm(u32),
}

pub struct ScreeningBetween {
    /// Ordered pairs of clusters, before the first round.
    cluster_pairs: Vec<ClusterPair>,
    /// Those that are screened at the same time, after the ones under way.
    groups: VecDeque<Vec<ClusterPair>>,
    group: Vec<ClusterPair>,
    purpose: Purpose,
    rounds: VecDeque<Vec<NodePair>>,
    done: usize,
    total: usize,
}

impl ScreeningBetween {
    pub fn new(known: &Findings) -> ScreeningBetween {
        let has_several = |&(from, to): &ClusterPair| {
            from != to && known.clusters[from].len() * known.clusters[to].len() > 1
        };
        let cluster_pairs: Vec<ClusterPair> = known.cluster_pairs().filter(has_several).collect();
        let total =
            cluster_pairs.iter().map(|&cluster_pair| neighbours(known, cluster_pair, 0).count()).sum();
        ScreeningBetween {
            cluster_pairs,
            groups: VecDeque::new(),
            group: Vec::new(),
            purpose: Purpose::Sizing,
            rounds: VecDeque::new(),
            done: 0,
            total,
        }
    }

    /// One pair of clusters at a time if `left_s` suffices for that.
    fn form_groups(&mut self, known: &Findings, left_s: f64) {
        let cluster_pairs = std::mem::take(&mut self.cluster_pairs);
        let least_s = |&cluster_pair: &ClusterPair| {
            let rounds = 1 + neighbours(known, cluster_pair, 0).count();
            let burst_s =
                known.round_trip_s(known.representative(cluster_pair)) + burst_s(known, cluster_pair);
            rounds as f64 * f64::from(REPEATS) * burst_s
        };
        self.groups = if cluster_pairs.iter().map(least_s).sum::<f64>() <= left_s {
            cluster_pairs.into_iter().map(|cluster_pair| vec![cluster_pair]).collect()
        } else {
            groups_between(known, &cluster_pairs).into()
        };
    }

    /// Starts the next purpose after the rounds of one.
    fn advance(&mut self, known: &mut Findings, clock: Clock) {
        match self.purpose {
            Purpose::Sizing => {
                self.purpose = Purpose::Pass;
                let steps = |&cluster_pair: &ClusterPair| neighbours(known, cluster_pair, 0).count();
                for step in 0..self.group.iter().map(steps).max().unwrap_or(0) {
                    let pair = |&cluster_pair: &ClusterPair| neighbours(known, cluster_pair, 0).nth(step);
                    let pairs: Vec<NodePair> = self.group.iter().filter_map(pair).collect();
                    self.rounds.extend(known.hosts.groups(&pairs));
                }
            }
            Purpose::Pass => {
                self.purpose = Purpose::Rest;
                for at in 0..self.group.len() {
                    self.try_rest(self.group[at], known, clock);
                }
            }
            Purpose::Rest => self.confirm(known, 1),
            Purpose::Confirm(times) => {
                let has_time = times < CONFIRMATIONS && clock.left(CONFIRM_BUDGET_SHARE) > 0.0;
                self.group.retain(|&cluster_pair| has_time && !is_exact(known, cluster_pair));
                self.confirm(known, times + 1);
            }
        }
    }

    /// The pairs between two clusters that the first pass left out, one at a time, if those it had differ.
    fn try_rest(&mut self, cluster_pair: ClusterPair, known: &Findings, clock: Clock) {
        if known.split_pairs(cluster_pair).outliers.is_empty() {
            return;
        }
        let is_small = known.pairs_of(cluster_pair).count() <= EVERY_PAIR * EVERY_PAIR;
        let before = self.rounds.len();
        let rest: Vec<NodePair> = if is_small && clock.left(ALL_PAIRS_BUDGET_SHARE) > 0.0 {
            known.pairs_of(cluster_pair).collect()
        } else {
            // Each node once more with another partner: a node is not slow because its only partner was.
            neighbours(known, cluster_pair, 1).collect()
        };
        let is_new = |pair: &NodePair| !known.large_gaps.contains_key(pair);
        self.rounds.extend(rest.into_iter().filter(is_new).map(|pair| vec![pair]));
        self.total += self.rounds.len() - before;
    }

    /// The pairs that differ, one at a time.
    fn confirm(&mut self, known: &Findings, times: u32) {
        self.purpose = Purpose::Confirm(times);
        let pairs: Vec<NodePair> =
            self.group.iter().flat_map(|&cluster_pair| to_confirm(known, cluster_pair)).collect();
        self.total += pairs.len();
        self.rounds.extend(pairs.into_iter().map(|pair| vec![pair]));
    }
}

fn burst_s(known: &Findings, cluster_pair: ClusterPair) -> f64 {
    let trip_s = known.round_trip_s(known.representative(cluster_pair));
    (ROUND_TRIPS * trip_s).clamp(BURST_ALONE_S, BURST_S)
}

impl Stage for ScreeningBetween {
    fn name(&self) -> &'static str {
        "screening"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        if !self.cluster_pairs.is_empty() {
            self.form_groups(known, clock.left(ACROSS_BUDGET_SHARE));
        }
        while self.rounds.is_empty() {
            if !self.group.is_empty() {
                self.advance(known, clock);
                continue;
            }
            if clock.left(ACROSS_BUDGET_SHARE) <= 0.0 {
                return None;
            }
            self.group = self.groups.pop_front()?;
            self.purpose = Purpose::Sizing;
            let pairs: Vec<NodePair> =
                self.group.iter().map(|&cluster_pair| known.representative(cluster_pair)).collect();
            self.rounds.extend(known.hosts.groups(&pairs));
        }
        let is_sizing = self.purpose == Purpose::Sizing;
        let task = |(from, to): NodePair| {
            let bytes =
                if is_sizing { SIZING_BYTES } else { known.large_bytes[&known.cluster_pair_of((from, to))] };
            Task { from, to, trials: vec![Trial::Burst { bytes, window: WINDOW, repeats: REPEATS }] }
        };
        self.rounds.pop_front().map(|pairs| pairs.into_iter().map(task).collect())
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        for (task, trials) in round.iter().zip(samples) {
            let pair = (task.from, task.to);
            let gap_s = burst_gap_s(known, pair, trials);
            if self.purpose == Purpose::Sizing {
                let cluster_pair = known.cluster_pair_of(pair);
                let burst_s = burst_s(known, cluster_pair);
                set_size(known, cluster_pair, gap_s, burst_s);
            } else {
                self.done += 1;
                record(known, pair, gap_s);
            }
        }
    }
}
