//! The contents of a period: the transfers of its trees, and the resources that they hold.

use super::timetable::{PeriodHop, PeriodTransfer};
use crate::model::{occupation, Resource};
use crate::optimum::WeightedTree;
use crate::plan::segment_bytes_of;
use crate::planners::Instance;
use crate::platform::{Hop, NodeId};
use std::collections::HashMap;

/// The transfers of one period.
#[derive(Default)]
pub(super) struct Layout {
    pub transfers: Vec<PeriodTransfer>,
    /// Position, sender and receiver of each transfer.
    pub ends: Vec<(u32, NodeId, NodeId)>,
    /// A number for each transfer's way, from 0 on.
    pub way: Vec<u32>,
    ways: HashMap<Vec<NodeId>, u32>,
    pub resources: HashMap<Resource, u32>,
    /// One for each tree.
    pub positions: u32,
}

impl Layout {
    /// The period that uses each of the trees once, in their order.
    pub fn of(instance: &Instance, trees: &[WeightedTree]) -> Layout {
        let mut layout = Layout::default();
        for (position, tree) in trees.iter().enumerate() {
            let phase = position as f64 / trees.len() as f64;
            layout.add(instance, tree, instance.root, phase);
        }
        layout
    }

    /// The period of an all-gather that moves a segment along each of the trees, which have roots of their own.
    pub fn of_blocks(instance: &Instance, trees: &[(NodeId, WeightedTree)]) -> Layout {
        let mut layout = Layout::default();
        for (root, tree) in trees {
            let weight = instance.weights.map_or(1.0, |weights| weights[root.index()]);
            let bytes = segment_bytes_of(instance.message_bytes, instance.segment_bytes, weight);
            layout.add(&Instance { segment_bytes: bytes, ..*instance }, tree, *root, 0.0);
        }
        layout
    }

    /// Whether receivers are busy only long after senders began (multi-port on links slower than the ports). Then one
    /// list of slots cannot give both the order of sends and that of receives.
    pub fn is_spread(&self) -> bool {
        self.transfers.iter().any(PeriodTransfer::is_spread)
    }

    /// Whether some way passes switches.
    pub fn passes_switches(&self) -> bool {
        self.transfers.iter().any(|transfer| transfer.hops.len() > 1)
    }

    /// The most hosts that a segment passes.
    pub fn most_hosts(&self) -> u64 {
        let mut passed = vec![0u64; self.transfers.len()];
        for (at, transfer) in self.transfers.iter().enumerate() {
            passed[at] = transfer.after.map_or(0, |before| passed[before] + 1);
        }
        passed.into_iter().max().unwrap_or(0)
    }

    /// How long the busiest resource takes for a period, seconds.
    pub fn busiest_s(&self) -> f64 {
        let mut busy_s = vec![0.0f64; self.resources.len()];
        for &(resource, _, duration_s) in self.transfers.iter().flat_map(|transfer| &transfer.windows) {
            busy_s[resource as usize] += duration_s;
        }
        busy_s.into_iter().fold(0.0, f64::max)
    }

    /// Adds the next position: the transfers of a tree, parents first.
    fn add(&mut self, instance: &Instance, tree: &WeightedTree, root: NodeId, phase: f64) {
        let plan_tree = tree.plan_tree();
        let position = self.positions;
        self.positions += 1;
        let mut brought: HashMap<NodeId, usize> = HashMap::new();
        for from in plan_tree.breadth_first(root) {
            for &to in plan_tree.children(from) {
                let mut way = vec![from];
                way.extend(tree.via.get(&to).into_iter().flatten());
                way.push(to);
                let mut transfer = PeriodTransfer {
                    after: brought.get(&from).copied(),
                    windows: Vec::new(),
                    hops: Vec::new(),
                    arrival_s: 0.0,
                    phase,
                };
                for hop in way.windows(2) {
                    self.add_hop(instance, hop[0], hop[1], &mut transfer);
                }
                let next = self.ways.len() as u32;
                self.way.push(*self.ways.entry(way).or_insert(next));
                brought.insert(to, self.transfers.len());
                self.transfers.push(transfer);
                self.ends.push((position, from, to));
            }
        }
    }

    /// Adds the next hop of a transfer: a switch passes a segment on once it has all of it.
    fn add_hop(&mut self, instance: &Instance, from: NodeId, to: NodeId, transfer: &mut PeriodTransfer) {
        let class = instance.platform.link(from, to).expect("a tree of the optimum uses links");
        let latency_s = instance.platform.class(class).latency_s;
        let occupied = occupation(instance.platform, Hop { from, to, class }, instance.segment_bytes);
        let mut windows = Vec::new();
        for window in occupied.windows {
            let next = self.resources.len() as u32;
            let resource = *self.resources.entry(window.resource).or_insert(next);
            let at_receiver =
                matches!(window.resource, Resource::In(_)) || window.resource == Resource::Out(to);
            let offset_s = window.offset_s - if at_receiver { latency_s } else { 0.0 };
            transfer.windows.push((resource, offset_s, window.duration_s));
            windows.push((resource, window.offset_s, window.duration_s));
        }
        transfer.arrival_s += occupied.arrival_s;
        transfer.hops.push(PeriodHop { windows, arrival_s: occupied.arrival_s });
    }
}
