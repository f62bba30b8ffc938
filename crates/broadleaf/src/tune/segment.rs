//! The segment size of the least predicted time, by the corrected model.
//!
//! Where g is linear, g(s) = a + b·s, the segmented models are about (c + m/s)·(a + b·s), which has one minimum, at
//! s = √(m·a / (c·b)): c, a number of transfers, lies between 1 and P − 1. g is linear between the rows of its
//! table, so each row and each piece's own minimum is a place to look (the *bracket*); around the best few of
//! them the step is then halved. Complexity: some hundred evaluations of the model, microseconds.

use super::{Algorithm, PLogP};
use crate::planners::MOST_SEGMENTS;
use crate::platform::TransferTime;

/// Places of the bracket around which the search is refined.
const REFINED: usize = 3;
/// The first step around a place, as a factor, and how often it is halved: 2^(1/2) … 2^(1/64).
const HALVINGS: i32 = 6;
/// With more segments the last one is less than 1 % of the whole.
const MOST_WITH_TAILS: u64 = 128;

/// The segment size, bytes, and the time the corrected model gives it, seconds; the whole message where the
/// algorithm has no segments; `message_bytes` ≥ 1. Of equally good sizes the largest that was tried.
pub fn best_segment(algorithm: Algorithm, network: &PLogP, nodes: u64, message_bytes: u64) -> (u64, f64) {
    let least_bytes = least_segment(network, message_bytes);
    let tried = Vec::with_capacity(128);
    let mut search = Search { algorithm, network, nodes, message_bytes, least_bytes, tried };
    search.try_size(message_bytes);
    if algorithm.is_segmented() && message_bytes > 1 {
        search.bracket();
        search.refine();
    }
    search.best()
}

/// As [`best_segment`], by trying every size: the measure that the search is held to.
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

/// The smallest segment worth trying. A link without a start-up promises that segments of a byte cost nothing;
/// the bounds are those of the planners' own search.
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

struct Search<'a> {
    algorithm: Algorithm,
    network: &'a PLogP,
    nodes: u64,
    message_bytes: u64,
    least_bytes: u64,
    /// (size, seconds).
    tried: Vec<(u64, f64)>,
}

impl Search<'_> {
    fn try_size(&mut self, size: u64) {
        let size = size.clamp(self.least_bytes, self.message_bytes);
        let seconds = self.algorithm.corrected_s(self.network, self.nodes, self.message_bytes, size);
        self.tried.push((size, seconds));
    }

    /// A size, and the smallest ones that make as many segments as it and one more or less: of all sizes that
    /// make k segments the smallest, ⌈m/k⌉, sends the least.
    fn try_around(&mut self, size: u64) {
        let size = size.clamp(1, self.message_bytes);
        self.try_size(size);
        let count = self.message_bytes.div_ceil(size);
        for count in [count.saturating_sub(1).max(1), count, count + 1] {
            self.try_size(self.message_bytes.div_ceil(count));
        }
    }

    fn bracket(&mut self) {
        let m = self.message_bytes;
        for count in
            std::iter::successors(Some(2u64), |count| count.checked_mul(4)).take_while(|&count| count < m)
        {
            self.try_size(m.div_ceil(count));
        }
        let mut ends: Vec<u64> = self.network.bends().filter(|&size| (1..m).contains(&size)).collect();
        ends.extend([1, m]);
        ends.sort_unstable();
        ends.dedup();
        let network = self.network;
        for pair in ends.windows(2) {
            let (low, high) = (pair[0], pair[1]);
            self.try_around(low);
            let slope = (network.g(high) - network.g(low)) / (high - low) as f64;
            let startup_s = network.g(low) - slope * low as f64;
            if slope <= 0.0 || startup_s <= 0.0 {
                continue;
            }
            // The chain has c = P − 2; the others next to none, and the root's number of children instead.
            for transfers in [self.nodes.saturating_sub(2).max(1), 1] {
                let least = (m as f64 * startup_s / (transfers as f64 * slope)).sqrt() as u64;
                if (low..=high).contains(&least) {
                    self.try_around(least);
                }
            }
        }
    }

    fn refine(&mut self) {
        let mut places = self.tried.clone();
        places.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        places.dedup_by_key(|place| place.0);
        places.truncate(REFINED);
        if self.network.is_rising() {
            for &(place, _) in &places {
                let count = self.message_bytes.div_ceil(place);
                (count.saturating_sub(1)..=count + 1).for_each(|count| self.try_tails(count));
            }
        } else {
            // Where gaps fall, one byte more or less of a segment, or of the last one, can be worth any factor.
            (2..=MOST_WITH_TAILS).for_each(|count| self.try_tails(count));
        }
        for (mut centre, mut centre_s) in places {
            for halving in 1..=HALVINGS {
                let step = 2f64.powf(0.5f64.powi(halving));
                for next in [(centre as f64 / step).round() as u64, (centre as f64 * step).round() as u64] {
                    let before = self.tried.len();
                    // ⌈m/k⌉ of the nearest count: other sizes only lengthen the last segment's fellows.
                    let count = self.message_bytes.div_ceil(next.clamp(1, self.message_bytes));
                    self.try_size(self.message_bytes.div_ceil(count));
                    let (size, seconds) = self.tried[before];
                    if seconds < centre_s {
                        (centre, centre_s) = (size, seconds);
                    }
                }
            }
        }
    }

    /// With few segments the last one's gap counts too: the smallest and the largest size that make `count`
    /// segments, those at which a full segment's or the last one's gap bends, and between them those at which
    /// the slower of the two changes.
    fn try_tails(&mut self, count: u64) {
        let (network, m) = (self.network, self.message_bytes);
        if !(2..=MOST_WITH_TAILS.min(m)).contains(&count) {
            return;
        }
        let last = |size: u64| m.saturating_sub((count - 1) * size);
        let (least, most) = (m.div_ceil(count), m.div_ceil(count - 1) - 1);
        let full = |tail: u64| [(m - tail) / (count - 1), (m - tail).div_ceil(count - 1)];
        let tails = network.bends().filter(|&tail| tail < m).flat_map(full);
        let mut sizes: Vec<u64> = tails.chain(network.bends()).chain([least, most]).collect();
        sizes.retain(|size| (least..=most).contains(size));
        sizes.sort_unstable();
        sizes.dedup();
        let ahead = |size: u64| network.g(size) - network.g(last(size));
        for pair in sizes.windows(2) {
            let (low, high) = (ahead(pair[0]), ahead(pair[1]));
            if low * high < 0.0 {
                let equal = pair[0] + ((pair[1] - pair[0]) as f64 * low / (low - high)) as u64;
                self.try_size(equal);
                self.try_size(equal + 1);
            }
        }
        sizes.into_iter().for_each(|size| self.try_size(size));
    }

    fn best(&self) -> (u64, f64) {
        let best = self.tried.iter().min_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        *best.expect("the whole message is always tried")
    }
}
