//! n_uv of paper 1: how many segments a second the multi-tree optimum sends over each edge.

use super::graph::{Edge, Ticks};
use crate::budget::Budget;
use crate::optimum::{solve_within, Limits};
use crate::plan::PlanError;
use crate::planners::Instance;
use crate::platform::NodeId;
use std::collections::HashMap;

/// The relative gap to the optimum at which the loads are taken. Significant loads are far larger.
const GAP: f64 = 1e-4;

/// n_uv by (sender, receiver) host, segments/s; edges without an entry carry nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeLoads(pub HashMap<(NodeId, NodeId), f64>);

impl EdgeLoads {
    pub(super) fn of(&self, edge: &Edge) -> f64 {
        self.0.get(&(edge.from, edge.to)).copied().unwrap_or(0.0)
    }

    pub(super) fn ticks(&self) -> Ticks {
        Ticks::of(self.0.values().copied())
    }
}

/// The loads of the optimum's trees for the instance's segments, or of the best packing within the budget.
///
/// # Errors
/// A platform for which the program has no solution.
pub fn optimal_loads(planner: &str, instance: &Instance, budget: &Budget) -> Result<EdgeLoads, PlanError> {
    let Instance { platform, root, segment_bytes, .. } = *instance;
    let optimum =
        solve_within(platform, root, segment_bytes, GAP, Limits::default(), budget).map_err(|error| {
            PlanError::Unsupported { planner: planner.to_string(), reason: error.to_string() }
        })?;
    let rate = optimum.throughput_bytes_per_s / optimum.segment_bytes as f64;
    // Without a limit every load is infinite, and edges differ only in the trees' shares.
    let rate = if rate.is_finite() { rate } else { 1.0 };
    let mut loads = HashMap::new();
    for tree in &optimum.trees {
        for (child, parent) in tree.parent.iter().enumerate() {
            if let Some(parent) = parent {
                *loads.entry((*parent, NodeId(child as u32))).or_insert(0.0) += tree.share * rate;
            }
        }
    }
    Ok(EdgeLoads(loads))
}
