//! Whether a period's static orders wait for each other in a circle.

use crate::plan::{Collective, Period, Plan, Slot};
use crate::platform::{NodeId, Platform};

/// Limit of the transfers simulated to find a deadlock, where the order of a period's slots does not already exclude
/// one.
const PLAYED_TRANSFERS: u64 = 4_000_000;

/// The reason why a period never ends, if there is one; `owners`: the root of each position.
///
/// If every slot comes after those that bring its segment, in the list or in an earlier period, all can run in the
/// order of the list, for any length of message. Every planner lists its slots in such an order. Other periods are
/// played.
pub(super) fn order_fault(
    platform: &Platform,
    plan: &Plan,
    period: &Period,
    owners: &[NodeId],
) -> Option<String> {
    let (is_both, goes_in) = match plan.collective {
        Collective::Allreduce => (true, false),
        Collective::Gather | Collective::Reduce | Collective::ReduceScatter => (false, true),
        _ => (false, false),
    };
    let blocks = plan.collective.blocks(platform.hosts().count()) as u64;
    // The slots into each node at each position: several where the node combines what comes in.
    let into_of = |&index: &u32| (period.slots[index as usize].to, period.slots[index as usize].segment);
    let mut into: Vec<u32> = (0..period.slots.len() as u32).collect();
    into.sort_unstable_by_key(into_of);
    let brought_by: Vec<&[u32]> = period
        .slots
        .iter()
        .map(|slot| {
            let goes_out = if is_both { slot.segment >= period.segments } else { !goes_in };
            let starts = goes_out && slot.from == owners[(slot.segment % period.segments) as usize];
            if starts && !is_both {
                return &[][..];
            }
            // Where the way out begins, the way in has ended.
            let position = slot.segment - if starts { period.segments } else { 0 };
            let first = into.partition_point(|index| into_of(index) < (slot.from, position));
            let bringing = &into[first..];
            &bringing[..bringing.partition_point(|index| into_of(index) == (slot.from, position))]
        })
        .collect();
    let is_listed_in_order =
        period.slots.iter().zip(&brought_by).enumerate().all(|(index, (slot, before))| {
            let comes_before =
                |&before: &u32| (period.slots[before as usize].lag, before as usize) < (slot.lag, index);
            before.iter().all(comes_before)
        });
    if is_listed_in_order {
        return None;
    }
    let (slots, lag) = (period.slots.len() as u64, u64::from(period.longest_lag()));
    if slots * (lag + 3) > PLAYED_TRANSFERS {
        return Some(format!(
            "period: {slots} slots with a lag of {lag} are too many to look for a deadlock in; list each slot \
             behind the one that brings its segment"
        ));
    }
    let rounds = PLAYED_TRANSFERS / slots + 3 + lag;
    let count = plan.segment_count().saturating_mul(blocks).min(rounds * u64::from(period.segments));
    let (node, segment) = Play::new(plan.nodes.len(), period, &brought_by, count).blocked()?;
    let name = &platform.node(node).id;
    Some(format!("period: \"{name}\" waits for ever to send segment {segment}"))
}

/// Plays a period without time: a slot runs when it is next at its sender and at its receiver and the sender has the
/// segment.
struct Play<'a> {
    period: &'a Period,
    brought_by: &'a [&'a [u32]],
    count: u64,
    periods: u64,
    /// Of each node, the slots in which it sends and in which it receives.
    sends: Vec<Vec<usize>>,
    receives: Vec<Vec<usize>>,
    /// (period, index among the node's slots) of the next slot.
    send_at: Vec<(u64, usize)>,
    receive_at: Vec<(u64, usize)>,
    /// How many segments each slot has moved: a slot moves those of its position in turn.
    moved: Vec<u64>,
}

impl<'a> Play<'a> {
    fn new(nodes: usize, period: &'a Period, brought_by: &'a [&'a [u32]], count: u64) -> Play<'a> {
        let mut sends: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut receives: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for (index, slot) in period.slots.iter().enumerate() {
            sends[slot.from.index()].push(index);
            receives[slot.to.index()].push(index);
        }
        Play {
            period,
            brought_by,
            count,
            periods: period.periods(count),
            sends,
            receives,
            send_at: vec![(0, 0); nodes],
            receive_at: vec![(0, 0); nodes],
            moved: vec![0; period.slots.len()],
        }
    }

    /// The first sender and segment that never run, if any.
    fn blocked(&mut self) -> Option<(NodeId, u64)> {
        let nodes = self.sends.len() as u32;
        let mut open: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        // Each node once, so that the list stays as short as the list of nodes.
        let mut is_open = vec![true; open.len()];
        while let Some(node) = open.pop() {
            is_open[node.index()] = false;
            while let Some((index, _)) = self.next_send(node) {
                let Slot { to, lag, .. } = self.period.slots[index];
                let round = self.send_at[node.index()].0 - u64::from(lag);
                let has_it = self.brought_by[index].iter().all(|&before| self.moved[before as usize] > round);
                if !has_it || self.next_receive(to).is_none_or(|(next, _)| next != index) {
                    break;
                }
                step(&mut self.send_at[node.index()], self.sends[node.index()].len());
                step(&mut self.receive_at[to.index()], self.receives[to.index()].len());
                self.moved[index] += 1;
                // The receiver may forward now, and the next sender in its order may send.
                let next = self.next_receive(to).map(|(next, _)| self.period.slots[next].from);
                for node in [Some(to), next].into_iter().flatten() {
                    if !std::mem::replace(&mut is_open[node.index()], true) {
                        open.push(node);
                    }
                }
            }
        }
        (0..nodes).map(NodeId).find_map(|node| self.next_send(node).map(|(_, segment)| (node, segment)))
    }

    fn next_send(&mut self, node: NodeId) -> Option<(usize, u64)> {
        let (slots, at) = (&self.sends[node.index()], &mut self.send_at[node.index()]);
        next(self.period, self.count, self.periods, slots, at)
    }

    fn next_receive(&mut self, node: NodeId) -> Option<(usize, u64)> {
        let (slots, at) = (&self.receives[node.index()], &mut self.receive_at[node.index()]);
        next(self.period, self.count, self.periods, slots, at)
    }
}

/// The next slot of a node that has a segment, and the segment; moves `at` to it.
fn next(
    period: &Period,
    count: u64,
    periods: u64,
    slots: &[usize],
    at: &mut (u64, usize),
) -> Option<(usize, u64)> {
    while !slots.is_empty() && at.0 < periods {
        let index = slots[at.1];
        if let Some(segment) = period.segment(&period.slots[index], at.0, count) {
            return Some((index, segment));
        }
        step(at, slots.len());
    }
    None
}

fn step(at: &mut (u64, usize), slots: usize) {
    *at = if at.1 + 1 == slots { (at.0 + 1, 0) } else { (at.0, at.1 + 1) };
}
