//! The order in which a node serves its channels.

use crate::plan::{Period, Segments};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// The order of a node's sends.
#[derive(Debug)]
pub(super) enum SendOrder {
    Trees(TreeOrder),
    Slots(SlotOrder),
}

/// Of the segments held, the lowest first, less leads, then child order; relays after the node's own children.
#[derive(Debug, Default)]
pub(super) struct TreeOrder {
    /// (turn, output): at most one entry for each output; turns are in the order of the segments, less leads.
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
    /// Moves to the first slot at or after this one that has a segment; `None` past the last period. A slot has its
    /// segments in consecutive periods from `lag` on.
    ///
    /// After a whole period without a segment, it skips to the next lag, so that the work depends on slots and
    /// segments, not on the length of lags.
    pub fn settle(
        &mut self,
        slots: usize,
        periods: u64,
        lag: impl Fn(usize) -> u32,
        segment: impl Fn(usize, u64) -> Option<u64>,
    ) -> Option<(usize, u64)> {
        let mut idle = 0;
        while slots > 0 && self.period < periods {
            if let Some(found) = segment(self.slot, self.period) {
                return Some((self.slot, found));
            }
            self.advance(slots);
            idle += 1;
            if idle == slots {
                idle = 0;
                let to_come = (0..slots).map(|slot| u64::from(lag(slot))).filter(|&lag| lag >= self.period);
                match to_come.min() {
                    // The slots from here to the end of the period have not been checked for it.
                    Some(next) if next == self.period => {}
                    next => *self = Cursor { period: next.unwrap_or(periods), slot: 0 },
                }
            }
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

/// Sends in slot order, receives in slot order; relayed segments are sent first come, first served.
#[derive(Debug)]
pub(super) struct SlotOrder {
    pub period: Period,
    pub periods: u64,
    pub count: u64,
    pub send: Cursor,
    pub receive: Cursor,
    pub posted: Cursor,
    /// Segments held, one bit each, followed, at a node that contributes, by the final ones; empty if all are held from
    /// the start.
    held: Vec<u64>,
    holds_all: bool,
    /// By incomplete segment, the number of parts that have arrived; each part combines one child's contribution.
    parts: HashMap<u64, u32>,
    pub relayed: VecDeque<(u64, u32)>,
}

impl SlotOrder {
    pub fn new(period: &Period, segments: &Segments, holds_all: bool, is_inward: bool) -> SlotOrder {
        let count = segments.count();
        let bits = if is_inward { 2 * count } else { count };
        let words = if holds_all { 0 } else { bits.div_ceil(64) as usize };
        SlotOrder {
            period: Period { segments: period.segments, slots: Vec::new() },
            periods: period.periods(count),
            count,
            send: Cursor::default(),
            receive: Cursor::default(),
            posted: Cursor::default(),
            held: vec![0; words],
            holds_all,
            parts: HashMap::new(),
            relayed: VecDeque::new(),
        }
    }

    /// The id of a final segment, from an all-reduce's root, as opposed to the partial one on its way there.
    pub fn final_of(&self, segment: u64) -> u64 {
        self.count + segment
    }

    /// One of `parts` parts of a segment arrived; with `is_final` the segment is not combined further.
    pub fn take(&mut self, segment: u64, parts: u32, is_final: bool) {
        if parts > 1 {
            let come = self.parts.entry(segment).or_default();
            *come += 1;
            if *come < parts {
                return;
            }
            self.parts.remove(&segment);
        }
        self.hold(if is_final { self.final_of(segment) } else { segment });
    }

    pub fn hold(&mut self, segment: u64) {
        self.held[(segment / 64) as usize] |= 1 << (segment % 64);
    }

    pub fn holds(&self, segment: u64) -> bool {
        self.holds_all || self.held[(segment / 64) as usize] >> (segment % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// (slot, segment) in turn, and the number of slots visited. Slot `at` moves every segment of the message.
    fn settled(lags: &[u32], segments: u64) -> (Vec<(usize, u64)>, u64) {
        let periods = segments + u64::from(*lags.iter().max().unwrap());
        let (mut cursor, mut found, looks) = (Cursor::default(), Vec::new(), Cell::new(0));
        let segment = |slot: usize, period: u64| {
            looks.set(looks.get() + 1);
            period.checked_sub(u64::from(lags[slot])).filter(|&segment| segment < segments)
        };
        while let Some(next) = cursor.settle(lags.len(), periods, |slot| lags[slot], segment) {
            found.push(next);
            cursor.advance(lags.len());
        }
        (found, looks.get())
    }

    #[test]
    fn idle_periods_are_passed_over_at_once() {
        let far = u32::MAX - 1;
        for lags in [&[0, far][..], &[far, 0], &[far, 5, far - 1, 70, far], &[far], &[3, 3, 4], &[0, 2, 1]] {
            for segments in [1, 2, 7] {
                let (found, looks) = settled(lags, segments);
                // Definition: every period in turn, and in it every slot.
                let mut expected: Vec<(u64, usize)> = (0..lags.len())
                    .flat_map(|slot| (0..segments).map(move |at| (at + u64::from(lags[slot]), slot)))
                    .collect();
                expected.sort_unstable();
                let expected: Vec<(usize, u64)> = expected
                    .into_iter()
                    .map(|(period, slot)| (slot, period - u64::from(lags[slot])))
                    .collect();
                assert_eq!(found, expected, "{lags:?}");
                let slots = lags.len() as u64;
                assert!(looks <= (segments + 2) * slots * slots + 2 * slots, "{looks} looks for {lags:?}");
            }
        }
    }
}
