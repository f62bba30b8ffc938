//! The threads that planning gets.

use rayon::ThreadPoolBuilder;

/// Threads for the plan that all ranks wait for; on a large node most cores are other ranks'.
const QUICK_THREADS: usize = 4;

/// Runs a planner on temporary threads, so that the program keeps no idle threads of Broadleaf's. Without threads
/// from the system, the caller's thread does the work.
pub fn on_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let pool = ThreadPoolBuilder::new()
        .num_threads(cores.min(QUICK_THREADS))
        .thread_name(|_| "broadleaf-plan".to_string());
    match pool.build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Gives the calling thread a low priority: the program comes first. Not the lowest: beside polling ranks it would
/// make no progress.
pub fn lower_priority() {
    const LOW: libc::c_int = 10;
    // SAFETY: no memory is passed. On Linux, 0 is the calling thread. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOW) };
}
