//! Stage 1: the empty round trip of every pair, and the clusters that follow from it.

use super::{Clock, Stage};
use crate::measure::experiment::{Round, Samples, Task, Trial};
use crate::measure::findings::Findings;
use crate::measure::hosts::NodePair;
use crate::measure::lowekamp;
use crate::measure::settings::latencies::{
    BUDGET_SHARE, LARGE_SPREAD, LONG_VISIT_S, MORE_REPEATS, MORE_VISITS, REPEATS, SMALL_SPREAD, VISITS,
};
use crate::measure::statistics::{lower_quartile, median, Summary};
use crate::measure::tournament;
use crate::platform::NodeId;
use std::collections::VecDeque;

pub struct Latencies {
    rounds: VecDeque<Vec<NodePair>>,
    visit: u32,
    done: usize,
    total: usize,
}

impl Latencies {
    pub fn new(known: &Findings) -> Latencies {
        let mut stage = Latencies { rounds: VecDeque::new(), visit: 0, done: 0, total: 0 };
        stage.push_all(known);
        stage
    }

    fn push_all(&mut self, known: &Findings) {
        for round in tournament::rounds(known.hosts.node_count()) {
            let pairs: Vec<NodePair> =
                round.into_iter().map(|(a, b)| (NodeId(a as u32), NodeId(b as u32))).collect();
            self.push(known, &pairs);
        }
    }

    fn push_unsteady(&mut self, known: &Findings) {
        let rounds = tournament::rounds(known.hosts.node_count()).into_iter().flatten();
        let pairs = rounds.map(|(a, b)| (NodeId(a as u32), NodeId(b as u32)));
        let pairs: Vec<NodePair> = pairs.filter(|pair| !is_steady(known, pair)).collect();
        self.push(known, &pairs);
    }

    /// Empty messages do not disturb other machines, so all of a round's pairs run together there.
    fn push(&mut self, known: &Findings, pairs: &[NodePair]) {
        self.total += pairs.len();
        self.rounds.extend(known.hosts.groups(pairs));
    }

    fn push_unsettled(&mut self, known: &Findings) {
        let mut pairs: Vec<NodePair> = known
            .round_trips
            .iter()
            .filter(|(_, samples)| Summary::of(samples).spread() > LARGE_SPREAD)
            .map(|(&pair, _)| pair)
            .chain(known.doubtful_round_trips())
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        self.push(known, &pairs);
    }

    /// Derives each machine's usual round trip, and the clusters.
    fn conclude(known: &mut Findings) {
        for (host, members) in known.hosts.members().iter().enumerate() {
            let inside: Vec<f64> = members
                .iter()
                .flat_map(|&a| members.iter().map(move |&b| (a, b)))
                .filter_map(|pair| known.round_trips.get(&pair).map(|samples| lower_quartile(samples)))
                .collect();
            known.host_round_trip_s[host] = (!inside.is_empty()).then(|| median(&inside));
        }
        let count = known.hosts.node_count();
        known.clusters = lowekamp::clusters_of_ranges(count, known.settings.tolerance, |a, b| {
            known.round_trip_range_s((a, b))
        });
        known.cluster_of = vec![0; count];
        for (index, cluster) in known.clusters.iter().enumerate() {
            cluster.iter().for_each(|node| known.cluster_of[node.index()] = index);
        }
        known.independent = vec![false; known.clusters.len()];
    }
}

/// Whether one visit was enough: long, and with little spread.
fn is_steady(known: &Findings, pair: &NodePair) -> bool {
    known.round_trips.get(pair).is_some_and(|samples| {
        samples.iter().sum::<f64>() > LONG_VISIT_S && Summary::of(samples).spread() < SMALL_SPREAD
    })
}

impl Stage for Latencies {
    fn name(&self) -> &'static str {
        "latencies"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        while self.rounds.is_empty() {
            if self.visit + 1 == VISITS + MORE_VISITS || clock.left(BUDGET_SHARE) <= 0.0 {
                Latencies::conclude(known);
                return None;
            }
            self.visit += 1;
            if self.visit < VISITS {
                self.push_unsteady(known);
            } else {
                self.push_unsettled(known);
            }
        }
        let repeats = if self.visit < VISITS { REPEATS } else { MORE_REPEATS };
        let trials = vec![Trial::PingPong { bytes: 0, repeats }];
        let task = |(from, to): NodePair| Task { from, to, trials: trials.clone() };
        self.rounds.pop_front().map(|pairs| pairs.into_iter().map(task).collect())
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        self.done += round.len();
        for (task, trials) in round.iter().zip(samples) {
            for samples in trials {
                let Samples { seconds, way_s, .. } = samples.settled().undisturbed();
                let shares = way_s.iter().zip(&seconds).map(|(way_s, trip_s)| way_s / trip_s);
                known.one_way_shares.entry((task.from, task.to)).or_default().extend(shares);
                known.round_trips.entry((task.from, task.to)).or_default().extend(seconds);
            }
        }
    }
}
