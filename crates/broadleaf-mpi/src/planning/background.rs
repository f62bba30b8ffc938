//! The search for a better plan beside the running program.

use super::advised::Given;
use super::job::Job;
use super::threads::Threads;
use crate::settings::BEST;
use broadleaf::plan::Plan;
use broadleaf::portfolio::Effort;
use broadleaf::simulate::estimate;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::time::Duration;

/// A search takes this long at most, on one core that it gets about a tenth of where ranks wait by polling: most
/// take under a second of it.
const BUDGET: Duration = Duration::from_secs(10);

/// A found plan must promise this much to be worth a switch, relative.
const WORTH_SWITCHING: f64 = 0.02;

/// One search at a time in a process, so that it takes one core at most.
static BUSY: AtomicBool = AtomicBool::new(false);

/// The search for one kind of broadcast.
#[derive(Default)]
pub enum Search {
    /// For its turn, with what to plan and the plan to be better than.
    Waiting(Box<(Job, Plan)>),
    Running(Receiver<Given>),
    #[default]
    Ended,
}

impl Search {
    /// Starts the search when its turn has come, and gives the better plan once it has been found.
    pub fn better(&mut self) -> Option<Given> {
        match std::mem::take(self) {
            Search::Waiting(task) => {
                *self = if BUSY.swap(true, Ordering::Acquire) { Search::Waiting(task) } else { begin(task) };
                None
            }
            Search::Running(found) => match found.try_recv() {
                Ok(plan) => Some(plan),
                Err(TryRecvError::Empty) => {
                    *self = Search::Running(found);
                    None
                }
                Err(TryRecvError::Disconnected) => None,
            },
            Search::Ended => None,
        }
    }
}

/// Whatever becomes of a search, the next one gets its turn.
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        BUSY.store(false, Ordering::Release);
    }
}

fn begin(task: Box<(Job, Plan)>) -> Search {
    let turn = Turn;
    let (found, receiver) = channel();
    let work = move || {
        let _turn = turn;
        search(&task.0, &task.1, &found);
    };
    // Without a thread there is no search, and the first plan serves.
    match std::thread::Builder::new().name("broadleaf-search".to_string()).spawn(work) {
        Ok(_) => Search::Running(receiver),
        Err(_) => Search::Ended,
    }
}

fn search(job: &Job, start: &Plan, found: &Sender<Given>) {
    let Ok(plan) = job.plan(BEST, Effort::Thorough, BUDGET, Threads::OneModest) else { return };
    let seconds = |plan: &Plan| estimate(job.handled(), plan).unwrap_or(f64::INFINITY);
    let is_better = seconds(&plan) < seconds(start) * (1.0 - WORTH_SWITCHING);
    if !is_better {
        return;
    }
    if let Ok(ranked) = job.ranked(&plan) {
        // The program may have ended meanwhile.
        let _ = found.send(Given { plan: Arc::new(plan), ranked });
    }
}
