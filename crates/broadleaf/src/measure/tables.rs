//! Stage 3: pLogP tables.
//!
//! Which pairs get one is a matter of time. First every ordered pair of clusters by its representatives,
//! one at a time, and a first group of each cluster's alike pairs; then the pairs that are not like the
//! others; then all other pairs, as far as the time goes.

use super::experiment::{Round, Samples};
use super::findings::Findings;
use super::growth::{Growth, UNCERTAIN};
use super::hosts::Pair;
use super::probe::{Clock, Stage};
use super::screening::{groups, passes};
use std::collections::{HashSet, VecDeque};

/// Share of the time budget after which no pair is begun that could be left out: of one cluster, and of
/// several, between which there are pipes to look for.
const SHARE: f64 = 0.8;
const SHARE_OF_CLUSTERS: f64 = 0.5;
/// A table gets at least this time, seconds: a few whole tables say more than many that end early.
const LEAST_SLICE_S: f64 = 0.2;
/// However many tables there are to be, each is a measurement by itself.
const MOST_CERTAINTY_FROM_OTHERS: f64 = 4.0;

/// Pairs measured at the same time.
struct Group {
    pairs: Vec<Pair>,
    needed: bool,
    /// How many tables the platform takes the median of.
    alike: usize,
}

pub struct Tables {
    groups: VecDeque<Group>,
    growing: Vec<Growth>,
    done: usize,
    total: usize,
}

impl Tables {
    pub fn new(known: &Findings) -> Tables {
        let count = known.clusters.len();
        let (mut needed, mut unlike, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for from in 0..count {
            for to in (0..count).filter(|&to| to != from) {
                needed.push(Group { pairs: vec![known.representative(from, to)], needed: true, alike: 1 });
            }
        }
        for cluster in (0..count).filter(|&cluster| known.clusters[cluster].len() > 1) {
            let sorted = known.sorted_pairs(cluster);
            let alike: HashSet<Pair> = sorted.alike.into_iter().collect();
            let rounds = passes(&known.clusters[cluster]);
            let of_rounds = |wanted: &dyn Fn(&Pair) -> bool, alike: usize| -> Vec<Group> {
                let chosen = |round: &Vec<Pair>| round.iter().copied().filter(wanted).collect::<Vec<_>>();
                let groups = rounds.iter().flat_map(|round| groups(known, cluster, &chosen(round)));
                groups.map(|pairs| Group { pairs, needed: false, alike }).collect()
            };
            let mut ordinary = of_rounds(&|pair| alike.contains(pair), alike.len());
            unlike.extend(of_rounds(&|pair| !alike.contains(pair), 1));
            if !ordinary.is_empty() {
                needed.push(Group { needed: true, ..ordinary.remove(0) });
            }
            others.extend(ordinary);
        }
        let groups: VecDeque<Group> = needed.into_iter().chain(unlike).chain(others).collect();
        let total = groups.iter().map(|group| group.pairs.len()).sum();
        Tables { groups, growing: Vec::new(), done: 0, total }
    }

    fn start(&mut self, group: &Group, known: &Findings, left_s: f64) {
        let slice_s = (left_s / (self.groups.len() + 1) as f64).max(LEAST_SLICE_S);
        let largest_bytes = known.settings.largest_bytes;
        // The median of k tables is about √k as certain as each.
        let uncertain = UNCERTAIN * (group.alike as f64).sqrt().min(MOST_CERTAINTY_FROM_OTHERS);
        let growth =
            |&pair: &Pair| Growth::new(pair, known.round_trip_s(pair), largest_bytes, slice_s, uncertain);
        self.growing = group.pairs.iter().map(growth).collect();
    }
}

impl Stage for Tables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        loop {
            let round: Round = self.growing.iter_mut().filter_map(Growth::next).collect();
            if !round.is_empty() {
                return Some(round);
            }
            for growth in self.growing.drain(..) {
                self.done += 1;
                if let Some(table) = growth.finish() {
                    known.tables.insert(growth.pair(), table);
                }
            }
            let share = if known.clusters.len() > 1 { SHARE_OF_CLUSTERS } else { SHARE };
            let left_s = clock.left(share);
            if left_s <= 0.0 {
                self.groups.retain(|group| group.needed);
            }
            let group = self.groups.pop_front()?;
            self.start(&group, known, left_s);
        }
    }

    fn so_far(&self, known: &mut Findings) {
        for growth in self.growing.iter().filter(|growth| growth.is_usable()) {
            known.tables.extend(growth.finish().map(|table| (growth.pair(), table)));
        }
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, _known: &mut Findings, took_s: f64) {
        for (task, samples) in round.iter().zip(samples) {
            let growth = self.growing.iter_mut().find(|growth| growth.pair() == (task.from, task.to));
            if let Some(growth) = growth {
                growth.take(task, samples, took_s);
            }
        }
    }
}
