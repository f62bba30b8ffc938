//! The quickest plan that can be found before a deadline, and the tree inside a node.

use broadleaf::plan::Plan;
use broadleaf::planners::{self, Instance, Planner};
use broadleaf::platform::{Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::simulate::estimate;
use std::collections::VecDeque;
use std::time::Instant;

use crate::placement::memory_link;

/// Segment sizes tried, bytes: under MPI each message costs microseconds, so smaller ones only lose.
const SMALLEST_SEGMENT: u64 = 8 << 10;

/// The plan of least estimated time among the given planners and the segment sizes 8 KiB, 16 KiB, … up to the
/// whole message; at least one is tried, however late it is.
pub fn quickest(
    platform: &Platform,
    root: NodeId,
    bytes: u64,
    planners: &[&dyn Planner],
    deadline: Instant,
) -> Result<Plan, String> {
    let whole = Instance::new(platform, root, bytes).map_err(|error| error.to_string())?;
    let mut best: Option<(f64, Plan)> = None;
    let mut refusal = String::new();
    for planner in planners {
        if let Err(unsupported) = planner.supports(&whole) {
            refusal = format!("planner {}: {unsupported}", planner.card().name);
            continue;
        }
        for segment_bytes in segment_sizes(bytes, planner.is_segmentable()) {
            if best.is_some() && Instant::now() >= deadline {
                break;
            }
            let plan = planner.plan(&whole.segmented(segment_bytes)).map_err(|error| error.to_string())?;
            let seconds = estimate(platform, &plan).map_err(|error| error.to_string())?;
            if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
                best = Some((seconds, plan));
            }
        }
    }
    best.map(|(_, plan)| plan).ok_or(refusal)
}

/// Most promising first: about 64 segments, then ever farther from that.
fn segment_sizes(bytes: u64, segmentable: bool) -> Vec<u64> {
    if !segmentable {
        return vec![bytes];
    }
    let mut sizes = vec![bytes];
    let mut size = SMALLEST_SEGMENT;
    while size < bytes {
        sizes.push(size);
        size *= 2;
    }
    let middle = (bytes as f64 / 64.0).log2();
    sizes.sort_by(|a, b| ((*a as f64).log2() - middle).abs().total_cmp(&((*b as f64).log2() - middle).abs()));
    sizes
}

/// The tree in which `count` ranks of one node pass segments on: (parent, child) positions, breadth first,
/// 0 = leader. The quickest of the plain shapes for this message.
pub fn inner_tree(count: usize, bytes: u64, segment_bytes: u64) -> Vec<(usize, usize)> {
    let flat = || (1..count).map(|child| (0, child)).collect();
    let Some(platform) = memory(count) else { return flat() };
    let Ok(instance) = Instance::new(&platform, NodeId(0), bytes) else { return flat() };
    let instance = instance.segmented(segment_bytes);
    let shapes = ["flat", "chain", "binary", "binomial"].iter().filter_map(|name| planners::find(name).ok());
    let timed = shapes.filter_map(|planner| {
        let plan = planner.plan(&instance).ok()?;
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
