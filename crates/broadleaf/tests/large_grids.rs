//! `best` on drawn grids, most of more than a thousand hosts: what it gets to first, and what it predicts of that.

use broadleaf::budget::{Budget, USUAL_WORK};
use broadleaf::optimum::makespan_bound_s;
use broadleaf::plan::check;
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, Outcome, SegmentChoice};
use broadleaf::random::Random;
use broadleaf::simulate::simulate;
use serde_json::{json, Value};
use std::time::Duration;

/// Clusters of 1 Gb/s; from each to each other a pipe of 0.1 to 1 Gb/s, 0.5 to 15 ms long, as `benches/smpi_scale.py`
/// draws them.
fn grid(sizes: &[usize], seed: u64) -> Platform {
    let mut random = Random::new(seed);
    let id = |cluster: usize, at: usize| format!("c{cluster}-{at}");
    let (mut nodes, mut meshes, mut shared, mut bridges) = (vec![], vec![], vec![], vec![]);
    for (cluster, &size) in sizes.iter().enumerate() {
        let members: Vec<Value> = (0..size).map(|at| json!(id(cluster, at))).collect();
        nodes.extend(members.iter().map(|member| json!({"id": member, "cluster": format!("C{cluster}")})));
        let link = json!({"latency_s": random.between(20e-6, 80e-6), "startup_s": 3e-6,
            "bandwidth_bytes_per_s": 125e6});
        meshes.push(json!({"nodes": members, "link": link}));
    }
    for one in 0..sizes.len() {
        for other in (0..sizes.len()).filter(|&other| other != one) {
            let (pipe, rate) = (format!("{one}-{other}"), random.between(12.5e6, 125e6));
            shared.push(json!({"id": pipe, "bandwidth_bytes_per_s": rate}));
            bridges.push(
                json!({"from_cluster": format!("C{one}"), "to_cluster": format!("C{other}"), "link":
                {"latency_s": random.between(0.5e-3, 15e-3), "startup_s": 3e-6, "bandwidth_bytes_per_s": rate,
                "uses": [pipe]}}),
            );
        }
    }
    let document = json!({"format": "broadleaf-platform/1", "name": "grid", "port_model": "one-port",
        "nodes": nodes, "shared": shared, "meshes": meshes, "bridges": bridges});
    Platform::from_json(&document.to_string()).unwrap()
}

fn planned(platform: &Platform, name: &str, effort: Effort, limit: Option<Duration>) -> Outcome {
    let instance = Instance::new(platform, NodeId(0), 1 << 20).unwrap();
    make(&instance, name, SegmentChoice::Auto, effort, &Budget::of(limit)).unwrap()
}

/// A program's first broadcast lets `best` have a tenth of a second: over before any other planner's turn.
#[test]
fn best_has_a_pipeline_for_a_thousand_hosts_whatever_time_it_gets() {
    let platform = grid(&[32; 33], 1);
    let bound_s = makespan_bound_s(&platform, NodeId(0), 1 << 20);
    let named = planned(&platform, "ecef-pipelined", Effort::Quick, None).plan;
    for (effort, limit) in [(Effort::Quick, 70), (Effort::Thorough, 1)] {
        let best = planned(&platform, "best", effort, Some(Duration::from_millis(limit))).plan;
        assert_eq!((&best.planner[..], &best.trees), ("ecef-pipelined", &named.trees));
        assert!(check::faults(&platform, &best).is_empty());
        let found_s = simulate(&platform, &best, false).unwrap().makespan_s;
        let predicted_s = best.predicted.makespan_s.unwrap();
        // A sketch takes all but the first segment at the steady rate.
        assert!((found_s / predicted_s - 1.0).abs() < 0.02, "{found_s}, not {predicted_s}");
        assert!((bound_s..2.5 * bound_s).contains(&found_s), "{found_s} s, bound {bound_s} s");
    }
}

/// What they had before: all other planners of trees for large grids, in segments of the same size.
#[test]
fn no_other_tree_is_as_fast_on_a_large_grid() {
    let sizes: Vec<usize> = (0..32).map(|cluster| 16 + 33 * (cluster % 2)).collect();
    let platform = grid(&sizes, 2);
    let plan = planned(&platform, "ecef-pipelined", Effort::Quick, None).plan;
    let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
    for (name, times) in [("makespan", 1.15), ("ecef", 2.0), ("binomial", 4.0)] {
        let instance = Instance::new(&platform, NodeId(0), 1 << 20).unwrap().segmented(plan.segment_bytes);
        let other = find(name).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        let other_s = simulate(&platform, &other, false).unwrap().makespan_s;
        assert!(other_s > times * makespan_s, "{name}: {other_s} s, ours {makespan_s} s");
    }
}

/// The simulation, which grants every window itself, is never later than the promise nor ahead of the bound.
#[test]
fn a_budget_keeps_the_pace_that_the_plan_promises() {
    let mut random = Random::new(5);
    for seed in 0..8 {
        let sizes: Vec<usize> = (0..2 + random.below(4)).map(|_| 1 + random.below(9)).collect();
        let platform = grid(&sizes, seed);
        for count in [1, 6, 50] {
            let instance = Instance::new(&platform, NodeId(0), 60_000).unwrap().segmented(60_000 / count);
            let plan = find("ecef-pipelined").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
            assert!(check::faults(&platform, &plan).is_empty());
            let found_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            let promised_s = plan.predicted.makespan_s.unwrap();
            // Its pipes are taken once each or counted as fuller than they are.
            assert!(found_s <= promised_s * (1.0 + 1e-9), "{sizes:?}: {found_s} s, promised {promised_s} s");
            assert!(found_s >= makespan_bound_s(&platform, NodeId(0), 60_000));
        }
    }
}

/// Without waiting, the trees of `gateway-trees` would take three quarters of the time that they do. Two short simulations, for
/// which less work suffices, expect a fifth more.
#[test]
fn however_little_work_the_fastest_plan_takes_as_long_as_predicted() {
    let platform = grid(&[16, 10, 13, 4, 14, 9, 15, 14], 5);
    let instance = Instance::new(&platform, NodeId(0), 64 << 20).unwrap().timed_on(&platform);
    for (work, most) in [(100_000, 1.25), (1_000_000, 1.25), (USUAL_WORK, 1.05)] {
        let budget = Budget::of_work(work);
        let best = make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &budget).unwrap().plan;
        let taken_s = simulate(&platform, &best, false).unwrap().makespan_s;
        for predicted_s in [best.predicted.makespan_s, best.predicted.handled_s] {
            let predicted = predicted_s.unwrap() / taken_s;
            assert!((0.95..most).contains(&predicted), "{work}: {} at {predicted}", best.planner);
        }
    }
}
