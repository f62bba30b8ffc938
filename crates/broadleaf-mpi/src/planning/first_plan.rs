//! The plan that the first broadcast of a kind runs, and the search that goes on beside the program.
//!
//! With [`PlanTime::Before`] the first broadcast waits for the whole search. With [`PlanTime::Beside`] it waits for a
//! quick plan, and the same search runs beside the program. A planner selected by name that may take longer than the
//! first broadcast waits starts in that search at once. If it ends in time, its plan is the first; else the quick
//! plan of `best` is used until it ends.

use super::advised::Given;
use super::background::{BackgroundSearch, Task};
use super::job::{Job, Limit};
use super::threads::on_threads;
use crate::settings::{PlanSettings, PlanTime, BEST};
use broadleaf::portfolio::Effort;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest wait of a first broadcast for a planner selected by name, unless a time was set.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The limit of the search that a first broadcast waits for.
pub fn first_limit(settings: &PlanSettings, plan_time: PlanTime) -> Limit {
    settings.first_budget.map_or(Limit::Work(plan_time.first_work()), Limit::Time)
}

/// The error is one line for the user.
pub fn start(job: &Job, settings: &PlanSettings) -> Result<(Given, BackgroundSearch), String> {
    let name = settings.planner.as_str();
    let made = |name: &str, effort| -> Result<Given, String> {
        let limit = first_limit(settings, settings.plan_time);
        let plan = on_threads(|| job.plan(name, effort, limit))?;
        Ok(Given { ranked: job.ranked(&plan)?, plan: Arc::new(plan) })
    };
    if settings.plan_time == PlanTime::Before {
        return Ok((made(name, Effort::Thorough)?, BackgroundSearch::Ended));
    }
    if name == BEST {
        let given = made(BEST, Effort::Quick)?;
        let task =
            Task { job: job.clone(), planner: BEST.to_string(), to_beat: Some(Arc::clone(&given.plan)) };
        return Ok((given, BackgroundSearch::Waiting(Box::new(task))));
    }
    if job.is_quick(name)? {
        return Ok((made(name, Effort::Quick)?, BackgroundSearch::Ended));
    }
    let wait = settings.first_budget.unwrap_or(FIRST_WAIT).min(LONGEST_WAIT);
    let deadline = Instant::now() + wait;
    let task = Task { job: job.clone(), planner: name.to_string(), to_beat: None };
    let mut search = BackgroundSearch::Waiting(Box::new(task));
    search.begin();
    let quick = made(BEST, Effort::Quick)?;
    // Without a wait the quick plan comes first on every machine, even where the search was faster.
    let found = if wait.is_zero() { None } else { search.found_by(deadline) };
    match found {
        Some(given) => Ok((given, BackgroundSearch::Ended)),
        None => Ok((quick, search)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_time_that_was_set_may_cut_a_search() {
        let settings = PlanSettings::read(&|_| None).unwrap();
        assert!(matches!(first_limit(&settings, PlanTime::Beside), Limit::Work(_)));
        assert!(matches!(first_limit(&settings, PlanTime::Before), Limit::Work(_)));
        let set = |name: &str| (name == "BROADLEAF_FIRST_PLAN_MS").then(|| "20".to_string());
        let settings = PlanSettings::read(&set).unwrap();
        let limit = first_limit(&settings, PlanTime::Before);
        assert!(matches!(limit, Limit::Time(time) if time == Duration::from_millis(20)), "{limit:?}");
    }
}
