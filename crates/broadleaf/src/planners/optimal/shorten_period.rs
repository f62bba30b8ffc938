//! Shortens a period by changing the orders of transfers at ports.
//!
//! The order in which every resource serves the transfers of a period decides how short the period can be: the
//! longest cycle of waits, seconds for each period it spans (the maximum cycle ratio of the timed event graph). Only
//! changes on that cycle can shorten it, so the search exchanges neighbours there, and does not reverse a recent
//! exchange (tabu search, as for job shops: Nowicki and Smutnicki, *A fast taboo search algorithm for the job shop
//! problem*, Management Science 1996). Which segment a transfer carries does not matter here: lags absorb it.

use super::settings::shortening::{ENOUGH, REMEMBERED, TOUCH, TRANSFERS_PER_UNIT};
use super::timetable::PeriodTransfer;
use crate::budget::Budget;
use std::collections::VecDeque;

/// Windows in the order in which resources serve them; windows are numbered through, transfer by transfer.
#[derive(Clone)]
pub(super) struct ServingOrders {
    /// The transfer of each window.
    transfer: Vec<u32>,
    /// The first window of each transfer, and the end.
    first: Vec<u32>,
    from_s: Vec<f64>,
    until_s: Vec<f64>,
    /// The next and previous window on the same resource, around the period.
    next: Vec<u32>,
    prev: Vec<u32>,
    /// Periods between a window and its next one.
    wraps: Vec<i32>,
    /// Starts for the last measured period, not yet reduced to one period.
    pub start_s: Vec<f64>,
    /// The window of each transfer that determines its start.
    tight: Vec<u32>,
    busiest_s: f64,
}

/// The longest cycle of waits: the period, and the windows that are followed on their resource by the next
/// transfer of the cycle.
struct Cycle {
    period_s: f64,
    windows: Vec<u32>,
}

impl ServingOrders {
    /// The orders of a timetable given by its starts.
    pub fn new(
        transfers: &[PeriodTransfer],
        resources: usize,
        start_s: &[f64],
        period_s: f64,
    ) -> ServingOrders {
        let mut shop = ServingOrders {
            transfer: Vec::new(),
            first: vec![0],
            from_s: Vec::new(),
            until_s: Vec::new(),
            next: Vec::new(),
            prev: Vec::new(),
            wraps: Vec::new(),
            start_s: start_s.iter().map(|start| start.rem_euclid(period_s)).collect(),
            tight: Vec::new(),
            busiest_s: 0.0,
        };
        let mut by_resource: Vec<Vec<u32>> = vec![Vec::new(); resources];
        let mut busy_s = vec![0.0; resources];
        for (at, transfer) in transfers.iter().enumerate() {
            shop.tight.push(shop.transfer.len() as u32);
            for &(resource, offset_s, duration_s) in &transfer.windows {
                by_resource[resource as usize].push(shop.transfer.len() as u32);
                busy_s[resource as usize] += duration_s;
                shop.transfer.push(at as u32);
                shop.from_s.push(offset_s);
                shop.until_s.push(offset_s + duration_s);
            }
            shop.first.push(shop.transfer.len() as u32);
        }
        shop.busiest_s = busy_s.into_iter().fold(0.0, f64::max);
        let windows = shop.transfer.len();
        (shop.next, shop.prev, shop.wraps) = (vec![0; windows], vec![0; windows], vec![0; windows]);
        for mut order in by_resource {
            let begin_s = |window: u32| {
                shop.start_s[shop.transfer[window as usize] as usize] + shop.from_s[window as usize]
            };
            order.sort_by(|&a, &b| begin_s(a).total_cmp(&begin_s(b)).then(a.cmp(&b)));
            for (place, &window) in order.iter().enumerate() {
                let next = order[(place + 1) % order.len()];
                shop.next[window as usize] = next;
                shop.prev[next as usize] = window;
                shop.wraps[window as usize] = i32::from(place + 1 == order.len());
            }
        }
        shop
    }

    /// The shortest period of these orders; `None` if they wait for each other in a circle, or if it is `limit_s` or
    /// longer: most exchanges are worse than one already tried, and a single cycle shows it.
    ///
    /// Starts are pushed back until nothing overlaps at the period of the longest cycle known; a longer cycle appears
    /// among the waits that pushed last (Howard's policy iteration, as in Dasdan, *Experimental analysis of the
    /// fastest optimum cycle ratio and mean algorithms*, 2004).
    fn measure(&mut self, limit_s: f64) -> Option<Cycle> {
        let mut longest = Cycle { period_s: self.busiest_s, windows: Vec::new() };
        let mut marks = vec![0u32; self.tight.len()];
        // Every round finds a longer cycle or changes the last pushes; far fewer rounds are needed than there are
        // transfers.
        for _ in 0..4 * self.tight.len() + 10 {
            self.longest_tight(&mut longest, &mut marks)?;
            if longest.period_s >= limit_s {
                return None;
            }
            let period_s = longest.period_s;
            let touch_s = TOUCH * period_s;
            let mut pushed = false;
            for window in 0..self.transfer.len() {
                let next = self.next[window] as usize;
                let can_s = self.start_s[self.transfer[window] as usize] + self.until_s[window]
                    - self.from_s[next]
                    - period_s * f64::from(self.wraps[window]);
                let to = self.transfer[next] as usize;
                if can_s > self.start_s[to] + touch_s {
                    self.start_s[to] = can_s;
                    self.tight[to] = next as u32;
                    pushed = true;
                }
            }
            if !pushed {
                return Some(longest);
            }
        }
        None
    }

    /// Searches for a longer cycle among each transfer's tightest wait.
    fn longest_tight(&self, longest: &mut Cycle, marks: &mut [u32]) -> Option<()> {
        marks.fill(0);
        for begin in 0..self.tight.len() {
            // A transfer that holds no resource never waits.
            if self.first[begin] == self.first[begin + 1] {
                continue;
            }
            let mut at = begin;
            while marks[at] == 0 {
                marks[at] = begin as u32 + 1;
                at = self.transfer[self.prev[self.tight[at] as usize] as usize] as usize;
            }
            if marks[at] != begin as u32 + 1 {
                continue;
            }
            let (mut length_s, mut wraps) = (0.0, 0);
            let end = at;
            loop {
                let window = self.tight[at] as usize;
                let before = self.prev[window] as usize;
                length_s += self.until_s[before] - self.from_s[window];
                wraps += self.wraps[before];
                at = self.transfer[before] as usize;
                if at == end {
                    break;
                }
            }
            if wraps <= 0 {
                if length_s > 0.0 {
                    return None;
                }
                continue;
            }
            let period_s = length_s / f64::from(wraps);
            if period_s > longest.period_s * (1.0 + TOUCH) {
                longest.period_s = period_s;
                longest.windows.clear();
                loop {
                    let before = self.prev[self.tight[at] as usize];
                    longest.windows.push(before);
                    at = self.transfer[before as usize] as usize;
                    if at == end {
                        break;
                    }
                }
                longest.windows.reverse();
            }
        }
        Some(())
    }

    /// Lets the window after `a` go before it.
    fn exchange(&mut self, a: u32) {
        let a = a as usize;
        let b = self.next[a] as usize;
        let between = self.wraps[a];
        if self.next[b] as usize == a {
            // Only these two windows: the circle stays, the wraps shift.
            self.wraps[b] = -between;
            self.wraps[a] = 1 + between;
            return;
        }
        let (before, after) = (self.prev[a] as usize, self.next[b] as usize);
        let to_after = self.wraps[b];
        (self.next[before], self.prev[b]) = (b as u32, before as u32);
        (self.next[b], self.prev[a]) = (a as u32, b as u32);
        (self.next[a], self.prev[after]) = (after as u32, a as u32);
        self.wraps[before] += between;
        self.wraps[b] = -between;
        self.wraps[a] = between + to_after;
    }

    /// The exchanges that may shorten a cycle: at the ends of each run on one resource.
    fn exchanges(&self, cycle: &Cycle) -> Vec<u32> {
        let windows = &cycle.windows;
        let count = windows.len();
        // The run goes on if the cycle leaves the next transfer by the window by which it entered.
        let goes_on = |at: usize| self.next[windows[at] as usize] == windows[(at + 1) % count];
        let chosen = (0..count).filter(|&at| !(goes_on(at) && goes_on((at + count - 1) % count)));
        chosen
            .map(|at| windows[at])
            .filter(|&a| self.transfer_after(a) != self.transfer[a as usize])
            .collect()
    }

    fn transfer_after(&self, window: u32) -> u32 {
        self.transfer[self.next[window as usize] as usize]
    }

    /// The shortest period of the orders as they were laid out, with the starts for it; `known_s` and unchanged
    /// starts where none shorter is found.
    pub fn compress(&mut self, known_s: f64) -> f64 {
        let known_start_s = self.start_s.clone();
        match self.measure(f64::INFINITY) {
            Some(cycle) if cycle.period_s < known_s => cycle.period_s,
            _ => {
                self.start_s = known_start_s;
                known_s
            }
        }
    }

    /// Exchanges neighbours, with `tries` tries at most within the budget; leaves the orders and starts of the
    /// shortest period found, which is returned. `None` if the orders cannot be kept.
    ///
    /// The first exchange that shortens the period is made; where none does, the one that lengthens it least.
    pub fn tighten(&mut self, mut tries: usize, budget: &Budget) -> Option<f64> {
        let mut cycle = self.measure(f64::INFINITY)?;
        let mut best = (cycle.period_s, self.clone());
        let mut recent: VecDeque<(u32, u32)> = VecDeque::new();
        while tries > 0 && !budget.is_spent() && best.0 > self.busiest_s * ENOUGH && !cycle.windows.is_empty()
        {
            let mut found: Option<(Cycle, ServingOrders, (u32, u32))> = None;
            for a in self.exchanges(&cycle) {
                let b = self.next[a as usize];
                let mut tried = self.clone();
                tried.exchange(a);
                tries = tries.saturating_sub(1);
                let is_over = tries == 0 || budget.spend((self.next.len() / TRANSFERS_PER_UNIT) as u64);
                let limit_s = found.as_ref().map_or(f64::INFINITY, |(known, ..)| known.period_s);
                let is_new =
                    |then: &Cycle| !recent.contains(&(a, b)) || then.period_s < best.0 * (1.0 - TOUCH);
                if let Some(then) = tried.measure(limit_s).filter(is_new) {
                    let shortens = then.period_s < cycle.period_s * (1.0 - TOUCH);
                    found = Some((then, tried, (b, a)));
                    if shortens {
                        break;
                    }
                }
                if is_over {
                    break;
                }
            }
            let Some((then, tried, back)) = found else { break };
            (cycle, *self) = (then, tried);
            recent.push_back(back);
            if recent.len() > REMEMBERED {
                recent.pop_front();
            }
            if cycle.period_s < best.0 * (1.0 - TOUCH) {
                best = (cycle.period_s, self.clone());
            }
        }
        *self = best.1;
        Some(best.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::timetable::{PeriodHop, Timetable};
    use super::*;
    use crate::random::Random;

    /// Transfers between ports, ten of them, each from an even to an odd one.
    fn drawn(random: &mut Random) -> Vec<PeriodTransfer> {
        let transfer = |random: &mut Random| {
            let length_s = 1.0 + random.unit();
            let windows = vec![
                (2 * random.below(5) as u32, 0.0, length_s),
                (2 * random.below(5) as u32 + 1, 0.0, length_s),
            ];
            PeriodTransfer {
                after: None,
                hops: vec![PeriodHop { windows: windows.clone(), arrival_s: length_s }],
                windows,
                arrival_s: length_s,
                phase: 0.0,
            }
        };
        (0..10 + random.below(30)).map(|_| transfer(random)).collect()
    }

    fn is_free_of_overlap(transfers: &[PeriodTransfer], start_s: &[f64], period_s: f64) -> bool {
        let windows = transfers.iter().enumerate().flat_map(|(at, transfer)| {
            transfer.windows.iter().map(move |&(port, offset_s, length_s)| {
                (at, port, (start_s[at] + offset_s).rem_euclid(period_s), length_s)
            })
        });
        let windows: Vec<_> = windows.collect();
        windows.iter().all(|a| {
            let others = windows.iter().filter(|b| a.1 == b.1 && a.0 != b.0);
            others.map(|b| (b.2 - a.2).rem_euclid(period_s)).all(|ahead_s| ahead_s >= a.3 - 1e-6)
        })
    }

    /// The period is as short as its orders permit, by simulation, and nothing overlaps.
    #[test]
    fn a_tightened_period_holds_and_is_no_longer() {
        let mut random = Random::new(5);
        let (mut shorter, mut at_once) = (0, 0);
        for _ in 0..200 {
            let transfers = drawn(&mut random);
            let (dense_s, before_s) = Timetable::dense(&transfers, 10, 0.1);
            let mut shop = ServingOrders::new(&transfers, 10, &dense_s, before_s);
            let measured_s = shop.tighten(0, &Budget::UNLIMITED).unwrap();
            let played = |shop: &ServingOrders, period_s| {
                Timetable::with_lags(&transfers, &shop.start_s, period_s).play_s(&transfers, 10, 10_000) / 1e4
            };
            assert!((played(&shop, measured_s) / measured_s - 1.0).abs() < 2e-3);
            let period_s = shop.tighten(300, &Budget::UNLIMITED).unwrap();
            assert!(
                shop.busiest_s * (1.0 - 1e-9) <= period_s
                    && period_s <= measured_s
                    && measured_s <= before_s + 1e-9
            );
            assert!((played(&shop, period_s) / period_s - 1.0).abs() < 2e-3);
            assert!(is_free_of_overlap(&transfers, &shop.start_s, period_s));
            shorter += usize::from(period_s < measured_s * 0.999);
            at_once += usize::from(period_s <= shop.busiest_s * ENOUGH);
        }
        assert!(shorter > 20 && at_once > 150, "{shorter} shortened, {at_once} as short as can be");
    }
}
