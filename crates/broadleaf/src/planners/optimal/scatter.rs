//! The optimal scatter of long blocks: trees of equal share, in which each host's block goes over many paths.
//!
//! [`scatter_trees`] finds the trees and the bound. A node sends a segment of every block before the next ones, so the
//! pipes and ports that limit the scatter must come up evenly in the order of its children: those that share a pipe are
//! spread over the whole order, or the node would wait for the pipe while its other children idle.
//!
//! Cost: Σ of the blocks' loads on the busiest resource, and one segment's way to the last host.

use super::settings::blocks::{COUNTS, SCATTER_TREES};
use super::{merged, quickest, refused};
use crate::budget::Budget;
use crate::optimum::{scatter_trees, WeightedTree};
use crate::plan::{throughput, Plan, PlanError, Predicted, Tree, TreeBuilder};
use crate::planners::Instance;
use crate::platform::{NodeId, Platform};
use std::collections::BTreeMap;

pub(super) fn plan(instance: &Instance, planner: &str, budget: &Budget) -> Result<Plan, PlanError> {
    let Instance { platform, root, segment_bytes, weights, .. } = *instance;
    let segments = instance.message_bytes.div_ceil(segment_bytes);
    let count = segments.min(SCATTER_TREES as u64) as usize;
    let found = scatter_trees(platform, root, segment_bytes, weights, count, budget).map_err(refused)?;
    let trees: Vec<WeightedTree> = found.trees.into_iter().map(|(_, tree)| tree).collect();
    let trees = merged(&trees).into_iter().map(|tree| woven(platform, root, &tree)).collect();
    let plan = Plan { collective: instance.collective, ..super::tree_plan(instance, planner, trees) };
    let finite = |rate: f64| Some(rate).filter(|rate| rate.is_finite());
    let predicted = Predicted {
        throughput_bytes_per_s: finite(throughput(platform, &plan)?),
        bound_bytes_per_s: finite(found.upper_bound_bytes_per_s),
        ..Predicted::default()
    };
    Ok(Plan { predicted, ..plan })
}

/// The number of segments, up to `most`, at which the blocks' loads and one segment's way to the last host together
/// take the least time.
pub(super) fn segments(instance: &Instance, most: u64, budget: &Budget) -> Option<u64> {
    let time_s = |count: u64| -> Option<f64> {
        let sized = instance.segmented(instance.message_bytes.div_ceil(count));
        let plan = plan(&sized, "", budget).ok()?;
        let rate = plan.predicted.throughput_bytes_per_s?;
        let last_s = plan.trees.iter().map(|tree| arrival_s(&sized, tree)).fold(0.0, f64::max);
        Some(instance.message_bytes as f64 / rate + last_s)
    };
    quickest(COUNTS.into_iter().filter(|&count| count <= most), budget, time_s)
}

/// The least time of a segment from the root to the last host of a tree, seconds.
fn arrival_s(instance: &Instance, tree: &Tree) -> f64 {
    let Instance { platform, root, segment_bytes, .. } = *instance;
    let mut arrival_s = vec![0.0; platform.node_count()];
    for from in tree.breadth_first(root) {
        for &to in tree.children(from) {
            let class = platform.link(from, to).expect("a tree of the optimum uses links");
            let hop_s = platform.class(class).latency_s + platform.transfer_s(class, segment_bytes);
            arrival_s[to.index()] = arrival_s[from.index()] + hop_s;
        }
    }
    arrival_s.into_iter().fold(0.0, f64::max)
}

/// The tree with its children in an order in which those behind the same pipe are spread evenly by the blocks that they
/// get, and those with most blocks come first.
fn woven(platform: &Platform, root: NodeId, tree: &Tree) -> Tree {
    let order = tree.breadth_first(root);
    let mut blocks = vec![1.0f64; platform.node_count()];
    for &node in order.iter().rev() {
        blocks[node.index()] += tree.children(node).iter().map(|child| blocks[child.index()]).sum::<f64>();
    }
    let mut builder = TreeBuilder::new(platform.node_count()).share(tree.share);
    for &from in &order {
        let mut by_pipes: BTreeMap<_, Vec<NodeId>> = BTreeMap::new();
        for &to in tree.children(from) {
            let class = platform.link(from, to).expect("a tree of the optimum uses links");
            by_pipes.entry(platform.class(class).uses.clone()).or_default().push(to);
        }
        let mut places: Vec<(f64, NodeId)> = Vec::new();
        for mut children in by_pipes.into_values() {
            children.sort_by(|a, b| blocks[b.index()].total_cmp(&blocks[a.index()]).then(a.cmp(b)));
            let all: f64 = children.iter().map(|child| blocks[child.index()]).sum();
            let mut before = 0.0;
            for child in children {
                let own = blocks[child.index()];
                places.push(((before + own / 2.0) / all, child));
                before += own;
            }
        }
        places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        places.into_iter().for_each(|(_, child)| {
            builder.add(from, child);
        });
    }
    builder.build()
}
