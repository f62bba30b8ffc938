//! For every waiting cluster, the sender that would get the message there earliest: min over i in A of
//! RT_i + g_ij + L_ij.
//!
//! Updated lazily. A send only delays its sender, so an earlier value is a lower bound until that sender has sent
//! again, and only the best values are recomputed: from the few senders that were best in the last full comparison,
//! as long as one of them is ahead of all others' values then. A new sender is compared with the known values. A full
//! comparison goes by ready times, until none of the rest can be among the earliest. So a round is O(n) where
//! clusters differ, and O(kinds) where not. For few clusters every round recomputes everything, row by row, without
//! this bookkeeping.

use super::grid::Grid;
use super::offers::{NearSenders, Offer, NEAR};
use super::sends::ClusterSend;
use super::waiting::Waiting;
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to this many kinds recomputing everything is faster: a few microseconds a round.
const FEW_KINDS: usize = 64;

/// No sender.
const NOBODY: (f64, u32) = (f64::INFINITY, u32::MAX);

/// Ready time, seconds, and cluster.
type ReadySender = Reverse<(OrderedFloat<f64>, u32)>;

#[derive(Clone, Debug)]
pub(super) struct Frontier<'g> {
    grid: &'g Grid,
    waiting: Waiting<'g>,
    /// The set A by kind, earliest ready first, ties to the smaller cluster.
    senders: Vec<BinaryHeap<ReadySender>>,
    /// By kind, the first of them: its ready time and id; without one, never.
    first: Vec<(f64, u32)>,
    /// Kinds with a sender.
    active: Vec<u32>,
    offers: Vec<Offer>,
    near: Vec<NearSenders>,
    /// Kinds with a sender by the ready time of their first; unused where all is recomputed.
    by_ready: Vec<(f64, u32)>,
    /// By kind, the least g + L into it.
    least_in_s: Vec<f64>,
    /// Where all is recomputed in every round, the earliest arrivals by kind, seconds; else empty.
    anew_s: Vec<f64>,
    sends: Vec<ClusterSend>,
    /// The longest total time for which a sender with several receivers may be busy, seconds.
    budget_s: f64,
    /// Whether the budget also limits a sender with one receiver.
    is_strict: bool,
    /// By cluster, how long it has been busy; followed under a budget only.
    busy_s: Vec<f64>,
    /// By shared resource, the same.
    pipe_busy_s: Vec<f64>,
}

impl<'g> Frontier<'g> {
    pub fn new(grid: &'g Grid) -> Self {
        Frontier::with_budget(grid, f64::INFINITY)
    }

    /// No sender and no shared resource is busy for longer than `budget_s` unless with its only send.
    pub fn with_budget(grid: &'g Grid, budget_s: f64) -> Self {
        Frontier::anew_or_not(grid, budget_s, grid.kinds() <= FEW_KINDS && budget_s.is_infinite())
    }

    /// No sender and no shared resource is busy for longer than `budget_s`, not even with an only send.
    pub fn within_budget(grid: &'g Grid, budget_s: f64) -> Self {
        Frontier { is_strict: true, ..Frontier::with_budget(grid, budget_s) }
    }

    fn anew_or_not(grid: &'g Grid, budget_s: f64, is_small: bool) -> Self {
        let mut frontier = Frontier {
            grid,
            waiting: Waiting::new(grid),
            senders: vec![BinaryHeap::new(); grid.kinds()],
            first: vec![NOBODY; grid.kinds()],
            active: Vec::new(),
            offers: vec![Offer::NOWHERE; grid.kinds()],
            near: vec![NearSenders::NOBODY; if is_small { 0 } else { grid.kinds() }],
            by_ready: Vec::new(),
            least_in_s: if is_small { Vec::new() } else { least_in_s(grid) },
            anew_s: vec![f64::INFINITY; if is_small { grid.kinds() } else { 0 }],
            sends: Vec::with_capacity(grid.len() - 1),
            budget_s,
            is_strict: false,
            busy_s: if budget_s.is_finite() { vec![0.0; grid.len()] } else { Vec::new() },
            pipe_busy_s: vec![0.0; grid.pipe_count()],
        };
        frontier.join(grid.root() as u32, 0.0);
        frontier
    }

    pub fn waiting(&self) -> &Waiting<'g> {
        &self.waiting
    }

    fn first_sender(&self, kind: usize) -> Option<(f64, u32)> {
        let first = self.first[kind];
        (first != NOBODY).then_some(first)
    }

    fn note_first(&mut self, kind: usize) {
        let first = self.senders[kind].peek();
        let first = first.map_or(NOBODY, |&Reverse((OrderedFloat(ready_s), sender))| (ready_s, sender));
        let before = std::mem::replace(&mut self.first[kind], first);
        if self.anew_s.is_empty() {
            let place = |by_ready: &[(f64, u32)], ready_s: f64| {
                by_ready.partition_point(|&(other_s, other)| {
                    other_s < ready_s || other_s == ready_s && other < kind as u32
                })
            };
            if before != NOBODY {
                self.by_ready.remove(place(&self.by_ready, before.0));
            }
            if first != NOBODY {
                self.by_ready.insert(place(&self.by_ready, first.0), (first.0, kind as u32));
            }
        }
    }

    /// Whether the budget of a sender of kind `from` leaves room for a send to `kind`.
    fn fits(&self, sender: u32, from: usize, kind: usize) -> bool {
        if self.busy_s.is_empty() {
            return true;
        }
        let is_free = |busy_s: f64| busy_s == 0.0 && !self.is_strict;
        let has_room = |busy_s: f64, more_s: f64| is_free(busy_s) || busy_s + more_s <= self.budget_s;
        let mut pipes = self.grid.pipes(from, kind).iter();
        has_room(self.busy_s[sender as usize], self.grid.kind_gap_s(from, kind))
            && pipes.all(|&(pipe, held_s)| has_room(self.pipe_busy_s[pipe as usize], held_s))
    }

    /// A cluster that holds the message from `ready_s` on.
    fn join(&mut self, cluster: u32, ready_s: f64) {
        let from = self.grid.kind(cluster as usize);
        if self.senders[from].is_empty() {
            self.active.push(from as u32);
        }
        self.senders[from].push(Reverse((OrderedFloat(ready_s), cluster)));
        self.note_first(from);
        if !self.anew_s.is_empty() {
            self.compute_anew();
        } else if self.first_sender(from) == Some((ready_s, cluster)) {
            self.offer(from, ready_s, cluster);
        }
    }

    /// The earliest arrivals at all kinds, including those that do not wait: rows without branches are fast.
    fn compute_anew(&mut self) {
        self.anew_s.fill(f64::INFINITY);
        for &from in &self.active {
            let (ready_s, _) = self.first[from as usize];
            for (arrival_s, edge_s) in self.anew_s.iter_mut().zip(self.grid.edges_from(from as usize)) {
                let offered_s = ready_s + edge_s;
                *arrival_s = if offered_s < *arrival_s { offered_s } else { *arrival_s };
            }
        }
    }

    /// Compares the first sender of a kind with the known offers.
    fn offer(&mut self, from: usize, ready_s: f64, cluster: u32) {
        let edges = self.grid.edges_from(from);
        for &kind in self.waiting.kinds() {
            if !self.fits(cluster, from, kind as usize) {
                continue;
            }
            let arrival_s = ready_s + edges[kind as usize];
            self.near[kind as usize].insert(from as u32, arrival_s);
            let offer = &mut self.offers[kind as usize];
            let offered = Offer { arrival_s, from: from as u32, ready_s, sender: cluster };
            // On a tie with a bound that may have risen, `settle` decides.
            if offered.is_ahead_of(offer) {
                *offer = offered;
            }
        }
    }

    fn is_exact(&self, kind: usize) -> bool {
        let offer = &self.offers[kind];
        offer.from != u32::MAX
            && self.first_sender(offer.from as usize) == Some((offer.ready_s, offer.sender))
            && self.fits(offer.sender, offer.from as usize, kind)
    }

    /// The earliest arrival at a kind; exact after [`Frontier::settle`], before that a lower bound.
    pub fn arrival_s(&self, kind: usize) -> f64 {
        self.anew_s.get(kind).map_or(self.offers[kind].arrival_s, |&arrival_s| arrival_s)
    }

    /// Makes a kind's offer exact; returns whether it had to be computed.
    fn settle(&mut self, kind: usize) -> bool {
        if self.is_exact(kind) {
            return false;
        }
        match self.nearest_offer(kind) {
            Some(offer) => self.offers[kind] = offer,
            None => self.find_offer(kind),
        }
        true
    }

    /// The offer from the first sender of a kind; never, without one or without room.
    fn offer_from(&self, from: u32, kind: usize) -> Offer {
        let (ready_s, sender) = self.first[from as usize];
        if sender == u32::MAX || !self.fits(sender, from as usize, kind) {
            return Offer::NOWHERE;
        }
        let arrival_s = ready_s + self.grid.kind_edge_s(from as usize, kind);
        Offer { arrival_s, from, ready_s, sender }
    }

    /// The best offer from the senders that were nearest, if it certainly beats all others.
    fn nearest_offer(&self, kind: usize) -> Option<Offer> {
        let near = &self.near[kind];
        let known = near.from.iter().filter(|&&from| from != u32::MAX);
        let offers = known.map(|&from| self.offer_from(from, kind));
        let best = offers.reduce(|best, offer| if offer.is_ahead_of(&best) { offer } else { best })?;
        (best.arrival_s < near.others_s).then_some(best)
    }

    /// After a send from a kind, updates the kinds for which it was the best sender: most find the next best among
    /// the near senders at once.
    fn refresh_from(&mut self, from: usize) {
        for at in 0..self.waiting.kinds().len() {
            let kind = self.waiting.kinds()[at] as usize;
            if self.offers[kind].from == from as u32 {
                self.offers[kind] = self.nearest_offer(kind).unwrap_or(Offer {
                    arrival_s: self.near[kind].others_s.max(self.offers[kind].arrival_s),
                    // Ahead of equal offers: `settle` decides which of them is first.
                    sender: 0,
                    ready_s: f64::NAN,
                    ..self.offers[kind]
                });
            }
        }
    }

    /// Compares all senders that may be among the nearest.
    fn find_offer(&mut self, kind: usize) {
        if !self.anew_s.is_empty() {
            let offers = self.active.iter().map(|&from| self.offer_from(from, kind));
            self.offers[kind] =
                offers
                    .fold(Offer::NOWHERE, |best, offer| if offer.is_ahead_of(&best) { offer } else { best });
            return;
        }
        let mut best = Offer::NOWHERE;
        let mut near = NearSenders::NOBODY;
        for &(ready_s, from) in &self.by_ready {
            let earliest_s = ready_s + self.least_in_s[kind];
            if earliest_s > near.arrival_s[NEAR - 1] {
                near.others_s = near.others_s.min(earliest_s);
                break;
            }
            let offer = self.offer_from(from, kind);
            near.insert(from, offer.arrival_s);
            if offer.is_ahead_of(&best) {
                best = offer;
            }
        }
        self.offers[kind] = best;
        self.near[kind] = near;
    }

    pub fn settle_all(&mut self) {
        if !self.anew_s.is_empty() {
            return;
        }
        for at in 0..self.waiting.kinds().len() {
            self.settle(self.waiting.kinds()[at] as usize);
        }
    }

    /// Sends to the first waiting cluster of a kind, from the sender with the earliest arrival.
    pub fn send_to(&mut self, kind: usize) {
        if self.anew_s.is_empty() {
            self.settle(kind);
        } else {
            self.find_offer(kind);
        }
        let Offer { arrival_s, from, ready_s, sender } = self.offers[kind];
        let from = from as usize;
        let receiver = self.waiting.remove_first(kind);
        let gap_s = self.grid.kind_gap_s(from, kind);
        self.senders[from].pop();
        self.senders[from].push(Reverse((OrderedFloat(ready_s + gap_s), sender)));
        self.note_first(from);
        self.sends.push(ClusterSend { from: sender, to: receiver });
        if self.anew_s.is_empty() {
            self.refresh_from(from);
        }
        if !self.busy_s.is_empty() {
            self.busy_s[sender as usize] += gap_s;
            for &(pipe, held_s) in self.grid.pipes(from, kind) {
                self.pipe_busy_s[pipe as usize] += held_s;
            }
            self.dismiss(from);
        }
        self.join(receiver, arrival_s);
    }

    /// Drops first senders of a kind that have no room for any waiting cluster; the next one may have.
    fn dismiss(&mut self, from: usize) {
        while let Some((ready_s, sender)) = self.first_sender(from) {
            if self.waiting.kinds().iter().any(|&kind| self.fits(sender, from, kind as usize)) {
                return self.offer(from, ready_s, sender);
            }
            self.senders[from].pop();
            self.note_first(from);
        }
        self.active.retain(|&kind| kind as usize != from);
    }

    /// Sends to the waiting cluster j of least `value(earliest arrival, kind)`, ties to the smallest j, and returns
    /// its kind; `None` when no cluster waits or none can be reached. The value must not fall as the arrival rises.
    pub fn send_to_least(&mut self, mut value: impl FnMut(f64, usize) -> f64) -> Option<usize> {
        if !self.anew_s.is_empty() {
            let kind = self.waiting.least(|kind| value(self.anew_s[kind], kind))?;
            return self.anew_s[kind].is_finite().then(|| {
                self.send_to(kind);
                kind
            });
        }
        loop {
            let kind = self.waiting.least(|kind| value(self.offers[kind].arrival_s, kind))?;
            let settled = !self.settle(kind);
            if self.offers[kind].arrival_s.is_infinite() && self.nobody_is_reachable() {
                return None;
            }
            if settled {
                self.send_to(kind);
                return Some(kind);
            }
        }
    }

    /// Whether no waiting cluster can be reached: a budget may be too small.
    fn nobody_is_reachable(&mut self) -> bool {
        self.settle_all();
        self.waiting.kinds().iter().all(|&kind| self.offers[kind as usize].arrival_s.is_infinite())
    }

    pub fn into_sends(self) -> Vec<ClusterSend> {
        self.sends
    }

    /// Each cluster's sender, the root's its own; `None` where a cluster still waits.
    pub fn into_parents(self) -> Option<Vec<u32>> {
        let grid = self.grid;
        (self.sends.len() + 1 == grid.len()).then(|| {
            let mut parents = vec![grid.root() as u32; grid.len()];
            self.sends.iter().for_each(|send| parents[send.to as usize] = send.from);
            parents
        })
    }
}

/// ECEF: always the send that arrives earliest, ties to the smallest receiver, then sender.
pub(super) fn earliest_arrival_first(grid: &Grid) -> Vec<ClusterSend> {
    let mut frontier = Frontier::new(grid);
    while frontier.send_to_least(|arrival_s, _| arrival_s).is_some() {}
    frontier.into_sends()
}

/// By kind, the least g + L into it from any other cluster.
fn least_in_s(grid: &Grid) -> Vec<f64> {
    let mut least_s = vec![f64::INFINITY; grid.kinds()];
    for from in 0..grid.kinds() {
        for (to, &edge_s) in grid.edges_from(from).iter().enumerate() {
            if from != to || grid.members(to).len() > 1 {
                least_s[to] = least_s[to].min(edge_s);
            }
        }
    }
    least_s
}

#[cfg(test)]
mod tests;
