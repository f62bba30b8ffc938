//! How long a search may take. The only place in this crate that reads a clock.
//!
//! A search without a limit counts its work instead of timing it, so the same arguments give the same plan.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// The time left for a search, or none to keep to. Whatever searches takes it as an argument and stops, with the
/// best so far, once it is spent.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: Option<Limit>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Time { whole: Duration, deadline: Instant },
    Questions(&'static AtomicI64),
}

impl Budget {
    /// No limit: the outcome does not depend on the machine's speed.
    pub const UNLIMITED: Budget = Budget { limit: None };

    /// That much time from now on. More than a clock can show (some centuries) is no limit.
    pub fn within(whole: Duration) -> Budget {
        let deadline = Instant::now().checked_add(whole);
        Budget { limit: deadline.map(|deadline| Limit::Time { whole, deadline }) }
    }

    /// Spent once it was asked [`is_spent`](Budget::is_spent) as often as `left` says, which counts on below 0: a test
    /// of a search's looks at its budget gives the same on every machine, whatever its load.
    pub fn of_questions(left: &'static AtomicI64) -> Budget {
        Budget { limit: Some(Limit::Questions(left)) }
    }

    /// [`Budget::within`] the limit, if there is one.
    pub fn of(limit: Option<Duration>) -> Budget {
        limit.map_or(Budget::UNLIMITED, Budget::within)
    }

    /// Whether there is a limit at all.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether the time is up; never without a limit.
    pub fn is_spent(&self) -> bool {
        match self.limit {
            None => false,
            Some(Limit::Time { deadline, .. }) => Instant::now() >= deadline,
            Some(Limit::Questions(left)) => left.fetch_sub(1, Ordering::Relaxed) <= 0,
        }
    }

    /// The whole time, whatever of it has passed: a search turns it into a number of moves, so that results repeat while
    /// the clock does not cut in. `None` without a limit of time.
    pub fn whole(&self) -> Option<Duration> {
        self.time().map(|(whole, _)| whole)
    }

    fn time(&self) -> Option<(Duration, Instant)> {
        match self.limit {
            Some(Limit::Time { whole, deadline }) => Some((whole, deadline)),
            _ => None,
        }
    }

    /// What is left, zero once it is spent; `None` without a limit of time.
    pub fn left(&self) -> Option<Duration> {
        self.time().map(|(_, deadline)| deadline.saturating_duration_since(Instant::now()))
    }

    /// The part of the whole time that has passed, 0 to 1: an annealing cools by it. 0 without a limit of time.
    pub fn spent_part(&self) -> f64 {
        let Some((whole, _)) = self.time() else { return 0.0 };
        match (whole.as_secs_f64(), self.left()) {
            (whole_s, Some(left)) if whole_s > 0.0 => 1.0 - left.as_secs_f64() / whole_s,
            _ => 1.0,
        }
    }

    /// The same, but with that much time from now on where less is left.
    pub fn at_least(&self, floor: Duration) -> Budget {
        match self.left() {
            Some(left) if left < floor => Budget::within(floor),
            _ => *self,
        }
    }

    /// The `count`-th part of the whole time, from now on, but no longer than there is left: for one of several
    /// searches that share the time.
    pub fn divided(&self, count: u32) -> Budget {
        let Some((whole, _)) = self.time() else { return *self };
        Budget::within((whole / count.max(1)).min(self.left().unwrap_or_default()))
    }

    /// The same without the last `count`-th part of the whole time, which is kept for what comes after the search.
    pub fn without_last(&self, count: u32) -> Budget {
        match self.limit {
            Some(Limit::Time { whole, deadline }) => {
                let kept = whole / count.max(1);
                let deadline = deadline.checked_sub(kept).unwrap_or(deadline);
                Budget { limit: Some(Limit::Time { whole: whole - kept, deadline }) }
            }
            _ => *self,
        }
    }
}

/// Seconds since it was started: what a search that is watched reports, or one that is given time has used.
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
    fn a_limit_is_spent_when_its_time_has_passed() {
        let none = Budget::within(Duration::ZERO);
        assert!(none.is_limited() && none.is_spent());
        assert_eq!((none.left(), none.spent_part()), (Some(Duration::ZERO), 1.0));
        let hour = Budget::within(Duration::from_secs(3600));
        assert!(!hour.is_spent() && hour.spent_part() < 0.1);
        assert!(none.divided(3).is_spent() && !hour.divided(3).is_spent());
        assert!(hour.divided(3).left().unwrap() <= Duration::from_secs(1200));
        assert!(hour.divided(0).left().unwrap() <= hour.left().unwrap() + Duration::from_secs(1));
    }

    #[test]
    fn no_limit_and_one_beyond_the_clock_are_never_spent() {
        for budget in [Budget::UNLIMITED, Budget::within(Duration::MAX), Budget::of(None)] {
            assert!(!budget.is_limited() && !budget.is_spent());
            assert_eq!((budget.left(), budget.spent_part()), (None, 0.0));
            assert!(!budget.divided(3).is_limited());
        }
    }
}
