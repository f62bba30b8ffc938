//! One period's transfers laid out on a circle of time, so that no resource is held twice at once.
//!
//! The layout may ignore segments: a transfer that comes before its segment on the circle takes the one of an earlier
//! period (its *lag*). So only the resources' windows constrain the starts, a cyclic open shop. Transfers are placed
//! in the order of the first time their segment can be there, as modulo scheduling does with the operations of a loop
//! (Rau, *Iterative modulo scheduling*, MICRO 1994): at the nearest time that leaves no unusable gap beside a busy
//! resource's other windows; where nothing is free, the transfers that are cheapest to move are removed and placed
//! again.

use super::settings::timetables::{CUT, TOUCH};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A transfer of one position of the period.
#[derive(Clone, Debug)]
pub(super) struct PeriodTransfer {
    /// The transfer that brings the segment to the sender; `None` at the root. Always an earlier one.
    pub after: Option<usize>,
    /// (resource, offset, duration), seconds from the start; latencies left out at the receiver's side,
    /// because orders must agree at both ends of transfers of different latency.
    pub windows: Vec<(u32, f64, f64)>,
    /// The hops over switches one by one, for simulation.
    pub hops: Vec<PeriodHop>,
    /// When the receiver holds the segment, seconds from the start.
    pub arrival_s: f64,
    /// When the root should begin with the position, as a part of the period.
    pub phase: f64,
}

/// A hop of a transfer.
#[derive(Clone, Debug)]
pub(super) struct PeriodHop {
    /// (resource, offset, duration), seconds from the hop's start, latencies included.
    pub windows: Vec<(u32, f64, f64)>,
    /// When the hop's end holds the segment, seconds from its start.
    pub arrival_s: f64,
}

impl PeriodHop {
    /// The arrival of a segment that can leave at `ready_s`, seconds; the resources are held until then.
    pub fn play_s(&self, ready_s: f64, free_s: &mut [f64]) -> f64 {
        let mut start_s = ready_s;
        for &(resource, offset_s, _) in &self.windows {
            start_s = start_s.max(free_s[resource as usize] - offset_s);
        }
        for &(resource, offset_s, duration_s) in &self.windows {
            free_s[resource as usize] = start_s + offset_s + duration_s;
        }
        start_s + self.arrival_s
    }
}

impl PeriodTransfer {
    /// All windows of its hops.
    pub fn real_windows(&self) -> impl Iterator<Item = &(u32, f64, f64)> {
        self.hops.iter().flat_map(|hop| &hop.windows)
    }

    /// Whether a resource is held only from later than the start on, latency apart.
    pub fn is_spread(&self) -> bool {
        self.windows.iter().any(|&(_, offset_s, duration_s)| offset_s > duration_s * TOUCH)
    }
}

/// Starts within the period, and how many periods late each transfer works.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timetable {
    /// Transfers in the order of their starts.
    pub order: Vec<usize>,
    pub lag: Vec<u32>,
}

struct Circle<'a> {
    transfers: &'a [PeriodTransfer],
    period_s: f64,
    /// By resource, the (start, duration, transfer) that hold it.
    held: Vec<Vec<(f64, f64, usize)>>,
    /// By resource, the idle time of a period, seconds.
    idle_s: Vec<f64>,
    /// By resource, its shortest window, seconds.
    shortest_s: Vec<f64>,
    moved: Vec<u32>,
}

impl Timetable {
    /// Starts without overlaps at that period, returned with the period, or `None` if none were found with `tries`
    /// placements per transfer.
    pub fn fit(
        transfers: &[PeriodTransfer],
        resources: usize,
        period_s: f64,
        tries: usize,
    ) -> Option<(Vec<f64>, f64)> {
        let mut circle = Circle::new(transfers, resources, period_s);
        let mut follows: Vec<Vec<usize>> = vec![Vec::new(); transfers.len()];
        let mut open = BinaryHeap::new();
        for (at, transfer) in transfers.iter().enumerate() {
            match transfer.after {
                Some(before) => follows[before].push(at),
                None => open.push(Reverse((order_bits(transfer.phase * period_s), at))),
            }
        }
        // Absolute times: whole periods count as lag.
        let mut start_s: Vec<Option<f64>> = vec![None; transfers.len()];
        let mut known_s: Vec<f64> = vec![0.0; transfers.len()];
        let mut tries = tries * transfers.len();
        while let Some(Reverse((_, at))) = open.pop() {
            if start_s[at].is_some() {
                continue;
            }
            tries = tries.checked_sub(1)?;
            let transfer = &transfers[at];
            let ready_s = match transfer.after {
                Some(before) => known_s[before] + transfers[before].arrival_s,
                None => transfer.phase * period_s,
            };
            let (wait_s, evicted) = circle.place(at, ready_s);
            start_s[at] = Some(ready_s + wait_s);
            known_s[at] = ready_s + wait_s;
            for other in evicted {
                start_s[other] = None;
                open.push(Reverse((order_bits(known_s[other]), other)));
            }
            for &next in &follows[at] {
                if start_s[next].is_none() {
                    open.push(Reverse((order_bits(known_s[at] + transfer.arrival_s), next)));
                }
            }
        }
        Some((start_s.into_iter().collect::<Option<_>>()?, period_s))
    }

    /// Starts, and their period, at which no transfer waits while all its resources are free, regardless of segments:
    /// of those that can start first, the one with the most work left at any of its resources goes; `urgency` is the
    /// delay of a start that more work left may justify. Denser than what [`fit`](Timetable::fit) finds where many
    /// resources are busy all the time, but with more delay, because segments wait for about half a period at each
    /// hop until windows are reassigned.
    pub fn dense(transfers: &[PeriodTransfer], resources: usize, urgency: f64) -> (Vec<f64>, f64) {
        let mut left_s = vec![0.0f64; resources];
        for &(resource, _, duration_s) in transfers.iter().flat_map(|transfer| &transfer.windows) {
            left_s[resource as usize] += duration_s;
        }
        let head_s = urgency * left_s.iter().copied().fold(0.0, f64::max);
        let mut free_s = vec![0.0f64; resources];
        let mut start_s = vec![0.0f64; transfers.len()];
        // When a transfer can start, and its key: due first, then the most work left, then its number. Placing others
        // only delays starts and reduces work, so keys only grow, and a key that is still valid at the top is the
        // least.
        let key = |at: usize, free_s: &[f64], left_s: &[f64]| {
            let (mut can_s, mut work_s) = (0.0f64, 0.0f64);
            for &(resource, offset_s, _) in &transfers[at].windows {
                can_s = can_s.max(free_s[resource as usize] - offset_s);
                work_s = work_s.max(left_s[resource as usize]);
            }
            let due = order_bits(can_s - urgency * work_s + head_s);
            (can_s, Reverse((due, Reverse(order_bits(work_s)), at)))
        };
        let mut open: BinaryHeap<_> = (0..transfers.len()).map(|at| key(at, &free_s, &left_s).1).collect();
        while let Some(known) = open.pop() {
            let at = known.0 .2;
            let (can_s, now) = key(at, &free_s, &left_s);
            if now < known {
                open.push(now);
                continue;
            }
            start_s[at] = can_s;
            for &(resource, offset_s, duration_s) in &transfers[at].windows {
                free_s[resource as usize] = can_s + offset_s + duration_s;
                left_s[resource as usize] -= duration_s;
            }
        }
        let period_s = free_s.into_iter().fold(0.0, f64::max);
        (start_s, period_s)
    }

    /// The timetable of these starts, each segment taken as soon as it is there.
    pub fn with_lags(transfers: &[PeriodTransfer], start_s: &[f64], period_s: f64) -> Timetable {
        let within: Vec<f64> = start_s.iter().map(|start| start.rem_euclid(period_s)).collect();
        let mut order: Vec<usize> = (0..transfers.len()).collect();
        order.sort_by(|&a, &b| within[a].total_cmp(&within[b]).then(a.cmp(&b)));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &transfer)| place[transfer] = at);
        let mut lag = vec![0u32; transfers.len()];
        for (at, transfer) in transfers.iter().enumerate() {
            let Some(before) = transfer.after else { continue };
            let ready_s = within[before] + f64::from(lag[before]) * period_s + transfers[before].arrival_s;
            let late = ((ready_s - within[at]) / period_s - TOUCH).ceil().max(0.0) as u32;
            // In the same period, the order must have the segment's arrival first, also where times tie.
            lag[at] = late.max(lag[before] + u32::from(place[before] > place[at]));
        }
        Timetable { order, lag }
    }

    /// Lets segments wait some periods more at every host on their way.
    pub fn relax(&mut self, transfers: &[PeriodTransfer], wait: u32) {
        let mut waited = vec![0u32; transfers.len()];
        for (at, transfer) in transfers.iter().enumerate() {
            waited[at] = transfer.after.map_or(0, |before| waited[before] + wait);
            self.lag[at] += waited[at];
        }
    }

    /// The most periods that a segment is behind the period it is sent in.
    pub fn deepest(&self) -> u32 {
        self.lag.iter().copied().max().unwrap_or(0)
    }

    /// When the last of `periods` whole periods' segments has arrived everywhere if every node keeps the
    /// order and does all as soon as it can, seconds; extrapolated beyond some periods.
    pub fn play_s(&self, transfers: &[PeriodTransfer], resources: usize, periods: u64) -> f64 {
        let deepest = self.deepest() as usize;
        // After the deepest lag, all periods are equal; the last ones have no successors and are shorter, so the
        // steady rate is taken before them.
        let half = 2 * deepest + 10;
        let played = periods.min((2 * half + deepest) as u64) as usize;
        let mut free_s = vec![0.0f64; resources];
        // Arrivals of the last few periods' segments by transfer: a segment is passed on within `deepest`.
        let ring = deepest + 1;
        let mut arrived_s = vec![0.0f64; transfers.len() * ring];
        let mut done_s = vec![0.0f64; played];
        for now in 0..played + deepest {
            for &at in &self.order {
                let Some(segment) = now.checked_sub(self.lag[at] as usize).filter(|&s| s < played) else {
                    continue;
                };
                let transfer = &transfers[at];
                let mut arrival_s =
                    transfer.after.map_or(0.0, |before| arrived_s[before * ring + segment % ring]);
                for hop in &transfer.hops {
                    arrival_s = hop.play_s(arrival_s, &mut free_s);
                }
                arrived_s[at * ring + segment % ring] = arrival_s;
                done_s[segment] = done_s[segment].max(arrival_s);
            }
        }
        let last_s = done_s.last().copied().unwrap_or(0.0);
        if periods <= played as u64 {
            return last_s;
        }
        let each_s = (done_s[2 * half - 1] - done_s[half - 1]) / half as f64;
        last_s + each_s * (periods - played as u64) as f64
    }
}

/// Times ≥ 0 in the order of their bits.
pub(super) fn order_bits(time_s: f64) -> u64 {
    time_s.max(0.0).to_bits()
}

impl<'a> Circle<'a> {
    fn new(transfers: &'a [PeriodTransfer], resources: usize, period_s: f64) -> Circle<'a> {
        let mut idle_s = vec![period_s; resources];
        let mut shortest_s = vec![f64::INFINITY; resources];
        for &(resource, _, duration_s) in transfers.iter().flat_map(|transfer| &transfer.windows) {
            idle_s[resource as usize] -= duration_s;
            shortest_s[resource as usize] = shortest_s[resource as usize].min(duration_s);
        }
        let held = vec![Vec::new(); resources];
        Circle { transfers, period_s, held, idle_s, shortest_s, moved: vec![0; transfers.len()] }
    }

    /// Places the transfer at some time after `ready_s`; returns the wait, and the transfers that were removed.
    fn place(&mut self, at: usize, ready_s: f64) -> (f64, Vec<usize>) {
        let transfers = self.transfers;
        let windows = &transfers[at].windows;
        // At once, or directly after or before another window of the same resource.
        let mut waits_s = vec![0.0];
        for &(resource, offset_s, duration_s) in windows {
            for &(start_s, held_s, _) in &self.held[resource as usize] {
                waits_s.push((start_s + held_s - offset_s - ready_s).rem_euclid(self.period_s));
                waits_s.push((start_s - duration_s - offset_s - ready_s).rem_euclid(self.period_s));
            }
        }
        let wait_s = self.nearest_free(windows, ready_s, &waits_s).unwrap_or_else(|| {
            let burden = |wait_s: f64| {
                let in_the_way = self.in_the_way(windows, ready_s + wait_s);
                let moved = in_the_way.iter().map(|&other| 1.0 + f64::from(self.moved[other])).sum::<f64>();
                moved + wait_s / self.period_s
            };
            let burdens = waits_s.iter().map(|&wait_s| (burden(wait_s), wait_s));
            burdens
                .min_by(|a, b| a.partial_cmp(b).expect("burdens are numbers"))
                .expect("some time was tried")
                .1
        });
        let start_s = ready_s + wait_s;
        let evicted = self.in_the_way(windows, start_s);
        for &other in &evicted {
            self.moved[other] += 1;
            for &(resource, ..) in &transfers[other].windows {
                self.held[resource as usize].retain(|held| held.2 != other);
            }
        }
        for &(resource, offset_s, duration_s) in windows {
            let from_s = (start_s + offset_s).rem_euclid(self.period_s);
            self.held[resource as usize].push((from_s, duration_s, at));
        }
        (wait_s, evicted)
    }

    /// Of the given waits, the one after which all windows are free, with the best compromise of time and remaining
    /// gaps.
    fn nearest_free(&self, windows: &[(u32, f64, f64)], ready_s: f64, waits_s: &[f64]) -> Option<f64> {
        let mut best: Option<(f64, f64)> = None;
        for &wait_s in waits_s {
            let waited = wait_s / self.period_s;
            let may_win = best.is_none_or(|(worth, _)| waited < worth);
            if may_win && self.clashes(windows, ready_s + wait_s).next().is_none() {
                let worth = waited + self.waste(windows, ready_s + wait_s);
                if best.is_none_or(|best| worth < best.0) {
                    best = Some((worth, wait_s));
                }
            }
        }
        best.map(|(_, wait_s)| wait_s)
    }

    fn in_the_way(&self, windows: &[(u32, f64, f64)], start_s: f64) -> Vec<usize> {
        let mut found: Vec<usize> = self.clashes(windows, start_s).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The transfers that overlap these windows; one may appear once per resource.
    fn clashes<'b>(
        &'b self,
        windows: &'b [(u32, f64, f64)],
        start_s: f64,
    ) -> impl Iterator<Item = usize> + 'b {
        let touch_s = TOUCH * self.period_s;
        windows.iter().flat_map(move |&(resource, offset_s, duration_s)| {
            let from_s = (start_s + offset_s).rem_euclid(self.period_s);
            let apart = move |other_s: f64, held_s: f64| {
                let ahead_s = other_s - from_s;
                let until_s = if ahead_s < 0.0 { ahead_s + self.period_s } else { ahead_s };
                (until_s >= duration_s - touch_s && self.period_s - until_s >= held_s - touch_s)
                    || until_s + held_s <= touch_s
            };
            let held = self.held[resource as usize].iter();
            held.filter(move |&&(other_s, held_s, _)| !apart(other_s, held_s)).map(|held| held.2)
        })
    }

    /// Gaps too short for any other window of a resource, as parts of the idle time it has.
    fn waste(&self, windows: &[(u32, f64, f64)], start_s: f64) -> f64 {
        let mut waste = 0.0;
        for &(resource, offset_s, duration_s) in windows {
            let at = resource as usize;
            let from_s = (start_s + offset_s).rem_euclid(self.period_s);
            let (mut before_s, mut after_s) = (self.period_s, self.period_s);
            for &(other_s, held_s, _) in &self.held[at] {
                before_s = before_s.min((from_s - other_s - held_s).rem_euclid(self.period_s));
                after_s = after_s.min((other_s - from_s - duration_s).rem_euclid(self.period_s));
            }
            for gap_s in [before_s, after_s] {
                // A gap of a whole period, up to rounding, is none.
                let is_gap = gap_s > TOUCH * self.period_s && gap_s < self.period_s * (1.0 - TOUCH);
                if is_gap && gap_s < self.shortest_s[at] {
                    waste += gap_s / self.idle_s[at].max(TOUCH * self.period_s);
                } else if is_gap {
                    waste += CUT * (1.0 - self.idle_s[at] / self.period_s);
                }
            }
        }
        waste
    }
}
