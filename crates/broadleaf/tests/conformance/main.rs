//! The properties of every planner in the registry, on every small platform and on random ones.

mod add_a_planner;
#[path = "../delivery/mod.rs"]
mod delivery;
mod judge;
mod random_platforms;
mod small_platforms;
mod weights;

use broadleaf::budget::Budget;
use broadleaf::plan::Collective;
use broadleaf::planners::{find, supports, Instance, PLANNERS};
use broadleaf::platform::{Platform, PortModel};
use broadleaf::portfolio::{make, Effort, PassedOver, SegmentChoice};
use judge::{judge, Verdict};
use random_platforms::drawn_platforms;
use rayon::prelude::*;
use small_platforms::{mesh, small_platforms};

/// Unsegmented, a few segments with a short last one, and one byte each where that is few.
fn segment_sizes(message_bytes: u64) -> Vec<u64> {
    let mut sizes = vec![message_bytes, message_bytes.div_ceil(5)];
    if message_bytes <= 16 {
        sizes.push(1);
    }
    sizes.dedup();
    sizes
}

#[test]
fn every_planner_on_every_small_platform() {
    let platforms: Vec<Platform> = PortModel::ALL.into_iter().flat_map(small_platforms).collect();
    let planned: usize = platforms.par_iter().map(on_platform).sum();
    // The registry's planners all take most of these; far fewer would mean that the test tests nothing.
    assert!(planned > platforms.len() * 20, "only {planned} plans were judged");
}

fn on_platform(platform: &Platform) -> usize {
    let hosts: Vec<_> = platform.hosts().collect();
    let roots = [hosts[0], hosts[hosts.len() / 2]];
    let mut planned = 0;
    for &root in &roots[..if hosts.len() > 1 { 2 } else { 1 }] {
        for collective in Collective::ALL {
            for message_bytes in [1, 13, 4099] {
                let instance = Instance::new(platform, root, message_bytes).unwrap();
                let instance = Instance { collective, ..instance };
                for planner in PLANNERS {
                    for segment_bytes in segment_sizes(message_bytes) {
                        let verdict = judge(*planner, &instance.segmented(segment_bytes));
                        planned += usize::from(verdict == Verdict::Planned);
                        if !planner.card().profile.is_segmentable() {
                            break;
                        }
                    }
                }
            }
        }
    }
    planned
}

#[test]
fn best_keeps_what_every_planner_keeps() {
    for platform in PortModel::ALL.into_iter().flat_map(small_platforms) {
        let root = platform.hosts().next().unwrap();
        let instance = Instance::new(&platform, root, 4099).unwrap();
        for effort in [Effort::Thorough, Effort::Quick] {
            let outcome = make(&instance, "best", SegmentChoice::Auto, effort, &Budget::UNLIMITED).unwrap();
            judge::judge_plan(&instance, &outcome.plan);
            let predicted = outcome.plan.predicted;
            let (makespan_s, bound_s) = (predicted.makespan_s.unwrap(), predicted.bound_s.unwrap());
            assert!(bound_s <= makespan_s, "{}: bound {bound_s}, makespan {makespan_s}", platform.name());
            let tried: Vec<_> = outcome.tried.iter().map(|tried| tried.name).collect();
            let passed = &outcome.passed_over;
            assert_eq!(tried.len() + passed.len(), PLANNERS.len(), "{tried:?} {passed:?}");
            for PassedOver { name, reason } in passed {
                let planner = find(name).unwrap();
                let unsupported = supports(planner, &instance).is_err() || reason.contains("no path leads");
                let profile = &planner.card().profile;
                let is_left_out = profile.is_baseline || !profile.is_quick(&instance);
                assert!(unsupported || is_left_out, "{name}: {reason}");
            }
            assert!(
                outcome.tried.iter().all(|tried| tried.makespan_s >= makespan_s),
                "a faster plan was tried"
            );
            let again = make(&instance, "best", SegmentChoice::Auto, effort, &Budget::UNLIMITED).unwrap();
            assert_eq!(outcome.plan.to_json(), again.plan.to_json());
        }
    }
}

/// Planners that take tens of seconds there are only run by name.
#[test]
fn best_leaves_lengthy_planners_out() {
    let platform = mesh(PortModel::OnePort, 400);
    let instance = Instance::new(&platform, platform.hosts().next().unwrap(), 4099).unwrap();
    let outcome =
        make(&instance, "best", SegmentChoice::Bytes(4099), Effort::Thorough, &Budget::UNLIMITED).unwrap();
    let is_left_out = |name: &str| outcome.passed_over.iter().any(|passed| passed.name == name);
    for name in ["lp-prune", "lp-grow", "optimal"] {
        assert!(is_left_out(name) && supports(find(name).unwrap(), &instance).is_ok(), "{name}");
    }
    assert!(!is_left_out("binomial"));
}

#[test]
fn an_impossible_request_is_an_error_of_one_line() {
    let platform = mesh(PortModel::OnePort, 3);
    let root = platform.hosts().next().unwrap();
    let instance = Instance::new(&platform, root, 100).unwrap();
    let refused = |name, segment| {
        make(&instance, name, segment, Effort::Quick, &Budget::UNLIMITED).unwrap_err().to_string()
    };
    let unknown = refused("bset", SegmentChoice::Auto);
    assert!(
        unknown.contains("\"bset\"") && unknown.contains("binomial") && !unknown.contains('\n'),
        "{unknown}"
    );
    let empty = refused("chain", SegmentChoice::Bytes(0));
    assert!(empty.contains("0 bytes") && !empty.contains('\n'), "{empty}");
    assert!(Instance::new(&platform, root, 0).unwrap_err().to_string().contains("0 bytes"));
    let short = Instance::new(&platform, root, 2).unwrap();
    let unsupported = make(&short, "van-de-geijn", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED)
        .unwrap_err()
        .to_string();
    assert!(unsupported.contains("2 bytes") && unsupported.contains("van-de-geijn"), "{unsupported}");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_planner_on_random_platforms(drawn in drawn_platforms(), message_bytes in 1u64..3000, parts in 1u64..9) {
        let platform = drawn.build();
        for root in [drawn.root(&platform), platform.hosts().next().unwrap()] {
            let Ok(instance) = Instance::new(&platform, root, message_bytes) else { continue };
            for planner in PLANNERS {
                judge(*planner, &instance.segmented(message_bytes.div_ceil(parts)));
            }
        }
    }
}
