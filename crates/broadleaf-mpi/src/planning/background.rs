//! The search for a plan beside the running program.

use super::advised::Given;
use super::job::{Job, Limit};
use super::threads::lower_priority;
use crate::report;
use broadleaf::budget::UNITS_PER_S;
use broadleaf::plan::Plan;
use broadleaf::portfolio::Effort;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::sync::Arc;
use std::time::Instant;

/// The work of a search, units: a few seconds of one core, of which it gets about a tenth where ranks wait by
/// polling. Most searches take under a second.
const WORK: u64 = 3 * UNITS_PER_S;

/// A found plan must promise this much to be worth a switch, relative.
const WORTH_SWITCHING: f64 = 0.02;

/// One search at a time in a process, so that it takes one core at most.
static BUSY: AtomicBool = AtomicBool::new(false);

/// What to search for.
pub struct Task {
    pub job: Job,
    /// A planner's name, or `best`.
    pub planner: String,
    /// The plan to improve on; None: any plan is accepted.
    pub to_beat: Option<Arc<Plan>>,
}

/// The search for one kind of broadcast.
#[derive(Default)]
pub enum BackgroundSearch {
    /// Waiting for its turn.
    Waiting(Box<Task>),
    Running(Receiver<Given>),
    #[default]
    Ended,
}

impl BackgroundSearch {
    /// Starts the search if no other one runs in this process.
    pub fn begin(&mut self) {
        match std::mem::take(self) {
            BackgroundSearch::Waiting(task) if !BUSY.swap(true, Ordering::Acquire) => *self = begin(*task),
            other => *self = other,
        }
    }

    /// Starts the search when its turn has come, and gives the plan once it has been found.
    pub fn better(&mut self) -> Option<Given> {
        self.begin();
        let BackgroundSearch::Running(found) = self else { return None };
        match found.try_recv() {
            Err(TryRecvError::Empty) => None,
            ended => {
                *self = BackgroundSearch::Ended;
                ended.ok()
            }
        }
    }

    /// Waits for the plan of a search that has begun.
    pub fn found_by(&mut self, deadline: Instant) -> Option<Given> {
        let BackgroundSearch::Running(found) = self else { return None };
        found.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }
}

/// Frees the turn when a search ends, also by a panic.
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        BUSY.store(false, Ordering::Release);
    }
}

fn begin(task: Task) -> BackgroundSearch {
    let turn = Turn;
    let (found, receiver) = channel();
    let asked = task.to_beat.is_none().then(|| task.planner.clone());
    let work = move || {
        let _turn = turn;
        lower_priority();
        if let Some(given) = search(&task) {
            // The receiver may be gone: the program may have ended.
            let _ = found.send(given);
        }
    };
    match std::thread::Builder::new().name("broadleaf-search".to_string()).spawn(work) {
        Ok(_) => BackgroundSearch::Running(receiver),
        // Without a thread there is no search, and the first plan stays in use.
        Err(error) => {
            if let Some(planner) = asked {
                report::once(&format!(
                    "{planner}: no thread to plan beside the program ({error}); the quickest plan of best is \
                     used. Raise the limit of processes, or set BROADLEAF_PLAN=before"
                ));
            }
            BackgroundSearch::Ended
        }
    }
}

fn search(task: &Task) -> Option<Given> {
    let Task { job, planner, to_beat } = task;
    let found = job.plan(planner, Effort::Thorough, Limit::Work(WORK)).and_then(|plan| {
        let worth = |start: &Arc<Plan>| {
            let [found_s, start_s] = job.seconds([&plan, start]);
            found_s < start_s * (1.0 - WORTH_SWITCHING)
        };
        match to_beat.as_ref().is_none_or(worth) {
            true => Ok(Some(Given { ranked: job.ranked(&plan)?, plan: Arc::new(plan) })),
            false => Ok(None),
        }
    });
    found.unwrap_or_else(|line| {
        if to_beat.is_none() {
            report::once(&format!("{line}; the quickest plan of best stays in use"));
        }
        None
    })
}
