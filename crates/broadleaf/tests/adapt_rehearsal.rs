//! The advisor on teragrid-64 while loads come and go: how soon it follows, and what it costs when nothing happens.

use broadleaf::adapt::advisor::Settings;
use broadleaf::adapt::rehearsal::{first_plans, rehearse, Broadcast, Program, Watch, Way};
use broadleaf::plan::Plan;
use broadleaf::platform::{Group, Platform};
use broadleaf::simulate::{Course, Rates};
use std::collections::BTreeMap;
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
    FIRST.get_or_init(|| first_plans(platform, platform.find("c2-0").unwrap(), &[(0.0, BYTES)]).unwrap())
}

/// Twenty broadcasts, a minute apart, while the links out of the cluster that the plan relays through are loaded from
/// the fifth to the twelfth.
fn went(rates: &Rates, platform: &Arc<Platform>, way: &Way) -> Vec<Broadcast> {
    let calls: Vec<(f64, u64)> = (0..20).map(|call| (60.0 * f64::from(call), BYTES)).collect();
    let root = platform.find("c2-0").unwrap();
    rehearse(&Program { platform: Arc::clone(platform), rates, root, calls: &calls }, way).unwrap()
}

fn advised(first: &BTreeMap<u32, Arc<Plan>>) -> Way<'_> {
    Way::Advised { first, settings: Settings::default(), watch: Watch::default() }
}

#[test]
fn a_load_is_followed_within_two_broadcasts_and_so_is_its_end() {
    let platform = platform();
    let first = first(&platform);
    // The cluster of another site that passes on most.
    let plan = &first[&BYTES.ilog2()];
    let cluster = |node| platform.group(node);
    let own = cluster(plan.root);
    let relays = plan.trees[0].edges().filter(|&(u, v)| cluster(u) != cluster(v) && cluster(u) != own);
    let mut counts: BTreeMap<Group, usize> = BTreeMap::new();
    relays.for_each(|(relay, _)| *counts.entry(cluster(relay)).or_default() += 1);
    let (&loaded, _) = counts.iter().max_by_key(|(_, count)| **count).expect("some cluster passes it on");
    let mut rates = Rates::default();
    for other in platform.hosts().map(cluster).filter(|&other| other != loaded) {
        rates.set_links(loaded, other, Course::new(vec![(290.0, 0.1), (710.0, 1.0)]).unwrap());
    }
    let (fixed, ours) =
        (went(&rates, &platform, &Way::Static(first)), went(&rates, &platform, &advised(first)));
    let stale: Vec<usize> = (0..20).filter(|&call| ours[call].is_stale).collect();
    assert_eq!(stale.first(), Some(&5), "{stale:?}");
    assert!(stale.iter().filter(|&&call| call < 12).count() <= 2, "after the load began: {stale:?}");
    assert!(stale.iter().filter(|&&call| call >= 12).count() <= 2, "after it ended: {stale:?}");
    for call in 7..12 {
        let (fixed_s, ours_s) = (fixed[call].seconds, ours[call].seconds);
        assert!(ours_s < 0.8 * fixed_s, "broadcast {call} under load: {ours_s} s, static {fixed_s} s");
    }
    for call in (0..5).chain(14..20) {
        assert!(ours[call].seconds <= 1.01 * fixed[call].seconds, "broadcast {call} without load");
    }
}

#[test]
fn without_loads_it_is_the_static_plan_or_better() {
    let platform = platform();
    let first = first(&platform);
    let rates = Rates::default();
    let (fixed, ours) =
        (went(&rates, &platform, &Way::Static(first)), went(&rates, &platform, &advised(first)));
    for (fixed, ours) in fixed.iter().zip(&ours) {
        assert!(
            ours.seconds <= fixed.seconds && !ours.is_unaware,
            "{} s, static {} s",
            ours.seconds,
            fixed.seconds
        );
    }
}
