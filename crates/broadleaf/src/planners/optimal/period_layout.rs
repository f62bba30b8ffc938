//! What a period consists of: the transfers of its trees, and the resources that they hold.

use super::timetable::PeriodTransfer;
use crate::model::{occupation, Resource};
use crate::optimum::WeightedTree;
use crate::planners::Instance;
use crate::platform::{Hop, NodeId};
use std::collections::HashMap;

/// The transfers of one period.
#[derive(Default)]
pub(super) struct Layout {
    pub transfers: Vec<PeriodTransfer>,
    /// Position, sender and receiver of each transfer.
    pub ends: Vec<(u32, NodeId, NodeId)>,
    pub resources: HashMap<Resource, u32>,
}

impl Layout {
    /// The period that uses each of the trees once, in their order.
    pub fn of(instance: &Instance, trees: &[WeightedTree]) -> Layout {
        let mut layout = Layout::default();
        for (position, tree) in trees.iter().enumerate() {
            layout.add(instance, tree, position, trees.len());
        }
        layout
    }

    /// Whether receivers are busy only long after senders began (multi-port on links slower than the ports): one list
    /// of slots cannot give both the order of the sends and that of the receives.
    pub fn is_spread(&self) -> bool {
        self.transfers.iter().any(PeriodTransfer::is_spread)
    }

    /// How long the busiest resource takes for a period, seconds.
    pub fn busiest_s(&self) -> f64 {
        let mut busy_s = vec![0.0f64; self.resources.len()];
        for &(resource, _, duration_s) in self.transfers.iter().flat_map(|transfer| &transfer.windows) {
            busy_s[resource as usize] += duration_s;
        }
        busy_s.into_iter().fold(0.0, f64::max)
    }

    /// A number for each transfer's link, from 0 on.
    pub fn links(&self) -> Vec<u32> {
        let mut number: HashMap<(NodeId, NodeId), u32> = HashMap::new();
        let mut of = |from, to| {
            let next = number.len() as u32;
            *number.entry((from, to)).or_insert(next)
        };
        self.ends.iter().map(|&(_, from, to)| of(from, to)).collect()
    }

    /// Adds a tree's transfers, parents first.
    fn add(&mut self, instance: &Instance, tree: &WeightedTree, position: usize, positions: usize) {
        let plan_tree = tree.plan_tree();
        let mut brought: HashMap<NodeId, usize> = HashMap::new();
        for from in plan_tree.breadth_first(instance.root) {
            for &to in plan_tree.children(from) {
                let class = instance.platform.link(from, to).expect("a tree of the optimum has direct links");
                let latency_s = instance.platform.class(class).latency_s;
                let occupied = occupation(instance.platform, Hop { from, to, class }, instance.segment_bytes);
                let mut transfer = PeriodTransfer {
                    after: brought.get(&from).copied(),
                    windows: Vec::new(),
                    real_windows: Vec::new(),
                    arrival_s: occupied.arrival_s,
                    phase: position as f64 / positions as f64,
                };
                for window in occupied.windows {
                    let next = self.resources.len() as u32;
                    let resource = *self.resources.entry(window.resource).or_insert(next);
                    let at_receiver =
                        matches!(window.resource, Resource::In(_)) || window.resource == Resource::Out(to);
                    let offset_s = window.offset_s - if at_receiver { latency_s } else { 0.0 };
                    transfer.windows.push((resource, offset_s, window.duration_s));
                    transfer.real_windows.push((resource, window.offset_s, window.duration_s));
                }
                brought.insert(to, self.transfers.len());
                self.transfers.push(transfer);
                self.ends.push((position as u32, from, to));
            }
        }
    }
}
