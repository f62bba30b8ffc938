//! The tree inside a node that several ranks share.

use crate::topology::placement::memory_link;
use broadleaf::budget::Budget;
use broadleaf::plan::Plan;
use broadleaf::planners::{self, Instance};
use broadleaf::platform::{Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::simulate::estimate;
use std::collections::VecDeque;

/// The tree in which `count` ranks of one node pass segments on: (parent, child) positions, breadth first,
/// 0 = leader. The quickest of the plain shapes for this message.
pub fn inner_tree(count: usize, bytes: u64, segment_bytes: u64) -> Vec<(usize, usize)> {
    let flat = || (1..count).map(|child| (0, child)).collect();
    let Some(platform) = memory(count) else { return flat() };
    let Ok(instance) = Instance::new(&platform, NodeId(0), bytes) else { return flat() };
    let instance = instance.segmented(segment_bytes);
    let shapes = ["flat", "chain", "binary", "binomial"].iter().filter_map(|name| planners::find(name).ok());
    let timed = shapes.filter_map(|planner| {
        let plan = planner.plan(&instance, &Budget::UNLIMITED).ok()?;
        Some((estimate(&platform, &plan).ok()?, plan))
    });
    let best = timed.min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(flat, |(_, plan)| breadth_first_edges(&plan))
}

fn memory(count: usize) -> Option<Platform> {
    let mut builder = PlatformBuilder::new("memory", PortModel::OnePort);
    for rank in 0..count {
        builder.add_host(format!("rank{rank}")).ok()?;
    }
    let class = builder.add_class(memory_link());
    builder.add_mesh(Mesh { nodes: (0..count as u32).map(NodeId).collect(), class }).ok()?;
    builder.build().ok()
}

fn breadth_first_edges(plan: &Plan) -> Vec<(usize, usize)> {
    let tree = &plan.trees[0];
    let mut edges = Vec::new();
    let mut open = VecDeque::from([plan.root]);
    while let Some(parent) = open.pop_front() {
        for &child in tree.children(parent) {
            edges.push((parent.index(), child.index()));
            open.push_back(child);
        }
    }
    edges
}
