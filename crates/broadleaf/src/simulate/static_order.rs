//! A plan with a period or of one tree, timed without an event queue.
//!
//! Every node sends and receives in an order that the slots fix, so under one-port a transfer starts at the
//! latest of a few known times: the sender has the segment and its port, the receiver has taken what comes
//! first and has its port. One pass over the slots gives the times that the event queue gives, from a
//! fraction of its work and memory; planners compare thousands of segment sizes this way.
//!
//! In one tree segments come in turn, and each goes to the children in turn: that is a period of one segment.

use super::blocks_of;
use super::calendar::same_until;
use crate::budget::Budget;
use crate::plan::{Collective, Period, Plan, PlanError, Protocol, Slot, Tree};
use crate::platform::{NodeId, Platform, PortModel};

/// When each node has its message, seconds; `None` where more than ports and orders decide, or where a segment
/// comes to its sender later in the list of slots than it leaves.
///
/// # Errors
/// [`PlanError::OutOfTime`] where the budget is spent first.
pub(super) fn finish_s(
    platform: &Platform,
    plan: &Plan,
    budget: &Budget,
) -> Result<Option<Vec<f64>>, PlanError> {
    let of_tree = match (&plan.period, &plan.trees[..]) {
        // Without a period, what is combined is whatever is ready.
        (None, [tree]) if !plan.combine => Some(turns(tree, plan.root)),
        _ => None,
    };
    let Some(period) = plan.period.as_ref().or(of_tree.as_ref()) else { return Ok(None) };
    let is_plain = platform.port_model() == PortModel::OnePort
        && platform.shared().is_empty()
        && platform.nodes().all(|node| platform.node(node).local_broadcast_s.is_none())
        && plan.nodes == *platform.ids()
        && plan.protocol == Protocol::Eager
        && plan.collective != Collective::Scatter
        && plan.trees.iter().all(|tree| tree.via.is_empty());
    if !is_plain {
        return Ok(None);
    }
    let timing = Timing::new(platform, plan, period);
    timing.map(|timing| timing.run(platform, plan, period, budget)).transpose()
}

/// The sends of one segment along the tree, each after the one that brings it.
fn turns(tree: &Tree, root: NodeId) -> Period {
    let mut slots = Vec::new();
    let mut reached = vec![root];
    while let Some(from) = reached.pop() {
        for &to in tree.children(from) {
            slots.push(Slot { segment: 0, from, to, lag: 0 });
            reached.push(to);
        }
    }
    Period { segments: 1, slots }
}

/// What a slot's transfers have in common.
struct Timing {
    /// The slot that brings the segment to the sender; `NONE` where it is the sender's own.
    brought_by: Vec<u32>,
    /// The class of the slot's link.
    class: Vec<u32>,
    /// Where in the list of arrivals each slot's begin; one behind the last: the length of the list. A slot keeps
    /// those of its latest periods that may still be waited for.
    ring_at: Vec<usize>,
}

const NONE: u32 = u32::MAX;

/// Slots between two looks at the budget: about 0.2 ms.
const SLOTS_PER_LOOK: u64 = 4096;

/// Arrivals that are remembered at once, 64 MiB: what needs more is left to the event queue.
const MOST_ARRIVALS: usize = 1 << 23;

impl Timing {
    fn new(platform: &Platform, plan: &Plan, period: &Period) -> Option<Timing> {
        let slots = &period.slots;
        let positions = period.segments as usize;
        let hosts: Vec<NodeId> = platform.hosts().collect();
        // Switches have no slots.
        let mut host_index = vec![0; platform.node_count()];
        hosts.iter().enumerate().for_each(|(index, host)| host_index[host.index()] = index);
        let mut brings = vec![NONE; positions.checked_mul(hosts.len())?];
        let at = |node: NodeId, position: u32| host_index[node.index()] * positions + position as usize;
        for (index, slot) in slots.iter().enumerate() {
            brings[at(slot.to, slot.segment)] = index as u32;
        }
        let owner = |position: u32| match plan.collective {
            Collective::Allgather => hosts[position as usize % hosts.len()],
            _ => plan.root,
        };
        let mut timing = Timing {
            brought_by: Vec::with_capacity(slots.len()),
            class: Vec::with_capacity(slots.len()),
            ring_at: Vec::new(),
        };
        let mut kept = vec![1; slots.len()];
        for (index, slot) in slots.iter().enumerate() {
            timing.class.push(platform.link(slot.from, slot.to)?.index() as u32);
            if slot.from == owner(slot.segment) {
                timing.brought_by.push(NONE);
                continue;
            }
            let before = brings[at(slot.from, slot.segment)];
            let brought = slots.get(before as usize)?;
            if (brought.lag, before as usize) >= (slot.lag, index) {
                return None;
            }
            timing.brought_by.push(before);
            kept[before as usize] = kept[before as usize].max((slot.lag - brought.lag) as usize + 1);
        }
        let mut arrivals = 0usize;
        for kept in kept.into_iter().chain([0]) {
            timing.ring_at.push(arrivals);
            arrivals = arrivals.checked_add(kept).filter(|&arrivals| arrivals <= MOST_ARRIVALS)?;
        }
        Some(timing)
    }

    /// Where the arrival of a slot's segment of period `now` − `lag` is kept.
    fn place(&self, slot: usize, now: u64, lag: u32) -> usize {
        let (first, next) = (self.ring_at[slot], self.ring_at[slot + 1]);
        first + ((now - u64::from(lag)) % (next - first) as u64) as usize
    }

    fn run(
        &self,
        platform: &Platform,
        plan: &Plan,
        period: &Period,
        budget: &Budget,
    ) -> Result<Vec<f64>, PlanError> {
        let slots = &period.slots;
        let blocks = blocks_of(platform, plan);
        let count = plan.segment_count() * blocks;
        let full: Vec<f64> =
            platform.classes().iter().map(|class| class.time.seconds(plan.segment_bytes)).collect();
        let latency: Vec<f64> = platform.classes().iter().map(|class| class.latency_s).collect();
        let bytes = |segment: u64| plan.segment_range(segment / blocks).1;
        let busy_s = |class: usize, bytes: u64| match bytes == plan.segment_bytes {
            true => full[class],
            false => platform.classes()[class].time.seconds(bytes),
        };
        let nodes = platform.node_count();
        let (mut out_free_s, mut in_free_s) = (vec![0.0f64; nodes], vec![0.0f64; nodes]);
        // When a receiver last agreed to a transfer: it agrees in its order.
        let mut agreed_s = vec![0.0f64; nodes];
        let mut arrived_s = vec![0.0f64; self.ring_at[slots.len()]];
        let held_s = |arrived_s: &[f64], slot: usize, now: u64| match self.brought_by[slot] {
            NONE => 0.0,
            before => arrived_s[self.place(before as usize, now, slots[slot].lag)],
        };
        let periods_per_look = (SLOTS_PER_LOOK / slots.len().max(1) as u64).max(1);
        for (done, now) in (0u64..).zip(period.busy_periods(count)) {
            if done % periods_per_look == 0 && budget.is_spent() {
                return Err(PlanError::OutOfTime);
            }
            let mut index = 0;
            while index < slots.len() {
                let first = index;
                let slot = slots[first];
                index += 1;
                let Some(segment) = period.segment(&slot, now, count) else { continue };
                let (from, to) = (slot.from.index(), slot.to.index());
                let issued_s = out_free_s[from].max(held_s(&arrived_s, first, now));
                let mut all_bytes = bytes(segment);
                while plan.combine && index < slots.len() {
                    let next = slots[index];
                    if (next.from, next.to) != (slot.from, slot.to) {
                        break;
                    }
                    if let Some(segment) = period.segment(&next, now, count) {
                        if held_s(&arrived_s, index, now) > same_until(issued_s) {
                            break;
                        }
                        all_bytes += bytes(segment);
                    }
                    index += 1;
                }
                let class = self.class[first] as usize;
                let (busy_s, latency_s) = (busy_s(class, all_bytes), latency[class]);
                agreed_s[to] = agreed_s[to].max(issued_s);
                let start_s = agreed_s[to].max(in_free_s[to] - latency_s);
                out_free_s[from] = start_s + busy_s;
                in_free_s[to] = start_s + latency_s + busy_s;
                for (carried, slot) in slots[first..index].iter().enumerate() {
                    if period.segment(slot, now, count).is_some() {
                        arrived_s[self.place(first + carried, now, slot.lag)] = in_free_s[to];
                    }
                }
            }
        }
        // The last to come.
        Ok(in_free_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planners::{supports, Instance, PLANNERS};
    use crate::platform::{ExplicitLink, LinkClass, Mesh, PlatformBuilder};
    use crate::random::Random;
    use crate::simulate::simulate;

    /// Every pair has a start-up, a latency and a bandwidth of its own.
    fn uneven(nodes: usize, seed: u64) -> Platform {
        let mut random = Random::new(seed);
        let mut builder = PlatformBuilder::new("uneven", PortModel::OnePort);
        let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(0.3, 1.0));
        builder.add_mesh(Mesh { nodes: hosts.clone(), class }).unwrap();
        for &from in &hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                if random.below(2) == 0 {
                    let mut class = LinkClass::affine(5.0 * random.unit(), 0.2 + random.unit());
                    class.time = crate::platform::TransferTime::Affine {
                        startup_s: random.unit(),
                        bandwidth_bytes_per_s: Some(0.2 + random.unit()),
                    };
                    let class = builder.add_class(class);
                    builder.add_link(ExplicitLink { from, to, class, both_ways: false }).unwrap();
                }
            }
        }
        builder.build().unwrap()
    }

    /// The event queue is the independent judge.
    #[test]
    fn agrees_with_the_event_queue() {
        let mut compared = 0;
        for nodes in [1usize, 2, 3, 4, 5, 8, 9] {
            for seed in 0..4 {
                let platform = uneven(nodes, seed);
                for collective in [Collective::Bcast, Collective::Allgather] {
                    let instance = Instance::new(&platform, NodeId(nodes as u32 / 2), 97).unwrap();
                    let instance = Instance { collective, ..instance.segmented(7) };
                    for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
                        let plan = planner.plan(&instance, &Budget::UNLIMITED).unwrap();
                        let Some(quick_s) = finish_s(&platform, &plan, &Budget::UNLIMITED).unwrap() else {
                            continue;
                        };
                        let slow = simulate(&platform, &plan, false).unwrap();
                        let name = planner.card().name;
                        for (quick_s, slow_s) in quick_s.iter().zip(&slow.finish_s) {
                            assert!((quick_s - slow_s).abs() <= 1e-9 * slow_s, "{name}: {quick_s}, {slow_s}");
                        }
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 600, "{compared} plans");
    }

    /// A slot before the one that brings its segment: each node still does all in its order.
    #[test]
    fn lists_out_of_order_are_left_to_the_event_queue() {
        let platform = uneven(3, 1);
        let plan = crate::plan::Plan::from_json(
            r#"{"format": "broadleaf-plan/1", "root": "n0", "message_bytes": 4, "segment_bytes": 1,
                "trees": [{"share": 1, "children": {"n0": ["n1"], "n1": ["n2"]}}],
                "period": {"segments": 1, "slots": [[0, "n1", "n2", 0], [0, "n0", "n1", 0]]}}"#,
        );
        let plan = plan.unwrap().bind(&platform).unwrap();
        assert_eq!(finish_s(&platform, &plan, &Budget::UNLIMITED).unwrap(), None);
        assert!(simulate(&platform, &plan, false).unwrap().makespan_s > 4.0);
    }
}
