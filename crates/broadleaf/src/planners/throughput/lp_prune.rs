//! LP-Prune: drops the edges that carry the fewest segments in the multi-tree optimum, as long as all hosts can be
//! reached.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 6, as
//! its text has it (the fewest messages n_uv first; "non-increasing" is a misprint). n_uv comes from
//! [`crate::optimum`]: the trees' rates over each edge, (n − 1)·throughput in all, the least an optimum can
//! have. Several optima may exist, and the tree depends on which one is found.
//! Complexity: the optimum, then as simple pruning. Guarantee: none; about 0.7 of the optimum in the paper.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{ExplicitLink, LinkClass, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("triangle", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! for (from, to, bandwidth) in [(0, 1, 100.0), (0, 2, 50.0), (1, 2, 40.0)] {
//!     let class = builder.add_class(LinkClass::affine(0.0, bandwidth));
//!     builder.add_link(ExplicitLink { from: nodes[from], to: nodes[to], both_ways: false, class }).unwrap();
//! }
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(100);
//! // T is 1, 2 and 2.5 s. Chains x and stars y: a is busy for x + 3y, c's port for 2.5x + 2y. Both are full
//! // at x = 2/11, y = 3/11, so that a→b carries 5/11, a→c 3/11 and b→c 2/11 segments a second: b→c goes.
//! let plan = find("lp-prune").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! assert_eq!(plan.trees[0].edges().collect::<Vec<_>>(), [(nodes[0], nodes[2]), (nodes[0], nodes[1])]);
//! ```

use super::child_order::tree_plan;
use super::drop_edges::prune_in_order;
use super::graph::{self, Graph};
use super::optimal_loads::{optimal_loads, EdgeLoads};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};
use std::cmp::Reverse;

/// The planner `lp-prune`.
pub struct LpPrune;

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 6e5;

static CARD: Card = Card {
    name: "lp-prune",
    summary: "drops the edges that the multi-tree optimum uses least until a tree is left",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 6",
    objective: "throughput of one pipelined tree",
    guarantee: "none",
    complexity: "the optimum's, then O(E²) at worst",
    profile: Profile {
        pace: Pace::of_optimum,
        least_s: |instance| graph::least_s(instance, EDGES_PER_S),
        ..Profile::QUICK
    },
};

impl LpPrune {
    /// The plan for given n_uv, segments/s; links that are not in it carry nothing.
    pub fn plan_for(&self, instance: &Instance, loads: &EdgeLoads) -> Plan {
        let graph = Graph::of(instance);
        let ticks = loads.ticks();
        let mut order: Vec<usize> = (0..graph.edges.len()).collect();
        order.sort_by_cached_key(|&edge| (ticks.count(loads.of(&graph.edges[edge])), Reverse(edge)));
        tree_plan(&graph, CARD.name, &prune_in_order(&graph, order))
    }
}

impl Planner for LpPrune {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        graph::supports(instance)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        Ok(self.plan_for(instance, &optimal_loads(CARD.name, instance, budget)?))
    }
}
