//! Threads for planning. The caller provides them; this module starts none implicitly.
//!
//! [`map`] uses the rayon pool that it is called in and works on the calling thread alone outside of any.
//! Rayon's global pool would do the opposite: it starts on first use, keeps its threads, and panics when the
//! system grants none (`RLIMIT_NPROC`, address space).

use crate::budget::{Budget, Share};
use rayon::prelude::*;

/// Items that [`map_within`] works on at once, on any number of cores. Unused parts of shares go to later items, so
/// the outcome depends on this number: fewer leave more to later items, more occupy more cores.
const TOGETHER: usize = 4;

/// `work` of every item, in the items' order, on the threads of the caller's pool, if there is one.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if rayon::current_thread_index().is_some() {
        items.par_iter().map(&work).collect()
    } else {
        items.iter().map(&work).collect()
    }
}

/// [`map`] within a budget: every item gets an equal share of the work that earlier items left, so the results do not
/// depend on the threads.
pub fn map_within<T: Sync, R: Send>(
    items: &[T],
    budget: &Budget,
    work: impl Fn(&T, &Budget) -> R + Sync,
) -> Vec<R> {
    let mut results = Vec::with_capacity(items.len());
    for batch in items.chunks(TOGETHER) {
        let waiting = items.len() - results.len();
        let shares: Vec<(&T, Share)> = batch.iter().map(|item| (item, budget.share(waiting))).collect();
        let worked = map(&shares, |(item, share)| {
            let own = share.budget();
            (work(item, &own), own.done())
        });
        for (result, units) in worked {
            budget.spend(units);
            results.push(result);
        }
    }
    results
}

/// Runs `work` where [`map`] has a thread for every core; they end with it. Without threads from the system, the
/// calling thread does the work.
pub fn on_all_cores<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().thread_name(|_| "broadleaf-plan".to_string()).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
