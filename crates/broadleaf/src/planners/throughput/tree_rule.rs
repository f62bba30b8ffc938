//! A rule that picks one tree of the graph, as a planner.

use super::child_order::tree_plan;
use super::graph::{self, Graph};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Planner, Unsupported};

/// A rule with its card; the rule names the tree's edges.
pub(crate) struct TreeRule {
    pub(super) card: &'static Card,
    pub(super) tree: fn(&Graph) -> Vec<usize>,
}

impl Planner for TreeRule {
    fn card(&self) -> &'static Card {
        self.card
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        graph::supports(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let graph = Graph::of(instance);
        Ok(tree_plan(&graph, self.card.name, &(self.tree)(&graph)))
    }
}
