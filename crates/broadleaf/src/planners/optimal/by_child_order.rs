//! The throughput optimum's trees without a timetable: every node sends, of what it holds, the lowest segment first.
//!
//! A timetable has every node receive in the order of its slots. Where one sender is near and another far away, a
//! transfer from afar starts only after the near one before it, and that one waits for the one from afar before: two
//! periods take the latency at least, however short their transfers are. Without a timetable a node takes what
//! comes, so short segments keep their rate over long links, though ports meet busy ones more often.
//!
//! Under multi-port the trees have even loads, where such trees come near the optimum's rate.
//!
//! Complexity: the optimum's; under multi-port, O(n³) a tree besides. Guarantee: none, since transfers wait for busy
//! ports.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("two", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(5.0, 10.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap().segmented(10);
//! let plan = find("optimal-trees").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Ten segments of a second each, and the latency.
//! assert_eq!(trace.makespan_s, 15.0);
//! ```

use super::balanced_trees::{balanced_trees, must_share};
use super::positions::merged;
use super::settings::balance;
use super::{rated, sharing, tree_plan};
use crate::budget::Budget;
use crate::optimum::{link_count, solve_within, Limits, MOST_LINKS};
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};
use crate::platform::PortModel;

/// The trees of the optimum; under multi-port, trees of even load where there are such.
pub struct OptimalTrees {
    /// The number of trees of even load; the planner refuses where links are slower than ports. `None`: any.
    pub count: Option<usize>,
}

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 links.
const LINKS_PER_S: f64 = 1.8e6;

static CARD: Card = Card {
    name: "optimal-trees",
    summary: "the throughput optimum's trees without a timetable, for short segments over long links",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, program (2)",
    objective: "throughput of long messages where latencies are long beside segments",
    guarantee: "none: transfers wait for busy ports",
    complexity: "some cheapest arborescences of O(m log n)",
    profile: Profile {
        pace,
        least_s: |instance| link_count(instance.platform) as f64 / LINKS_PER_S,
        ..Profile::QUICK
    },
};

impl OptimalTrees {
    /// Numbers of trees among which the planner chooses where links are as fast as ports.
    pub const FEW: [usize; 3] = balance::FEW;
}

impl Planner for OptimalTrees {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let platform = instance.platform;
        let links = link_count(platform);
        if links > MOST_LINKS {
            return Err(Unsupported(format!(
                "{links} links; the optimum is computed for {MOST_LINKS} at most"
            )));
        }
        Ok(())
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let Instance { platform, root, segment_bytes, .. } = *instance;
        let not_even = || {
            let reason = "there are no such trees of even load near the optimum's rate".to_string();
            PlanError::Unsupported { planner: CARD.name.to_string(), reason }
        };
        if self.count.is_some_and(|count| !may_be_even(instance, count)) {
            return Err(not_even());
        }
        // What the search for the last hundredth would gain is less than what waiting for ports loses.
        const GAP: f64 = 1e-2;
        let optimum = solve_within(platform, root, segment_bytes, GAP, Limits::default(), &budget.divided(4))
            .map_err(|error| PlanError::BadRequest(error.to_string()))?;
        let plan = match (self.count, platform.port_model()) {
            (Some(count), _) => {
                let even = balanced_trees(instance, &optimum, Some(count), budget).ok_or_else(not_even)?;
                tree_plan(instance, CARD.name, merged(&even))
            }
            (None, PortModel::MultiPort) => sharing(instance, CARD.name, &optimum, budget),
            (None, _) => tree_plan(instance, CARD.name, optimum.plan_trees()),
        };
        rated(platform, plan, &optimum)
    }
}

/// Whether that number of trees is made: not among many nodes, and not of short messages.
fn may_be_even(instance: &Instance, count: usize) -> bool {
    let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
    instance.platform.node_count() <= balance::MOST_NODES && segments >= count as u64 * balance::SEGMENTS
}

/// `best` cannot rank it under one-port: its runs are faster than the simulator predicts. Where trees must share ports,
/// it is [`Optimal`](super::Optimal)'s plan.
fn pace(instance: &Instance) -> Pace {
    let Instance { platform, .. } = *instance;
    let is_few = platform.node_count() <= balance::MOST_NODES;
    match is_few && platform.port_model() == PortModel::MultiPort && !must_share(instance) {
        true => Pace::of_optimum(instance),
        false => Pace::ByName,
    }
}
