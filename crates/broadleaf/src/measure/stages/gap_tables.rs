//! Stage 3: pLogP tables.
//!
//! The time decides which pairs get one. The order is: every ordered pair of clusters by its representatives, one at a
//! time, and a first group of each cluster's typical pairs; then the outliers, one of each slowness first; then all
//! other pairs of a cluster.

use super::pair_rounds::{concurrent_groups, covering_rounds};
use super::{Clock, Stage};
use crate::measure::experiment::{Round, Samples};
use crate::measure::findings::{ClusterPair, Findings};
use crate::measure::gap_table::GapTableBuilder;
use crate::measure::hosts::NodePair;
use crate::measure::outliers::Outlier;
use crate::measure::settings::gap_tables::UNCERTAIN;
use crate::measure::settings::gap_tables::{
    BUDGET_SHARE, BUDGET_SHARE_OF_CLUSTERS, MAX_POOLED_CERTAINTY, MIN_SLICE_S,
};
use std::collections::{HashSet, VecDeque};

/// Pairs measured at the same time.
struct TableRound {
    pairs: Vec<NodePair>,
    needed: bool,
    /// The number of tables of which the platform takes the median.
    pooled: usize,
}

pub struct GapTables {
    groups: VecDeque<TableRound>,
    builders: Vec<GapTableBuilder>,
    done: usize,
    total: usize,
}

impl GapTables {
    pub fn new(known: &Findings) -> GapTables {
        let (mut needed, mut kinds, mut outliers, mut others) = (vec![], vec![], vec![], vec![]);
        let (inside, across): (Vec<ClusterPair>, Vec<ClusterPair>) =
            known.cluster_pairs().partition(|(from, to)| from == to);
        for cluster_pair in across {
            needed.push(TableRound {
                pairs: vec![known.representative(cluster_pair)],
                needed: true,
                pooled: 1,
            });
            let sorted = known.split_pairs(cluster_pair);
            let one = |pair: NodePair| TableRound { pairs: vec![pair], needed: false, pooled: 1 };
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
                groups.map(|pairs| TableRound { pairs, needed: false, pooled }).collect()
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
        let total = groups.iter().map(|group| group.pairs.len()).sum();
        GapTables { groups, builders: Vec::new(), done: 0, total }
    }

    fn start(&mut self, group: &TableRound, known: &Findings, left_s: f64) {
        let slice_s = (left_s / (self.groups.len() + 1) as f64).max(MIN_SLICE_S);
        let largest_bytes = known.settings.largest_bytes;
        // The median of k tables is about √k as certain as each.
        let uncertain = UNCERTAIN * (group.pooled as f64).sqrt().min(MAX_POOLED_CERTAINTY);
        let builder = |&pair: &NodePair| {
            GapTableBuilder::new(pair, known.round_trip_s(pair), largest_bytes, slice_s, uncertain)
        };
        self.builders = group.pairs.iter().map(builder).collect();
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
                }
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

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, _known: &mut Findings, took_s: f64) {
        for (task, samples) in round.iter().zip(samples) {
            let builder = self.builders.iter_mut().find(|builder| builder.pair() == (task.from, task.to));
            if let Some(builder) = builder {
                builder.take(task, samples, took_s);
            }
        }
    }
}
