//! The times by which plans are compared.
//!
//! Reduce-scatters are compared by their mirror, the all-gather, where ports serve several transfers at once. A
//! simulated port serves one contribution after the other, and what waits there in the order of the trees holds up all
//! that is combined with it; ranks have them all under way, and the ports share. On a fat tree of 64 hosts, the trees
//! that their mirror puts first take 0.864 ms for 64 KiB under SMPI (`benches/smpi_sweep.py --collective reduce-scatter
//! --networks fat-tree-64 --sizes 64KiB`).

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError};
use crate::planners::Instance;
use crate::platform::{Platform, PortModel};
use crate::simulate::{estimate_from, estimate_within, makespan};
use std::borrow::Cow;

/// The platform on which plans are simulated to compare them, and whether their mirrors are.
#[derive(Clone, Copy)]
pub(super) struct Timing<'a> {
    platform: &'a Platform,
    is_turned: bool,
}

impl<'a> Timing<'a> {
    /// For the plans of an instance.
    pub fn of(instance: &Instance<'a>) -> Timing<'a> {
        let platform = instance.timing();
        Timing { platform, is_turned: is_turned(platform, instance.collective) }
    }

    /// For the plan that is run: as it is, and without the hosts' times if these are assumed.
    pub fn of_run(instance: &Instance<'a>) -> Timing<'a> {
        Timing { platform: instance.platform, is_turned: false }
    }

    /// Whether plans are compared by other times than those of their run.
    pub fn is_apart(instance: &Instance) -> bool {
        instance.timed_on.is_some() || Timing::of(instance).is_turned
    }

    /// Not turned round.
    pub fn platform(&self) -> &'a Platform {
        self.platform
    }

    /// [`estimate_within`], seconds.
    pub fn estimate(&self, plan: &Plan, budget: &Budget) -> Result<f64, PlanError> {
        let (platform, plan) = self.simulated(plan);
        estimate_within(platform, &plan, budget)
    }

    /// [`estimate_from`], seconds.
    pub fn estimate_from(&self, plan: &Plan, segments: u64, budget: &Budget) -> Result<f64, PlanError> {
        let (platform, plan) = self.simulated(plan);
        estimate_from(platform, &plan, segments, budget)
    }

    /// [`makespan`], seconds.
    pub fn makespan(&self, plan: &Plan, budget: &Budget) -> Result<f64, PlanError> {
        let (platform, plan) = self.simulated(plan);
        makespan(platform, plan.into_owned(), budget)
    }

    fn simulated<'p>(&self, plan: &'p Plan) -> (&'a Platform, Cow<'p, Plan>) {
        match self.is_turned {
            true => compared(self.platform, plan),
            false => (self.platform, Cow::Borrowed(plan)),
        }
    }
}

/// The plan whose simulated time stands for that of `plan` in comparisons, and its platform.
pub fn compared<'a, 'p>(platform: &'a Platform, plan: &'p Plan) -> (&'a Platform, Cow<'p, Plan>) {
    if !is_turned(platform, plan.collective) {
        return (platform, Cow::Borrowed(plan));
    }
    let reversed = platform.reversed();
    (reversed, Cow::Owned(plan.mirrored(reversed)))
}

fn is_turned(platform: &Platform, collective: Collective) -> bool {
    collective == Collective::ReduceScatter && platform.port_model() == PortModel::MultiPort
}
