//! Everything that searches looks at its budget, and ends soon after it is spent.
//!
//! The looks are counted, so that a loaded machine sees what an idle one does.

use broadleaf::budget::Budget;
use broadleaf::optimum::{makespan_bound_s, makespan_bound_within};
use broadleaf::plan::{check, throughput, PlanError};
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::{estimate_within, makespan};
use std::sync::atomic::{AtomicI64, Ordering};

fn teragrid() -> (Platform, NodeId) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms/teragrid-64.json");
    let platform = Platform::load(&path).unwrap();
    let root = platform.hosts().next().unwrap();
    (platform, root)
}

/// How often `work` looks at a budget of `given` looks.
fn looks(left: &'static AtomicI64, given: i64, work: impl FnOnce(&Budget)) -> i64 {
    left.store(given, Ordering::Relaxed);
    work(&Budget::of_questions(left));
    given - left.load(Ordering::Relaxed)
}

#[test]
fn planners_end_soon_after_their_budget() {
    static LEFT: AtomicI64 = AtomicI64::new(0);
    let (platform, root) = teragrid();
    let instance = Instance::new(&platform, root, 64 << 20).unwrap().segmented(1 << 20);
    // How often the loops around one another still look once it is spent.
    for (name, further) in [("optimal", 60), ("single-tree", 15), ("makespan", 15)] {
        let plan = |budget: &Budget| {
            let plan = find(name).unwrap().plan(&instance, budget).unwrap();
            assert_eq!(check::faults(&platform, &plan), Vec::<String>::new());
        };
        let whole = looks(&LEFT, i64::MAX, plan);
        assert!(whole > 50, "{name} looks at its budget {whole} times");
        for given in [0, 1, whole / 100, whole / 10, whole / 2] {
            let asked = looks(&LEFT, given, plan);
            assert!(asked <= given + further, "{name} looks {asked} times with {given} given");
        }
    }
}

/// All planners together, and the segment searches, simulations and bounds around them.
#[test]
fn planning_ends_soon_after_its_budget() {
    static LEFT: AtomicI64 = AtomicI64::new(0);
    let (platform, root) = teragrid();
    let instance = Instance::new(&platform, root, 64 << 20).unwrap();
    for name in ["best", "optimal", "chain", "makespan"] {
        let plan = |budget: &Budget| {
            let made = make(&instance, name, SegmentChoice::Auto, Effort::Thorough, budget).unwrap();
            assert_eq!(check::faults(&platform, &made.plan), Vec::<String>::new());
            let (predicted, whole_s) = (made.plan.predicted, makespan_bound_s(&platform, root, 64 << 20));
            assert!(predicted.makespan_s.unwrap() > 0.0);
            assert!((0.0..=whole_s).contains(&predicted.bound_s.unwrap()));
        };
        for given in [0, 10, 1000] {
            let asked = looks(&LEFT, given, plan);
            assert!(asked <= given + 400, "{name} looks {asked} times with {given} given");
        }
    }
}

#[test]
fn a_simulation_without_time_says_so_and_a_bound_without_time_is_lower() {
    static LEFT: AtomicI64 = AtomicI64::new(0);
    let (platform, root) = teragrid();
    let instance = Instance::new(&platform, root, 64 << 20).unwrap().segmented(64 << 10);
    for name in ["chain", "binomial", "van-de-geijn"] {
        let plan = find(name).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        looks(&LEFT, 0, |budget| {
            assert!(matches!(makespan(&platform, plan.clone(), budget), Err(PlanError::OutOfTime)), "{name}");
            assert!(matches!(estimate_within(&platform, &plan, budget), Err(PlanError::OutOfTime)), "{name}");
        });
        assert_eq!(
            makespan(&platform, plan.clone(), &Budget::of_questions(&AMPLE)).unwrap(),
            makespan(&platform, plan, &Budget::UNLIMITED).unwrap()
        );
    }
    let whole_s = makespan_bound_s(&platform, root, 64 << 20);
    let mut before_s = 0.0;
    for given in [0, 100, i64::MAX] {
        looks(&LEFT, given, |budget| {
            let bound_s = makespan_bound_within(&platform, root, 64 << 20, budget);
            assert!(before_s <= bound_s && 0.0 < bound_s && bound_s <= whole_s, "{bound_s} of {whole_s}");
            before_s = bound_s;
        });
    }
    assert_eq!(before_s, whole_s);
}

static AMPLE: AtomicI64 = AtomicI64::new(i64::MAX);

/// Among more than 70 hosts the packing starts from a cover. Where that takes all the time, a few trees are drawn from
/// it in any case: the cheapest tree alone is a star here, a hundredth of the rate.
#[test]
fn without_time_optimal_still_draws_several_trees() {
    static LEFT: AtomicI64 = AtomicI64::new(0);
    let mut builder = PlatformBuilder::new("mesh", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..80).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(0.0, 1e8));
    builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
    let platform = builder.build().unwrap();
    let instance = Instance::new(&platform, nodes[0], 64 << 20).unwrap().segmented(1 << 20);
    looks(&LEFT, 0, |budget| {
        let plan = find("optimal").unwrap().plan(&instance, budget).unwrap();
        let rate = throughput(&platform, &plan).unwrap();
        assert!(rate > 1e8 / 8.0, "{rate} bytes/s");
    });
}
