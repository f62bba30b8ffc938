//! Stage 3: pLogP tables.
//!
//! The time decides which pairs get one. The order is: every ordered pair of clusters by its representatives, one at a
//! time, and a first group of each cluster's typical pairs; then the outliers, one of each slowness first; then all
//! other pairs of a cluster.
//!
//! Where there are too many pairs of clusters for that, disjoint ones are measured in company, and each then sends one
//! burst alone. If that is faster than its table, the pairs share something, and the table is measured again alone.

use super::pair_rounds::{concurrent_groups, covering_rounds, groups_between};
use super::screening::{burst_gap_s, is_slower};
use super::{Clock, Stage};
use crate::measure::experiment::{Round, Samples, Task, Trial};
use crate::measure::findings::{ClusterPair, Findings};
use crate::measure::gap_table::GapTableBuilder;
use crate::measure::hosts::NodePair;
use crate::measure::outliers::Outlier;
use crate::measure::settings::gap_tables::{
    BUDGET_SHARE, BUDGET_SHARE_OF_CLUSTERS, CHECKS, LEAST_ROUND_TRIPS, MAX_POOLED_CERTAINTY, MIN_SLICE_S,
    UNCERTAIN,
};
use crate::measure::settings::screening::{MAX_BYTES, MIN_BYTES, WINDOW};
use std::collections::{HashSet, VecDeque};

/// Pairs measured at the same time.
struct TableRound {
    pairs: Vec<NodePair>,
    needed: bool,
    /// The number of tables of which the platform takes the median.
    pooled: usize,
    /// Each is checked by a burst alone.
    in_company: bool,
}

impl TableRound {
    fn alone(pair: NodePair, needed: bool) -> TableRound {
        TableRound { pairs: vec![pair], needed, pooled: 1, in_company: false }
    }
}

pub struct GapTables {
    groups: VecDeque<TableRound>,
    /// The representatives of each ordered pair of clusters, until the first round.
    between: Vec<NodePair>,
    in_company: bool,
    /// Pairs measured in company that have not sent alone; the first is sending if there are no builders.
    unchecked: VecDeque<NodePair>,
    builders: Vec<GapTableBuilder>,
    done: usize,
    total: usize,
}

impl GapTables {
    pub fn new(known: &Findings) -> GapTables {
        let (mut between, mut needed) = (Vec::new(), Vec::new());
        let (mut kinds, mut outliers, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let (inside, across): (Vec<ClusterPair>, Vec<ClusterPair>) =
            known.cluster_pairs().partition(|(from, to)| from == to);
        for cluster_pair in across {
            between.push(known.representative(cluster_pair));
            let sorted = known.split_pairs(cluster_pair);
            let one = |pair: NodePair| TableRound::alone(pair, false);
            let first = first_of_kinds(&sorted.outliers, sorted.limit);
            let later =
                sorted.outliers.iter().map(|outliers| outliers.pair).filter(|pair| !first.contains(pair));
            outliers.extend(later.map(one));
            kinds.extend(first.into_iter().map(one));
        }
        for cluster_pair in inside {
            let sorted = known.split_pairs(cluster_pair);
            let typical: HashSet<NodePair> = sorted.typical.into_iter().collect();
            let first = first_of_kinds(&sorted.outliers, sorted.limit);
            let rounds = covering_rounds(known, cluster_pair);
            let of_rounds = |wanted: &dyn Fn(&NodePair) -> bool, pooled: usize| -> Vec<TableRound> {
                let chosen = |round: &Vec<NodePair>| round.iter().copied().filter(wanted).collect::<Vec<_>>();
                let groups =
                    rounds.iter().flat_map(|round| concurrent_groups(known, cluster_pair, &chosen(round)));
                groups.map(|pairs| TableRound { pairs, needed: false, pooled, in_company: false }).collect()
            };
            let mut ordinary = of_rounds(&|pair| typical.contains(pair), typical.len());
            kinds.extend(of_rounds(&|pair| first.contains(pair), 1));
            outliers.extend(of_rounds(&|pair| !typical.contains(pair) && !first.contains(pair), 1));
            if !ordinary.is_empty() {
                needed.push(TableRound { needed: true, ..ordinary.remove(0) });
            }
            others.extend(ordinary);
        }
        let groups: VecDeque<TableRound> =
            needed.into_iter().chain(kinds).chain(outliers).chain(others).collect();
        let total = between.len() + groups.iter().map(|group| group.pairs.len()).sum::<usize>();
        GapTables {
            groups,
            between,
            in_company: false,
            unchecked: VecDeque::new(),
            builders: Vec::new(),
            done: 0,
            total,
        }
    }

    /// Puts the pairs of clusters first: one at a time if `left_s` suffices for that, else disjoint ones in company.
    fn add_between(&mut self, known: &Findings, left_s: f64) {
        let between = std::mem::take(&mut self.between);
        let least_s = |&pair: &NodePair| MIN_SLICE_S.max(LEAST_ROUND_TRIPS * known.round_trip_s(pair));
        let groups: Vec<Vec<NodePair>> = if between.iter().map(least_s).sum::<f64>() <= left_s {
            between.into_iter().map(|pair| vec![pair]).collect()
        } else {
            let across: Vec<ClusterPair> =
                between.into_iter().map(|pair| known.cluster_pair_of(pair)).collect();
            let pairs = |group: Vec<ClusterPair>| -> Vec<NodePair> {
                group.into_iter().map(|cluster_pair| known.representative(cluster_pair)).collect()
            };
            let groups = groups_between(known, &across).into_iter().map(pairs);
            groups.flat_map(|group| known.hosts.groups(&group)).collect()
        };
        for pairs in groups.into_iter().rev() {
            let in_company = pairs.len() > 1;
            self.groups.push_front(TableRound { pairs, needed: true, pooled: 1, in_company });
        }
    }

    /// Bursts alone, of messages that take about a round trip together.
    fn check(pair: NodePair, known: &Findings) -> Task {
        let mut bytes = MIN_BYTES;
        let gap_s = |bytes: u64| known.tables.get(&pair).map_or(f64::INFINITY, |table| table.at(bytes).gap_s);
        while bytes < MAX_BYTES && f64::from(WINDOW) * gap_s(bytes) < known.round_trip_s(pair) {
            bytes *= 2;
        }
        let bytes = bytes.min(known.settings.largest_bytes);
        let trials = vec![Trial::Burst { bytes, window: WINDOW, repeats: CHECKS }];
        Task { from: pair.0, to: pair.1, trials }
    }

    fn start(&mut self, group: &TableRound, known: &Findings, left_s: f64) {
        let slice_s = (left_s / (self.groups.len() + 1) as f64).max(MIN_SLICE_S);
        let largest_bytes = known.settings.largest_bytes;
        // The median of k tables is about √k as certain as each.
        let uncertain = UNCERTAIN * (group.pooled as f64).sqrt().min(MAX_POOLED_CERTAINTY);
        let builder = |&pair: &NodePair| {
            let trip_s = known.round_trip_s(pair);
            let builder = GapTableBuilder::new(pair, trip_s, largest_bytes, slice_s, uncertain);
            if group.in_company {
                builder.hurried()
            } else {
                builder
            }
        };
        self.builders = group.pairs.iter().map(builder).collect();
        self.in_company = group.in_company;
    }
}

/// The first outlier of each slowness; the others of that slowness can use its table.
fn first_of_kinds(outliers: &[Outlier], limit: f64) -> Vec<NodePair> {
    let mut sorted = outliers.to_vec();
    sorted.sort_by(|x, y| x.slowness.total_cmp(&y.slowness));
    let (mut slowest, mut first) = (0.0, Vec::new());
    for Outlier { pair, slowness } in sorted {
        if slowness > slowest * limit {
            slowest = slowness;
            first.push(pair);
        }
    }
    first
}

impl Stage for GapTables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        loop {
            let round: Round = self.builders.iter_mut().filter_map(GapTableBuilder::next).collect();
            if !round.is_empty() {
                return Some(round);
            }
            for builder in self.builders.drain(..) {
                self.done += 1;
                if let Some(table) = builder.finish() {
                    known.tables.insert(builder.pair(), table);
                    self.unchecked.extend(self.in_company.then_some(builder.pair()));
                }
            }
            if let Some(&pair) = self.unchecked.front() {
                return Some(vec![GapTables::check(pair, known)]);
            }
            if !self.between.is_empty() {
                self.add_between(known, clock.left(BUDGET_SHARE));
            }
            let share = if known.clusters.len() > 1 { BUDGET_SHARE_OF_CLUSTERS } else { BUDGET_SHARE };
            let left_s = clock.left(share);
            if left_s <= 0.0 {
                self.groups.retain(|group| group.needed);
            }
            let group = self.groups.pop_front()?;
            self.start(&group, known, left_s);
        }
    }

    fn so_far(&self, known: &mut Findings) {
        for builder in self.builders.iter().filter(|builder| builder.is_usable()) {
            known.tables.extend(builder.finish().map(|table| (builder.pair(), table)));
        }
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, took_s: f64) {
        if self.builders.is_empty() {
            let (Some(pair), Some(trials)) = (self.unchecked.pop_front(), samples.into_iter().next()) else {
                return;
            };
            let bytes = round[0].trials[0].bytes_per_repeat() / u64::from(WINDOW);
            let alone_s = burst_gap_s(known, pair, trials);
            if known.tables.get(&pair).is_some_and(|table| is_slower(table.at(bytes).gap_s, alone_s)) {
                self.total += 1;
                self.groups.push_front(TableRound::alone(pair, true));
            }
            return;
        }
        for (task, samples) in round.iter().zip(samples) {
            let builder = self.builders.iter_mut().find(|builder| builder.pair() == (task.from, task.to));
            if let Some(builder) = builder {
                builder.take(task, samples, took_s);
            }
        }
    }
}
