//! Stage 3: pLogP tables.
//!
//! Which pairs get one is a matter of time. First every ordered pair of clusters by its representatives,
//! one at a time, and a first group of each cluster's alike pairs; then the pairs that are not like the
//! others, one of each slowness first; then all other pairs of a cluster, as far as the time goes.

use super::alike::Unlike;
use super::experiment::{Round, Samples};
use super::findings::{Findings, Stretch};
use super::growth::{Growth, UNCERTAIN};
use super::hosts::Pair;
use super::probe::{Clock, Stage};
use super::screening::{groups, pass};
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
        let (mut needed, mut kinds, mut unlike, mut others) = (vec![], vec![], vec![], vec![]);
        let (inside, across): (Vec<Stretch>, Vec<Stretch>) =
            known.stretches().partition(|(from, to)| from == to);
        for stretch in across {
            needed.push(Group { pairs: vec![known.representative(stretch)], needed: true, alike: 1 });
            let sorted = known.sorted_pairs(stretch);
            let one = |pair: Pair| Group { pairs: vec![pair], needed: false, alike: 1 };
            let first = first_of_kinds(&sorted.unlike, sorted.limit);
            let later = sorted.unlike.iter().map(|unlike| unlike.pair).filter(|pair| !first.contains(pair));
            unlike.extend(later.map(one));
            kinds.extend(first.into_iter().map(one));
        }
        for stretch in inside {
            let sorted = known.sorted_pairs(stretch);
            let alike: HashSet<Pair> = sorted.alike.into_iter().collect();
            let first = first_of_kinds(&sorted.unlike, sorted.limit);
            let rounds = pass(known, stretch);
            let of_rounds = |wanted: &dyn Fn(&Pair) -> bool, alike: usize| -> Vec<Group> {
                let chosen = |round: &Vec<Pair>| round.iter().copied().filter(wanted).collect::<Vec<_>>();
                let groups = rounds.iter().flat_map(|round| groups(known, stretch, &chosen(round)));
                groups.map(|pairs| Group { pairs, needed: false, alike }).collect()
            };
            let mut ordinary = of_rounds(&|pair| alike.contains(pair), alike.len());
            kinds.extend(of_rounds(&|pair| first.contains(pair), 1));
            unlike.extend(of_rounds(&|pair| !alike.contains(pair) && !first.contains(pair), 1));
            if !ordinary.is_empty() {
                needed.push(Group { needed: true, ..ordinary.remove(0) });
            }
            others.extend(ordinary);
        }
        let groups: VecDeque<Group> = needed.into_iter().chain(kinds).chain(unlike).chain(others).collect();
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

/// Of the pairs that are unlike the others, the first of each slowness: the others of that can do with its table.
fn first_of_kinds(unlike: &[Unlike], limit: f64) -> Vec<Pair> {
    let mut sorted = unlike.to_vec();
    sorted.sort_by(|x, y| x.slowness.total_cmp(&y.slowness));
    let (mut slowest, mut first) = (0.0, Vec::new());
    for Unlike { pair, slowness } in sorted {
        if slowness > slowest * limit {
            slowest = slowness;
            first.push(pair);
        }
    }
    first
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
