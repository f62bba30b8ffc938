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
}

impl<'g> Frontier<'g> {
    pub fn new(grid: &'g Grid) -> Self {
        let nowhere = Way { arrival_s: f64::INFINITY, from: u32::MAX, ready_s: 0.0, sender: u32::MAX };
        let mut frontier = Frontier {
            grid,
            waiting: Waiting::new(grid),
            senders: vec![BinaryHeap::new(); grid.kinds()],
            active: Vec::new(),
            ways: vec![nowhere; grid.kinds()],
            sends: Vec::with_capacity(grid.len() - 1),
        };
        frontier.join(grid.root() as u32, 0.0);
        frontier
    }

    pub fn waiting(&self) -> &Waiting<'g> {
        &self.waiting
    }

    fn first_sender(&self, kind: usize) -> (f64, u32) {
        let Reverse((Ready(ready_s), sender)) = *self.senders[kind].peek().expect("an active kind");
        (ready_s, sender)
    }

    /// A cluster that holds the message from `ready_s` on.
    fn join(&mut self, cluster: u32, ready_s: f64) {
        let from = self.grid.kind(cluster as usize);
        if self.senders[from].is_empty() {
            self.active.push(from as u32);
        }
        self.senders[from].push(Reverse((Ready(ready_s), cluster)));
        if self.first_sender(from) != (ready_s, cluster) {
            return;
        }
        let edges = self.grid.edges_from(from);
        for &kind in self.waiting.kinds() {
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
        way.from != u32::MAX && self.first_sender(way.from as usize) == (way.ready_s, way.sender)
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
            let (ready_s, sender) = self.first_sender(from as usize);
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
        self.senders[from].pop();
        self.senders[from].push(Reverse((Ready(ready_s + self.grid.kind_gap_s(from, kind)), sender)));
        self.sends.push(Send { from: sender, to: receiver });
        self.join(receiver, arrival_s);
    }

    /// Sends to the waiting cluster j of least `value(earliest arrival, kind)`, ties to the smallest j, and
    /// returns its kind; `None` when nobody waits. The value must not fall as the arrival rises.
    pub fn send_to_least(&mut self, mut value: impl FnMut(f64, usize) -> f64) -> Option<usize> {
        loop {
            let kind = self.waiting.least(|kind| value(self.ways[kind].arrival_s, kind))?;
            if !self.settle(kind) {
                self.send_to(kind);
                return Some(kind);
            }
        }
    }

    pub fn into_sends(self) -> Vec<Send> {
        self.sends
    }
}
