//! How much work a search may do. The only place in this crate that reads a clock.
//!
//! Work is counted, not timed: a search counts the cost of its steps, in units of about a microsecond of one core,
//! and ends when its units are spent. So equal arguments give equal plans on an idle and on a busy machine. A time
//! limit becomes units as well, and a clock guards it: where the time is up first, the outcome depends on the
//! machine's speed, and [`Budget::was_cut_by_time`] reports it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Approximate units of work that one core does in a second. The costs of planners' steps are calibrated by `cargo
/// run --release -p broadleaf --example units`, which times a unit of every planner.
pub const UNITS_PER_S: u64 = 1_000_000;

/// The work of planning without a time limit, units: a few seconds.
pub const USUAL_WORK: u64 = 10 * UNITS_PER_S;

/// How much longer than its time limit planning may take, s.
pub const LATE_S: f64 = 0.05;

/// The remaining work of a search. Every search takes a budget as an argument, counts its work, and stops with the
/// best so far once the budget is spent.
///
/// A clone and a part of a budget count into the same sum. Threads never share one, since then their timing would
/// decide which gets the last unit: [`parallel::map_within`](crate::parallel::map_within) gives each item its share.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Units done by all that share the sum; not counted without a limit.
    done: Option<Rc<Cell<u64>>>,
    /// The sum at which this budget began, and the sum at which it is spent.
    begin: u64,
    end: u64,
    guard: Option<Guard>,
}

/// The clock of a time limit.
#[derive(Clone, Debug)]
struct Guard {
    whole: Duration,
    deadline: Instant,
    /// The time limit of which the budget may be a part, and its end.
    asked: Duration,
    limit: Instant,
    /// Whether it has ended a search that had units left.
    struck: Arc<AtomicBool>,
}

impl Budget {
    /// No limit.
    pub const UNLIMITED: Budget = Budget { done: None, begin: 0, end: u64::MAX, guard: None };

    /// A number of units and no clock: the outcome does not depend on the machine's speed.
    pub fn of_work(units: u64) -> Budget {
        Budget { done: Some(Rc::default()), begin: 0, end: units, guard: None }
    }

    /// A time from now on, and the units that one core does in it. A time beyond the clock's range (some centuries)
    /// is no limit.
    pub fn within(whole: Duration) -> Budget {
        let Some(deadline) = Instant::now().checked_add(whole) else { return Budget::UNLIMITED };
        let units = u64::try_from(whole.as_micros()).unwrap_or(u64::MAX);
        Budget {
            guard: Some(Guard { whole, deadline, asked: whole, limit: deadline, struck: Arc::default() }),
            ..Budget::of_work(units)
        }
    }

    /// [`Budget::within`] the limit, if there is one.
    pub fn of(limit: Option<Duration>) -> Budget {
        limit.map_or(Budget::UNLIMITED, Budget::within)
    }

    /// [`Budget::within`] the limit, or [`USUAL_WORK`] where none is given: for planning that a caller waits for.
    pub fn of_planning(limit: Option<Duration>) -> Budget {
        limit.map_or_else(|| Budget::of_work(USUAL_WORK), Budget::within)
    }

    /// Whether the caller set a time limit, and so accepts to wait that long.
    pub fn is_timed(&self) -> bool {
        self.guard.is_some()
    }

    /// Whether work of that many seconds, which cannot be stopped, would end more than [`LATE_S`] after the time limit.
    pub fn is_too_short_for(&self, least_s: f64) -> bool {
        self.guard.as_ref().is_some_and(|guard| least_s > seconds_until(guard.limit) + LATE_S)
    }

    /// The same, had the work begun with the time limit.
    pub fn was_too_short_for(&self, least_s: f64) -> bool {
        self.guard.as_ref().is_some_and(|guard| least_s > guard.asked.as_secs_f64() + LATE_S)
    }

    /// Whether work of that many seconds, which cannot be stopped, would end before the time limit.
    pub fn has_time_for(&self, least_s: f64) -> bool {
        self.guard.as_ref().is_none_or(|guard| seconds_until(guard.deadline) >= least_s)
    }

    /// Counts work that has been done; whether the budget is spent now.
    pub fn spend(&self, units: u64) -> bool {
        if let Some(done) = &self.done {
            done.set(done.get().saturating_add(units));
        }
        self.is_spent()
    }

    /// Whether the work is done or the time is up; never without a limit.
    pub fn is_spent(&self) -> bool {
        self.left() == 0 || self.is_late()
    }

    /// Whether the time is up, for a search that has spent its units beforehand; never without a time limit.
    pub fn is_late(&self) -> bool {
        let Some(guard) = &self.guard else { return false };
        let is_late = Instant::now() >= guard.deadline;
        if is_late {
            guard.struck.store(true, Ordering::Relaxed);
        }
        is_late
    }

    /// Whether a time limit has ended a search that had units left, here or in another part of the same budget.
    pub fn was_cut_by_time(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.struck.load(Ordering::Relaxed))
    }

    /// Units since the budget began.
    pub fn done(&self) -> u64 {
        self.sum().saturating_sub(self.begin)
    }

    /// Units left.
    pub fn left(&self) -> u64 {
        match self.done {
            None => u64::MAX,
            Some(_) => self.end.saturating_sub(self.sum()),
        }
    }

    fn sum(&self) -> u64 {
        self.done.as_ref().map_or(0, |done| done.get())
    }

    /// All units of a time limit, whether done or left, for searches that scale with the limit. `None` without a time
    /// limit.
    pub fn asked(&self) -> Option<u64> {
        self.guard.as_ref().map(|_| self.end - self.begin)
    }

    /// The part of the units that is done, 0 to 1; annealing cools by it. 0 without a limit.
    pub fn spent_part(&self) -> f64 {
        match (&self.done, self.end - self.begin) {
            (None, _) => 0.0,
            (_, 0) => 1.0,
            (_, whole) => (self.done() as f64 / whole as f64).min(1.0),
        }
    }

    /// The same budget, with at least `units` units left.
    pub fn at_least(&self, units: u64) -> Budget {
        let (now, floor) = (self.sum(), Duration::from_micros(units));
        let mut longer = self.clone();
        if self.left() < units {
            (longer.begin, longer.end) = (now, now.saturating_add(units));
        }
        if let Some(guard) = &mut longer.guard {
            guard.deadline = guard.deadline.max(Instant::now() + floor);
            guard.whole = guard.whole.max(floor);
        }
        longer
    }

    /// The same without [`LATE_S`]: a step that cannot be stopped must end by the budget's own end, since others follow it.
    pub fn punctual(&self) -> Budget {
        let guard = self.guard.clone().map(|guard| {
            let late = Duration::from_secs_f64(LATE_S);
            Guard { limit: guard.deadline.checked_sub(late).unwrap_or(guard.deadline), ..guard }
        });
        Budget { guard, ..self.clone() }
    }

    /// The `count`-th part of the whole, from now on, but no more than is left: for one of several searches that share
    /// the work.
    pub fn divided(&self, count: u32) -> Budget {
        let count = count.max(1);
        let now = self.sum();
        let part = ((self.end - self.begin) / u64::from(count)).min(self.left());
        let guard = self.guard.clone().map(|guard| {
            let whole = guard.whole / count;
            let deadline =
                Instant::now().checked_add(whole).map_or(guard.deadline, |at| at.min(guard.deadline));
            Guard { whole, deadline, ..guard }
        });
        Budget { done: self.done.clone(), begin: now, end: now.saturating_add(part), guard }
    }

    /// The same without the last `count`-th part of the whole, which is reserved for the steps after the search.
    pub fn without_last(&self, count: u32) -> Budget {
        let count = count.max(1);
        let guard = self.guard.clone().map(|guard| {
            let kept = guard.whole / count;
            let deadline = guard.deadline.checked_sub(kept).unwrap_or(guard.deadline);
            Guard { whole: guard.whole - kept, deadline, ..guard }
        });
        let kept = if self.done.is_some() { (self.end - self.begin) / u64::from(count) } else { 0 };
        Budget { end: self.end - kept, guard, ..self.clone() }
    }

    /// One of `count` equal shares of what is left, to be taken to a thread.
    pub fn share(&self, count: usize) -> Share {
        let units = self.done.as_ref().map(|_| self.left() / count.max(1) as u64);
        Share { units, guard: self.guard.clone() }
    }
}

fn seconds_until(at: Instant) -> f64 {
    at.saturating_duration_since(Instant::now()).as_secs_f64()
}

/// A budget on its way to another thread, with a sum of its own.
#[derive(Clone, Debug)]
pub struct Share {
    units: Option<u64>,
    guard: Option<Guard>,
}

impl Share {
    /// The budget, from now on.
    pub fn budget(&self) -> Budget {
        let budget = self.units.map_or(Budget::UNLIMITED, Budget::of_work);
        Budget { guard: self.guard.clone(), ..budget }
    }
}

/// Seconds since it was started, for searches that report progress.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    began: Instant,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch { began: Instant::now() }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_spent_when_it_has_been_counted() {
        let budget = Budget::of_work(100);
        assert!(!budget.is_spent() && !budget.is_timed() && budget.asked().is_none());
        let (half, early) = (budget.divided(2), budget.without_last(4));
        assert!(!half.spend(49) && half.spend(1) && !budget.is_spent());
        assert_eq!((budget.done(), budget.left(), early.left(), half.left()), (50, 50, 25, 0));
        assert_eq!((budget.spent_part(), half.spent_part()), (0.5, 1.0));
        assert!(half.at_least(20).left() == 20 && budget.at_least(20).left() == 50);
        let own = budget.share(5).budget();
        assert_eq!(own.left(), 10);
        assert!(own.spend(99) && !budget.is_spent() && !budget.was_cut_by_time());
    }

    #[test]
    fn a_time_limit_that_strikes_first_is_reported() {
        let none = Budget::within(Duration::ZERO);
        assert!(none.is_timed() && none.is_spent() && none.spent_part() == 1.0);
        assert!(!none.was_cut_by_time(), "it had no units either");
        let hour = Budget::within(Duration::from_secs(3600));
        assert_eq!(hour.asked(), Some(3600 * UNITS_PER_S));
        assert!(hour.has_time_for(3599.0) && !hour.has_time_for(3600.1) && !none.has_time_for(1e-9));
        let punctual = hour.punctual();
        assert!(!hour.is_too_short_for(3600.02) && punctual.is_too_short_for(3600.02));
        assert!(!punctual.is_too_short_for(3599.0) && punctual.has_time_for(3599.0));
        let part = hour.divided(u32::MAX);
        assert!(
            !part.is_too_short_for(3599.0) && part.is_too_short_for(3601.0),
            "the limit is that of the whole"
        );
        std::thread::sleep(Duration::from_millis(2));
        let with_units = Budget { end: u64::MAX, ..part };
        assert!(with_units.is_spent() && hour.was_cut_by_time() && !hour.is_spent());
        assert!(!with_units.at_least(UNITS_PER_S).is_spent());
        assert!(!none.at_least(UNITS_PER_S).divided(4).is_spent(), "a part of nothing lasts for nothing");
    }

    #[test]
    fn no_limit_and_one_beyond_the_clock_are_never_spent() {
        for budget in [Budget::UNLIMITED, Budget::within(Duration::MAX), Budget::of(None)] {
            assert!(budget.has_time_for(1e9));
            assert!(!budget.is_timed() && !budget.spend(u64::MAX) && !budget.spend(1));
            assert_eq!((budget.left(), budget.spent_part()), (u64::MAX, 0.0));
            assert!(!budget.divided(3).is_spent() && !budget.without_last(2).is_spent());
        }
    }
}
