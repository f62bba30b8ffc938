//! Equal arguments give equal plans: alone and beside a busy process, on one thread and on two, and also where the work
//! and not the search itself ends it.

use broadleaf::budget::Budget;
use broadleaf::planners::Instance;
use broadleaf::platform::Platform;
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Enough for a good plan, and too little for the searches to end by themselves.
const WORK: u64 = 60_000;

fn shipped(name: &str) -> Platform {
    Platform::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms").join(name)).unwrap()
}

/// The plan's document, and its units of work.
fn planned(platform: &Platform, planner: &str, effort: Effort, threads: usize) -> (String, u64) {
    let work = || {
        let instance = Instance::new(platform, platform.hosts().next().unwrap(), 1 << 20).unwrap();
        let budget = Budget::of_work(WORK);
        let made = make(&instance, planner, SegmentChoice::Auto, effort, &budget).unwrap();
        assert!(!made.is_cut_by_time);
        (made.plan.to_json().to_string(), budget.done())
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Runs `work` while two threads take the processors.
fn beside_busy_threads<T>(work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let worked = work();
        is_over.store(true, Ordering::Relaxed);
        worked
    })
}

#[test]
fn three_runs_find_the_same_plan() {
    for file in ["smp-16.json", "teragrid-64.json"] {
        let platform = shipped(file);
        let names = ["best", "makespan", "optimal", "single-tree", "annealing", "mateescu"];
        let thorough = names.map(|name| (name, Effort::Thorough));
        for (planner, effort) in thorough.into_iter().chain([("best", Effort::Quick)]) {
            let alone = planned(&platform, planner, effort, 1);
            let two = planned(&platform, planner, effort, 2);
            let busy = beside_busy_threads(|| planned(&platform, planner, effort, 2));
            assert_eq!(alone, two, "{file}, {planner}, {effort:?}: on two threads");
            assert_eq!(alone, busy, "{file}, {planner}, {effort:?}: beside busy threads");
        }
    }
}

#[test]
fn a_time_limit_that_cuts_the_search_is_reported() {
    let platform = shipped("teragrid-64.json");
    let instance = Instance::new(&platform, platform.hosts().next().unwrap(), 1 << 20).unwrap();
    let plan = |budget: &Budget| {
        make(&instance, "makespan", SegmentChoice::Auto, Effort::Thorough, budget).unwrap().is_cut_by_time
    };
    let late = Budget::within(Duration::from_millis(100));
    std::thread::sleep(Duration::from_millis(110));
    assert!(plan(&late));
    assert!(!plan(&Budget::of_work(WORK)));
}
