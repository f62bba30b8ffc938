//! Broadleaf's own: the shortest makespan found by annealing over ordered trees, starting from the best heuristic.
//!
//! Paper 2's rules choose one send after the other and never revise one. Here whole subtrees move, every
//! sender serves in its best order, and grids of up to about 20 clusters are usually solved to optimality.
//! Messages in segments, which neither paper 1 nor paper 2 plans for at middle sizes, get one tree over all hosts
//! that weighs latency and start-up against the pipeline's pace.
//! Complexity: O(moves · depth · children). Guarantee: no later than any heuristic of paper 2 on the same grid.

use super::heuristic::{least_s, supports};
use super::makespan_search::{search, SearchEffort};
use super::segmented_tree;
use super::units::Units;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError, Predicted};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};

pub(crate) struct Makespan;

static CARD: Card = Card {
    name: "makespan",
    summary:
        "annealing over trees whose senders serve in the best order, from the best heuristic of paper 2; in \
              segments, of trees that weigh latency against the pipeline's pace",
    reference: "own; start from Barchet-Steffenel and Mounié, serving order by Jackson's rule (1955)",
    objective: "makespan of one message between clusters, then inside them, or in segments over all hosts",
    guarantee: "unsegmented: no later than any heuristic of paper 2 in the pLogP model",
    complexity: "O(moves · depth · children), tens of milliseconds at 50 clusters",
    profile: Profile { pace: |_| Pace::Slow, least_s, ..Profile::QUICK },
};

impl Planner for Makespan {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        supports(instance)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        if instance.segment_bytes < instance.message_bytes {
            let hosts = Units::of_hosts(instance);
            let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
            let (makespan_s, sends) = segmented_tree::plan(&hosts.grid, segments, instance.seed, budget);
            let plan = instance.tree_plan(CARD.name, hosts.graft(instance, &sends));
            let predicted = Predicted { makespan_s: Some(makespan_s), ..Predicted::default() };
            return Ok(Plan { predicted, ..plan });
        }
        let units = Units::new(instance);
        let effort = SearchEffort::usual(units.grid.len(), instance.seed, budget);
        let sends = search(&units.grid, &effort, budget);
        Ok(instance.tree_plan(CARD.name, units.graft(instance, &sends)))
    }
}
