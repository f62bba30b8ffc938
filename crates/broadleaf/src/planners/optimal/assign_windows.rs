//! Assigns the windows of links to segments: those that have waited take the next one.
//!
//! A layout fixes when each link is used in a period. All windows of one link are equal, so their assignment to
//! positions is free, and decides how long segments wait at every hop: about half a period without this step, half
//! the time between two windows of a link with it. Positions are processed in the order in which their segments
//! arrive, those with a long way left first.

use super::settings::windows::{LATE, LEARNT, ROUNDS, URGENCIES};
use super::timetable::{order_bits, PeriodTransfer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The same windows, reassigned: starts from 0 on, beyond a period where segments are late. `link` names
/// each transfer's link.
pub(super) fn assign_windows(
    transfers: &[PeriodTransfer],
    link: &[u32],
    start_s: &[f64],
    period_s: f64,
) -> Vec<f64> {
    let mut windows: Vec<Vec<f64>> = vec![Vec::new(); link.iter().max().map_or(0, |&most| most as usize + 1)];
    for (&link, start_s) in link.iter().zip(start_s) {
        windows[link as usize].push(start_s.rem_euclid(period_s));
    }
    let tail_s = tails(transfers);
    let mut follows: Vec<Vec<usize>> = vec![Vec::new(); transfers.len()];
    for (at, transfer) in transfers.iter().enumerate() {
        transfer.after.into_iter().for_each(|before| follows[before].push(at));
    }
    let mut best: Option<(Vec<f64>, f64)> = None;
    for urgency in URGENCIES {
        let mut ahead_s: Vec<f64> = tail_s.iter().map(|tail_s| urgency * tail_s).collect();
        for _ in 0..ROUNDS {
            let (start_s, done_s) =
                assignment(transfers, link, windows.clone(), period_s, &follows, &ahead_s);
            // Late transfers go ahead by their lateness the next time.
            for (ahead_s, late_s) in ahead_s.iter_mut().zip(ends(transfers, &start_s)) {
                *ahead_s += LEARNT * (late_s - LATE * done_s).max(0.0);
            }
            if best.as_ref().is_none_or(|(_, least_s)| done_s < *least_s) {
                best = Some((start_s, done_s));
            }
        }
    }
    best.expect("there are urgencies").0
}

/// The starts, and when the last segment of the first period has arrived everywhere, seconds.
fn assignment(
    transfers: &[PeriodTransfer],
    link: &[u32],
    mut windows: Vec<Vec<f64>>,
    period_s: f64,
    follows: &[Vec<usize>],
    ahead_s: &[f64],
) -> (Vec<f64>, f64) {
    // Keys stay above 0, where times sort by their bits.
    let most_s = ahead_s.iter().copied().fold(0.0, f64::max);
    let entry = |at: usize, ready_s: f64| Reverse((order_bits(ready_s + most_s - ahead_s[at]), at));
    let mut ready_s = vec![0.0; transfers.len()];
    let mut start_s = vec![0.0; transfers.len()];
    let mut done_s = 0.0f64;
    let first = (0..transfers.len()).filter(|&at| transfers[at].after.is_none());
    let mut open: BinaryHeap<_> = first.map(|at| entry(at, 0.0)).collect();
    while let Some(Reverse((_, at))) = open.pop() {
        let left = &mut windows[link[at] as usize];
        let wait_s = |window_s: f64| (window_s - ready_s[at]).rem_euclid(period_s);
        let next = (0..left.len()).min_by(|&a, &b| wait_s(left[a]).total_cmp(&wait_s(left[b])));
        let next = next.expect("a window for each transfer");
        start_s[at] = ready_s[at] + wait_s(left[next]);
        left.swap_remove(next);
        let arrival_s = start_s[at] + transfers[at].arrival_s;
        done_s = done_s.max(arrival_s);
        for &then in &follows[at] {
            ready_s[then] = arrival_s;
            open.push(entry(then, arrival_s));
        }
    }
    (start_s, done_s)
}

/// How long after a transfer's start its segment is everywhere below at best, seconds.
pub(super) fn tails(transfers: &[PeriodTransfer]) -> Vec<f64> {
    let mut tail_s: Vec<f64> = transfers.iter().map(|transfer| transfer.arrival_s).collect();
    for at in (0..transfers.len()).rev() {
        if let Some(before) = transfers[at].after {
            tail_s[before] = f64::max(tail_s[before], transfers[before].arrival_s + tail_s[at]);
        }
    }
    tail_s
}

/// When the last segment of a transfer and of its successors arrives, seconds.
fn ends(transfers: &[PeriodTransfer], start_s: &[f64]) -> Vec<f64> {
    let mut end_s: Vec<f64> =
        start_s.iter().zip(transfers).map(|(start_s, transfer)| start_s + transfer.arrival_s).collect();
    for at in (0..transfers.len()).rev() {
        if let Some(before) = transfers[at].after {
            end_s[before] = f64::max(end_s[before], end_s[at]);
        }
    }
    end_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Eight positions of a period over the complete graph of six nodes, a random tree each, parents first,
    /// with starts drawn anywhere: overlaps do not matter here.
    fn drawn(random: &mut Random, period_s: f64) -> (Vec<PeriodTransfer>, Vec<u32>, Vec<f64>) {
        let (mut transfers, mut link, mut start_s) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..8 {
            let mut brought: Vec<Option<usize>> = vec![None];
            for to in 1..6u32 {
                let from = random.below(to as usize);
                let after = brought[from];
                brought.push(Some(transfers.len()));
                let windows = Vec::new();
                let arrival_s = 1.0 + f64::from(to) / 10.0;
                transfers.push(PeriodTransfer { after, windows, hops: Vec::new(), arrival_s, phase: 0.0 });
                link.push(from as u32 * 6 + to);
                start_s.push(random.unit() * period_s);
            }
        }
        (transfers, link, start_s)
    }

    /// Each link keeps its windows, no segment leaves before it has arrived, and waits are shorter than in the drawn
    /// assignment.
    #[test]
    fn windows_stay_and_segments_wait_less() {
        let mut random = Random::new(3);
        let (mut before_s, mut after_s) = (0.0, 0.0);
        for _ in 0..50 {
            let period_s = 9.0;
            let (transfers, link, start_s) = drawn(&mut random, period_s);
            let dealt_s = assign_windows(&transfers, &link, &start_s, period_s);
            let windows = |starts: &[f64]| {
                let mut windows: Vec<(u32, i64)> = link
                    .iter()
                    .zip(starts)
                    .map(|(&link, start)| (link, (start.rem_euclid(period_s) * 1e6).round() as i64))
                    .collect();
                windows.sort_unstable();
                windows
            };
            assert_eq!(windows(&dealt_s), windows(&start_s));
            let mut naive_s: Vec<f64> = Vec::new();
            for (at, transfer) in transfers.iter().enumerate() {
                let ready = |starts: &[f64]| {
                    transfer.after.map_or(0.0, |before| starts[before] + transfers[before].arrival_s)
                };
                assert!(dealt_s[at] >= ready(&dealt_s) - 1e-9);
                let wait_s = (start_s[at] - ready(&naive_s)).rem_euclid(period_s);
                naive_s.push(ready(&naive_s) + wait_s);
            }
            let done = |starts: &[f64]| {
                starts.iter().zip(&transfers).map(|(start, t)| start + t.arrival_s).fold(0.0, f64::max)
            };
            before_s += done(&naive_s);
            after_s += done(&dealt_s);
        }
        assert!(after_s < 0.85 * before_s, "{after_s} of {before_s}");
    }
}
