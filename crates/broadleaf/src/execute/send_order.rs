//! In which order a node serves its channels.

use crate::plan::{Period, Segments};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The next thing a node may send.
#[derive(Debug)]
pub(super) enum SendOrder {
    Trees(TreeOrder),
    Slots(SlotOrder),
}

/// Of what the node holds, the lowest segment first, then child order; relays after the own children.
#[derive(Debug, Default)]
pub(super) struct TreeOrder {
    /// (turn, output): at most one entry for each output; turns follow the segments.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
}

impl TreeOrder {
    pub fn push(&mut self, turn: u64, output: u32) {
        self.ready.push(Reverse((turn, output)));
    }

    pub fn pop(&mut self) -> Option<(u64, u32)> {
        self.ready.pop().map(|Reverse(entry)| entry)
    }

    /// Takes out every entry of the given outputs.
    pub fn remove(&mut self, outputs: &[u32]) {
        self.ready.retain(|Reverse((_, output))| !outputs.contains(output));
    }
}

/// A position in the endless repetition of a node's slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    period: u64,
    slot: usize,
}

impl Cursor {
    /// Moves to the first slot at or after this one that has a segment; `None` past the last period.
    pub fn settle(
        &mut self,
        slots: usize,
        periods: u64,
        segment: impl Fn(usize, u64) -> Option<u64>,
    ) -> Option<(usize, u64)> {
        while slots > 0 && self.period < periods {
            if let Some(found) = segment(self.slot, self.period) {
                return Some((self.slot, found));
            }
            self.advance(slots);
        }
        None
    }

    pub fn advance(&mut self, slots: usize) {
        self.slot += 1;
        if self.slot == slots {
            self.slot = 0;
            self.period += 1;
        }
    }
}

/// Sends in slot order, receives in slot order; what is only relayed goes out first come first served.
#[derive(Debug)]
pub(super) struct SlotOrder {
    pub period: Period,
    pub periods: u64,
    pub count: u64,
    pub send: Cursor,
    pub receive: Cursor,
    pub posted: Cursor,
    /// Segments held, one bit each; empty where all are held from the start.
    held: Vec<u64>,
    holds_all: bool,
    pub relayed: VecDeque<(u64, u32)>,
}

impl SlotOrder {
    pub fn new(period: &Period, segments: &Segments, holds_all: bool) -> SlotOrder {
        let count = segments.count();
        let words = if holds_all { 0 } else { count.div_ceil(64) as usize };
        SlotOrder {
            period: Period { segments: period.segments, slots: Vec::new() },
            periods: period.periods(count),
            count,
            send: Cursor::default(),
            receive: Cursor::default(),
            posted: Cursor::default(),
            held: vec![0; words],
            holds_all,
            relayed: VecDeque::new(),
        }
    }

    pub fn hold(&mut self, segment: u64) {
        self.held[(segment / 64) as usize] |= 1 << (segment % 64);
    }

    pub fn holds(&self, segment: u64) -> bool {
        self.holds_all || self.held[(segment / 64) as usize] >> (segment % 64) & 1 == 1
    }
}
