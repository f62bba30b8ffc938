//! `best`: not a planner with an opinion. It runs the supported ones, tunes each one's segment size, simulates,
//! and keeps the fastest.
//!
//! Every planner enters with a sketch: one plan and a rough makespan. Then the entrant that may still turn out
//! fastest is looked at more closely, step by step, until the fastest is one that needs no closer look; the
//! others keep what is known of them. Planners that take their time enter only where there is something left
//! to gain over the bound.

use super::outcome::{finish, unsupported, Outcome, PassedOver, Spread, Tried};
use super::request::{Effort, SegmentChoice};
use super::segment_search::{search, sketch, Tuned};
use super::settings::{
    BOUND_PART, ENTRANTS_TOGETHER, FULL_TRANSFERS, MOST_LOOKS, SLOW_PART, TUNING_GAIN, WORTH_SEARCHING,
};
use crate::budget::Budget;
use crate::optimum::makespan_bound_within;
use crate::parallel;
use crate::plan::{Collective, Plan, PlanError};
use crate::planners::{plan_with, supports, Instance, Pace, Planner, BEST, LARGE_NODES, PLANNERS};

/// How closely an entrant has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    Sketched,
    /// Simulated at two lengths.
    Rough,
    /// The segment size searched, longer simulations.
    Tuned,
    Simulated,
}

struct Entrant {
    /// Its place in [`PLANNERS`].
    at: usize,
    look: Look,
    tuned: Tuned,
}

/// What became of one planner.
enum Attempt {
    Entered(Box<Entrant>),
    PassedOver(String),
}

struct Contest<'a> {
    instance: &'a Instance<'a>,
    segment: SegmentChoice,
    effort: Effort,
    /// Until the slow planners' turn, without what is kept for them.
    budget: Budget,
    entrants: Vec<Entrant>,
    passed_over: Vec<(usize, String)>,
    /// What no plan can beat, once it was asked for, seconds.
    bound_s: Option<f64>,
}

/// Plans with every planner that supports the instance and keeps the plan of the least makespan; of equal
/// ones the earlier planner's.
///
/// With a limit, planners that have not begun when it passes are passed over, except the first supported
/// one; without, the result depends on nothing but the arguments.
pub(super) fn plan(
    instance: &Instance,
    segment: SegmentChoice,
    effort: Effort,
    budget: &Budget,
) -> Result<Outcome, PlanError> {
    let of_pace = |paces: &[Pace]| -> Vec<usize> {
        (0..PLANNERS.len()).filter(|&at| paces.contains(&pace(PLANNERS[at], instance))).collect()
    };
    let (first, quick) = (of_pace(&[Pace::First]), of_pace(&[Pace::Quick]));
    let slow = of_pace(&[Pace::Slow, Pace::ByName]);
    let mut contest = Contest {
        instance,
        segment,
        effort,
        budget: if effort == Effort::Thorough { budget.without_last(SLOW_PART) } else { *budget },
        entrants: Vec::new(),
        passed_over: Vec::new(),
        bound_s: None,
    };
    if contest.is_large() {
        // All others together would take many times as long: what is likely to win is known to the end before.
        contest.enter(&first)?;
        contest.settle()?;
        contest.enter(&quick)?;
    } else {
        contest.enter(&[first, quick].concat())?;
    }
    contest.settle()?;
    contest.budget = *budget;
    if let Some(reason) = contest.reason_against_slow() {
        for at in slow {
            let unsupported = supports(PLANNERS[at], instance).err();
            contest.passed_over.push((at, unsupported.map_or(reason.clone(), |unsupported| unsupported.0)));
        }
    } else {
        contest.enter(&slow)?;
        contest.settle()?;
    }
    contest.outcome()
}

impl Contest<'_> {
    fn is_over(&self) -> bool {
        self.budget.is_spent()
    }

    /// The fastest as far as is known.
    fn fastest(&self) -> Option<&Entrant> {
        self.entrants
            .iter()
            .min_by(|a, b| a.tuned.makespan_s.total_cmp(&b.tuned.makespan_s).then(a.at.cmp(&b.at)))
    }

    fn reason_against_slow(&mut self) -> Option<String> {
        let fastest_s = self.fastest()?.tuned.makespan_s;
        if self.effort == Effort::Quick {
            return Some("takes longer than a quick search may".to_string());
        }
        let Instance { platform, root, message_bytes, collective, .. } = *self.instance;
        if collective != Collective::Bcast {
            return None;
        }
        let share = self.budget.divided(BOUND_PART);
        let bound_s =
            *self.bound_s.get_or_insert_with(|| makespan_bound_within(platform, root, message_bytes, &share));
        let gain = WORTH_SEARCHING * 100.0 - 100.0;
        (fastest_s <= bound_s * WORTH_SEARCHING)
            .then(|| format!("the best of the quick planners is within {gain:.0} % of the bound"))
    }

    /// Lets planners enter, with sketches of the quick ones and tuned plans of the others.
    fn enter(&mut self, planners: &[usize]) -> Result<(), PlanError> {
        let first = match self.entrants.is_empty() {
            true => planners.iter().copied().find(|&at| supports(PLANNERS[at], self.instance).is_ok()),
            false => None,
        };
        let attempts = parallel::map(planners, |&at| self.attempt(at, Some(at) == first));
        for (&at, attempt) in planners.iter().zip(attempts) {
            match attempt? {
                Attempt::Entered(entrant) => self.entrants.push(*entrant),
                Attempt::PassedOver(reason) => self.passed_over.push((at, reason)),
            }
        }
        Ok(())
    }

    fn attempt(&self, at: usize, must: bool) -> Result<Attempt, PlanError> {
        let planner = PLANNERS[at];
        if let Err(unsupported) = supports(planner, self.instance) {
            return Ok(Attempt::PassedOver(unsupported.to_string()));
        }
        if planner.card().profile.is_baseline {
            return Ok(Attempt::PassedOver("a baseline, planned only by name".to_string()));
        }
        if pace(planner, self.instance) == Pace::ByName {
            let reason = "takes long there; ask for it by name";
            return Ok(Attempt::PassedOver(reason.to_string()));
        }
        if !must && self.is_over() {
            return Ok(Attempt::PassedOver("the time limit was reached before its turn".to_string()));
        }
        match self.first_look(planner).map_err(|error| unsupported(planner.card().name, error)) {
            Ok((look, tuned)) => Ok(Attempt::Entered(Box::new(Entrant { at, look, tuned }))),
            // Some only find out while they plan, e.g. that a proof takes too long.
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

    fn first_look(&self, planner: &dyn Planner) -> Result<(Look, Tuned), PlanError> {
        let platform = self.instance.platform;
        if !planner.card().profile.is_quick(self.instance) {
            return Ok((Look::Tuned, self.tune(planner)?));
        }
        let Some(least_bytes) = self.searched_from(planner) else {
            let plan = plan_with(planner, &self.sized()?, &self.budget)?;
            return match self.effort {
                Effort::Quick => Ok((Look::Rough, Tuned::rough(platform, plan, &self.budget)?)),
                Effort::Thorough => Ok((Look::Tuned, Tuned::estimated(platform, plan, &self.budget)?)),
            };
        };
        let sketched = sketch(self.instance, planner, least_bytes, self.effort, &self.budget)?;
        if self.effort == Effort::Quick || self.is_large() {
            return Ok((Look::Sketched, sketched));
        }
        // Whoever compares planners reads the numbers of those that are not looked at again, too.
        Ok((Look::Rough, Tuned::estimated(platform, sketched.plan, &self.budget)?))
    }

    fn is_large(&self) -> bool {
        self.instance.platform.node_count() > LARGE_NODES
    }

    /// The plan that the planner by itself would make.
    fn tune(&self, planner: &dyn Planner) -> Result<Tuned, PlanError> {
        let tuned = match self.searched_from(planner) {
            Some(least_bytes) => search(self.instance, planner, least_bytes, Effort::Thorough, &self.budget)?,
            None => {
                let plan = plan_with(planner, &self.sized()?, &self.budget)?;
                Tuned::estimated(self.instance.platform, plan, &self.budget)?
            }
        };
        let (Effort::Thorough, Some(finish)) = (self.effort, planner.card().profile.finish) else {
            return Ok(tuned);
        };
        let finished = finish(self.instance, tuned.plan.clone());
        let finished = Plan { protocol: self.instance.protocol, ..finished };
        // What a planner adds at the end may hold for just that many segments: no estimate from fewer.
        if finished == tuned.plan || transfers(self.instance, &finished) > FULL_TRANSFERS {
            return Ok(tuned);
        }
        let finished = Tuned { plan: finished, makespan_s: tuned.makespan_s };
        Ok(finished.simulated(self.instance.platform, &self.budget)?.unwrap_or(tuned))
    }

    /// Looks closer at whatever may still be fastest, until the fastest needs no closer look.
    fn settle(&mut self) -> Result<(), PlanError> {
        for _ in 0..MOST_LOOKS / ENTRANTS_TOGETHER {
            let batch = self.unsettled();
            if batch.is_empty() || self.is_over() {
                break;
            }
            let closer = parallel::map(&batch, |&index| self.look_closer(&self.entrants[index]));
            for (index, looked) in batch.into_iter().zip(closer) {
                let entrant = &mut self.entrants[index];
                (entrant.look, entrant.tuned) = looked?;
            }
        }
        Ok(())
    }

    /// The entrants, most promising first, that may still beat the fastest settled one; none that are twins.
    fn unsettled(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.entrants.len()).collect();
        let hoped_s = |index: usize| self.hoped_s(&self.entrants[index]);
        order.sort_by(|&a, &b| {
            hoped_s(a).total_cmp(&hoped_s(b)).then(self.entrants[a].at.cmp(&self.entrants[b].at))
        });
        let mut batch: Vec<usize> = Vec::new();
        for index in order {
            let entrant = &self.entrants[index];
            if self.is_settled(entrant) {
                // Nothing behind it can hope to be faster.
                break;
            }
            let waits_for_twin = batch.iter().any(|&other| is_twin(&self.entrants[other], entrant));
            if !waits_for_twin {
                batch.push(index);
            }
            if batch.len() == ENTRANTS_TOGETHER {
                break;
            }
        }
        batch
    }

    fn is_settled(&self, entrant: &Entrant) -> bool {
        match self.effort {
            Effort::Quick => entrant.look >= Look::Rough || self.is_large(),
            Effort::Thorough => {
                entrant.look == Look::Simulated || (entrant.look == Look::Tuned && self.is_long(entrant))
            }
        }
    }

    /// Too long to be simulated in full.
    fn is_long(&self, entrant: &Entrant) -> bool {
        transfers(self.instance, &entrant.tuned.plan) > FULL_TRANSFERS
    }

    /// What an entrant's makespan may still come down to, seconds.
    fn hoped_s(&self, entrant: &Entrant) -> f64 {
        let gain = match (self.effort, entrant.look) {
            (Effort::Thorough, Look::Sketched | Look::Rough) => TUNING_GAIN,
            _ => 1.0,
        };
        entrant.tuned.makespan_s / gain
    }

    fn look_closer(&self, entrant: &Entrant) -> Result<(Look, Tuned), PlanError> {
        let platform = self.instance.platform;
        let plan = || entrant.tuned.plan.clone();
        if let Some(known) = self.known_from_twin(entrant)? {
            return Ok(known);
        }
        match entrant.look {
            Look::Sketched => Ok((Look::Rough, Tuned::rough(platform, plan(), &self.budget)?)),
            Look::Rough => Ok((Look::Tuned, self.tune(PLANNERS[entrant.at])?)),
            Look::Tuned | Look::Simulated => {
                let simulated = entrant.tuned.simulated(platform, &self.budget)?;
                Ok(simulated.map_or((entrant.look, entrant.tuned.clone()), |tuned| (Look::Simulated, tuned)))
            }
        }
    }

    /// Several planners often find the same trees: what is known of another one's plan holds for this one's,
    /// if it makes the same plan for that segment size too.
    fn known_from_twin(&self, entrant: &Entrant) -> Result<Option<(Look, Tuned)>, PlanError> {
        let known_better = |other: &&Entrant| other.look >= Look::Tuned && other.look > entrant.look;
        for other in self.entrants.iter().filter(known_better) {
            let known = &other.tuned;
            if !is_same_way(&entrant.tuned.plan, &known.plan) {
                continue;
            }
            let planner = PLANNERS[entrant.at];
            let plan = match entrant.look {
                Look::Tuned => entrant.tuned.plan.clone(),
                _ => plan_with(planner, &self.instance.segmented(known.plan.segment_bytes), &self.budget)?,
            };
            if is_same_way(&plan, &known.plan) && plan.segment_bytes == known.plan.segment_bytes {
                return Ok(Some((other.look, Tuned { plan, makespan_s: known.makespan_s })));
            }
        }
        Ok(None)
    }

    fn outcome(mut self) -> Result<Outcome, PlanError> {
        self.entrants.sort_by_key(|entrant| entrant.at);
        self.passed_over.sort_by_key(|&(at, _)| at);
        let name = |at: usize| PLANNERS[at].card().name;
        let passed_over: Vec<PassedOver> = self
            .passed_over
            .iter()
            .map(|(at, reason)| PassedOver { name: name(*at), reason: reason.clone() })
            .collect();
        let spread = Spread::of(self.instance, self.effort, &self.budget);
        let finished: Result<Vec<(Plan, Tried)>, PlanError> = parallel::map(&self.entrants, |entrant| {
            let is_simulated = entrant.look == Look::Simulated;
            finish(self.instance, name(entrant.at), &entrant.tuned, is_simulated, &spread)
        })
        .into_iter()
        .collect();
        let (mut plans, tried): (Vec<Plan>, Vec<Tried>) = finished?.into_iter().unzip();
        // The first of equal ones, as min_by keeps it.
        let fastest = (0..plans.len()).min_by(|&a, &b| tried[a].makespan_s.total_cmp(&tried[b].makespan_s));
        let Some(fastest) = fastest else {
            let reason = passed_over.first().map_or(String::new(), |first| first.reason.clone());
            return Err(PlanError::Unsupported { planner: BEST.to_string(), reason });
        };
        let mut plan = plans.swap_remove(fastest);
        plan.predicted.bound_s = self.bound_s;
        Ok(Outcome { plan, tried, passed_over })
    }
}

fn pace(planner: &dyn Planner, instance: &Instance) -> Pace {
    (planner.card().profile.pace)(instance)
}

fn transfers(instance: &Instance, plan: &Plan) -> u64 {
    plan.segment_count().saturating_mul(instance.platform.node_count() as u64)
}

/// Whether one closer look tells about both.
fn is_twin(a: &Entrant, b: &Entrant) -> bool {
    a.look >= Look::Rough && a.look == b.look && is_same_way(&a.tuned.plan, &b.tuned.plan)
}

/// Whether two plans send the same way, segment sizes apart.
fn is_same_way(a: &Plan, b: &Plan) -> bool {
    a.combine == b.combine && a.protocol == b.protocol && a.trees == b.trees && a.period == b.period
}
