//! The advisor's decisions on a network that changes, with plans made by the real planners.

use broadleaf::adapt::advisor::{Advice, Advisor, AdvisorSettings, PlanKey, PlanRequest};
use broadleaf::adapt::links::{Origin, Sample};
use broadleaf::adapt::record::{Call, Stream};
use broadleaf::adapt::search::search;
use broadleaf::budget::Budget;
use broadleaf::plan::check::faults;
use broadleaf::plan::Plan;
use broadleaf::planners::Instance;
use broadleaf::platform::{ExplicitLink, LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::portfolio::{coarsened, Coarsening};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::makespan;
use std::sync::Arc;
use std::time::Duration;

const STREAM: Stream = Stream { communicator: 0, root: NodeId(0) };

/// Four hosts, every pair at 1 MB/s, and from each to the next at 4 MB/s.
fn platform() -> Arc<Platform> {
    let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
    let nodes = ["a", "b", "c", "d"].map(|id| builder.add_host(id).unwrap());
    let class = builder.add_class(LinkClass::affine(1e-4, 1e6));
    builder.add_mesh(Mesh { nodes: nodes.to_vec(), class }).unwrap();
    let fast = builder.add_class(LinkClass::affine(1e-4, 4e6));
    for pair in nodes.windows(2) {
        builder.add_link(ExplicitLink { from: pair[0], to: pair[1], both_ways: false, class: fast }).unwrap();
    }
    Arc::new(builder.build().unwrap())
}

fn plan(order: &PlanRequest) -> Plan {
    let instance = Instance::new(&order.platform, order.key.stream.root, order.bytes).unwrap();
    make(&instance, "best", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED).unwrap().plan
}

fn call(advisor: &mut Advisor, at_s: f64, bytes: u64) {
    advisor.called(Call { stream: STREAM, at_s, bytes });
}

/// Carries out the advisor's actions until none is left; returns the orders made and the publications.
fn settle(
    advisor: &mut Advisor,
    now_s: f64,
    slow: impl Fn(NodeId, NodeId) -> f64,
) -> (Vec<PlanRequest>, Vec<(PlanKey, Arc<Plan>)>) {
    let (mut orders, mut published) = (Vec::new(), Vec::new());
    loop {
        let advice = advisor.tick(now_s).unwrap();
        if advice.is_empty() {
            return (orders, published);
        }
        for advice in advice {
            match advice {
                Advice::Probe(pair) => {
                    let (from, to) = advisor.links().representatives(pair).unwrap();
                    let base = advisor.links().base();
                    let class = base.link(from, to).unwrap();
                    let seconds = base.transfer_s(class, 1_000_000) / slow(from, to);
                    let sample = Sample {
                        from,
                        to,
                        bytes: 1_000_000,
                        seconds,
                        expected_s: None,
                        at_s: now_s,
                        origin: Origin::Active,
                    };
                    advisor.sampled(&sample);
                }
                Advice::Plan(order) => {
                    advisor.planned(order.number, Some(plan(&order))).unwrap();
                    orders.push(order);
                }
                Advice::Publish { key, plan, .. } => published.push((key, plan)),
            }
        }
    }
}

#[test]
fn sizes_near_the_predicted_one_are_planned_for_within_the_time_left() {
    let mut advisor = Advisor::new(platform(), AdvisorSettings::default());
    for (at_s, bytes) in [(0.0, 1_000_000), (4.0, 900_000), (8.0, 800_000)] {
        call(&mut advisor, at_s, bytes);
    }
    let (orders, published) = settle(&mut advisor, 9.0, |_, _| 1.0);
    let sizes: Vec<u64> = orders.iter().map(|order| order.bytes).collect();
    assert_eq!(sizes, [700_000, 1_400_000, 350_000]);
    assert!(orders.iter().all(|order| (order.within_s - 3.0).abs() < 1e-6), "{orders:?}");
    assert_eq!(published.len(), 3);
    assert!(published.iter().all(|(_, plan)| plan.platform_digest == platform().digest()));
    assert!(settle(&mut advisor, 9.5, |_, _| 1.0).0.is_empty(), "nothing has changed");
}

#[test]
fn an_idle_advisor_prepares_every_power_of_two_for_every_root() {
    let settings = AdvisorSettings { roots: vec![NodeId(0), NodeId(2)], ..AdvisorSettings::default() };
    let mut advisor = Advisor::new(platform(), settings);
    let (orders, published) = settle(&mut advisor, 0.0, |_, _| 1.0);
    assert_eq!((orders.len(), published.len()), (34, 34));
    assert_eq!((orders[0].bytes, orders[33].bytes), (1 << 10, 64 << 20));
    // A program that ended long ago leaves it idle again, with nothing left to do.
    call(&mut advisor, 1.0, 777);
    assert_eq!(settle(&mut advisor, 2.0, |_, _| 1.0).0[0].bytes, 777);
    assert!(settle(&mut advisor, 1000.0, |_, _| 1.0).0.is_empty());
}

#[test]
fn a_load_brings_another_plan_and_its_end_the_plan_from_before_without_planning() {
    let mut advisor = Advisor::new(platform(), AdvisorSettings::default());
    call(&mut advisor, 0.0, 1_000_000);
    let (_, published) = settle(&mut advisor, 1.0, |_, _| 1.0);
    let key = PlanKey::new(STREAM, 1_000_000);
    let before = Arc::clone(&published.iter().find(|(other, _)| *other == key).unwrap().1);
    let parent = before.trees[0].parents()[3].unwrap();
    assert_eq!(parent, NodeId(2), "the fast chain");
    let slow = |from: NodeId, to: NodeId| if (from, to) == (parent, NodeId(3)) { 0.1 } else { 1.0 };
    let passive = |seconds: f64, at_s: f64| Sample {
        from: parent,
        to: NodeId(3),
        bytes: 500_000,
        seconds,
        expected_s: None,
        at_s,
        origin: Origin::Passive,
    };
    // One misfit: the advisor asks for a probe, which settles it; the same tick plans.
    advisor.sampled(&passive(1.25, 10.0));
    let (orders, published) = settle(&mut advisor, 10.0, slow);
    assert_eq!(orders[0].bytes, 1_000_000);
    let (_, during) = published.iter().find(|(other, _)| *other == key).expect("a better plan under load");
    let loaded = &orders[0].platform;
    let seconds = |plan: &Plan| makespan(loaded, plan.clone(), &Budget::UNLIMITED).unwrap();
    let (with_s, without_s) = (seconds(during), seconds(&before));
    assert!(with_s < 0.5 * without_s, "{with_s} s against {without_s} s");
    // No plan uses the link now: only the monitor can detect the end of the load.
    for at_s in [20.0, 21.0] {
        advisor.sampled(&Sample { origin: Origin::Active, ..passive(0.125, at_s) });
    }
    // Probes of the links around it come first; then, before any order, the earlier plan.
    let (orders, published) = settle(&mut advisor, 21.0, |_, _| 1.0);
    let back = published.into_iter().find(|(other, _)| *other == key).map(|(_, plan)| plan);
    assert!(orders.iter().all(|order| order.platform.digest() == platform().digest()));
    assert_eq!(back.expect("the plan from before").trees, before.trees);
}

#[test]
fn slow_links_that_no_plan_uses_are_looked_at_shortly_before_the_next_broadcast() {
    let settings = AdvisorSettings::default();
    let mut advisor = Advisor::new(platform(), settings.clone());
    for at_s in [0.0, 50.0, 100.0] {
        call(&mut advisor, at_s, 1_000_000);
    }
    assert_eq!(advisor.next_look_s(100.0), None, "no link is slow");
    let slow = |from: NodeId, to: NodeId| if (from, to) == (NodeId(2), NodeId(3)) { 0.1 } else { 1.0 };
    let timed = |seconds: f64| Sample {
        from: NodeId(2),
        to: NodeId(3),
        bytes: 500_000,
        seconds,
        expected_s: None,
        at_s: 101.0,
        origin: Origin::Passive,
    };
    advisor.sampled(&timed(1.25));
    let (_, published) = settle(&mut advisor, 101.0, slow);
    let key = PlanKey::new(STREAM, 1_000_000);
    let (_, plan) = published.iter().find(|(other, _)| *other == key).expect("a plan round it");
    assert_ne!(plan.trees[0].parents()[3], Some(NodeId(2)));
    // A call is expected at 150 s; until then no more often than every 30 s, and again 3 s before it.
    let mut looks = Vec::new();
    for tenth in 1011..1500 {
        let now_s = f64::from(tenth) / 10.0;
        for advice in advisor.tick(now_s).unwrap() {
            let Advice::Probe(pair) = advice else { panic!("nothing has changed: {advice:?}") };
            assert_eq!(pair, advisor.links().pair(NodeId(2), NodeId(3)));
            looks.push(now_s);
        }
    }
    assert_eq!(looks, [131.0, 147.0]);
    // No program runs any more: the monitor's own rounds are enough.
    assert_eq!(advisor.next_look_s(100.0 + settings.idle_after_s + 1.0), None);
}

#[test]
fn segments_grow_while_that_costs_next_to_nothing() {
    let platform = platform();
    let instance = Instance::new(&platform, NodeId(0), 1_000_000).unwrap();
    let plan =
        make(&instance, "chain", SegmentChoice::Bytes(500), Effort::Quick, &Budget::UNLIMITED).unwrap().plan;
    let coarse = coarsened(&platform, plan.clone(), Coarsening::IDLE).unwrap();
    let seconds = |plan: &Plan| makespan(&platform, plan.clone(), &Budget::UNLIMITED).unwrap();
    assert!(coarse.segment_bytes > plan.segment_bytes && coarse.trees == plan.trees);
    assert!(seconds(&coarse) <= 1.003 * seconds(&plan));
    let twice = Plan { segment_bytes: 2 * coarse.segment_bytes, ..coarse };
    assert!(seconds(&twice) > 1.003 * seconds(&plan));
}

#[test]
fn segments_are_robust_where_machines_are_busy() {
    let platform = platform();
    let seconds = |plan: &Plan| makespan(&platform, plan.clone(), &Budget::UNLIMITED).unwrap();
    // Whole numbers of the least segment, so that both searches may have segments of just that size.
    for bytes in [700, 48 << 11, 488 << 11, 64 << 20] {
        let finest = search(&platform, NodeId(0), bytes, Coarsening::IDLE, &Budget::UNLIMITED).unwrap();
        let robust = search(&platform, NodeId(0), bytes, Coarsening::BUSY, &Budget::UNLIMITED).unwrap();
        let Coarsening { least_bytes, most_bytes, worth } = Coarsening::BUSY;
        assert!(robust.segment_bytes >= least_bytes.min(bytes), "{bytes} bytes: {}", robust.segment_bytes);
        assert!(robust.segment_bytes <= most_bytes.max(finest.segment_bytes));
        let finest = coarsened(&platform, finest, Coarsening { worth: 0.0, ..Coarsening::BUSY }).unwrap();
        assert!(seconds(&robust) <= (1.0 + worth) * seconds(&finest), "{bytes} bytes");
    }
}

#[test]
fn a_timetable_is_made_anew_for_larger_segments() {
    let platform = platform();
    let instance = Instance::new(&platform, NodeId(0), 1_000_000).unwrap();
    let plan = make(&instance, "circulant", SegmentChoice::Bytes(500), Effort::Quick, &Budget::UNLIMITED)
        .unwrap()
        .plan;
    let robust = coarsened(&platform, plan, Coarsening::BUSY).unwrap();
    assert!(robust.segment_bytes >= 2048);
    assert!(faults(&platform, &robust).is_empty());
    assert!(makespan(&platform, robust, &Budget::UNLIMITED).is_ok());
}

#[test]
fn a_search_out_of_time_still_has_a_plan() {
    let platform = platform();
    let plan =
        search(&platform, NodeId(0), 1_000_000, Coarsening::BUSY, &Budget::within(Duration::ZERO)).unwrap();
    assert!(faults(&platform, &plan).is_empty());
}

#[test]
fn a_plan_that_is_no_better_is_not_published() {
    let mut advisor = Advisor::new(platform(), AdvisorSettings::default());
    let order = |advisor: &mut Advisor| {
        let advice = advisor.tick(0.0).unwrap();
        advice.into_iter().find_map(|advice| match advice {
            Advice::Plan(order) => Some(order),
            _ => None,
        })
    };
    call(&mut advisor, 0.0, 1_000_000);
    let first = order(&mut advisor).unwrap();
    advisor.in_use(first.key, &plan(&first)).unwrap();
    let instance = Instance::new(&first.platform, NodeId(0), first.bytes).unwrap();
    let flat = make(&instance, "flat", SegmentChoice::Bytes(1_000_000), Effort::Quick, &Budget::UNLIMITED)
        .unwrap()
        .plan;
    advisor.planned(first.number, Some(flat)).unwrap();
    let advice = advisor.tick(0.0).unwrap();
    assert!(!advice.iter().any(|advice| matches!(advice, Advice::Publish { .. })), "{advice:?}");
}

#[test]
fn an_order_that_nobody_answers_is_given_up() {
    let mut advisor = Advisor::new(platform(), AdvisorSettings::default());
    call(&mut advisor, 0.0, 1_000_000);
    let plans = |advisor: &mut Advisor, now_s: f64| {
        let advice = advisor.tick(now_s).unwrap();
        advice
            .into_iter()
            .filter_map(|advice| match advice {
                Advice::Plan(order) => Some(order),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let first = plans(&mut advisor, 0.0);
    assert_eq!((first.len(), plans(&mut advisor, 20.0).len()), (1, 0), "one at a time");
    let second = plans(&mut advisor, 31.0);
    assert_eq!(second.len(), 1, "20 s to plan and 10 of grace are over");
    advisor.planned(first[0].number, Some(plan(&first[0]))).unwrap();
    assert!(advisor.tick(31.0).unwrap().is_empty(), "the first one's plan comes too late");
    // A planner that failed leaves the next size to be planned for.
    advisor.planned(second[0].number, None).unwrap();
    assert_ne!(plans(&mut advisor, 31.0)[0].key, second[0].key);
}

#[test]
fn a_link_in_doubt_that_cannot_be_probed_is_waited_for_no_longer_than_a_while() {
    let mut advisor = Advisor::new(platform(), AdvisorSettings::default());
    call(&mut advisor, 0.0, 1_000_000);
    let slow = Sample {
        from: NodeId(0),
        to: NodeId(1),
        bytes: 1_000_000,
        seconds: 9.0,
        expected_s: None,
        at_s: 0.0,
        origin: Origin::Passive,
    };
    advisor.sampled(&slow);
    let is_plan = |advice: &Advice| matches!(advice, Advice::Plan(_));
    let first = advisor.tick(0.0).unwrap();
    assert!(first.iter().any(|advice| matches!(advice, Advice::Probe(_))) && !first.iter().any(is_plan));
    assert!(advisor.tick(4.9).unwrap().is_empty());
    assert!(advisor.tick(5.1).unwrap().iter().any(is_plan));
}
