//! A plan with a period or of one tree, timed without an event queue.
//!
//! The slots fix the order in which every node sends and receives, so under one-port a transfer starts at the latest of
//! a few known times: the sender has the segment and its port, and the receiver has taken the messages before it and
//! has its port. One pass over the slots gives the event queue's times at a fraction of its work and memory; planners
//! compare thousands of segment sizes this way.
//!
//! In one tree, segments arrive in turn and each is sent to the children in turn, which is a period of one segment.

use super::blocks_of;
use super::calendar::same_until;
use crate::budget::Budget;
use crate::plan::{tree_of_positions, Collective, Direction, Period, Plan, PlanError, Protocol, Slot, Tree};
use crate::platform::{NodeId, Platform, PortModel};
use std::borrow::Cow;

/// The time at which each node has its message, seconds; `None` if more than ports and orders decide it, or if a
/// segment's slot into its sender is after its slot out of it in the list.
///
/// # Errors
/// [`PlanError::OutOfTime`] where the budget is spent first.
pub(super) fn finish_s(
    platform: &Platform,
    plan: &Plan,
    budget: &Budget,
) -> Result<Option<Vec<f64>>, PlanError> {
    let of_tree = match (&plan.period, &plan.trees[..]) {
        // Without a period, combined transfers depend on the items that are ready, and passing over on who is busy.
        (None, [tree])
            if !plan.combine && !plan.skip_busy && plan.collective.direction() == Direction::Outward =>
        {
            Some(turns(tree, plan.root))
        }
        _ => None,
    };
    let Some(period) = plan.period.as_ref().or(of_tree.as_ref()) else { return Ok(None) };
    let is_plain = platform.port_model() == PortModel::OnePort
        && platform.shared().is_empty()
        && platform.nodes().all(|node| platform.node(node).local_broadcast_s.is_none())
        && plan.nodes == *platform.ids()
        && plan.protocol == Protocol::Eager
        && !plan.collective.is_personalised()
        // With unequal blocks, combined transfers depend on the positions that have a segment.
        && !(plan.combine && plan.collective.direction() == Direction::Both)
        && plan.trees.iter().chain(&plan.inward).all(|tree| tree.via.is_empty());
    if !is_plain {
        return Ok(None);
    }
    let sent = sent_slots(platform, plan, period);
    let period = &sent;
    let timing = Timing::new(platform, plan, period);
    timing.map(|timing| timing.run(platform, plan, period, budget)).transpose()
}

/// The period without the slots of empty blocks.
fn sent_slots<'a>(platform: &Platform, plan: &Plan, period: &'a Period) -> Cow<'a, Period> {
    if plan.weights.is_none() {
        return Cow::Borrowed(period);
    }
    let (blocks, count) = (plan.blocks(platform), blocks_of(platform, plan) as u32);
    let slots = period.slots.iter().copied().filter(|slot| !blocks.is_empty(slot.segment % count));
    Cow::Owned(Period { segments: period.segments, slots: slots.collect() })
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

/// The common properties of a slot's transfers.
struct Timing {
    /// By slot, the begin in `brings` of the slots that bring the segment to its sender: several if it is combined
    /// there, none if it is the sender's own. One more entry has the length of `brings`.
    brings_at: Vec<u32>,
    brings: Vec<u32>,
    /// The class of the slot's link.
    class: Vec<u32>,
    /// By slot, the begin of its arrivals in the list; one more entry has the length of the list. A slot keeps the
    /// arrivals of its latest periods for which transfers may still wait.
    ring_at: Vec<usize>,
}

/// Slots between two checks of the budget, and slots per unit of work.
const SLOTS_PER_LOOK: u64 = 4096;
const SLOTS_PER_UNIT: u64 = 20;

/// The number of periods between two checks of the budget, and their units of work.
fn look(slots: usize) -> (u64, u64) {
    let periods = (SLOTS_PER_LOOK / slots.max(1) as u64).max(1);
    (periods, periods * slots as u64 / SLOTS_PER_UNIT)
}

/// Limit of the arrivals in memory, 64 MiB; plans that need more are left to the event queue.
const MOST_ARRIVALS: usize = 1 << 23;

impl Timing {
    fn new(platform: &Platform, plan: &Plan, period: &Period) -> Option<Timing> {
        let slots = &period.slots;
        let is_both = plan.collective.direction() == Direction::Both;
        // In an all-reduce, on the way in and on the way out.
        let positions = period.segments as usize * if is_both { 2 } else { 1 };
        let hosts: Vec<NodeId> = platform.hosts().collect();
        // Switches have no slots.
        let mut host_index = vec![0; platform.node_count()];
        hosts.iter().enumerate().for_each(|(index, host)| host_index[host.index()] = index);
        // The slots into each node at each position, counted, then listed; outward there is one at most.
        let at = |node: NodeId, position: u32| host_index[node.index()] * positions + position as usize;
        let mut first = vec![0u32; positions.checked_mul(hosts.len())? + 2];
        slots.iter().for_each(|slot| first[at(slot.to, slot.segment) + 2] += 1);
        (1..first.len()).for_each(|place| first[place] += first[place - 1]);
        let mut into = vec![0u32; slots.len()];
        for (index, slot) in slots.iter().enumerate() {
            let next = &mut first[at(slot.to, slot.segment) + 1];
            into[*next as usize] = index as u32;
            *next += 1;
        }
        let roots = roots(plan, period, &hosts);
        let mut timing = Timing {
            brings_at: Vec::with_capacity(slots.len() + 1),
            brings: Vec::with_capacity(slots.len()),
            class: Vec::with_capacity(slots.len()),
            ring_at: Vec::new(),
        };
        let mut kept = vec![1; slots.len()];
        for (index, slot) in slots.iter().enumerate() {
            timing.class.push(platform.link(slot.from, slot.to)?.index() as u32);
            timing.brings_at.push(timing.brings.len() as u32);
            let is_inward = period.goes_inward(slot, plan.collective);
            let starts =
                !is_inward && slot.from == roots[(slot.segment % period.segments) as usize % roots.len()];
            if starts && !is_both {
                continue;
            }
            // At the root of an all-reduce, the way out continues the way in.
            let place = at(slot.from, slot.segment - if starts { period.segments } else { 0 });
            let bringing = &into[first[place] as usize..first[place + 1] as usize];
            if bringing.is_empty() && !is_inward {
                return None;
            }
            for &before in bringing {
                let brought = &slots[before as usize];
                if (brought.lag, before as usize) >= (slot.lag, index) {
                    return None;
                }
                timing.brings.push(before);
                kept[before as usize] = kept[before as usize].max((slot.lag - brought.lag) as usize + 1);
            }
        }
        timing.brings_at.push(timing.brings.len() as u32);
        let mut arrivals = 0usize;
        for kept in kept.into_iter().chain([0]) {
            timing.ring_at.push(arrivals);
            arrivals = arrivals.checked_add(kept).filter(|&arrivals| arrivals <= MOST_ARRIVALS)?;
        }
        Some(timing)
    }

    /// The slots that bring a slot's segment to its sender.
    fn brings_of(&self, slot: usize) -> &[u32] {
        &self.brings[self.brings_at[slot] as usize..self.brings_at[slot + 1] as usize]
    }

    /// The place of the arrival of a slot's segment of period `now` − `lag`.
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
        let lengths = plan.blocks(platform);
        let bytes = |segment: u64| lengths.place((segment % blocks) as u32, segment / blocks).1;
        let busy_s = |class: usize, bytes: u64| match bytes == plan.segment_bytes {
            true => full[class],
            false => platform.classes()[class].time.seconds(bytes),
        };
        let mut hosts = Hosts::new(platform.node_count());
        let mut arrived_s = vec![0.0f64; self.ring_at[slots.len()]];
        let held_s = |arrived_s: &[f64], slot: usize, now: u64| {
            let arrival_s = |&before: &u32| arrived_s[self.place(before as usize, now, slots[slot].lag)];
            self.brings_of(slot).iter().map(arrival_s).fold(0.0, f64::max)
        };
        let combined_in_s =
            |slot: &Slot, bytes| combined_in_s(platform, plan.collective, period, slot, bytes);
        let (periods_per_look, units) = look(slots.len());
        for (done, now) in (0u64..).zip(period.busy_periods(count)) {
            if done % periods_per_look == 0 && budget.spend(units) {
                return Err(PlanError::OutOfTime);
            }
            let mut index = 0;
            while index < slots.len() {
                let first = index;
                let slot = &slots[first];
                index += 1;
                let Some(segment) = period.segment(slot, now, count) else { continue };
                let issued_s = hosts.out_free_s[slot.from.index()].max(held_s(&arrived_s, first, now));
                let mut all_bytes = bytes(segment);
                let mut combining_s = combined_in_s(slot, all_bytes);
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
                        combining_s += combined_in_s(&next, bytes(segment));
                    }
                    index += 1;
                }
                let class = self.class[first] as usize;
                let latency_s = platform.classes()[class].latency_s;
                let arrival_s = hosts.transfer(slot, issued_s, busy_s(class, all_bytes), latency_s);
                let there_s = hosts.combine(slot.to, arrival_s, combining_s);
                for (carried, slot) in slots[first..index].iter().enumerate() {
                    if period.segment(slot, now, count).is_some() {
                        arrived_s[self.place(first + carried, now, slot.lag)] = there_s;
                    }
                }
            }
        }
        Ok(hosts.done_s(plan.collective.is_inward()))
    }
}

/// The time in which the receiver of a slot combines `bytes` bytes, seconds.
fn combined_in_s(
    platform: &Platform,
    collective: Collective,
    period: &Period,
    slot: &Slot,
    bytes: u64,
) -> f64 {
    match platform.node(slot.to).combine_bytes_per_s {
        Some(rate) if collective.combines() && period.goes_inward(slot, collective) => bytes as f64 / rate,
        _ => 0.0,
    }
}

/// The root of each position; one entry if the plan has one root.
fn roots(plan: &Plan, period: &Period, hosts: &[NodeId]) -> Vec<NodeId> {
    if plan.collective.is_rooted() {
        return vec![plan.root];
    }
    if plan.collective.direction() != Direction::Both {
        return (0..period.segments as usize).map(|position| hosts[position % hosts.len()]).collect();
    }
    let tree_of = tree_of_positions(period, plan.collective, &plan.trees, &plan.inward);
    tree_of.into_iter().map(|tree| plan.root_of(&plan.trees[tree as usize])).collect()
}

/// The times at which each node is free, seconds.
struct Hosts {
    out_free_s: Vec<f64>,
    in_free_s: Vec<f64>,
    /// The time at which a receiver last accepted a transfer; it accepts them in its order.
    agreed_s: Vec<f64>,
    /// The time at which it has combined all received segments.
    combined_s: Vec<f64>,
}

impl Hosts {
    fn new(nodes: usize) -> Hosts {
        let never = vec![0.0; nodes];
        Hosts {
            out_free_s: never.clone(),
            in_free_s: never.clone(),
            agreed_s: never.clone(),
            combined_s: never,
        }
    }

    /// The time at which a slot's transfer arrives.
    fn transfer(&mut self, slot: &Slot, issued_s: f64, busy_s: f64, latency_s: f64) -> f64 {
        let (from, to) = (slot.from.index(), slot.to.index());
        self.agreed_s[to] = self.agreed_s[to].max(issued_s);
        let start_s = self.agreed_s[to].max(self.in_free_s[to] - latency_s);
        self.out_free_s[from] = start_s + busy_s;
        self.in_free_s[to] = start_s + latency_s + busy_s;
        self.in_free_s[to]
    }

    /// The time at which an arrived segment is combined; its arrival, if combining takes no time.
    fn combine(&mut self, node: NodeId, arrival_s: f64, combining_s: f64) -> f64 {
        if combining_s == 0.0 {
            return arrival_s;
        }
        let combined_s = &mut self.combined_s[node.index()];
        *combined_s = combined_s.max(arrival_s) + combining_s;
        *combined_s
    }

    /// The time at which each node is done: at its last arrival, and, inward, not before its last send.
    fn done_s(self, is_inward: bool) -> Vec<f64> {
        let done_s = |node: usize| {
            let sent_s = if is_inward { self.out_free_s[node] } else { 0.0 };
            self.in_free_s[node].max(self.combined_s[node]).max(sent_s)
        };
        (0..self.in_free_s.len()).map(done_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planners::{plan_with, supports, Instance, PLANNERS};
    use crate::platform::{ExplicitLink, LinkClass, Mesh, PlatformBuilder};
    use crate::random::Random;
    use crate::simulate::simulate;

    /// Every pair has its own start-up, latency and bandwidth.
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

    /// The event queue is the oracle.
    #[test]
    fn agrees_with_the_event_queue() {
        let mut compared = 0;
        for nodes in [1usize, 2, 3, 4, 5, 8, 9] {
            for seed in 0..4 {
                let platform = uneven(nodes, seed);
                for collective in Collective::ALL {
                    let instance = Instance::new(&platform, NodeId(nodes as u32 / 2), 97).unwrap();
                    let instance = Instance { collective, ..instance.segmented(7) };
                    for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
                        let plan = match plan_with(*planner, &instance, &Budget::UNLIMITED) {
                            Err(PlanError::Unsupported { .. }) => continue, // Blocks too short for this planner.
                            plan => plan.unwrap(),
                        };
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

    /// A slot before the one that brings its segment; each node still keeps its order.
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
