//! A set of trees laid out as a period, with the best timetable known for it.

use super::assign_windows::assign_windows;
use super::period_layout::Layout;
use super::settings::{sets, timetables};
use super::shorten_period::ServingOrders;
use super::timetable::Timetable;
use crate::budget::Budget;
use crate::optimum::WeightedTree;
use crate::plan::{Period, Slot};

/// The candidate that ends first, after shortening the first few with some effort each if none ends within
/// [`sets::GOOD`] times `least_s`; `None` if there are none.
pub(super) fn soonest(
    mut laid_out: Vec<Candidate>,
    least_s: f64,
    (count, effort): (usize, usize),
    budget: &Budget,
) -> Option<Candidate> {
    laid_out.sort_by(|a, b| a.done_s.total_cmp(&b.done_s));
    // Several starts may lead to the same period.
    laid_out.dedup_by(|a, b| a.done_s == b.done_s);
    if laid_out.first()?.done_s > least_s * sets::GOOD {
        for candidate in laid_out.iter_mut().take(count) {
            candidate.tighten(effort, budget);
        }
    }
    laid_out.into_iter().min_by(|a, b| a.done_s.total_cmp(&b.done_s))
}

/// A set of trees with its best timetable so far.
pub(super) struct Candidate {
    pub trees: Vec<WeightedTree>,
    layout: Layout,
    periods: u64,
    timetable: Timetable,
    /// When the message is everywhere, seconds; infinite where the timetable is useless.
    pub done_s: f64,
    /// The orders behind the timetable.
    shop: ServingOrders,
}

impl Candidate {
    pub fn new(trees: Vec<WeightedTree>, layout: Layout, segments: u64, budget: &Budget) -> Candidate {
        let periods = segments.div_ceil(trees.len() as u64);
        let (transfers, resources) = (&layout.transfers, layout.resources.len());
        let urgencies = timetables::URGENCIES.into_iter();
        let dense = urgencies.map(|urgency| Timetable::dense(transfers, resources, urgency));
        let busiest_s = layout.busiest_s();
        let fit = |stretch: &f64| {
            Timetable::fit(transfers, resources, busiest_s * (1.0 + stretch), timetables::TRIES)
        };
        // Computed only when needed, after the dense ones.
        let is_fitted = transfers.len() <= timetables::MOST_FITTED;
        let fitted = is_fitted.then(|| std::iter::once_with(|| timetables::STRETCHES.iter().find_map(fit)));
        let mut best: Option<(f64, Timetable, ServingOrders)> = None;
        for (start_s, period_s) in dense.chain(fitted.into_iter().flatten().flatten()) {
            let is_spent = budget.spend(timetables::UNITS_PER_TRANSFER * transfers.len() as u64);
            if best.is_some() && is_spent {
                break;
            }
            let mut shop = ServingOrders::new(transfers, resources, &start_s, period_s);
            let period_s = shop.compress(period_s);
            let (done_s, timetable) = timed(&layout, &shop, period_s, periods);
            if best.as_ref().is_none_or(|(least_s, ..)| done_s < *least_s) {
                best = Some((done_s, timetable, shop));
            }
        }
        let (done_s, timetable, shop) = best.expect("there are urgencies");
        Candidate { trees, layout, periods, timetable, done_s, shop }
    }

    /// The trees with a period that exceeds their busiest resource's time by a given part, in which segments hardly
    /// wait; `None` where the transfers do not fit into it.
    pub fn loose(
        trees: Vec<WeightedTree>,
        layout: Layout,
        segments: u64,
        (stretch, tries): (f64, usize),
    ) -> Option<Candidate> {
        let period_s = layout.busiest_s() * (1.0 + stretch);
        let starts = Timetable::fit(&layout.transfers, layout.resources.len(), period_s, tries)?;
        Some(Candidate::started(trees, layout, segments, starts))
    }

    /// The trees with a dense period of the given urgency.
    pub fn dense(trees: Vec<WeightedTree>, layout: Layout, segments: u64, urgency: f64) -> Candidate {
        let starts = Timetable::dense(&layout.transfers, layout.resources.len(), urgency);
        Candidate::started(trees, layout, segments, starts)
    }

    fn started(
        trees: Vec<WeightedTree>,
        layout: Layout,
        segments: u64,
        (start_s, period_s): (Vec<f64>, f64),
    ) -> Candidate {
        let periods = segments.div_ceil(trees.len() as u64);
        let mut shop = ServingOrders::new(&layout.transfers, layout.resources.len(), &start_s, period_s);
        let period_s = shop.compress(period_s);
        let (done_s, timetable) = timed(&layout, &shop, period_s, periods);
        Candidate { trees, layout, periods, timetable, done_s, shop }
    }

    /// Searches for a shorter period near the known one; the effort is exchanges times transfers.
    pub fn tighten(&mut self, effort: usize, budget: &Budget) {
        let tries = effort / self.layout.transfers.len().max(1);
        let Some(period_s) = self.shop.tighten(tries, budget) else { return };
        let (done_s, timetable) = timed(&self.layout, &self.shop, period_s, self.periods);
        if done_s < self.done_s {
            (self.done_s, self.timetable) = (done_s, timetable);
        }
    }

    /// The period, a position a tree; `None` where no timetable is useful.
    pub fn period(&self) -> Option<Period> {
        let slot = |&at: &usize| {
            let (segment, from, to) = self.layout.ends[at];
            Slot { segment, from, to, lag: self.timetable.lag[at] }
        };
        let slots = self.timetable.order.iter().map(slot).collect();
        self.done_s.is_finite().then_some(Period { segments: self.trees.len() as u32, slots })
    }
}

/// The assignment of a period's windows, and the time at which the message is everywhere, seconds.
fn timed(layout: &Layout, shop: &ServingOrders, period_s: f64, periods: u64) -> (f64, Timetable) {
    let start_s = assign_windows(&layout.transfers, &layout.way, &shop.start_s, period_s);
    let mut timetable = Timetable::with_lags(&layout.transfers, &start_s, period_s);
    if layout.passes_switches() && layout.most_hosts() * timetables::PERIODS_A_WAIT <= periods {
        timetable.relax(&layout.transfers, timetables::WAIT);
    }
    if timetable.deepest() > timetables::DEEPEST {
        return (f64::INFINITY, timetable);
    }
    (timetable.play_s(&layout.transfers, layout.resources.len(), periods), timetable)
}
