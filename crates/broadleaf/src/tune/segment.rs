//! The segment size of the least predicted time, by the corrected model.
//!
//! A message of m bytes in segments of s is q = ⌈m/s⌉ − 1 full ones and a last one of r = m − q·s bytes,
//! 1 ≤ r ≤ s. But for latencies and a factor each segmented model takes
//!
//! > U(s) = q·g(s) + g(r) + w·max(g(s), g(r)),
//!
//! w = P − 2 for the chain and 0 for flat and binomial trees. Not every size has to be tried, since g is linear
//! between its *bends* (the rows of its table):
//!
//! - A range of sizes where g(s) = a + b·s, so that q·g(s) = a·q + b·(m − r), takes at least
//!   a·q + b·m + w·(a + b·s) + min(g(r) − b·r) and at least a·q + b·m + min((1 + w)·g(r) − b·r). The minima over r
//!   are at bends or ends; that over s too, or at √(a·m / (w·b)), since m/s − 1 ≤ q < m/s.
//! - In a range where q is the same throughout and where neither g(s) nor g(r) bends, both g(s) and g(r) are linear in
//!   s, so U is convex and least at an end or where g(s) = g(r).
//!
//! So ranges are opened in the order of their lower bounds, each cut in two until it is of the second kind, and the
//! search ends when no open range's bound is more than `TOLERANCE` below the best size so far. That no other size is
//! better by more holds for every table, rising or falling. Some dozen ranges are opened, more only where many sizes
//! nearly tie: microseconds.

use super::algorithm::Algorithm;
use super::plogp::PLogP;
use crate::platform::TransferTime;
use crate::portfolio::MOST_SEGMENTS;
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Relative tolerance: no other size is faster than the one found by more than this.
const TOLERANCE: f64 = 0.002;

/// The segment size, bytes, and the time the corrected model gives it, seconds; the whole message where the
/// algorithm has no segments; `message_bytes` ≥ 1. No other size is better by more than a fifth of a per cent.
pub fn best_segment(algorithm: Algorithm, network: &PLogP, nodes: u64, message_bytes: u64) -> (u64, f64) {
    let segment_bytes = if algorithm.is_segmented() {
        let least_bytes = least_segment(network, message_bytes);
        RangeSearch::new(network, algorithm.waits(nodes), least_bytes, message_bytes).run()
    } else {
        message_bytes
    };
    (segment_bytes, algorithm.corrected_s(network, nodes, message_bytes, segment_bytes))
}

/// As [`best_segment`], by trying every size, to test the search.
pub fn exhaustive_segment(
    algorithm: Algorithm,
    network: &PLogP,
    nodes: u64,
    message_bytes: u64,
) -> (u64, f64) {
    let least = if algorithm.is_segmented() { least_segment(network, message_bytes) } else { message_bytes };
    let sizes = least..=message_bytes;
    let timed = sizes.map(|size| (size, algorithm.corrected_s(network, nodes, message_bytes, size)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).expect("a message has at least one byte")
}

/// The smallest segment to try. On a link without a start-up, the model gives no cost to segments of a byte; the bounds
/// are those of the planners' own search.
pub(super) fn least_segment(network: &PLogP, message_bytes: u64) -> u64 {
    let handled = network.handled_bytes;
    match network.gap {
        TransferTime::Affine { startup_s: 0.0, bandwidth_bytes_per_s: Some(_) } => {
            handled.max(message_bytes.div_ceil(MOST_SEGMENTS)).clamp(1, message_bytes)
        }
        TransferTime::Affine { startup_s: 0.0, bandwidth_bytes_per_s: None } => message_bytes,
        _ => handled.clamp(1, message_bytes),
    }
}

/// Segment sizes `first` … `last`, between which g does not bend, and the lower bound of their times, seconds.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SizeRange {
    /// The greatest range is split first: the one with the least bound, and of equals that of the largest sizes.
    least_s: Reverse<OrderedFloat<f64>>,
    first: u64,
    last: u64,
}

/// A branch and bound over segment sizes.
struct RangeSearch<'a> {
    network: &'a PLogP,
    /// w.
    waits: f64,
    message_bytes: u64,
    /// 1, the least segment, the bends between it and the message, and the message; each with its gap.
    bends: Vec<(u64, f64)>,
    open: BinaryHeap<SizeRange>,
    /// The best size tried and its U.
    best: (u64, f64),
}

impl<'a> RangeSearch<'a> {
    fn new(network: &'a PLogP, waits: f64, least_bytes: u64, message_bytes: u64) -> RangeSearch<'a> {
        let inside = network.bends().into_iter().filter(|size| (1..message_bytes).contains(size));
        let mut bends: Vec<u64> = inside.chain([1, least_bytes, message_bytes]).collect();
        bends.sort_unstable();
        bends.dedup();
        let bends: Vec<(u64, f64)> = bends.into_iter().map(|size| (size, network.g(size))).collect();
        let best = (message_bytes, f64::INFINITY);
        let mut search = RangeSearch { network, waits, message_bytes, bends, open: BinaryHeap::new(), best };
        let sizes: Vec<u64> =
            search.bends.iter().map(|bend| bend.0).filter(|&size| size >= least_bytes).collect();
        // From the largest, so that it wins a tie.
        sizes.iter().rev().for_each(|&size| search.try_size(size));
        for pair in sizes.windows(2).rev() {
            search.add(pair[0], pair[1]);
        }
        search
    }

    fn run(mut self) -> u64 {
        while let Some(range) = self.open.pop() {
            if !self.promises(range.least_s.0 .0) {
                break;
            }
            self.split(range.first, range.last);
        }
        self.best.0
    }

    fn promises(&self, least_s: f64) -> bool {
        least_s * (1.0 + TOLERANCE) < self.best.1
    }

    /// ⌈m/s⌉ − 1.
    fn full_segments(&self, size: u64) -> u64 {
        self.message_bytes.div_ceil(size) - 1
    }

    fn last_bytes(&self, size: u64) -> u64 {
        self.message_bytes - self.full_segments(size) * size
    }

    fn try_size(&mut self, size: u64) {
        let (full_s, last_s) = (self.network.g(size), self.network.g(self.last_bytes(size)));
        let seconds = self.full_segments(size) as f64 * full_s + last_s + self.waits * full_s.max(last_s);
        if seconds < self.best.1 {
            self.best = (size, seconds);
        }
    }

    /// Cuts a range in two, or tries the sizes in it that can be the best.
    fn split(&mut self, first: u64, last: u64) {
        let (fewest, most) = (self.full_segments(last), self.full_segments(first));
        let cut = if fewest < most {
            // The middle of as many factors; sizes from the cut on make at most that number of full segments.
            let middle = ((fewest.max(1) as f64 * most as f64).sqrt() as u64).clamp(fewest, most - 1);
            self.message_bytes.div_ceil(middle + 1)
        } else {
            let (shortest, longest) = (self.last_bytes(last), self.last_bytes(first));
            let after = self.bends.partition_point(|bend| bend.0 <= shortest);
            let inside = &self.bends[after..self.bends.partition_point(|bend| bend.0 < longest)];
            let Some(&(bend, _)) = inside.get(inside.len() / 2) else {
                return self.try_convex(first, last);
            };
            // Sizes before the cut leave a last segment of at least `bend` bytes.
            (self.message_bytes - bend) / most + 1
        };
        self.add(first, cut - 1);
        self.add(cut, last);
    }

    /// Tries both ends, and the sizes between which the slower segment changes from the full to the last one or back.
    fn try_convex(&mut self, first: u64, last: u64) {
        let is_full_slower =
            |search: &Self, size: u64| search.network.g(size) > search.network.g(search.last_bytes(size));
        let (mut low, mut high) = (first, last);
        let at_first = is_full_slower(self, first);
        if at_first != is_full_slower(self, last) {
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if is_full_slower(self, middle) == at_first {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        [last, high, low, first].into_iter().for_each(|size| self.try_size(size));
    }

    /// Opens the range unless its bound is too high; tries sizes near the one with the least bound.
    fn add(&mut self, first: u64, last: u64) {
        let (m, waits) = (self.message_bytes as f64, self.waits);
        let (first_s, last_s) = (self.network.g(first), self.network.g(last));
        let slope = if first < last { (last_s - first_s) / (last - first) as f64 } else { 0.0 };
        let startup_s = first_s - slope * first as f64;
        let (fewest, most) = (self.full_segments(last), self.full_segments(first));
        let (shortest, longest) =
            if fewest == most { (self.last_bytes(last), self.last_bytes(first)) } else { (1, last) };
        let (tail_s, [tail_ahead_s, tails_ahead_s]) = self.least_tails(shortest, longest, slope);
        // The minimum of a·q + w·b·s, and its approximate place.
        let (few, near, pipeline_s) = if startup_s >= 0.0 {
            let rising = waits * slope;
            let near = if rising > 0.0 { (m * startup_s / rising).sqrt() } else { f64::INFINITY };
            let near = near.clamp(first as f64, last as f64);
            (fewest as f64, near, startup_s * (m / near - 1.0) + rising * near)
        } else {
            // Then the slope is positive, and the fewer bytes the better.
            let near = first as f64;
            (most as f64, near, startup_s * (m - 1.0) / near + waits * slope * near)
        };
        let few_s = startup_s * few;
        let pipeline_s =
            pipeline_s.max(few_s + waits * slope * if slope < 0.0 { last } else { first } as f64);
        let full_s = first_s.min(last_s);
        let least_s = (pipeline_s + slope * m + waits * startup_s + tail_ahead_s)
            .max(few_s + slope * m + tails_ahead_s)
            .max(fewest as f64 * full_s + tail_s + waits * full_s.max(tail_s))
            .max(0.0);
        if !self.promises(least_s) {
            return;
        }
        // Of all sizes with an equal number of segments, the smallest has the most even ones.
        let count = self.message_bytes.div_ceil(near as u64);
        for count in [count, count - 1] {
            if count > 0 {
                self.try_size(self.message_bytes.div_ceil(count).clamp(first, last));
            }
        }
        if self.promises(least_s) {
            self.open.push(SizeRange { least_s: Reverse(OrderedFloat(least_s)), first, last });
        }
    }

    /// The least of g(r), of g(r) − b·r and of (1 + w)·g(r) − b·r over last segments of `shortest` … `longest`
    /// bytes.
    fn least_tails(&self, shortest: u64, longest: u64, slope: f64) -> (f64, [f64; 2]) {
        let after = self.bends.partition_point(|bend| bend.0 <= shortest);
        let before = self.bends.partition_point(|bend| bend.0 < longest).max(after);
        let ends = [shortest, longest].map(|size| (size, self.network.g(size)));
        let mut least = (f64::INFINITY, [f64::INFINITY; 2]);
        for &(size, gap_s) in self.bends[after..before].iter().chain(&ends) {
            let ahead_s = gap_s - slope * size as f64;
            least.0 = least.0.min(gap_s);
            least.1[0] = least.1[0].min(ahead_s);
            least.1[1] = least.1[1].min(ahead_s + self.waits * gap_s);
        }
        least
    }
}
