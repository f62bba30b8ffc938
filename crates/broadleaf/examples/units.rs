//! Measures the time of a unit of work: each planner alone and `best`, by platform.
//!
//! `cargo run --release -p broadleaf --example units -- PLATFORM.json… [BYTES]`

use broadleaf::budget::{Budget, Stopwatch, UNITS_PER_S};
use broadleaf::planners::{find, Instance, BEST, PLANNERS};
use broadleaf::platform::Platform;
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use std::path::Path;

fn main() {
    let (sizes, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.parse::<u64>().is_ok());
    let bytes = sizes.first().map_or(1 << 20, |size| size.parse().expect("a number"));
    println!("{:24} {:24} {:>10} {:>10} {:>8}", "platform", "planner", "units", "ms", "unit, µs");
    for file in &files {
        let platform = Platform::load(Path::new(file)).expect("a platform file");
        let root = platform.hosts().next().expect("a host");
        let instance = Instance::new(&platform, root, bytes).expect("a broadcast");
        let names = PLANNERS.iter().map(|planner| planner.card().name).chain([BEST]);
        for name in
            names.filter(|name| find(name).map_or(true, |planner| planner.supports(&instance).is_ok()))
        {
            let (budget, watch) = (Budget::of_work(10 * UNITS_PER_S), Stopwatch::start());
            let made = make(&instance, name, SegmentChoice::Auto, Effort::Thorough, &budget);
            let (seconds, units) = (watch.seconds(), budget.done());
            let found = made.map_or_else(
                |error| error.to_string(),
                |made| made.plan.predicted.makespan_s.unwrap_or(0.0).to_string(),
            );
            println!(
                "{:24} {name:24} {units:>10} {:>10.2} {:>8.2}  {found}",
                platform.name(),
                1e3 * seconds,
                1e6 * seconds / units.max(1) as f64
            );
        }
    }
}
