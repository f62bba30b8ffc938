//! The predicted times of plans as ranks run them.

use crate::rank_plan::{goes_whole, on_the_wire, slots_by_way};
use crate::topology::placement::Placement;
use crate::transport::IN_FRAME_BYTES;
use broadleaf::budget::{Budget, UNITS_PER_S};
use broadleaf::json::Fault;
use broadleaf::plan::{Direction, Period, Plan, PlanError, Slot};
use broadleaf::platform::{Platform, PortModel};
use broadleaf::portfolio::compared;
use broadleaf::simulate::{direct_at_once_s, estimate, makespan};
use std::collections::HashMap;

/// The predicted time of a plan; where no host passes anything on, that of messages that are all under way at once.
pub fn predicted_s(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    if let Some(at_once_s) = direct_at_once_s(platform, plan) {
        return Ok(at_once_s);
    }
    let whole_s = match plan.collective.direction() {
        Direction::Both => makespan(platform, plan.clone(), &Budget::of_work(WHOLE_WORK)),
        _ => Err(PlanError::OutOfTime),
    };
    match whole_s {
        Err(PlanError::OutOfTime) => estimate(platform, plan),
        whole_s => whole_s,
    }
}

/// The predicted time of an adjusted plan, or of the one that stands for it in comparisons.
pub fn as_run_s(placement: &Placement, plan: &Plan) -> Result<f64, PlanError> {
    let handled = &placement.handled;
    let failed = |fault: Fault| PlanError::BadRequest(fault.to_string());
    if announces_data(plan) {
        return compared_s(&placement.announced().map_err(failed)?, plan);
    }
    // A block that goes whole waits for one turn, not for one per segment. A sender with one receiver keeps its link full.
    let waits = plan.period.as_ref().is_some_and(|period| !serves_one_each(plan, period))
        && !plan.trees.iter().all(|tree| goes_whole(plan, tree));
    if !waits {
        let worth = if relays_blocks(handled, plan) { WORTH_BLOCKS } else { 1.0 };
        return Ok(compared_s(handled, plan)? * worth);
    }
    let in_turn = placement.in_turn_at(plan.segment_bytes, on_the_wire).map_err(failed)?;
    let worth = if handled.port_model() == PortModel::MultiPort { WORTH_TURNS } else { WORTH_WAITING };
    let (in_turn, plan) = compared(&in_turn, plan);
    Ok(estimate(in_turn, &plan)? * worth)
}

fn compared_s(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    let (platform, plan) = compared(platform, plan);
    predicted_s(platform, &plan)
}

/// Whether a frame precedes each message, since the plan combines blocks too long to travel in one. Of shorter blocks, some
/// messages are longer than a frame; their latency is left out.
pub(super) fn announces_data(plan: &Plan) -> bool {
    plan.combine && plan.block_bytes().unwrap_or(plan.segment_bytes) > IN_FRAME_BYTES
}

/// Whether every sender has one receiver at a time, as in a ring.
fn serves_one_each(plan: &Plan, period: &Period) -> bool {
    let mut receiver_of = HashMap::new();
    let mut serves_one =
        |(slot, way): (&Slot, bool)| *receiver_of.entry((slot.from, way)).or_insert(slot.to) == slot.to;
    slots_by_way(plan, period).all(&mut serves_one)
}

/// Whether every host combines a block of an all-reduce, without turns, under one-port.
pub(super) fn relays_blocks(platform: &Platform, plan: &Plan) -> bool {
    let is_apart = plan.collective.direction() == Direction::Both && plan.block_bytes().is_some();
    is_apart
        && plan.trees.len() == platform.hosts().count()
        && plan.period.is_none()
        && platform.port_model() == PortModel::OnePort
}

/// An all-reduce with a block for every host is used only if it is predicted to be faster by this factor: a block that waits
/// at a port holds up all of its tree. Under SMPI such plans of 1 MiB took 0.95 to 1.19 times the simulated time on eight
/// grids, 1.06 times on average; those of 4 to 16 trees 0.92 to 1.07 times, 1.00 on average.
const WORTH_BLOCKS: f64 = 1.05;

/// An all-reduce is simulated from end to end up to this work, units: its segments on their way in meet those on their way
/// out for as long as both last, so a short simulation shows neither.
const WHOLE_WORK: u64 = UNITS_PER_S / 5;

/// Under multi-port, a plan with turns is used only if it is predicted to be faster by this factor.
pub(super) const WORTH_TURNS: f64 = 1.05;

/// The same for turns that wait under one-port: a pipe that the platform does not show holds up all of them. On teragrid-64 as
/// matrices, plans of 1 MiB with and without turns are within 0.2 % of each other in the model, and took 275 and 256 ms.
const WORTH_WAITING: f64 = 1.02;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::test_platforms::equal_hosts;
    use broadleaf::plan::Collective;
    use broadleaf::planners::Instance;
    use broadleaf::platform::{LinkClass, NodeId, TransferTime};
    use broadleaf::portfolio::{make, Effort, SegmentChoice};
    use broadleaf::simulate::simulate;

    /// A link of 25 MB/s with 1 µs of start-up.
    pub fn link(latency_s: f64) -> LinkClass {
        let time = TransferTime::Affine { startup_s: 1e-6, bandwidth_bytes_per_s: Some(25e6) };
        LinkClass { latency_s, time, ..LinkClass::default() }
    }

    /// Worked by hand, links of 25 MB/s with 1 µs of start-up and 50 µs of latency: 500 bytes take 21 µs, so four fill
    /// the 70 µs of latency and turnaround, and each has a quarter of 71 µs, less than its own time; 10,000 bytes take
    /// 401 µs, one fills them, and waits for the whole latency.
    #[test]
    fn short_messages_in_turn_wait_for_less_of_the_latency() {
        let nodes = [NodeId(0), NodeId(1)];
        let mut placement = Placement::on(&equal_hosts(2, PortModel::OnePort, link(50e-6)), &nodes).unwrap();
        // Without the cost of handling, which has its own tests.
        placement.handled = placement.platform.clone();
        let waiting_s = |bytes: u64| {
            let in_turn = placement.in_turn_at(bytes, on_the_wire).unwrap();
            let class = in_turn.class(in_turn.link(nodes[0], nodes[1]).unwrap());
            (class.time.seconds(bytes), class.latency_s)
        };
        for (bytes, (taken_s, latency_s)) in [(500, (21e-6, 50e-6)), (10_000, (451e-6, 0.0))] {
            let found = waiting_s(bytes);
            assert!((found.0 - taken_s).abs() < 1e-12 && (found.1 - latency_s).abs() < 1e-12, "{found:?}");
        }
    }

    /// Each of three hosts, 50 µs and 125 MB/s apart, sends its block to both others. A frame holds 8 KiB; a longer block
    /// follows the frame that announces it.
    #[test]
    fn combined_blocks_longer_than_a_frame_take_a_latency_more() {
        let platform = equal_hosts(3, PortModel::OnePort, LinkClass::affine(50e-6, 125e6));
        let mut placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
        placement.handled = placement.platform.clone();
        for (bytes, latencies) in [(8 << 10, 1.0), (9 << 10, 2.0)] {
            let instance = Instance::new(&platform, NodeId(0), bytes).unwrap();
            let instance = Instance { collective: Collective::Allgather, ..instance };
            let made =
                make(&instance, "circulant", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED).unwrap();
            let by_hand_s = 2.0 * bytes as f64 / 125e6 + latencies * 5e-5;
            let found_s = as_run_s(&placement, &made.plan).unwrap();
            assert!((found_s - by_hand_s).abs() < 1e-9, "{bytes}: {found_s}, by hand {by_hand_s}");
        }
    }

    /// A ring's hosts have one receiver, those of recursive doubling one a round. An all-reduce has two ways, at the same time
    /// where its segments are many.
    #[test]
    fn only_a_sender_with_one_receiver_waits_for_no_turn() {
        let platform = equal_hosts(4, PortModel::MultiPort, link(0.0));
        let instance = Instance::new(&platform, NodeId(0), 4096).unwrap();
        for (name, collective, segment_bytes, serves_one) in [
            ("ring", Collective::Allgather, 1024, true),
            ("ring", Collective::ReduceScatter, 1024, true),
            ("ring", Collective::Allreduce, 512, true),
            ("ring", Collective::Allreduce, 256, false),
            ("recursive-doubling", Collective::Allgather, 1024, false),
        ] {
            let instance = Instance { collective, ..instance };
            let segments = SegmentChoice::Bytes(segment_bytes);
            let made = make(&instance, name, segments, Effort::Quick, &Budget::UNLIMITED).unwrap();
            let period = made.plan.period.as_ref().unwrap();
            assert_eq!(serves_one_each(&made.plan, period), serves_one, "{name}, {collective:?}");
        }
    }

    /// Two sites of four hosts, 5 ms apart, with one pipe.
    fn two_sites(port_model: &str) -> Platform {
        let names: Vec<String> = (0..8).map(|at| format!("n{at}")).collect();
        let nodes: Vec<_> = (0..8)
            .map(|at| serde_json::json!({"id": names[at], "cluster": if at < 4 { "a" } else { "b" }}))
            .collect();
        let link = serde_json::json!({"latency_s": 5e-5, "bandwidth_bytes_per_s": 125e6});
        let document = serde_json::json!({
            "format": "broadleaf-platform/1", "name": "two sites", "port_model": port_model,
            "nodes": nodes,
            "shared": [{"id": "pipe", "bandwidth_bytes_per_s": 125e6}],
            "meshes": [{"nodes": names[..4], "link": link}, {"nodes": names[4..], "link": link}],
            "bridges": [{"from_cluster": "a", "to_cluster": "b", "both_ways": true,
                "link": {"latency_s": 5e-3, "bandwidth_bytes_per_s": 125e6, "uses": ["pipe"]}}],
        });
        Platform::from_json(&document.to_string()).unwrap()
    }

    /// Under one-port; all by their whole simulation.
    #[test]
    fn an_all_reduce_of_all_hosts_blocks_counts_as_slower() {
        for (port_model, worth) in [("one-port", WORTH_BLOCKS), ("multi-port", 1.0)] {
            let platform = two_sites(port_model);
            let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
            let instance = Instance::new(&placement.handled, NodeId(0), 4 << 20).unwrap();
            let instance = Instance { collective: Collective::Allreduce, ..instance };
            for (name, segment_bytes, worth) in
                [("site-blocks", 512 << 10, worth), ("site-trees", 8 << 10, 1.0)]
            {
                let segments = SegmentChoice::Bytes(segment_bytes);
                let plan = make(&instance, name, segments, Effort::Quick, &Budget::UNLIMITED).unwrap().plan;
                let simulated_s = simulate(&placement.handled, &plan, false).unwrap().makespan_s;
                assert_eq!(as_run_s(&placement, &plan).unwrap(), worth * simulated_s, "{name}, {port_model}");
            }
        }
    }

    /// By its simulated mirror under multi-port, by itself under one-port.
    #[test]
    fn a_reduce_scatter_is_compared_as_best_compares_it() {
        for (port_model, is_turned) in [("multi-port", true), ("one-port", false)] {
            let platform = two_sites(port_model);
            let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
            let handled = &placement.handled;
            let instance = Instance::new(handled, NodeId(0), 4 << 10).unwrap();
            let instance = Instance { collective: Collective::ReduceScatter, ..instance };
            let whole = SegmentChoice::Bytes(4 << 10);
            let made = make(&instance, "site-blocks", whole, Effort::Quick, &Budget::UNLIMITED).unwrap();
            let own_s = simulate(handled, &made.plan, false).unwrap().makespan_s;
            let reversed = handled.reversed();
            let mirror_s = simulate(reversed, &made.plan.mirrored(reversed), false).unwrap().makespan_s;
            assert!((mirror_s / own_s - 1.0).abs() > 0.005, "{port_model}: {mirror_s}, {own_s}");
            let compared_s = if is_turned { mirror_s } else { own_s };
            assert_eq!(as_run_s(&placement, &made.plan).unwrap(), compared_s, "{port_model}");
        }
    }
}
