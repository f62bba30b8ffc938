//! The threads that planning gets.

use rayon::ThreadPoolBuilder;

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
