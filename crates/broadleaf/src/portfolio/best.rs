//! `best`: runs the supported planners, tunes each one's segment size, simulates, and keeps the fastest plan.
//!
//! Every planner enters with a sketch: one plan and a rough makespan. Then the entrant with the lowest possible
//! makespan is examined more closely, step by step, until the fastest one is final; the others keep their estimates.
//! Slow planners enter only where the bound leaves something to gain.

use super::entrant::{is_twin, pace, Attempt, Entrant, Look, Task};
use super::outcome::{finish, Outcome, PassedOver, Tried};
use super::request::{Effort, SegmentChoice};
use super::settings::{
    BOUND_PART, ENTRANTS_TOGETHER, MOST_CONFIRMED, MOST_LOOKS, MOST_NODES_ONE_BY_ONE, SLOW_PART,
    WORTH_SEARCHING,
};
use super::timing::Timing;
use crate::budget::Budget;
use crate::optimum::collective_bound_s;
use crate::parallel;
use crate::plan::{throughput, Collective, Plan, PlanError};
use crate::planners::{supports, Instance, Pace, BEST, PLANNERS};

const TOO_SLOW: &str = "takes longer than a quick search may";
const ONE_BY_ONE: &str = "plans for each of so many nodes by itself; ask for it by name";

struct Contest<'a> {
    task: Task<'a>,
    /// Until the slow planners' turn, without the part reserved for them.
    budget: Budget,
    entrants: Vec<Entrant>,
    passed_over: Vec<(usize, String)>,
    /// The bound, once it has been computed, seconds.
    bound_s: Option<f64>,
}

/// Plans with every planner that supports the instance and keeps the plan of the least makespan; of equal
/// ones the earlier planner's.
///
/// Planners that have not begun when the budget is spent are passed over, except the first supported one; so are all
/// others once the fastest plan is as good as the bound. The result depends only on the arguments, unless a time
/// limit ends the search.
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
    let (early, slow) = (of_pace(&[Pace::Early]), of_pace(&[Pace::Slow, Pace::ByName]));
    // Planners leave time for the loads of all plans and for the bound.
    let punctual = budget.punctual();
    let mut contest = Contest {
        task: Task { instance, segment, effort },
        budget: if effort == Effort::Thorough { punctual.without_last(SLOW_PART) } else { punctual.clone() },
        entrants: Vec::new(),
        passed_over: Vec::new(),
        bound_s: None,
    };
    if contest.task.is_large() {
        // All others together would take many times as long, so the likely winners are finished first.
        contest.enter(&first)?;
        contest.settle()?;
        match effort {
            Effort::Thorough => contest.enter_if_worthwhile(&early)?,
            Effort::Quick => contest.pass_over(&early, TOO_SLOW),
        }
        if contest.is_left_to(&early) {
            contest.pass_over(&[quick, slow].concat(), ONE_BY_ONE);
            return contest.outcome();
        }
        contest.enter_if_worthwhile(&quick)?;
    } else {
        contest.enter(&[first, quick].concat())?;
        contest.settle()?;
    }
    contest.budget = punctual;
    if effort == Effort::Quick {
        contest.pass_over(&slow, TOO_SLOW);
    } else {
        contest.enter_if_worthwhile(&slow)?;
    }
    contest.budget = budget.clone();
    contest.enter_in_any_case()?;
    contest.confirm()?;
    contest.outcome()
}

impl Contest<'_> {
    /// The fastest so far.
    fn fastest(&self) -> Option<&Entrant> {
        self.entrants
            .iter()
            .min_by(|a, b| a.tuned.makespan_s.total_cmp(&b.tuned.makespan_s).then(a.at.cmp(&b.at)))
    }

    /// Whether one of these planners takes part, among more nodes than the others may have.
    fn is_left_to(&self, planners: &[usize]) -> bool {
        let is_there = self.entrants.iter().any(|entrant| planners.contains(&entrant.at));
        is_there && self.task.instance.platform.node_count() > MOST_NODES_ONE_BY_ONE
    }

    /// Lets planners enter, and examines them closely, unless the bound leaves them nothing to gain.
    fn enter_if_worthwhile(&mut self, planners: &[usize]) -> Result<(), PlanError> {
        if self.is_near_bound() {
            let gain = WORTH_SEARCHING * 100.0 - 100.0;
            let reason = format!("the best of the planners before is within {gain:.0} % of the bound");
            self.pass_over(planners, &reason);
            return Ok(());
        }
        self.enter(planners)?;
        self.settle()
    }

    fn is_near_bound(&mut self) -> bool {
        let Some(fastest_s) = self.fastest().map(|fastest| fastest.tuned.makespan_s) else { return false };
        let Instance { root, message_bytes, collective, weights, .. } = *self.task.instance;
        let timing = self.task.instance.timing();
        if collective.outward() != Collective::Bcast {
            return false;
        }
        let share = self.budget.divided(BOUND_PART);
        let bound_s = || collective_bound_s(timing, collective, root, message_bytes, weights, &share);
        let bound_s = *self.bound_s.get_or_insert_with(bound_s);
        fastest_s <= bound_s * WORTH_SEARCHING
    }

    fn pass_over(&mut self, planners: &[usize], reason: &str) {
        for &at in planners {
            let unsupported = supports(PLANNERS[at], self.task.instance).err();
            self.passed_over.push((at, unsupported.map_or(reason.to_string(), |unsupported| unsupported.0)));
        }
    }

    /// Lets planners enter, with sketches of the quick ones and tuned plans of the others.
    fn enter(&mut self, planners: &[usize]) -> Result<(), PlanError> {
        let task = self.task;
        // Shares of the work are for planners that take part.
        let refusals = parallel::map(planners, |&at| task.refusal(at));
        let mut entering = Vec::new();
        for (&at, refusal) in planners.iter().zip(refusals) {
            match refusal {
                Some(reason) => self.passed_over.push((at, reason)),
                None => entering.push(at),
            }
        }
        let first = entering.first().copied().filter(|_| self.entrants.is_empty());
        // Comparisons show the numbers of slower planners too, on platforms with few hosts.
        let to_beat_s = match self.fastest() {
            Some(fastest) if task.is_large() => fastest.tuned.makespan_s,
            _ => f64::INFINITY,
        };
        let attempts = parallel::map_within(&entering, &self.budget, |&at, share| {
            task.attempt(at, Some(at) == first, to_beat_s, share)
        });
        for (at, attempt) in entering.into_iter().zip(attempts) {
            match attempt? {
                Attempt::Entered(entrant) => self.entrants.push(*entrant),
                Attempt::PassedOver(reason) => self.passed_over.push((at, reason)),
            }
        }
        Ok(())
    }

    /// Where a time limit has left no entrant, the flat tree: it needs one search of paths.
    fn enter_in_any_case(&mut self) -> Result<(), PlanError> {
        if !self.entrants.is_empty() || !self.budget.is_timed() {
            return Ok(());
        }
        let flat = PLANNERS.iter().position(|planner| planner.card().name == "flat").expect("a planner");
        if self.task.refusal(flat).is_some() {
            return Ok(());
        }
        if let Attempt::Entered(entrant) = self.task.attempt(flat, true, f64::INFINITY, &self.budget)? {
            self.passed_over.retain(|&(at, _)| at != flat);
            self.entrants.push(*entrant);
        }
        Ok(())
    }

    /// Examines entrants that may still be fastest, until the fastest is final.
    fn settle(&mut self) -> Result<(), PlanError> {
        for _ in 0..MOST_LOOKS / ENTRANTS_TOGETHER {
            let batch = self.unsettled();
            if batch.is_empty() || self.budget.is_spent() {
                break;
            }
            let (task, entrants) = (self.task, &self.entrants);
            let closer = parallel::map_within(&batch, &self.budget, |&index, share| {
                task.look_closer(&entrants[index], entrants, share)
            });
            for (index, looked) in batch.into_iter().zip(closer) {
                let entrant = &mut self.entrants[index];
                (entrant.look, entrant.tuned) = looked?;
            }
        }
        Ok(())
    }

    /// Simulates the fastest where the work was done before its turn, from end to end if possible: an estimate without any
    /// waiting may be far too low, and another plan is the fastest then. Each simulation has as much work as the bound.
    fn confirm(&mut self) -> Result<(), PlanError> {
        if self.task.effort == Effort::Quick || self.budget.is_timed() {
            return Ok(());
        }
        let whole = self.budget.done().saturating_add(self.budget.left());
        let part = || self.budget.at_least(whole / u64::from(BOUND_PART));
        let timing = Timing::of(self.task.instance);
        let mut confirmed = Vec::new();
        while let Some(fastest) = self.fastest().filter(|fastest| !confirmed.contains(&fastest.at)) {
            if confirmed.len() == MOST_CONFIRMED || self.task.is_settled(fastest) {
                break;
            }
            let at = fastest.at;
            let simulated = match self.task.is_long(fastest) {
                true => None,
                false => fastest.tuned.simulated(timing, &part())?,
            };
            let (look, makespan_s) = match simulated {
                Some(tuned) => (Look::Simulated, tuned.makespan_s),
                None => (fastest.look, fastest.tuned.estimated_again(timing, &part())?),
            };
            confirmed.push(at);
            let entrant = self.entrants.iter_mut().find(|entrant| entrant.at == at).expect("it takes part");
            (entrant.look, entrant.tuned.makespan_s) = (look, makespan_s);
        }
        Ok(())
    }

    /// The entrants, most promising first, that may still beat the fastest settled one; none that are twins.
    fn unsettled(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.entrants.len()).collect();
        let hoped_s = |index: usize| self.task.hoped_s(&self.entrants[index]);
        order.sort_by(|&a, &b| {
            hoped_s(a).total_cmp(&hoped_s(b)).then(self.entrants[a].at.cmp(&self.entrants[b].at))
        });
        let mut batch: Vec<usize> = Vec::new();
        for index in order {
            let entrant = &self.entrants[index];
            if self.task.is_settled(entrant) {
                // No later entrant can be faster.
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

    fn outcome(mut self) -> Result<Outcome, PlanError> {
        self.entrants.sort_by_key(|entrant| entrant.at);
        self.passed_over.sort_by_key(|&(at, _)| at);
        let name = |at: usize| PLANNERS[at].card().name;
        let passed_over: Vec<PassedOver> = self
            .passed_over
            .iter()
            .map(|(at, reason)| PassedOver { name: name(*at), reason: reason.clone() })
            .collect();
        let instance = self.task.instance;
        let throughputs =
            parallel::map(&self.entrants, |entrant| throughput(instance.platform, &entrant.tuned.plan));
        let finished = self.entrants.iter().zip(throughputs).map(|(entrant, bytes_per_s)| {
            let is_simulated = entrant.look == Look::Simulated;
            finish(instance, name(entrant.at), &entrant.tuned, (bytes_per_s?, is_simulated), &self.budget)
        });
        let finished: Vec<(Plan, Tried)> = finished.collect::<Result<_, _>>()?;
        let (plans, tried): (Vec<Plan>, Vec<Tried>) = finished.into_iter().unzip();
        // The first of equal ones, as min_by keeps it.
        let fastest =
            (0..plans.len()).min_by(|&a, &b| tried[a].compared_s().total_cmp(&tried[b].compared_s()));
        let Some(fastest) = fastest else {
            let reason = passed_over.first().map_or(String::new(), |first| first.reason.clone());
            return Err(PlanError::Unsupported { planner: BEST.to_string(), reason });
        };
        let mut plan = plans[fastest].clone();
        plan.predicted.bound_s = self.bound_s.filter(|_| plan.predicted.handled_s.is_none());
        Ok(Outcome { plan, tried, plans, passed_over, is_cut_by_time: false })
    }
}
