//! Threads for planning: the caller provides them, nothing here is started behind its back.
//!
//! [`map`] uses the rayon pool that it is called in and works on the calling thread alone outside of any.
//! Rayon's global pool would do the opposite: it starts on first use, keeps its threads, and panics when the
//! system grants none (`RLIMIT_NPROC`, address space).

use rayon::prelude::*;

/// `work` of every item, in the items' order, on the threads of the pool that the caller is in, if it is in one.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if rayon::current_thread_index().is_some() {
        items.par_iter().map(&work).collect()
    } else {
        items.iter().map(&work).collect()
    }
}

/// Runs `work` where [`map`] has a thread for every core; they end with it. Where the system grants no threads, the
/// calling one does it all.
pub fn on_all_cores<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().thread_name(|_| "broadleaf-plan".to_string()).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
