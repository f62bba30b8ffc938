//! The search for a better plan beside the running program, and the threads that planning gets.

use crate::advice::Given;
use crate::planning::Job;
use crate::settings::BEST;
use broadleaf::plan::Plan;
use broadleaf::portfolio::Effort;
use broadleaf::simulate::estimate;
use rayon::ThreadPoolBuilder;
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

/// Which threads a planner runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All ranks wait for the plan.
    Shared,
    /// The program runs meanwhile.
    OneModest,
}

/// Threads for the plan that all ranks wait for; on a large node most cores are other ranks'.
const QUICK_THREADS: usize = 4;

/// Runs a planner on threads of its own, which end with it: a program should not keep idle threads that it did
/// not ask for. The search beside the program has one, of a low priority.
pub fn on_threads<T: Send>(threads: Threads, work: impl FnOnce() -> T + Send) -> T {
    let pool = match threads {
        Threads::Shared => {
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
            ThreadPoolBuilder::new().num_threads(cores.min(QUICK_THREADS))
        }
        Threads::OneModest => ThreadPoolBuilder::new().num_threads(1).start_handler(|_| be_modest()),
    };
    match pool.thread_name(|_| "broadleaf-plan".to_string()).build() {
        Ok(pool) => pool.install(work),
        // No thread to be had: the caller's own must do.
        Err(_) => work(),
    }
}

/// Gives the calling thread a low priority: the program comes first. Not the lowest: beside ranks that poll it would
/// not get on at all.
fn be_modest() {
    extern "C" {
        fn setpriority(
            which: std::ffi::c_int,
            who: std::ffi::c_uint,
            priority: std::ffi::c_int,
        ) -> std::ffi::c_int;
    }
    const PRIO_PROCESS: std::ffi::c_int = 0;
    const LOW: std::ffi::c_int = 10;
    // SAFETY: no memory is passed. On Linux, 0 is the calling thread. A refusal changes nothing.
    unsafe { setpriority(PRIO_PROCESS, 0, LOW) };
}
