//! A rule for the next send, as a planner.

use super::grid::Grid;
use super::sends::ClusterSend;
use super::units::Units;
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};

/// A rule with its card.
#[derive(Debug)]
pub struct Heuristic {
    pub(super) card: &'static Card,
    pub(super) rule: fn(&Grid) -> Vec<ClusterSend>,
}

impl Heuristic {
    /// The planner's name.
    pub fn name(&self) -> &'static str {
        self.card.name
    }

    /// The sends it makes, in its order; every cluster but the root receives once.
    pub fn sends(&self, grid: &Grid) -> Vec<ClusterSend> {
        (self.rule)(grid)
    }
}

impl Planner for Heuristic {
    fn card(&self) -> &'static Card {
        self.card
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        supports(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let units = Units::new(instance);
        let sends = self.sends(&units.grid);
        Ok(instance.tree_plan(self.card.name, units.graft(instance, &sends)))
    }
}

/// Up to this many different nodes a rule takes about a millisecond.
const QUICK_NODES: usize = 200;

/// The profile of every rule.
pub(super) const PROFILE: Profile = Profile {
    pace: |instance| Pace::uncounted(instance, instance.platform.node_count() <= QUICK_NODES),
    least_s,
    ..Profile::QUICK
};

/// Pairs of kinds whose gaps and latencies are found, and that a rule compares, in a second. Measured: 0.05 µs on a sparse
/// random network of 2,000 nodes, half more where rules look ahead (`benches/time_limits.py sparse-2000`).
const PAIRS_PER_S: f64 = 1.25e7;

/// The least time of a planner over the grid between clusters or hosts, seconds.
pub(super) fn least_s(instance: &Instance) -> f64 {
    (Units::count_kinds(instance) as f64).powi(2) / PAIRS_PER_S
}

/// The most kinds of clusters (or hosts): three matrices of this side take 0.4 GiB.
const MOST_KINDS: usize = 4096;

/// Whether the planners of this folder support an instance.
pub(super) fn supports(instance: &Instance) -> Result<(), Unsupported> {
    if instance.collective != Collective::Bcast {
        return Err(Unsupported(format!("it plans bcast, not {}", instance.collective)));
    }
    let kinds = Units::count_kinds(instance);
    if kinds > MOST_KINDS {
        return Err(Unsupported(format!(
            "{kinds} clusters or hosts with links of their own are more than {MOST_KINDS}; group them in \
             clusters, or describe equal links by meshes and bridges"
        )));
    }
    Ok(())
}
