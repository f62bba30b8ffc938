//! The advisor on teragrid-64 while loads begin and end: its delay, and its cost without loads.

use broadleaf::adapt::advisor::AdvisorSettings;
use broadleaf::plan::Plan;
use broadleaf::platform::{LinkEnd, Platform};
use broadleaf::portfolio::Coarsening;
use broadleaf_experiments::replay::{first_plans, replay, Broadcast, PlanSource, PlanningTime, Program};
use broadleaf_experiments::varying_rates::{Course, Rates};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

const BYTES: u64 = 1_000_000;

fn platform() -> Arc<Platform> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms/teragrid-64.json");
    Arc::new(Platform::load(&path).unwrap())
}

/// Planned once for all tests.
fn first(platform: &Platform) -> &'static BTreeMap<u32, Arc<Plan>> {
    static FIRST: OnceLock<BTreeMap<u32, Arc<Plan>>> = OnceLock::new();
    let calls = [(0.0, BYTES)];
    FIRST.get_or_init(|| {
        first_plans(platform, platform.find("c2-0").unwrap(), &calls, Coarsening::IDLE).unwrap()
    })
}

const CALLS: usize = 14;
/// Loads begin between two broadcasts and end between two.
const LOADED: (f64, f64) = (230.0, 530.0);
const FIRST_LOADED: usize = 4;
const FIRST_FREE: usize = 9;

/// Broadcasts a minute apart.
fn went(rates: &Rates, platform: &Arc<Platform>, source: &PlanSource) -> Vec<Broadcast> {
    went_far(rates, &[], platform, source)
}

/// The same while latencies change too.
fn went_far(
    rates: &Rates,
    latencies: &[(LinkEnd, LinkEnd, Course)],
    platform: &Arc<Platform>,
    source: &PlanSource,
) -> Vec<Broadcast> {
    let calls: Vec<(f64, u64)> = (0..CALLS).map(|call| (60.0 * call as f64, BYTES)).collect();
    let root = platform.find("c2-0").unwrap();
    let program = Program { platform: Arc::clone(platform), rates, latencies, root, calls: &calls };
    replay(&program, source).unwrap()
}

fn advised(first: &BTreeMap<u32, Arc<Plan>>) -> PlanSource<'_> {
    let settings = AdvisorSettings { coarsening: Coarsening::IDLE, ..AdvisorSettings::default() };
    PlanSource::Advised { first, settings, every_s: 300.0 }
}

/// The clusters of other sites, those through which most of the plan passes first.
fn relays(platform: &Platform, plan: &Plan) -> Vec<LinkEnd> {
    let cluster = |node| platform.group(node);
    let own = cluster(plan.root);
    let mut counts: BTreeMap<LinkEnd, usize> = BTreeMap::new();
    for (from, to) in plan.trees[0].edges() {
        if cluster(from) != cluster(to) && cluster(from) != own {
            *counts.entry(cluster(from)).or_default() += 1;
        }
    }
    let mut relays: Vec<LinkEnd> = counts.keys().copied().collect();
    relays.sort_by_key(|relay| std::cmp::Reverse(counts[relay]));
    relays
}

fn slowed(platform: &Platform, groups: &[LinkEnd], steps: &[(f64, f64)]) -> Rates {
    let mut rates = Rates::default();
    for &group in groups {
        for other in platform.hosts().map(|node| platform.group(node)).filter(|&other| other != group) {
            rates.set_links(group, other, Course::new(steps.to_vec()).unwrap());
        }
    }
    rates
}

/// The number of stale broadcasts during the load, and after its end.
fn stale(broadcasts: &[Broadcast]) -> (usize, usize) {
    let count = |calls: &[Broadcast]| calls.iter().filter(|broadcast| broadcast.is_stale).count();
    (count(&broadcasts[..FIRST_FREE]), count(&broadcasts[FIRST_FREE..]))
}

#[test]
fn a_load_is_followed_after_two_broadcasts_and_its_end_after_one() {
    let platform = platform();
    let first = first(&platform);
    let loaded = relays(&platform, &first[&BYTES.ilog2()])[0];
    let rates = slowed(&platform, &[loaded], &[(LOADED.0, 0.1), (LOADED.1, 1.0)]);
    let (fixed, ours) =
        (went(&rates, &platform, &PlanSource::Static(first)), went(&rates, &platform, &advised(first)));
    // The first slow broadcast detects the load, and the second brings the plan. A probe detects the end just before a
    // broadcast.
    assert_eq!(stale(&ours), (2, 1));
    assert!(ours[FIRST_LOADED].is_stale && ours[FIRST_FREE].is_stale);
    for call in FIRST_LOADED + 2..FIRST_FREE {
        let (fixed_s, ours_s) = (fixed[call].seconds, ours[call].seconds);
        assert!(ours_s < 0.8 * fixed_s, "broadcast {call} under load: {ours_s} s, static {fixed_s} s");
    }
    for call in (0..FIRST_LOADED).chain(FIRST_FREE + 1..CALLS) {
        assert!(ours[call].seconds <= 1.01 * fixed[call].seconds, "broadcast {call} without load");
    }
}

#[test]
fn loads_on_two_clusters_and_loads_that_grow_are_followed() {
    let platform = platform();
    let first = first(&platform);
    let relays = relays(&platform, &first[&BYTES.ilog2()]);
    let two = slowed(&platform, &relays[..2], &[(LOADED.0, 0.15), (LOADED.1, 1.0)]);
    let growing: Vec<(f64, f64)> =
        vec![(LOADED.0, 0.6), (LOADED.0 + 60.0, 0.3), (LOADED.0 + 120.0, 0.1), (LOADED.1, 1.0)];
    let growing = slowed(&platform, &relays[..1], &growing);
    for (name, rates) in [("two clusters", two), ("growing", growing)] {
        let fixed = went(&rates, &platform, &PlanSource::Static(first));
        let ours = went(&rates, &platform, &advised(first));
        let whole_s = |went: &[Broadcast]| went.iter().map(|broadcast| broadcast.seconds).sum::<f64>();
        let (fixed_s, ours_s) = (whole_s(&fixed), whole_s(&ours));
        assert!(ours_s < 0.9 * fixed_s, "{name}: {ours_s} s, static {fixed_s} s");
        let last = &ours[CALLS - 1];
        assert!(!last.is_stale && last.seconds <= 1.01 * fixed[CALLS - 1].seconds, "{name}");
    }
}

#[test]
fn a_load_that_no_plan_meets_is_known_after_one_period_of_the_monitor() {
    let platform = platform();
    let first = first(&platform);
    // No message enters the root's cluster.
    let own = platform.group(platform.find("c2-0").unwrap());
    let mut rates = Rates::default();
    for other in platform.hosts().map(|node| platform.group(node)).filter(|&other| other != own) {
        rates.set_links(other, own, Course::new(vec![(LOADED.0, 0.2)]).unwrap());
    }
    let ours = went(&rates, &platform, &advised(first));
    let unaware: Vec<f64> =
        ours.iter().filter(|broadcast| broadcast.is_unaware).map(|broadcast| broadcast.at_s).collect();
    assert_eq!(unaware, [240.0, 300.0], "the monitor looks at 300 s, after the broadcast of that moment");
    assert!(ours.iter().all(|broadcast| !broadcast.is_stale), "and no plan was the worse for it");
}

/// Broadcasts do not time latencies: the monitor does, so a change costs one of its periods.
#[test]
fn a_way_that_gets_longer_is_gone_round_after_one_period_of_the_monitor() {
    let platform = platform();
    let first = first(&platform);
    let far = relays(&platform, &first[&BYTES.ilog2()])[0];
    let groups = platform.hosts().map(|node| platform.group(node));
    let others: BTreeSet<LinkEnd> = groups.filter(|&other| other != far).collect();
    let course = Course::new(vec![(LOADED.0, 40.0), (LOADED.1, 1.0)]).unwrap();
    let latencies: Vec<(LinkEnd, LinkEnd, Course)> =
        others.iter().map(|&other| (far, other, course.clone())).collect();
    let rates = Rates::default();
    let fixed = went_far(&rates, &latencies, &platform, &PlanSource::Static(first));
    let ours = went_far(&rates, &latencies, &platform, &advised(first));
    // The monitor probes at 300 s, after the broadcast at that time; the next one brings the new plan. Before the
    // broadcast at 540 s the longer links were probed again, and it brings the earlier plan.
    for call in 7..FIRST_FREE {
        let (fixed_s, ours_s) = (fixed[call].seconds, ours[call].seconds);
        assert!(ours_s < 0.9 * fixed_s, "broadcast {call} on longer ways: {ours_s} s, static {fixed_s} s");
    }
    let data_s = |broadcast: &Broadcast| broadcast.seconds - broadcast.travel.seconds;
    for call in (0..7).chain(FIRST_FREE + 1..CALLS) {
        assert!(data_s(&ours[call]) <= 1.01 * data_s(&fixed[call]), "broadcast {call}");
    }
    // The plan travels with one of them.
    let with_plan = ours.iter().filter(|broadcast| broadcast.travel.bytes > ours[0].travel.bytes).count();
    assert_eq!(with_plan, 1, "the plan that goes round it; without the load it is as good as the one before");
    let unaware: Vec<f64> =
        ours.iter().filter(|broadcast| broadcast.is_unaware).map(|broadcast| broadcast.at_s).collect();
    assert_eq!(unaware, [240.0, 300.0]);
}

#[test]
fn without_loads_it_is_the_static_plan_or_better() {
    let platform = platform();
    let first = first(&platform);
    let rates = Rates::default();
    let fixed = went(&rates, &platform, &PlanSource::Static(first));
    let ours = went(&rates, &platform, &advised(first));
    for (fixed, ours) in fixed.iter().zip(&ours) {
        assert!(
            ours.seconds <= fixed.seconds && !ours.is_unaware,
            "{} s, static {} s",
            ours.seconds,
            fixed.seconds
        );
    }
}

/// From "r" to "a" and "b" at 100 bytes/s, between them at 50, each with a latency of 1 s.
fn triangle() -> Arc<Platform> {
    let link = |from: &str, to: &str, rate: u32| {
        format!(r#"{{"from": "{from}", "to": "{to}", "latency_s": 1, "bandwidth_bytes_per_s": {rate}}}"#)
    };
    let links = [link("r", "a", 100), link("r", "b", 100), link("a", "b", 50), link("b", "a", 50)].join(", ");
    let node = |id: &str| format!(r#"{{"id": "{id}", "cluster": "C{id}"}}"#);
    let nodes = ["r", "a", "b"].map(node).join(", ");
    let head = r#""format": "broadleaf-platform/1", "name": "triangle", "port_model": "one-port""#;
    Arc::new(Platform::from_json(&format!(r#"{{{head}, "nodes": [{nodes}], "links": [{links}]}}"#)).unwrap())
}

/// Broadcasts of 100 bytes, a minute apart.
fn monitored(planner: &str, rates: &Rates, planning: Option<PlanningTime>) -> Vec<Broadcast> {
    let platform = triangle();
    let calls: Vec<(f64, u64)> = (0..12).map(|call| (60.0 * f64::from(call), 100)).collect();
    let root = platform.find("r").unwrap();
    let program = Program { platform, rates, latencies: &[], root, calls: &calls };
    replay(&program, &PlanSource::Monitored { planner, every_s: 1.0, planning }).unwrap()
}

#[test]
fn a_tree_goes_ahead_of_the_data_or_by_itself() {
    let went = monitored("chain", &Rates::default(), None);
    let travel = went[0].travel;
    // r, a, b: 100 bytes take 1 s and 2 s, and a latency each; 12 bytes of the tree 0.12 s and 0.24 s.
    assert_eq!(travel.bytes, 12);
    assert!((travel.seconds - 0.36).abs() < 1e-9 && (travel.apart_s - 2.36).abs() < 1e-9, "{travel:?}");
    assert!((went[0].seconds - 5.36).abs() < 1e-9, "{} s", went[0].seconds);
}

#[test]
fn a_plan_is_in_use_once_the_time_that_it_takes_is_over() {
    let platform = triangle();
    let group = |id| platform.group(platform.find(id).unwrap());
    let mut rates = Rates::default();
    rates.set_links(group("r"), group("a"), Course::new(vec![(230.0, 0.1)]).unwrap());
    // The first broadcast over b, from the fourth on that the load makes slow: r serves both in 3 s, or in 12 s under
    // the load, and b passes it on in 5 s.
    let first_over_b = |planning| {
        let went = monitored("ecef", &rates, planning);
        assert!(went[..4].iter().all(|broadcast| broadcast.seconds < 3.5));
        (4..12).find(|&call| went[call].seconds < 6.0).unwrap()
    };
    let in_time = |part| Some(PlanningTime { part, moves_per_s: 100.0 });
    // Begun at 240 s, when the load is seen, and ready at 300 s, or at 270 s.
    assert_eq!(first_over_b(None), 4);
    assert_eq!((first_over_b(in_time(1.0)), first_over_b(in_time(0.5))), (5, 5));
    // Begun at 60, 180 and 300 s: the first two are for the network without the load.
    assert_eq!(first_over_b(in_time(2.0)), 7);
}
