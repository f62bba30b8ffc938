//! Properties of every plan, checked by parts of the crate that share no code with planners.

use crate::delivery;
use broadleaf::budget::Budget;
use broadleaf::execute::threads;
use broadleaf::optimum::collective_bound_s;
use broadleaf::plan::{check, throughput, Plan, PlanError, Programs};
use broadleaf::planners::{find, plan_with, supports, Instance, Planner};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;

/// More data than this is not moved through threads.
const MOVED_BYTES: u64 = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Planned,
    Unsupported,
}

/// Plans, and panics with the faults of the plan.
pub fn judge(planner: &dyn Planner, instance: &Instance) -> Verdict {
    let card = planner.card();
    for (field, text) in [
        ("name", card.name),
        ("summary", card.summary),
        ("reference", card.reference),
        ("objective", card.objective),
        ("guarantee", card.guarantee),
        ("complexity", card.complexity),
    ] {
        assert!(!text.trim().is_empty() && !text.contains('\n'), "{}: no {field}", card.name);
    }
    if let Err(unsupported) = supports(planner, instance) {
        assert!(!unsupported.0.is_empty() && !unsupported.0.contains('\n'), "{}: {unsupported}", card.name);
        return Verdict::Unsupported;
    }
    let place = || place(card.name, instance);
    let plan = match plan_with(planner, instance, &Budget::UNLIMITED) {
        Ok(plan) => plan,
        Err(PlanError::Unsupported { .. }) => return Verdict::Unsupported,
        Err(error) => panic!("{}: {error}", place()),
    };
    assert_eq!(plan.planner, card.name);
    // A plan by the order of ids may use a host that cannot send; `make` reports that as unsupported.
    if let Err(PlanError::NoPath { .. }) = Programs::for_platform(&plan, instance.platform) {
        if find(card.name).is_ok() {
            let refused = make(instance, card.name, SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED)
                .unwrap_err();
            assert!(matches!(refused, PlanError::Unsupported { .. }), "{}: {refused}", place());
        }
        return Verdict::Unsupported;
    }
    // Planners may divide the message more evenly, but not into larger segments than requested.
    if card.profile.is_segmentable() {
        assert!(plan.segment_bytes <= instance.segment_bytes, "{}: {}", place(), plan.segment_bytes);
    }
    let again = plan_with(planner, instance, &Budget::UNLIMITED).unwrap();
    assert_eq!(plan.to_json().to_string(), again.to_json().to_string(), "{}: not repeatable", place());
    judge_plan(instance, &plan);
    Verdict::Planned
}

fn place(name: &str, instance: &Instance) -> String {
    let Instance { platform, collective, root, message_bytes, segment_bytes, .. } = instance;
    let (model, root) = (platform.port_model(), &platform.node(*root).id);
    let name = format!("{name} for {collective} on \"{}\" ({model})", platform.name());
    format!("{name} from {root}, {message_bytes} bytes in segments of {segment_bytes}")
}

/// Panics with the faults of a plan for `instance`.
pub fn judge_plan(instance: &Instance, plan: &Plan) {
    let platform = instance.platform;
    let place = || place(&plan.planner, instance);
    assert_eq!(plan.root, instance.root, "{}", place());
    assert_eq!(plan.message_bytes, instance.message_bytes, "{}", place());
    assert_eq!(plan.collective, instance.collective, "{}", place());
    assert_eq!(check::faults(platform, plan), Vec::<String>::new(), "{}", place());
    assert_eq!(plan.weights.as_deref(), instance.weights, "{}", place());
    let read = Plan::from_json(&plan.to_json().to_string()).unwrap();
    assert_eq!(read.to_json(), plan.to_json(), "{}: another plan when read back", place());
    let trace = simulate(platform, plan, false).unwrap_or_else(|error| panic!("{}: {error}", place()));
    let reread = simulate(platform, &read, false).unwrap();
    assert_eq!(trace.makespan_s, reread.makespan_s, "{}: another time when read back", place());
    assert!(trace.makespan_s.is_finite(), "{}", place());
    let Instance { collective, root, message_bytes, weights, .. } = *instance;
    let unlimited = &Budget::UNLIMITED;
    let bound_s = collective_bound_s(platform, collective, root, message_bytes, weights, unlimited);
    assert!(
        bound_s <= trace.makespan_s,
        "{}: {} s is under the bound {bound_s} s",
        place(),
        trace.makespan_s
    );
    assert!(throughput(platform, plan).unwrap() > 0.0, "{}", place());
    deliver(platform, plan, &place);
}

/// Moves real bytes between threads; all must arrive.
fn deliver(platform: &Platform, plan: &Plan, place: &dyn Fn() -> String) {
    let programs = Programs::for_platform(plan, platform).unwrap();
    if programs.total_bytes() > MOVED_BYTES {
        return;
    }
    let initial = |node| delivery::initial(&programs, node);
    let buffers = threads::run_on(&programs, initial).unwrap_or_else(|error| panic!("{}: {error}", place()));
    let hosts: Vec<NodeId> = platform.hosts().collect();
    for &host in &hosts {
        let (needed, bytes) = delivery::wanted(&programs, &hosts, host);
        // A node that takes no part has no buffer.
        let same = needed.is_empty() || buffers[host.index()].get(needed) == Some(&bytes[..]);
        assert!(same, "{}: {} got other bytes", place(), id(platform, host));
    }
}

fn id(platform: &Platform, node: NodeId) -> &str {
    &platform.node(node).id
}
