//! LP-Grow-Tree: Prim's algorithm on the edges that carry the most segments in the multi-tree optimum.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 7:
//! the edge (u, v) out of the tree with the largest n_uv next. n_uv comes from [`crate::optimum`]: the
//! trees' rates over each edge, (n − 1)·throughput in all, the least an optimum can have. Several optima
//! may exist, and the tree depends on which one is found.
//! Complexity: the optimum, then O(n·E) at worst. Guarantee: none; about 0.7 of the optimum in the paper.

use super::graph::{self, Graph};
use super::growing;
use super::loads::{optimal_loads, EdgeLoads};
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Planner, Unsupported};

pub struct LpGrow;

static CARD: Card = Card {
    name: "lp-grow",
    summary: "adds the edge that the multi-tree optimum uses most until everyone is in the tree",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 7",
    objective: "throughput of one pipelined tree",
    guarantee: "none",
    complexity: "the optimum's, then O(n·E) at worst",
};

impl LpGrow {
    /// The plan for given n_uv, segments/s; links that are not in it carry nothing.
    pub fn plan_for(&self, instance: &Instance, loads: &EdgeLoads) -> Plan {
        let graph = Graph::of(instance);
        let ticks = loads.ticks();
        let tree = growing::grow(&graph, |_, edge| -ticks.count(loads.of(&graph.edges[edge])));
        graph.plan(CARD.name, &tree)
    }
}

impl Planner for LpGrow {
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
