//! Plans change while broadcasts run, at thousands of made-up timings: every message takes its own time, ranks
//! come late, roots and sizes take turns, and new plans are found at any moment. The caches of plans, headers and executors
//! are those of the runtime; only the network is made up.

mod part;
mod world;

use broadleaf::budget::Budget;
use broadleaf::plan::Transfers;
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::random::Random;
use std::sync::Arc;
use world::World;

/// The sequence of calls of every rank of a program.
#[derive(Clone, Copy)]
struct Broadcast {
    root: u32,
    bytes: u64,
}

const SEGMENTS: [u64; 4] = [16, 50, 128, 4096];
const PLANNERS: [&str; 7] =
    ["flat", "chain", "binary", "binomial", "van-de-geijn", "round-robin", "two-tree"];

fn some_plan(platform: &Platform, random: &mut Random, root: u32, bytes: u64) -> Arc<Transfers> {
    loop {
        let planner = find(PLANNERS[random.below(PLANNERS.len())]).unwrap();
        let instance = Instance::new(platform, NodeId(root), bytes).unwrap();
        let instance = instance.segmented(SEGMENTS[random.below(SEGMENTS.len())].min(bytes));
        if let Ok(plan) = planner.plan(&instance, &Budget::UNLIMITED) {
            return Arc::new(plan.into());
        }
    }
}

fn network(ranks: u32) -> Platform {
    let mut builder = PlatformBuilder::new("any", PortModel::OnePort);
    (0..ranks).for_each(|rank| {
        builder.add_host(format!("r{rank}")).unwrap();
    });
    let class = builder.add_class(LinkClass::default());
    builder.add_mesh(Mesh { nodes: (0..ranks).map(NodeId).collect(), class }).unwrap();
    builder.build().unwrap()
}

/// Runs one random program at random timings; gives how often a plan was changed.
fn run(seed: u64) -> u32 {
    let mut random = Random::new(seed);
    let ranks = 2 + random.below(7) as u32;
    let roots = 1 + random.below(ranks as usize);
    let sizes = [1, 37, 200, 1000];
    let program: Vec<Broadcast> = (0..12)
        .map(|_| {
            let largest = 1 + random.below(sizes.len());
            Broadcast { root: random.below(roots) as u32, bytes: sizes[random.below(largest)] }
        })
        .collect();
    let platform = network(ranks);
    World::new(&platform, &program, ranks, random).run()
}

#[test]
fn no_mixed_plan_no_hang_and_right_data_at_any_timing() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000);
    let switches: u32 = (0..cases).map(run).sum();
    assert!(u64::from(switches) > cases, "only {switches} changes of plan in {cases} programs");
}
