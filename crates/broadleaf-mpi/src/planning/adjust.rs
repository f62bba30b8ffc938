//! Changes to plans for effects of real ports and processors that the models lack.

use super::as_run::{as_run_s, WORTH_TURNS};
use crate::topology::placement::Placement;
use broadleaf::budget::Budget;
use broadleaf::plan::{Plan, PlanError};
use broadleaf::planners::{find, plan_with, supports, Instance};
use broadleaf::platform::{Platform, PortModel};
use broadleaf::portfolio::{coarsened, make, Coarsening, Effort, Outcome, SegmentChoice};
use broadleaf::simulate::{direct_at_once_s, estimate};

/// Of all plans that `best` tried, the one of the least predicted time as the runtime will run it: in segments for busy
/// hosts, with turns that wait where too few messages are in flight, or without turns. With turns, there are two
/// segment sizes to choose from: the one for turns without waiting, and the one for turns that all wait (`in_turn`).
pub fn fastest_as_run(
    instance: &Instance,
    placement: &Placement,
    best: Outcome,
    (segment, effort): (SegmentChoice, Effort),
    budget: &Budget,
) -> Result<Plan, PlanError> {
    let in_turn = Instance { platform: &placement.in_turn, ..*instance };
    let mut tried = best.tried;
    tried.sort_by(|a, b| a.compared_s().total_cmp(&b.compared_s()));
    let mut fastest: Option<(f64, Plan)> = None;
    for other in &tried {
        // None of these changes makes a plan faster.
        let cannot_win = |&(fastest_s, _): &(f64, Plan)| fastest_s <= other.compared_s() || budget.is_spent();
        if fastest.as_ref().is_some_and(cannot_win) {
            break;
        }
        let size = SegmentChoice::Bytes(other.segment_bytes);
        let mut plans = vec![if other.name == best.plan.planner {
            best.plan.clone()
        } else {
            make(instance, other.name, size, Effort::Quick, budget)?.plan
        }];
        if plans[0].period.is_some() {
            plans.push(make(&in_turn, other.name, segment, effort, budget)?.plan);
        }
        for plan in plans {
            let plan = in_larger_segments(instance.platform, without_period(instance.platform, plan)?)?;
            let (taken_s, plan) = in_shorter_turns(instance, placement, other.name, plan, budget)?;
            if fastest.as_ref().is_none_or(|&(fastest_s, _)| taken_s < fastest_s) {
                fastest = Some((taken_s, plan));
            }
        }
    }
    let plan = fastest.map_or(best.plan.clone(), |(_, plan)| plan);
    // Plans for `in_turn` run on the platform of the others.
    Ok(Plan { platform_digest: best.plan.platform_digest, ..plan })
}

/// A plan and its time as run, a timetable in the fastest of its own segments, of half, a quarter and so on: with more messages
/// in flight, turns wait for less of the latency. In a pattern, each message goes to another host than the one before.
fn in_shorter_turns(
    instance: &Instance,
    placement: &Placement,
    planner: &str,
    plan: Plan,
    budget: &Budget,
) -> Result<(f64, Plan), PlanError> {
    let mut fastest = (as_run_s(placement, &plan)?, plan);
    if fastest.1.period.is_none() || fastest.1.pattern.is_some() {
        return Ok(fastest);
    }
    let halves = std::iter::successors(Some(fastest.1.segment_bytes / 2), |bytes| Some(bytes / 2));
    for bytes in halves.take_while(|&bytes| bytes >= Coarsening::BUSY.least_bytes) {
        if budget.is_spent() {
            break;
        }
        let shorter = make(instance, planner, SegmentChoice::Bytes(bytes), Effort::Quick, budget)?.plan;
        let shorter = without_period(instance.platform, shorter)?;
        let taken_s = as_run_s(placement, &shorter)?;
        if taken_s < fastest.0 {
            fastest = (taken_s, shorter);
        }
    }
    Ok(fastest)
}

/// The plan, or `flat` where the plan is not predicted to be `worth` times as fast as messages that are all under way at
/// once. Where that time is not known, the plan.
pub fn or_flat(
    instance: &Instance,
    placement: &Placement,
    plan: Plan,
    worth: f64,
) -> Result<Plan, PlanError> {
    let planner = find("flat")?;
    if supports(planner, instance).is_err() {
        return Ok(plan);
    }
    let flat = plan_with(planner, &instance.segmented(instance.message_bytes), &Budget::UNLIMITED)?;
    match direct_at_once_s(instance.platform, &flat) {
        Some(flat_s) if flat_s < as_run_s(placement, &plan)? * worth => Ok(flat),
        _ => Ok(plan),
    }
}

/// How much faster than `flat` at once a plan must be predicted to be. With turns, part of its gain is lost; relays without
/// turns share the ports better than in the model, whose ports serve one transfer at a time.
pub fn worth_relaying(plan: &Plan) -> f64 {
    if plan.period.is_some() {
        WORTH_TURNS
    } else {
        1.0 / WORTH_TURNS
    }
}

/// The plan with or without its period, whichever simulates faster. Where a port sends to several peers at once, a
/// period makes all transfers behind a slow link wait; without one, every link goes at its own pace.
pub fn without_period(platform: &Platform, plan: Plan) -> Result<Plan, PlanError> {
    if plan.period.is_none() || plan.pattern.is_some() || platform.port_model() != PortModel::MultiPort {
        return Ok(plan);
    }
    let free = Plan { period: None, ..plan.clone() };
    let is_quicker = estimate(platform, &free)? < WORTH_LEAVING * estimate(platform, &plan)?;
    Ok(if is_quicker { free } else { plan })
}

/// The plan with no sender that passes over a busy receiver, under one-port. A rank cannot see that another sender
/// holds its receiver's port. It would have messages for all receivers in flight, which share the ports and delay each
/// other. The model's port serves one sender after the other, so in the model plans are compared by their time with skips.
pub fn without_skips(platform: &Platform, plan: Plan) -> Plan {
    let skip_busy = plan.skip_busy && platform.port_model() == PortModel::MultiPort;
    Plan { skip_busy, ..plan }
}

/// A period is dropped if the plan without it takes at most this part of its time.
const WORTH_LEAVING: f64 = 0.9;

/// The most segments of a block that stay as they were planned.
const FEW_SEGMENTS: u64 = 4;

/// A block of all hosts, or a tree's part: with longer ones some trees would have none, and the others all the load.
pub fn longest_segment_bytes(plan: &Plan) -> u64 {
    let part = plan.message_bytes.div_ceil(plan.trees.len().max(1) as u64);
    plan.block_bytes().map_or(part, |bytes| bytes.max(1))
}

/// The plan in segments for hosts that are busy with a program; a timetable keeps its own segments, and so do the blocks of
/// all hosts where they are few: a sender of short ones fills pipes that the model's leaves idle.
pub fn in_larger_segments(platform: &Platform, plan: Plan) -> Result<Plan, PlanError> {
    let block = plan.block_bytes().map(|bytes| bytes.max(1));
    let are_few = block.is_some_and(|bytes| bytes.div_ceil(plan.segment_bytes.max(1)) <= FEW_SEGMENTS);
    if plan.period.is_some() || plan.pattern.is_some() || are_few {
        return Ok(plan);
    }
    let Coarsening { least_bytes, most_bytes, .. } = Coarsening::BUSY;
    let longest = longest_segment_bytes(&plan);
    let limits = Coarsening {
        least_bytes: least_bytes.min(longest),
        most_bytes: most_bytes.min(longest),
        ..Coarsening::BUSY
    };
    coarsened(platform, plan, limits)
}

#[cfg(test)]
mod tests {
    use super::super::as_run::tests::link;
    use super::*;
    use crate::test_platforms::equal_hosts;
    use broadleaf::plan::{check, Collective, Period};
    use broadleaf::platform::{LinkClass, NodeId};

    fn sixteen_hosts() -> Platform {
        equal_hosts(16, PortModel::OnePort, LinkClass::affine(50e-6, 125e6))
    }

    fn four_hosts(port_model: PortModel) -> Platform {
        equal_hosts(4, port_model, link(0.0))
    }

    fn chain(platform: &Platform, bytes: u64, segment_bytes: u64) -> Plan {
        let instance = Instance::new(platform, NodeId(0), bytes).unwrap();
        make(&instance, "chain", SegmentChoice::Bytes(segment_bytes), Effort::Quick, &Budget::UNLIMITED)
            .unwrap()
            .plan
    }

    /// A message of 64 KiB goes in segments of 2 KiB, so several in flight fill the
    /// way and the turnaround, and no turn waits. In the tournament's 16 KiB of 4 MiB, one in flight waits for the latency.
    #[test]
    fn turns_are_kept_where_messages_in_flight_fill_the_latency() {
        let platform = sixteen_hosts();
        let nodes: Vec<NodeId> = platform.hosts().collect();
        let placement = Placement::on(&platform, &nodes).unwrap();
        let adjusted = |bytes: u64| {
            let instance = Instance::new(&placement.handled, NodeId(0), bytes).unwrap();
            let size = SegmentChoice::AtLeast(Coarsening::BUSY.least_bytes);
            let best = make(&instance, "best", size, Effort::Quick, &Budget::UNLIMITED).unwrap();
            let ranked = best.plan.clone();
            let run = (size, Effort::Quick);
            (ranked, fastest_as_run(&instance, &placement, best, run, &Budget::UNLIMITED).unwrap())
        };
        let (ranked, kept) = adjusted(64 << 10);
        assert!(ranked.period.is_some() && kept.period.is_some(), "{}", kept.planner);
        let ranked_s = ranked.predicted.makespan_s.unwrap();
        assert!(as_run_s(&placement, &kept).unwrap() <= ranked_s, "{}", kept.planner);
        let (ranked, free) = adjusted(4 << 20);
        assert!(ranked.period.is_some(), "{}", ranked.planner);
        assert_eq!((free.period, free.trees.len()), (None, 1), "{}", free.planner);
        assert_eq!(free.platform_digest, ranked.platform_digest);
        assert!(check::faults(&placement.handled, &kept).is_empty());
    }

    /// In 32 KiB, one message of 267 µs is in flight and waits for 70 µs more; in 4 KiB, three of 38 µs fill these 70 µs.
    #[test]
    fn turns_take_shorter_segments_where_they_wait_less() {
        let platform = sixteen_hosts();
        let nodes: Vec<NodeId> = platform.hosts().collect();
        let placement = Placement::on(&platform, &nodes).unwrap();
        let instance = Instance::new(&placement.handled, NodeId(0), 1 << 20).unwrap();
        let in_segments = |bytes: u64| {
            let size = SegmentChoice::Bytes(bytes);
            make(&instance, "two-tree", size, Effort::Quick, &Budget::UNLIMITED).unwrap().plan
        };
        let run_s = |bytes: u64| as_run_s(&placement, &in_segments(bytes)).unwrap();
        let long = in_segments(32 << 10);
        let (taken_s, shorter) =
            in_shorter_turns(&instance, &placement, "two-tree", long.clone(), &Budget::UNLIMITED).unwrap();
        let found = shorter.segment_bytes;
        assert!(shorter.period.is_some() && (2 << 10..=8 << 10).contains(&found), "{found} B");
        assert_eq!(taken_s, run_s(found));
        let others_s = [2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10].map(run_s);
        assert!(others_s.iter().all(|&other_s| taken_s <= other_s), "{found} B: {taken_s} s, {others_s:?}");
        assert!(
            others_s[3] > others_s[4],
            "half as long, a message waits as long, twice as often: {others_s:?}"
        );
        let untimed = Plan { period: None, ..long };
        let (_, kept) =
            in_shorter_turns(&instance, &placement, "two-tree", untimed.clone(), &Budget::UNLIMITED).unwrap();
        assert_eq!(kept.segment_bytes, untimed.segment_bytes);
    }

    /// Segments of all roots' blocks grow to a block at most.
    #[test]
    fn no_segment_is_longer_than_a_block() {
        let platform = four_hosts(PortModel::MultiPort);
        let instance = Instance::new(&platform, NodeId(0), 8192).unwrap();
        let instance = Instance { collective: Collective::Allreduce, ..instance };
        let made = make(&instance, "flat", SegmentChoice::Bytes(256), Effort::Quick, &Budget::UNLIMITED);
        let plan = in_larger_segments(&platform, made.unwrap().plan).unwrap();
        assert_eq!((plan.block_bytes(), plan.segment_bytes), (Some(2048), 2048));
    }

    /// Four trees of 4 KiB of a gather's block, not two of 8 KiB while the others idle.
    #[test]
    fn every_tree_of_a_gather_keeps_a_segment() {
        let platform = four_hosts(PortModel::MultiPort);
        let instance = Instance::new(&platform, NodeId(0), 16 << 10).unwrap();
        let instance = Instance { collective: Collective::Gather, ..instance };
        let made = make(&instance, "flat", SegmentChoice::Bytes(256), Effort::Quick, &Budget::UNLIMITED);
        let flat = made.unwrap().plan;
        let mut quarter = flat.trees[0].clone();
        quarter.share = 0.25;
        let plan = Plan { trees: vec![quarter; 4].into(), ..flat };
        assert_eq!(in_larger_segments(&platform, plan).unwrap().segment_bytes, 4 << 10);
    }

    #[test]
    fn a_timetable_keeps_the_segments_it_was_made_for() {
        let platform = four_hosts(PortModel::MultiPort);
        let plan = Plan { period: Some(Period::default()), ..chain(&platform, 16 << 20, 512) };
        assert_eq!(in_larger_segments(&platform, plan.clone()).unwrap(), plan);
        let free = Plan { period: None, ..plan };
        assert!(in_larger_segments(&platform, free).unwrap().segment_bytes >= Coarsening::BUSY.least_bytes);
    }

    #[test]
    fn ranks_pass_over_busy_receivers_only_where_a_port_serves_several() {
        for (port_model, skips) in [(PortModel::MultiPort, true), (PortModel::OnePort, false)] {
            let platform = four_hosts(port_model);
            let plan = Plan { skip_busy: true, ..chain(&platform, 1 << 20, 4096) };
            assert_eq!(without_skips(&platform, plan.clone()).skip_busy, skips);
            assert!(!without_skips(&platform, Plan { skip_busy: false, ..plan }).skip_busy);
        }
    }
}
