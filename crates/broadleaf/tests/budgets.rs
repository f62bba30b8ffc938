//! Every search checks its budget, and ends soon after it is spent.
//!
//! Budgets are units of work, so that the results are equal on a loaded and on an idle machine.

use broadleaf::budget::Budget;
use broadleaf::optimum::{makespan_bound_s, makespan_bound_within};
use broadleaf::plan::{check, throughput, Collective, PlanError};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{
    Bridge, ExplicitLink, LinkClass, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel,
};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::{estimate_within, makespan};
use std::time::Duration;

fn teragrid() -> (Platform, NodeId) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms/teragrid-64.json");
    let platform = Platform::load(&path).unwrap();
    let root = platform.hosts().next().unwrap();
    (platform, root)
}

/// The number of the `given` units that `work` uses.
fn units(given: u64, work: impl FnOnce(&Budget)) -> u64 {
    let budget = Budget::of_work(given);
    work(&budget);
    budget.done()
}

#[test]
fn planners_end_soon_after_their_budget() {
    let (platform, root) = teragrid();
    let instance = Instance::new(&platform, root, 64 << 20).unwrap().segmented(16 << 10);
    for (name, further) in [("optimal", 30_000), ("single-tree", 1_500), ("makespan", 1_500)] {
        let plan = |budget: &Budget| {
            let plan = find(name).unwrap().plan(&instance, budget).unwrap();
            assert_eq!(check::faults(&platform, &plan), Vec::<String>::new());
        };
        let whole = units(u64::MAX, plan);
        assert!(whole > 2 * further, "{name} takes {whole} units");
        for given in [0, 1, whole / 100, whole / 10, whole / 2] {
            let done = units(given, plan);
            assert!(done <= given + further, "{name} takes {done} units with {given} given");
        }
    }
}

/// All planners together, and the segment searches, simulations and bounds around them.
#[test]
fn planning_ends_soon_after_its_budget() {
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
        for given in [0, 1000, 100_000] {
            let done = units(given, plan);
            assert!(done <= given + 100_000, "{name} takes {done} units with {given} given");
        }
    }
}

#[test]
fn a_simulation_without_time_says_so_and_a_bound_without_time_is_lower() {
    let (platform, root) = teragrid();
    let instance = Instance::new(&platform, root, 64 << 20).unwrap().segmented(64 << 10);
    for name in ["chain", "binomial", "van-de-geijn"] {
        let plan = find(name).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
        units(0, |budget| {
            assert!(matches!(makespan(&platform, plan.clone(), budget), Err(PlanError::OutOfTime)), "{name}");
            assert!(matches!(estimate_within(&platform, &plan, budget), Err(PlanError::OutOfTime)), "{name}");
        });
        assert_eq!(
            makespan(&platform, plan.clone(), &Budget::of_work(u64::MAX)).unwrap(),
            makespan(&platform, plan, &Budget::UNLIMITED).unwrap()
        );
    }
    let whole_s = makespan_bound_s(&platform, root, 64 << 20);
    let mut before_s = 0.0;
    for given in [0, 100, u64::MAX] {
        units(given, |budget| {
            let bound_s = makespan_bound_within(&platform, root, 64 << 20, budget);
            assert!(before_s <= bound_s && 0.0 < bound_s && bound_s <= whole_s, "{bound_s} of {whole_s}");
            before_s = bound_s;
        });
    }
    assert_eq!(before_s, whole_s);
}

fn mesh(hosts: usize) -> (Platform, NodeId) {
    let mut builder = PlatformBuilder::new("mesh", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..hosts).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(0.0, 1e8));
    builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
    (builder.build().unwrap(), nodes[0])
}

/// n trees of n edges, or the costs of n² pairs, cannot be cut short. Counted work never refuses, so that it is the same
/// on every machine.
#[test]
fn a_planner_too_slow_for_the_time_limit_refuses_in_one_line() {
    let (platform, root) = mesh(700);
    let instance = Instance::new(&platform, root, 64 << 20).unwrap();
    let within = |name: &str, budget: &Budget| {
        make(&instance, name, SegmentChoice::Auto, Effort::Thorough, budget).map(|made| made.plan)
    };
    // For the matrices 0.49 s, and 1,050 searches of paths among 700 nodes, each once more as the mesh's: 0.049 s.
    for (name, least) in [("van-de-geijn", "1.5 s"), ("mateescu", "0.5 s"), ("annealing", "0.5 s")] {
        let refusal = within(name, &Budget::within(Duration::from_millis(100))).unwrap_err().to_string();
        assert!(refusal.ends_with(&format!("than the time limit; give it {least}")), "{refusal}");
    }
    let both = Instance { collective: Collective::Allreduce, ..instance };
    let short = Budget::within(Duration::from_millis(100));
    let refusal = make(&both, "ring", SegmentChoice::Auto, Effort::Thorough, &short).unwrap_err().to_string();
    assert!(refusal.ends_with("than the time limit; give it 3.0 s"), "there and back: {refusal}");
    for budget in [Budget::of_work(0), Budget::within(Duration::from_millis(100))] {
        assert_eq!(check::faults(&platform, &within("best", &budget).unwrap()), Vec::<String>::new());
    }
    assert!(within("van-de-geijn", &Budget::of_work(0)).is_ok());
}

/// A hundred hosts a cluster, and links from each to each: what the links take follows from their number.
#[test]
fn planners_refuse_by_sizes_before_they_begin_and_best_has_a_plan_all_the_same() {
    let mut builder = PlatformBuilder::new("clusters", PortModel::OnePort);
    let class = builder.add_class(LinkClass::affine(0.0, 1e8));
    let clusters: Vec<_> = (0..12).map(|at| builder.cluster(&format!("c{at}"))).collect();
    for at in 0..1_200 {
        let cluster = Some(clusters[at / 100]);
        builder.add_node(Node { id: format!("n{at}"), cluster, ..Node::default() }).unwrap();
    }
    for (at, &from) in clusters.iter().enumerate() {
        for &to in &clusters[at + 1..] {
            builder.add_bridge(Bridge { from, to, both_ways: true, class }).unwrap();
        }
        let nodes = (100 * at..100 * at + 100).map(|node| NodeId(node as u32)).collect();
        builder.add_mesh(Mesh { nodes, class }).unwrap();
    }
    let platform = builder.build().unwrap();
    let bcast = Instance::new(&platform, NodeId(0), 64 << 20).unwrap();
    let of = |collective| Instance { collective, ..bcast };
    let short = || Budget::within(Duration::from_millis(100));
    for (name, collective, least) in [
        ("prune-refined", Collective::Bcast, "7.2 s"),
        ("prune-refined", Collective::Reduce, "7.2 s"),
        ("prune-refined", Collective::Allreduce, "14.4 s"),
        ("optimal", Collective::Bcast, "1.4 s"),
        ("site-blocks", Collective::Allgather, "2.1 s"),
    ] {
        let (instance, budget) = (of(collective), short());
        let made = make(&instance, name, SegmentChoice::Auto, Effort::Thorough, &budget);
        let refusal = made.map(|made| made.plan.planner).unwrap_err().to_string();
        assert!(refusal.ends_with(&format!("than the time limit; give it {least}")), "{refusal}");
        assert_eq!(budget.done(), 0, "{name}");
    }
    for collective in [Collective::Bcast, Collective::Allreduce] {
        let none = Budget::within(Duration::ZERO);
        let made = make(&of(collective), "best", SegmentChoice::Auto, Effort::Thorough, &none).unwrap();
        assert_eq!(check::faults(&platform, &made.plan), Vec::<String>::new());
    }
}

/// The way in anneals for half of the limit, the way out for what is left.
#[test]
fn both_ways_of_an_annealed_all_reduce_share_the_time_limit() {
    let (platform, root) = mesh(6);
    let instance = Instance::new(&platform, root, 1 << 20).unwrap();
    let both = Instance { collective: Collective::Allreduce, ..instance };
    let budget = Budget::within(Duration::from_millis(40));
    let plan = plan_with(find("annealing").unwrap(), &both, &budget).unwrap();
    assert_eq!((plan.trees.len(), plan.inward.len()), (1, 1));
    let (asked, done) = (budget.asked().unwrap(), budget.done());
    assert!(done >= asked && done <= asked + 100, "{done} of {asked} units");
}

/// Of 4,000 hosts in a ring a quarter send to others than neighbours: each needs a search of paths past all hosts and links.
#[test]
fn trees_that_take_too_long_to_route_are_refused() {
    let mut builder = PlatformBuilder::new("ring", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..4_000).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(0.0, 1e8));
    for (at, &from) in nodes.iter().enumerate() {
        let to = nodes[(at + 1) % nodes.len()];
        builder.add_link(ExplicitLink { from, to, both_ways: true, class }).unwrap();
    }
    let platform = builder.build().unwrap();
    let instance = Instance::new(&platform, nodes[0], 1).unwrap();
    let within = |name: &str| {
        let budget = Budget::within(Duration::from_millis(100));
        plan_with(find(name).unwrap(), &instance, &budget).map_err(|refusal| refusal.to_string())
    };
    let refusal = within("binomial").unwrap_err();
    assert!(refusal.ends_with("than the time limit; give it 0.3 s"), "{refusal}");
    assert_eq!(within("chain").unwrap().trees[0].via.len(), 0);
}

/// Among more than 70 hosts the packing starts from a cover. Where that takes all the time, a few trees are drawn from
/// it in any case: the cheapest tree alone is a star here, a hundredth of the rate.
#[test]
fn without_time_optimal_still_draws_several_trees() {
    let (platform, root) = mesh(80);
    let instance = Instance::new(&platform, root, 64 << 20).unwrap().segmented(1 << 20);
    units(0, |budget| {
        let plan = find("optimal").unwrap().plan(&instance, budget).unwrap();
        let rate = throughput(&platform, &plan).unwrap();
        assert!(rate > 1e8 / 8.0, "{rate} bytes/s");
    });
}
