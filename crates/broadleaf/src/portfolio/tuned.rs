//! A plan and its predicted makespan: estimated from short simulations, or simulated from end to end.

use super::settings::ROUGH_SEGMENTS;
use super::timing::Timing;
use super::unwaiting::unsimulated_s;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::platform::Platform;

/// A plan and its predicted makespan, seconds.
#[derive(Clone, Debug)]
pub(super) struct Tuned {
    pub plan: Plan,
    pub makespan_s: f64,
}

impl Tuned {
    /// The plan with its makespan from two simulations that reach the steady state; without a budget for them, from
    /// the way of one segment and the steady rate.
    pub fn estimated(timing: Timing, plan: Plan, budget: &Budget) -> Result<Tuned, PlanError> {
        let estimated = timing.estimate(&plan, budget);
        Tuned::in_any_case(timing.platform(), plan, estimated)
    }

    /// The same from shorter simulations.
    pub fn rough(timing: Timing, plan: Plan, budget: &Budget) -> Result<Tuned, PlanError> {
        let estimated = timing.estimate_from(&plan, ROUGH_SEGMENTS, budget);
        Tuned::in_any_case(timing.platform(), plan, estimated)
    }

    /// The plan with that estimate, or one without a simulation if there was no time for it.
    pub fn in_any_case(
        platform: &Platform,
        plan: Plan,
        estimated: Result<f64, PlanError>,
    ) -> Result<Tuned, PlanError> {
        let makespan_s = match estimated {
            Err(PlanError::OutOfTime) => unsimulated_s(platform, &plan)?,
            estimated => estimated?,
        };
        Ok(Tuned { plan, makespan_s })
    }

    /// The same trees through their roots, if heads exchange and that is slower: in a pipeline they may hold each other's ports
    /// while their other children contribute.
    pub fn or_through_roots(self, timing: Timing, budget: &Budget) -> Result<Tuned, PlanError> {
        if self.plan.inward.iter().all(|tree| tree.exchange.is_empty()) {
            return Ok(self);
        }
        let mut plan = self.plan.clone();
        plan.inward.iter_mut().for_each(|tree| tree.exchange.clear());
        match timing.estimate(&plan, budget) {
            Ok(makespan_s) if makespan_s < self.makespan_s => Ok(Tuned { plan, makespan_s }),
            Ok(_) | Err(PlanError::OutOfTime) => Ok(self),
            Err(error) => Err(error),
        }
    }

    /// The makespan by other times, such as without the hosts' time to handle messages, seconds: simulated from end to end
    /// or estimated.
    pub fn on(&self, timing: Timing, is_simulated: bool, budget: &Budget) -> Result<f64, PlanError> {
        let simulated = if is_simulated { self.simulated(timing, budget)? } else { None };
        simulated.map_or_else(|| self.estimated_again(timing, budget), |simulated| Ok(simulated.makespan_s))
    }

    /// The estimated makespan, seconds; where the budget leaves nothing for it, the present one, which is nearer than a
    /// time without any waiting.
    pub fn estimated_again(&self, timing: Timing, budget: &Budget) -> Result<f64, PlanError> {
        match timing.estimate(&self.plan, budget) {
            Err(PlanError::OutOfTime) => Ok(self.makespan_s),
            estimated => estimated,
        }
    }

    /// With its makespan simulated from end to end, if the budget permits.
    pub fn simulated(&self, timing: Timing, budget: &Budget) -> Result<Option<Tuned>, PlanError> {
        match timing.makespan(&self.plan, budget) {
            Err(PlanError::OutOfTime) => Ok(None),
            makespan_s => Ok(Some(Tuned { plan: self.plan.clone(), makespan_s: makespan_s? })),
        }
    }
}
