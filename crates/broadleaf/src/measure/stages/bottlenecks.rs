//! Stage 5: bottlenecks that several links share.
//!
//! From one cluster to another, and among the nodes of a machine (whose links are its memory and its processors) or of
//! a cluster whose pairs disturb each other: one pair alone, then two disjoint pairs at once, then twice as many, until
//! all are used or their total is below that number times the rate of one pair. In the latter case they share a
//! bottleneck, and their total rate is its rate. Unless it is no faster than one pair, or four pairs are no faster than
//! two, each is first timed alone as well: the others might be slower pairs.
//!
//! The two directions between two clusters are two bottlenecks, unless both are found and together carry less than the
//! sum of the two: then they are one. Pipes from one site to two others may be one in the same way (`accesses`).
//!
//! Where there are too many places for one search at a time, tests of several run at once, without a common machine and
//! without two that leave or enter the same cluster. Other pairs only lower a rate. So a result counts if one pair is as
//! fast as in its table, and no bottleneck was found or one that a single pair fills; any other search is repeated alone.

use super::accesses;
use super::bottleneck_search::{trial, BottleneckSearch, Purpose, TwoPipes};
use super::pair_rounds::{across, by_host};
use super::{Clock, Stage};
use crate::measure::delay_modes::usual;
use crate::measure::experiment::{Round, Samples, Task};
use crate::measure::findings::{Bottleneck, BottleneckPlace, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::bottlenecks::{
    BUDGET_SHARE, BUDGET_SHARE_OF_ACCESSES, IN_STEP, MAX_PAIRS, MESSAGE_S, MIN_MESSAGE_S, MIN_SHORT_BURSTS,
    MIN_WINDOW, RATE_LOSS_OF_DIRECTIONS, TESTS,
};
use crate::measure::statistics::median;
use crate::platform::NodeId;
use std::collections::{HashSet, VecDeque};

/// Kinds of searches before those of the sites' accesses.
const ACCESSES: usize = 2;

pub struct Bottlenecks {
    /// Those to do.
    searches: VecDeque<BottleneckSearch>,
    /// Those under way.
    active: Vec<BottleneckSearch>,
    /// The tests of the round: the index of the search, the purpose, and the number of pairs.
    running: Vec<(usize, Purpose, usize)>,
    found: Vec<(BottleneckSearch, f64)>,
    /// Kinds of searches begun: of places, directions, accesses of sites, and of their clusters.
    kinds: usize,
    done: usize,
    total: usize,
}

impl Bottlenecks {
    pub fn new(known: &Findings) -> Bottlenecks {
        let mut searches = VecDeque::new();
        let mut add = |place, pairs: Vec<NodePair>| {
            if pairs.len() > 1 {
                searches.push_back(BottleneckSearch::new(place, pairs, known));
            }
        };
        for (host, members) in known.hosts.members().iter().enumerate() {
            add(BottleneckPlace::InsideHost(host), couples(members));
        }
        for (cluster, members) in known.clusters.iter().enumerate() {
            let in_one_host = members.iter().all(|&node| known.hosts.same_host(node, members[0]));
            if !known.independent[cluster] && !in_one_host {
                add(BottleneckPlace::InsideCluster(cluster), couples(&by_host(known, members)));
            }
        }
        for from in 0..known.clusters.len() {
            for to in (0..known.clusters.len()).filter(|&to| to != from) {
                add(BottleneckPlace::OneWay(from, to), across(known, (from, to), &HashSet::new()));
            }
        }
        let total = searches.len();
        Bottlenecks {
            searches,
            active: Vec::new(),
            running: Vec::new(),
            found: Vec::new(),
            kinds: 1,
            done: 0,
            total,
        }
    }

    /// Queues the next kind of searches, which need the results of those before; false without one.
    fn add_kind(&mut self, known: &Findings) -> bool {
        let further = match self.kinds {
            1 => self.directions(known),
            ACCESSES | 3 => {
                let sites = accesses::sites(known);
                let of_several = || sites.iter().filter(|site| site.len() > 1).flatten();
                let clusters: Vec<Vec<usize>> = of_several().map(|&cluster| vec![cluster]).collect();
                let parts = if self.kinds == ACCESSES { &sites } else { &clusters };
                accesses::searches(known, &self.found, &sites, parts)
            }
            _ => return false,
        };
        self.kinds += 1;
        self.total += further.len();
        self.searches.extend(further);
        true
    }

    /// The searches for bottlenecks that both directions between two clusters share.
    fn directions(&self, known: &Findings) -> Vec<BottleneckSearch> {
        let mut searches = Vec::new();
        for (there, total) in &self.found {
            let BottleneckPlace::OneWay(a, b) = there.place else { continue };
            let back = self.found.iter().find(|(back, _)| back.place == BottleneckPlace::OneWay(b, a));
            let Some((back, back_total)) = back.filter(|_| a < b) else { continue };
            // One pair each way is enough where it fills either direction.
            let is_filled = there.is_filled_by_one(*total) && back.is_filled_by_one(*back_total);
            let each = if is_filled { 1 } else { there.pairs.len() / 2 };
            let carried = |search: &BottleneckSearch, total: f64| total.min(search.apart(each));
            let apart = carried(there, *total) + carried(back, *back_total);
            let fastest = total.max(*back_total);
            // They are one or two: the threshold is in the middle.
            let loss = RATE_LOSS_OF_DIRECTIONS.max(1.0 - (fastest / apart).sqrt());
            // Other nodes send back, so that no node does both.
            let back = there.pairs[each..2 * each].iter().map(|&(from, to)| (to, from));
            let pairs: Vec<NodePair> = there.pairs[..each].iter().copied().chain(back).collect();
            let two = TwoPipes { apart, fastest, carried: 0.0, loss };
            searches.push(BottleneckSearch::of_two_pipes(BottleneckPlace::BothWays(a, b), pairs, two, known));
        }
        searches
    }

    /// Takes the next search, or all that may have company where they are brief or one at a time would exceed `left_s`.
    fn start(&mut self, known: &Findings, left_s: f64) {
        let in_turn_s: f64 = self.searches.iter().map(|search| search.time_s(known)).sum();
        let (alone, together): (Vec<_>, Vec<_>) =
            self.searches.drain(..).partition(|search| search.alone_only);
        let are_brief = together.iter().any(BottleneckSearch::is_brief);
        if together.is_empty() || (in_turn_s <= left_s && !are_brief) {
            self.searches.extend(alone.into_iter().chain(together));
            self.active.extend(self.searches.pop_front());
            return;
        }
        self.searches.extend(alone);
        self.active
            .extend(together.into_iter().map(|search| BottleneckSearch { in_company: true, ..search }));
        // Tests of similar round trips run together: a round takes as long as its slowest.
        let trip_s = |search: &BottleneckSearch| known.round_trip_s(search.pairs[0]);
        self.active.sort_by(|x, y| trip_s(y).total_cmp(&trip_s(x)));
    }

    /// The next tests of the searches under way that may run at the same time.
    fn tests(&mut self, known: &Findings, slice_s: f64) -> Round {
        self.running.clear();
        let (mut round, mut busy) = (Round::new(), HashSet::new());
        for (index, search) in self.active.iter_mut().enumerate() {
            let Some((_, pairs)) = search.tests.front() else { continue };
            let used = used_by(known, pairs);
            if used.iter().any(|each| busy.contains(each)) {
                continue;
            }
            busy.extend(used);
            let Some((purpose, pairs)) = search.tests.pop_front() else { continue };
            if purpose == Purpose::FirstAlone || search.two.is_some() {
                let messages = TESTS * f64::from(MIN_SHORT_BURSTS * MIN_WINDOW);
                let message_s = (slice_s / messages).clamp(MIN_MESSAGE_S, MESSAGE_S);
                search.trial = trial(known, pairs[0], message_s, search.is_brief());
            }
            self.running.push((index, purpose, pairs.len()));
            let trials = vec![search.trial];
            round.extend(pairs.into_iter().map(|(from, to)| Task { from, to, trials: trials.clone() }));
        }
        round
    }

    /// Ends the searches under way that need no further test.
    fn end_searches(&mut self, known: &Findings) {
        for mut search in std::mem::take(&mut self.active) {
            let total = search.conclude();
            if !search.tests.is_empty() {
                self.active.push(search);
            } else if search.is_disturbed(total, known) {
                self.searches.push_front(search.alone_again(known));
            } else {
                self.done += 1;
                self.found.extend(total.map(|total| (search, total)));
            }
        }
    }

    /// Searches without a result.
    fn untried(&self) -> usize {
        self.searches.len() + self.active.len()
    }

    /// Those found, without the pipes that others stand for.
    fn conclude(&self, known: &mut Findings) {
        let is_replaced = |pipe: &(BottleneckSearch, f64)| {
            let BottleneckPlace::OneWay(a, b) = pipe.0.place else { return false };
            let both = BottleneckPlace::BothWays(a.min(b), a.max(b));
            self.found.iter().any(|(search, _)| search.place == both)
                || accesses::explain(known, &self.found, pipe)
        };
        let kept = self.found.iter().filter(|pipe| !is_replaced(pipe));
        let bottlenecks: Vec<Bottleneck> = kept
            .map(|(search, total)| Bottleneck {
                place: search.place.clone(),
                bytes_per_s: *total,
                spread: search.spread,
            })
            .collect();
        known.bottlenecks.extend(bottlenecks);
    }
}

/// Something that the tests of one round may not share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Used {
    Host(usize),
    OutOf(usize),
    Into(usize),
}

fn used_by(known: &Findings, pairs: &[NodePair]) -> HashSet<Used> {
    let each = |&(from, to): &NodePair| {
        let (out_of, into) = known.cluster_pair_of((from, to));
        let hosts = [from, to].map(|node| Used::Host(known.hosts.of(node)));
        hosts.into_iter().chain([Used::OutOf(out_of), Used::Into(into)])
    };
    pairs.iter().flat_map(each).collect()
}

/// Disjoint pairs of neighbours in a list.
fn couples(members: &[NodeId]) -> Vec<NodePair> {
    members.chunks_exact(2).take(MAX_PAIRS).map(|two| (two[0], two[1])).collect()
}

impl Stage for Bottlenecks {
    fn name(&self) -> &'static str {
        "pipes"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        loop {
            let share = if self.kinds > ACCESSES { BUDGET_SHARE_OF_ACCESSES } else { BUDGET_SHARE };
            if clock.left(share) <= 0.0 {
                known.untried_bottlenecks += self.untried();
                self.searches.clear();
                self.active.clear();
                self.kinds = usize::MAX;
            }
            self.end_searches(known);
            let slice_s = clock.left(share) / self.untried().max(1) as f64;
            let round = self.tests(known, slice_s);
            if !round.is_empty() {
                return Some(round);
            }
            if self.searches.is_empty() && !self.add_kind(known) {
                self.conclude(known);
                return None;
            }
            self.start(known, clock.left(share));
        }
    }

    fn so_far(&self, known: &mut Findings) {
        self.conclude(known);
        known.untried_bottlenecks += self.untried();
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        let rate = |(task, trials): (&Task, Vec<Samples>)| -> (f64, f64) {
            let mut bursts = trials.into_iter().next().unwrap_or_default();
            if bursts.seconds.len() >= MIN_SHORT_BURSTS as usize {
                bursts.seconds.pop();
                bursts.waited_s.pop();
            }
            let burst = usual(&bursts.settled().undisturbed().seconds);
            let round_trip_s = known.round_trip_s((task.from, task.to));
            // While a pair waits for its answer, the others may or may not use the bottleneck: half of the wait counts,
            // unless all wait at the same time.
            let is_in_step = burst.median < IN_STEP * round_trip_s;
            let busy_s = burst.median - if is_in_step { round_trip_s } else { round_trip_s / 2.0 };
            (task.trials[0].bytes_per_repeat() as f64 / busy_s, burst.spread())
        };
        let mut measured = round.iter().zip(samples);
        for &(index, purpose, pairs) in &self.running {
            let tests: Vec<(&Task, Vec<Samples>)> = measured.by_ref().take(pairs).collect();
            let search = &mut self.active[index];
            let at_once = match search.place {
                BottleneckPlace::Access { .. } => Some(accesses::carried(known, &tests)),
                _ => None,
            };
            let (rates, spreads): (Vec<f64>, Vec<f64>) = tests.into_iter().map(rate).unzip();
            let sum = rates.iter().sum();
            let [total, carried] = at_once.unwrap_or([sum, sum]);
            match purpose {
                Purpose::Together => {
                    search.two.iter_mut().for_each(|two| two.carried = carried);
                    search.together.insert(pairs, total);
                    search.spread = median(&spreads);
                }
                Purpose::FirstAlone | Purpose::OtherAlone => search.alone.push(total),
            }
        }
    }
}
