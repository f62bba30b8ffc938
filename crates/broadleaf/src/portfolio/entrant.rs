//! One planner in `best`'s comparison: the estimate of its plan, and the next closer look at it.

use super::outcome::unsupported;
use super::request::{Effort, SegmentChoice};
use super::segment_search::{routed, search, sketch};
use super::settings::{FINISHING_GAIN, FULL_TRANSFERS, SHORT_SEGMENTS, SIMULATION_GAIN, TUNING_GAIN};
use super::timing::Timing;
use super::tuned::Tuned;
use super::unwaiting::steady_s;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{finish_with, supports, Instance, Pace, Planner, Segmentation, LARGE_NODES, PLANNERS};

/// How closely an entrant has been examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    Sketched,
    /// As sketched, in the segments that the planner's model chose: the plan is final.
    Sized,
    /// Simulated at two lengths.
    Rough,
    /// The segment size searched, longer simulations.
    Tuned,
    Simulated,
}

pub(super) struct Entrant {
    /// Its place in [`PLANNERS`].
    pub at: usize,
    pub look: Look,
    pub tuned: Tuned,
}

/// The result of one planner.
pub(super) enum Attempt {
    Entered(Box<Entrant>),
    PassedOver(String),
}

/// The task, the same for all entrants.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub instance: &'a Instance<'a>,
    pub segment: SegmentChoice,
    pub effort: Effort,
}

impl Task<'_> {
    pub fn is_large(&self) -> bool {
        self.instance.platform.node_count() > LARGE_NODES
    }

    /// Why a planner does not take part, which is known without planning.
    pub fn refusal(&self, at: usize) -> Option<String> {
        let planner = PLANNERS[at];
        match supports(planner, self.instance) {
            Err(unsupported) => Some(unsupported.to_string()),
            Ok(()) if planner.card().profile.is_baseline => {
                Some("a baseline, planned only by name".to_string())
            }
            Ok(()) if pace(planner, self.instance) == Pace::ByName => {
                Some("takes long there; ask for it by name".to_string())
            }
            Ok(()) => None,
        }
    }

    /// `must`: even without a budget left. A planner whose plan cannot be faster than `to_beat_s` is passed over.
    pub fn attempt(
        &self,
        at: usize,
        must: bool,
        to_beat_s: f64,
        budget: &Budget,
    ) -> Result<Attempt, PlanError> {
        let planner = PLANNERS[at];
        if !must && budget.is_spent() {
            let reason = match budget.is_timed() {
                true => "the time limit was reached before its turn",
                false => "the search's work was done before its turn",
            };
            return Ok(Attempt::PassedOver(reason.to_string()));
        }
        match self
            .first_look(planner, to_beat_s, budget)
            .map_err(|error| unsupported(planner.card().name, error))
        {
            Ok(Some((look, tuned))) => Ok(Attempt::Entered(Box::new(Entrant { at, look, tuned }))),
            Ok(None) => {
                let reason = "its busiest port or link alone takes longer than the fastest plan";
                Ok(Attempt::PassedOver(reason.to_string()))
            }
            // Some planners fail only during planning, e.g. if a proof takes too long.
            Err(PlanError::Unsupported { reason, .. }) => Ok(Attempt::PassedOver(reason)),
            Err(error) => Err(error),
        }
    }

    /// The smallest segment to try, where the planner's segment size is to be searched.
    fn searched_from(&self, planner: &dyn Planner) -> Option<u64> {
        self.segment.searched_from().filter(|_| planner.card().profile.is_segmentable())
    }

    fn sized(&self) -> Result<Instance<'_>, PlanError> {
        self.segment.applied(self.instance)
    }

    fn first_look(
        &self,
        planner: &dyn Planner,
        to_beat_s: f64,
        budget: &Budget,
    ) -> Result<Option<(Look, Tuned)>, PlanError> {
        let timing = Timing::of(self.instance);
        if !planner.card().profile.is_quick(self.instance) {
            return Ok(Some((Look::Tuned, self.tune(planner, budget)?)));
        }
        let Some(least_bytes) = self.searched_from(planner) else {
            let plan = routed(planner, &self.sized()?, budget)?;
            if steady_s(timing.platform(), &plan)? >= to_beat_s {
                return Ok(None);
            }
            return Ok(Some(match self.effort {
                Effort::Quick => (Look::Rough, Tuned::rough(timing, plan, budget)?),
                Effort::Thorough => (Look::Tuned, Tuned::estimated(timing, plan, budget)?),
            }));
        };
        let sketched = sketch(self.instance, planner, least_bytes, self.effort, to_beat_s, budget)?;
        let Some(sketched) = sketched else { return Ok(None) };
        if self.effort == Effort::Quick || self.is_large() {
            let is_final = sketched.is_sized && self.is_large() && planner.card().profile.finish.is_none();
            let look = if is_final { Look::Sized } else { Look::Sketched };
            return Ok(Some((look, sketched.tuned)));
        }
        if budget.is_timed() && budget.is_spent() {
            return Ok(Some((Look::Sketched, sketched.tuned)));
        }
        // Comparisons also show the numbers of planners that are not examined again.
        Ok(Some((Look::Rough, Tuned::estimated(timing, sketched.tuned.plan, budget)?)))
    }

    /// The plan that the planner alone would make.
    fn tune(&self, planner: &dyn Planner, budget: &Budget) -> Result<Tuned, PlanError> {
        let tuned = match self.searched_from(planner) {
            Some(least_bytes) => search(self.instance, planner, least_bytes, Effort::Thorough, budget)?,
            None => {
                let plan = routed(planner, &self.sized()?, budget)?;
                Tuned::estimated(Timing::of(self.instance), plan, budget)?
            }
        };
        let tuned = tuned.or_through_roots(Timing::of(self.instance), budget)?;
        let finished = finish_with(planner, self.instance, &tuned.plan);
        let (Effort::Thorough, Some(finished)) = (self.effort, finished) else { return Ok(tuned) };
        // A planner's final step may apply to that number of segments only, so estimates from fewer are invalid.
        if finished == tuned.plan || transfers(self.instance, &finished) > FULL_TRANSFERS {
            return Ok(tuned);
        }
        let finished = Tuned { plan: finished, makespan_s: tuned.makespan_s };
        Ok(finished.simulated(Timing::of(self.instance), budget)?.unwrap_or(tuned))
    }

    pub fn is_settled(&self, entrant: &Entrant) -> bool {
        match self.effort {
            Effort::Quick => entrant.look >= Look::Rough || self.is_large(),
            Effort::Thorough => {
                entrant.look == Look::Simulated || (entrant.look == Look::Tuned && self.is_long(entrant))
            }
        }
    }

    /// Whether the plan is too long to be simulated in full.
    pub fn is_long(&self, entrant: &Entrant) -> bool {
        transfers(self.instance, &entrant.tuned.plan) > FULL_TRANSFERS
    }

    /// The lowest makespan that an entrant may still reach, seconds.
    pub fn hoped_s(&self, entrant: &Entrant) -> f64 {
        let is_finished = PLANNERS[entrant.at].card().profile.finish.is_some();
        let gain = match (self.effort, entrant.look) {
            (Effort::Thorough, Look::Rough) if is_finished => FINISHING_GAIN,
            (Effort::Thorough, Look::Sketched | Look::Sized | Look::Rough) => TUNING_GAIN,
            (Effort::Thorough, Look::Tuned) if is_unsteady(&entrant.tuned.plan) => SIMULATION_GAIN,
            _ => 1.0,
        };
        entrant.tuned.makespan_s / gain
    }

    pub fn look_closer(
        &self,
        entrant: &Entrant,
        others: &[Entrant],
        budget: &Budget,
    ) -> Result<(Look, Tuned), PlanError> {
        let timing = Timing::of(self.instance);
        let plan = || entrant.tuned.plan.clone();
        if let Some(known) = self.known_from_twin(entrant, others, budget)? {
            return Ok(known);
        }
        match entrant.look {
            Look::Sketched => Ok((Look::Rough, Tuned::rough(timing, plan(), budget)?)),
            // Two short simulations and a whole one take as long as the latter alone.
            Look::Sized if self.effort == Effort::Thorough && !self.is_long(entrant) => {
                match entrant.tuned.simulated(timing, budget)? {
                    Some(tuned) => Ok((Look::Simulated, tuned)),
                    None => Ok((Look::Tuned, entrant.tuned.clone())),
                }
            }
            Look::Sized => Ok((Look::Tuned, Tuned::estimated(timing, plan(), budget)?)),
            Look::Rough => Ok((Look::Tuned, self.tune(PLANNERS[entrant.at], budget)?)),
            Look::Tuned | Look::Simulated => {
                let simulated = entrant.tuned.simulated(timing, budget)?;
                Ok(simulated.map_or((entrant.look, entrant.tuned.clone()), |tuned| (Look::Simulated, tuned)))
            }
        }
    }

    /// Several planners often find the same trees: the estimate of another planner's plan applies to this one's, if
    /// it makes the same plan for that segment size too.
    fn known_from_twin(
        &self,
        entrant: &Entrant,
        others: &[Entrant],
        budget: &Budget,
    ) -> Result<Option<(Look, Tuned)>, PlanError> {
        let known_better = |other: &&Entrant| other.look >= Look::Tuned && other.look > entrant.look;
        for other in others.iter().filter(known_better) {
            let known = &other.tuned;
            if !is_same_way(&entrant.tuned.plan, &known.plan) {
                continue;
            }
            let planner = PLANNERS[entrant.at];
            let plan = match entrant.look {
                Look::Tuned => entrant.tuned.plan.clone(),
                // A size that was given or modelled may be far from the best of those that are searched.
                _ if is_searched(planner) && !is_searched(PLANNERS[other.at]) => continue,
                _ => routed(planner, &self.instance.segmented(known.plan.segment_bytes), budget)?,
            };
            if is_same_way(&plan, &known.plan) && plan.segment_bytes == known.plan.segment_bytes {
                return Ok(Some((other.look, Tuned { plan, makespan_s: known.makespan_s })));
            }
        }
        Ok(None)
    }
}

pub(super) fn pace(planner: &dyn Planner, instance: &Instance) -> Pace {
    planner.card().profile.pace_of(instance)
}

fn transfers(instance: &Instance, plan: &Plan) -> u64 {
    plan.segment_count().saturating_mul(instance.platform.node_count() as u64)
}

/// Whether two short simulations may miss the rate of a long one, and that does not take many times as long: trees that
/// compete for ports without turns.
fn is_unsteady(plan: &Plan) -> bool {
    plan.trees.len() > 1 && plan.period.is_none() && plan.segment_count() <= SHORT_SEGMENTS
}

/// Whether all numbers of segments are compared by their estimates.
fn is_searched(planner: &dyn Planner) -> bool {
    matches!(planner.card().profile.segments, Segmentation::Free)
}

/// Whether one closer look decides about both.
pub(super) fn is_twin(a: &Entrant, b: &Entrant) -> bool {
    a.look >= Look::Rough && a.look == b.look && is_same_way(&a.tuned.plan, &b.tuned.plan)
}

/// Whether two plans send the same way, segment sizes apart.
fn is_same_way(a: &Plan, b: &Plan) -> bool {
    let switches = |plan: &Plan| (plan.combine, plan.skip_busy);
    switches(a) == switches(b) && a.protocol == b.protocol && a.trees == b.trees && a.period == b.period
}
