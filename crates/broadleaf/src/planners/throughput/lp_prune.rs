//! LP-Prune: the edges that carry the fewest segments in the multi-tree optimum go, as long as everyone
//! can be reached.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 6, as
//! its text has it (the fewest messages n_uv first; "non-increasing" is a misprint). n_uv comes from
//! [`crate::optimum`]: the trees' rates over each edge, (n − 1)·throughput in all, the least an optimum can
//! have. Several optima may exist, and the tree depends on which one is found.
//! Complexity: the optimum, then as simple pruning. Guarantee: none; about 0.7 of the optimum in the paper.

use super::graph::{self, Graph};
use super::loads::{optimal_loads, EdgeLoads};
use super::pruning::prune_in_order;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Planner, Unsupported};
use std::cmp::Reverse;

pub struct LpPrune;

static CARD: Card = Card {
    name: "lp-prune",
    summary: "drops the edges that the multi-tree optimum uses least until a tree is left",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 6",
    objective: "throughput of one pipelined tree",
    guarantee: "none",
    complexity: "the optimum's, then O(E²) at worst",
};

impl LpPrune {
    /// The plan for given n_uv, segments/s; links that are not in it carry nothing.
    pub fn plan_for(&self, instance: &Instance, loads: &EdgeLoads) -> Plan {
        let graph = Graph::of(instance);
        let ticks = loads.ticks();
        let mut order: Vec<usize> = (0..graph.edges.len()).collect();
        order.sort_by_cached_key(|&edge| (ticks.count(loads.of(&graph.edges[edge])), Reverse(edge)));
        graph.plan(CARD.name, &prune_in_order(&graph, order))
    }
}

impl Planner for LpPrune {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        graph::supports(instance)
    }

    fn plan(&self, instance: &Instance) -> Result<Plan, PlanError> {
        Ok(self.plan_for(instance, &optimal_loads(CARD.name, instance)?))
    }

    fn is_quick(&self, _: &Instance) -> bool {
        false
    }
}
