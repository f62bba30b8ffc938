//! One order for all transfers of a period in which every segment follows its tree without waiting for a later period.
//!
//! A period in which transfers take the segments of earlier ones keeps all ports busy, but a segment arrives some
//! periods late, and the blocks of an all-gather are so many that a message has few periods. So transfers are listed as
//! they become possible: of those whose segment is there, the one that can start first, and of these the one with the
//! most work left behind it, at any of its resources or below it in its tree (list scheduling: Graham, *Bounds on
//! multiprocessing timing anomalies*, 1969).

use super::assign_windows::tails;
use super::period_layout::Layout;
use super::settings::listing::URGENCIES;
use super::timetable::{order_bits, PeriodTransfer, Timetable};
use crate::budget::Budget;
use crate::plan::{Period, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order in which `periods` periods end first, and when, seconds; of those listed until the time is up.
pub(super) fn in_turn(layout: Layout, periods: u64, budget: &Budget) -> (f64, Period) {
    let (transfers, resources) = (&layout.transfers, layout.resources.len());
    // The first order is listed in any case. Units are not counted, so without a time limit all are.
    let has_time = |&(at, _): &(usize, f64)| at == 0 || !(budget.is_timed() && budget.is_spent());
    let listed = URGENCIES.into_iter().enumerate().take_while(has_time).map(|(_, urgency)| {
        let timetable =
            Timetable { order: list(transfers, resources, urgency), lag: vec![0; transfers.len()] };
        (timetable.play_s(transfers, resources, periods), timetable.order)
    });
    let (done_s, order) = listed.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are urgencies");
    let slot = |&at: &usize| {
        let (segment, from, to) = layout.ends[at];
        Slot { segment, from, to, lag: 0 }
    };
    let segments = layout.positions;
    (done_s, Period { segments, slots: order.iter().map(slot).collect() })
}

/// The transfers in the order of their starts; a start may be later than another by `urgency` times the difference of
/// the work left behind them.
fn list(transfers: &[PeriodTransfer], resources: usize, urgency: f64) -> Vec<usize> {
    let tail_s = tails(transfers);
    let mut left_s = vec![0.0f64; resources];
    let mut follows: Vec<Vec<usize>> = vec![Vec::new(); transfers.len()];
    for (at, transfer) in transfers.iter().enumerate() {
        transfer.after.into_iter().for_each(|before| follows[before].push(at));
        for &(resource, _, duration_s) in transfer.real_windows() {
            left_s[resource as usize] += duration_s;
        }
    }
    let head_s = urgency * left_s.iter().chain(&tail_s).copied().fold(0.0, f64::max);
    let mut free_s = vec![0.0f64; resources];
    let mut ready_s = vec![0.0f64; transfers.len()];
    // Placing others delays a start and reduces the work left, so keys only grow, and a key that is still valid at the
    // top is the least.
    let key = |at: usize, ready_s: f64, free_s: &[f64], left_s: &[f64]| {
        let (mut can_s, mut work_s) = (ready_s, tail_s[at]);
        for &(resource, offset_s, _) in transfers[at].real_windows() {
            can_s = can_s.max(free_s[resource as usize] - offset_s);
            work_s = work_s.max(left_s[resource as usize]);
        }
        let due = order_bits(can_s - urgency * work_s + head_s);
        (can_s, Reverse((due, Reverse(order_bits(tail_s[at])), at)))
    };
    let first = (0..transfers.len()).filter(|&at| transfers[at].after.is_none());
    let mut open: BinaryHeap<_> = first.map(|at| key(at, 0.0, &free_s, &left_s).1).collect();
    let mut order = Vec::with_capacity(transfers.len());
    while let Some(known) = open.pop() {
        let at = known.0 .2;
        let (can_s, now) = key(at, ready_s[at], &free_s, &left_s);
        if now < known {
            open.push(now);
            continue;
        }
        for &(resource, offset_s, duration_s) in transfers[at].real_windows() {
            free_s[resource as usize] = can_s + offset_s + duration_s;
            left_s[resource as usize] -= duration_s;
        }
        order.push(at);
        for &next in &follows[at] {
            ready_s[next] = can_s + transfers[at].arrival_s;
            open.push(key(next, ready_s[next], &free_s, &left_s).1);
        }
    }
    order
}
