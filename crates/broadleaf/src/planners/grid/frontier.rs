//! For every waiting cluster, the sender that would get the message there earliest: min over i in A of
//! RT_i + g_ij + L_ij.
//!
//! Kept up to date lazily. A send only delays its sender, so a value found earlier is a lower bound until
//! that sender has sent again, and only the values that come out best are computed anew. A new sender is
//! compared with what is known. That makes a round O(n) where clusters differ, and O(kinds) where not.

use super::instance::Grid;
use super::sends::Send;
use super::waiting::Waiting;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A ready time that can be ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ready(f64);

impl Eq for Ready {}

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The best known way to a kind.
#[derive(Clone, Copy, Debug)]
struct Way {
    arrival_s: f64,
    /// The sending kind.
    from: u32,
    /// Its first sender's ready time and id when this was computed; the way is exact while they stand.
    ready_s: f64,
    sender: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Frontier<'g> {
    grid: &'g Grid,
    waiting: Waiting<'g>,
    /// The set A by kind, earliest ready first, ties to the smaller cluster.
    senders: Vec<BinaryHeap<Reverse<(Ready, u32)>>>,
    /// Kinds with a sender.
    active: Vec<u32>,
    ways: Vec<Way>,
    sends: Vec<Send>,
    /// How long a sender with several receivers may be busy in all, seconds.
    budget_s: f64,
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
        let nowhere = Way { arrival_s: f64::INFINITY, from: u32::MAX, ready_s: 0.0, sender: u32::MAX };
        let mut frontier = Frontier {
            grid,
            waiting: Waiting::new(grid),
            senders: vec![BinaryHeap::new(); grid.kinds()],
            active: Vec::new(),
            ways: vec![nowhere; grid.kinds()],
            sends: Vec::with_capacity(grid.len() - 1),
            budget_s,
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
        self.senders[kind].peek().map(|&Reverse((Ready(ready_s), sender))| (ready_s, sender))
    }

    /// Whether the budget of a sender of kind `from` leaves room for a send to `kind`.
    fn fits(&self, sender: u32, from: usize, kind: usize) -> bool {
        if self.busy_s.is_empty() {
            return true;
        }
        let has_room = |busy_s: f64, more_s: f64| busy_s == 0.0 || busy_s + more_s <= self.budget_s;
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
        self.senders[from].push(Reverse((Ready(ready_s), cluster)));
        if self.first_sender(from) == Some((ready_s, cluster)) {
            self.offer(from, ready_s, cluster);
        }
    }

    /// Compares the first sender of a kind with the known ways.
    fn offer(&mut self, from: usize, ready_s: f64, cluster: u32) {
        let edges = self.grid.edges_from(from);
        for &kind in self.waiting.kinds() {
            if !self.fits(cluster, from, kind as usize) {
                continue;
            }
            let way = &mut self.ways[kind as usize];
            let arrival_s = ready_s + edges[kind as usize];
            // On a tie with a bound that may have risen, leave it to `settle` to find out.
            if arrival_s < way.arrival_s || arrival_s == way.arrival_s && cluster < way.sender {
                *way = Way { arrival_s, from: from as u32, ready_s, sender: cluster };
            }
        }
    }

    fn is_exact(&self, kind: usize) -> bool {
        let way = &self.ways[kind];
        way.from != u32::MAX
            && self.first_sender(way.from as usize) == Some((way.ready_s, way.sender))
            && self.fits(way.sender, way.from as usize, kind)
    }

    /// The earliest arrival at a kind; exact after [`Frontier::settle`], before that a lower bound.
    pub fn arrival_s(&self, kind: usize) -> f64 {
        self.ways[kind].arrival_s
    }

    /// Makes a kind's way exact; whether it had to be computed.
    pub fn settle(&mut self, kind: usize) -> bool {
        if self.is_exact(kind) {
            return false;
        }
        let mut best = Way { arrival_s: f64::INFINITY, from: u32::MAX, ready_s: 0.0, sender: u32::MAX };
        for &from in &self.active {
            let Some((ready_s, sender)) = self.first_sender(from as usize) else { continue };
            if !self.fits(sender, from as usize, kind) {
                continue;
            }
            let arrival_s = ready_s + self.grid.kind_edge_s(from as usize, kind);
            if arrival_s < best.arrival_s || arrival_s == best.arrival_s && sender < best.sender {
                best = Way { arrival_s, from, ready_s, sender };
            }
        }
        self.ways[kind] = best;
        true
    }

    pub fn settle_all(&mut self) {
        for at in 0..self.waiting.kinds().len() {
            self.settle(self.waiting.kinds()[at] as usize);
        }
    }

    /// Sends along the way to the first waiting cluster of a kind.
    pub fn send_to(&mut self, kind: usize) {
        self.settle(kind);
        let Way { arrival_s, from, ready_s, sender } = self.ways[kind];
        let from = from as usize;
        let receiver = self.waiting.remove_first(kind);
        let gap_s = self.grid.kind_gap_s(from, kind);
        self.senders[from].pop();
        self.senders[from].push(Reverse((Ready(ready_s + gap_s), sender)));
        self.sends.push(Send { from: sender, to: receiver });
        if !self.busy_s.is_empty() {
            self.busy_s[sender as usize] += gap_s;
            for &(pipe, held_s) in self.grid.pipes(from, kind) {
                self.pipe_busy_s[pipe as usize] += held_s;
            }
            self.dismiss(from);
        }
        self.join(receiver, arrival_s);
    }

    /// Drops first senders of a kind that have no room for anyone waiting; the next one may have.
    fn dismiss(&mut self, from: usize) {
        while let Some((ready_s, sender)) = self.first_sender(from) {
            if self.waiting.kinds().iter().any(|&kind| self.fits(sender, from, kind as usize)) {
                return self.offer(from, ready_s, sender);
            }
            self.senders[from].pop();
        }
        self.active.retain(|&kind| kind as usize != from);
    }

    /// Sends to the waiting cluster j of least `value(earliest arrival, kind)`, ties to the smallest j, and
    /// returns its kind; `None` when nobody waits or can be reached. The value must not fall as the arrival rises.
    pub fn send_to_least(&mut self, mut value: impl FnMut(f64, usize) -> f64) -> Option<usize> {
        loop {
            let kind = self.waiting.least(|kind| value(self.ways[kind].arrival_s, kind))?;
            let settled = !self.settle(kind);
            if self.ways[kind].arrival_s.is_infinite() && self.no_way() {
                return None;
            }
            if settled {
                self.send_to(kind);
                return Some(kind);
            }
        }
    }

    /// Whether nobody can reach anyone who waits: a budget may be too small.
    fn no_way(&mut self) -> bool {
        self.settle_all();
        self.waiting.kinds().iter().all(|&kind| self.ways[kind as usize].arrival_s.is_infinite())
    }

    pub fn into_sends(self) -> Vec<Send> {
        self.sends
    }
}
