//! The choice among plans by their times on ports that messages share.

mod refine;
#[cfg(test)]
mod tests;

use super::adjust::{in_larger_segments, longest_segment_bytes, without_skips};
use super::as_run::predicted_s;
use super::shared_ports::SharedPorts;
use crate::smpi;
use crate::topology::placement::Placement;
use broadleaf::budget::{Budget, UNITS_PER_S};
use broadleaf::plan::{check, Plan, PlanError, Predicted};
use broadleaf::planners::{find, Instance, OptimalTrees, Planner};
use broadleaf::portfolio::{planned, planned_by, Coarsening, Outcome, Tried};
use broadleaf::simulate::{transfers_of, SharedRun};

/// Plans whose time in the model is longer than the least by this factor are left out; chosen, as is their number. Planners that
/// make the same plan count once, and so do its forms.
const NEAR: f64 = 1.6;
const MOST_PLANS: usize = 16;

/// Planners that take part however slow they are in the model, which makes many trees wait for each other, and even if `best`
/// passes over them since another plan seems to be as fast as the bound.
const ALWAYS: [&str; 3] = ["makespan", "optimal-trees", "site-packing-binomial"];

/// How many of the fastest plans are refined, and for how many of these `skip_busy` is tried. Chosen.
const MOST_REFINED: usize = 4;
const MOST_SKIPPING: usize = 2;
/// What takes longer in shorter segments than the fastest by this factor is dropped. Chosen.
const WORTH_REFINING: f64 = 1.15;

/// Candidates with more transfers are compared in longer segments, up to a block or a tree's part. Chosen: the simulation of
/// one takes about a tenth of a second.
const MOST_TRANSFERS: u64 = 24_000;

/// Of plans this near to each other, the one whose simulation is the least work is refined first. Chosen.
const ABOUT_EQUAL: f64 = 1.03;

/// The shortest segments tried under SMPI, where handling a message takes no processor time. Below the least of
/// [`Coarsening::BUSY`] they have to gain on the fastest plan: with twice the messages in flight SMPI runs several times as long.
/// Chosen.
const LEAST_SIMULATED_BYTES: u64 = 1 << 10;

/// A smaller gain of refining is rounding.
const LEAST_GAIN: f64 = 1e-3;

/// The work of all, and of making one plan again, units.
const WORK: u64 = 6 * UNITS_PER_S;
/// Under SMPI, where plans are refined further.
const SIMULATED_WORK: u64 = 12 * UNITS_PER_S;
const TO_MAKE: u64 = UNITS_PER_S;
/// A plan whose simulation takes more than this part of the work is left out, and a part is kept for refining.
const PARTS: u32 = 3;

/// A plan and its simulation on shared ports.
#[derive(Clone)]
struct Timed {
    taken_s: f64,
    /// As [`Choice::messages`] counts them.
    messages: f64,
    /// Of the simulation, units.
    work: u64,
    plan: Plan,
    /// The segment size that it was planned with.
    planned_bytes: u64,
    /// Whether there was no work left to simulate it in shorter segments.
    is_cut: bool,
}

/// The plans simulated so far, and those of them that were not much slower than the fastest.
struct Choice<'a> {
    instance: &'a Instance<'a>,
    ports: &'a SharedPorts<'a>,
    as_run: &'a dyn Fn(Plan) -> Plan,
    /// Whether ranks run in simulated time.
    is_simulated: bool,
    left: Budget,
    simulated: Vec<Plan>,
    timed: Vec<Timed>,
}

/// What is compared with a plan.
pub struct Others {
    /// The plans that are near the fastest in the model, fastest first.
    near: Vec<Plan>,
    /// Those of [`ALWAYS`] that are not.
    far: Vec<Plan>,
    passed_over: Vec<&'static str>,
}

impl Others {
    pub fn of(best: &Outcome) -> Others {
        let mut near: Vec<(f64, &Plan)> = best.tried.iter().map(Tried::compared_s).zip(&best.plans).collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        let longest_s = near.first().map_or(0.0, |&(fastest_s, _)| NEAR * fastest_s);
        let (near, far): (Vec<_>, Vec<_>) = near.into_iter().partition(|&(taken_s, _)| taken_s <= longest_s);
        let is_tried = |name: &&str| best.tried.iter().any(|one| one.name == *name);
        let takes_part = |plan: &&Plan| ALWAYS.contains(&&plan.planner[..]);
        Others {
            near: near.into_iter().map(|(_, plan)| plan.clone()).collect(),
            far: far.into_iter().map(|(_, plan)| plan).filter(takes_part).cloned().collect(),
            passed_over: ALWAYS.into_iter().filter(|name| !is_tried(name)).collect(),
        }
    }
}

/// Of `chosen`, `flat`, trees of even load and the others, the plan that is fastest on shared ports: in segments of half the size,
/// a quarter and so on where these are faster yet, and under SMPI with `skip_busy` where that is faster. `as_run`: a plan's
/// form as ranks run it. `chosen` where its simulation takes too long.
pub fn fastest_on_shared_ports(
    instance: &Instance,
    ports: &SharedPorts,
    (chosen, others): (Plan, Others),
    as_run: &dyn Fn(Plan) -> Plan,
) -> Plan {
    let mut choice = Choice::new((instance, ports), as_run, smpi::is_on());
    choice.consider(chosen.clone());
    if choice.timed.is_empty() {
        return chosen;
    }
    // A flat plan may have one segment, which is too short for several trees.
    let pipelined = others.near.iter().find(|plan| plan.segment_count() > 1);
    let segment_bytes =
        if chosen.segment_count() > 1 { &chosen } else { pipelined.unwrap_or(&chosen) }.segment_bytes;
    let mut compared = 0;
    for plan in others.near {
        let before = choice.simulated.len();
        choice.consider_all_ways(plan);
        compared += usize::from(choice.simulated.len() > before);
        if compared == MOST_PLANS {
            break;
        }
    }
    others.far.into_iter().for_each(|plan| choice.consider_all_ways(plan));
    for name in others.passed_over {
        find(name).into_iter().for_each(|planner| choice.consider_plan_of(planner, segment_bytes));
    }
    for count in OptimalTrees::FEW {
        choice.consider_plan_of(&OptimalTrees { count: Some(count) }, segment_bytes);
    }
    choice.consider_flat();
    choice.refine();
    let fastest = choice.fastest();
    if check::faults(instance.platform, &fastest).is_empty() {
        fastest
    } else {
        chosen
    }
}

impl<'a> Choice<'a> {
    fn new(
        (instance, ports): (&'a Instance<'a>, &'a SharedPorts<'a>),
        as_run: &'a dyn Fn(Plan) -> Plan,
        is_simulated: bool,
    ) -> Choice<'a> {
        let left = Budget::of_work(if is_simulated { SIMULATED_WORK } else { WORK });
        Choice { instance, ports, as_run, is_simulated, left, simulated: Vec::new(), timed: Vec::new() }
    }

    fn fastest_s(&self) -> f64 {
        self.timed.iter().map(|one| one.taken_s).fold(f64::INFINITY, f64::min)
    }

    /// The time by which plans are compared, seconds. In simulated time a message costs no processor time. Elsewhere twice the
    /// messages have to save 3 % ([`Coarsening::BUSY`]).
    fn compared_s(&self, one: &Timed) -> f64 {
        match self.is_simulated {
            true => one.taken_s,
            false => one.taken_s / (1.0 - Coarsening::BUSY.worth).powf(one.messages.max(1.0).log2()),
        }
    }

    /// A plan's messages, from those of its simulation. One of more than 32 KiB counts as several, since its bytes cost more than its
    /// handling.
    fn messages(&self, run: SharedRun, as_run: &Plan, (plan, planned_bytes): (&Plan, u64)) -> f64 {
        // Outside simulated time, what was compared in longer segments than planned is returned in the planned ones.
        let segment_bytes = plan.segment_bytes.min(planned_bytes);
        let returned = (self.as_run)(Plan { segment_bytes, ..plan.clone() });
        let more = as_run.segment_bytes as f64 / returned.segment_bytes.max(1) as f64;
        (run.messages as f64 * more).max(run.bytes as f64 / Coarsening::BUSY.most_bytes as f64)
    }

    /// The first of about equal ones, which is not a refined one. If it was compared in longer segments than planned, it has
    /// those of the planned size outside simulated time, and where there was no work left for shorter ones and the model's
    /// time is less.
    fn fastest(&self) -> Plan {
        let compared_s: Vec<f64> = self.timed.iter().map(|one| self.compared_s(one)).collect();
        let about_s = compared_s.iter().copied().fold(f64::INFINITY, f64::min) / (1.0 - LEAST_GAIN);
        let fastest = self.timed.iter().zip(compared_s).find(|&(_, compared_s)| compared_s <= about_s);
        let (Timed { plan, planned_bytes, is_cut, .. }, _) =
            fastest.expect("the plan chosen before is timed");
        if plan.segment_bytes <= *planned_bytes || (self.is_simulated && !is_cut) {
            return plan.clone();
        }
        let modelled_s = |plan: &Plan| {
            let plan = Plan { skip_busy: true, ..plan.clone() };
            predicted_s(self.instance.platform, &plan).unwrap_or(f64::INFINITY)
        };
        let gains = |planned: &Plan| modelled_s(planned) < (1.0 - Coarsening::BUSY.worth) * modelled_s(plan);
        let planned = self.in_segments(plan, *planned_bytes);
        planned.filter(|planned| !self.is_simulated || gains(planned)).unwrap_or_else(|| plan.clone())
    }

    fn made(&self, planner: &dyn Planner, segment_bytes: u64) -> Option<Plan> {
        let budget = Budget::of_work(TO_MAKE);
        let made = planned_by(self.instance, planner, segment_bytes, &budget);
        self.left.spend(budget.done());
        made.ok()
    }

    /// The work before refining.
    fn left_for_candidates(&self) -> Budget {
        self.left.without_last(PARTS)
    }

    fn consider_plan_of(&mut self, planner: &dyn Planner, segment_bytes: u64) {
        if self.left_for_candidates().is_spent() {
            return;
        }
        if let Some(plan) = self.made(planner, segment_bytes) {
            self.consider_all_ways(plan);
        }
    }

    /// A timetable with its turns and without; an exchange between heads, and the way through the roots.
    fn consider_all_ways(&mut self, plan: Plan) {
        if plan.period.is_some() {
            self.consider(plan.clone());
        }
        if plan.pattern.is_some() {
            return;
        }
        let free = Plan { period: None, ..without_skips(self.instance.platform, plan) };
        let Ok(free) = in_larger_segments(self.instance.platform, free) else { return };
        if free.inward.iter().any(|tree| !tree.exchange.is_empty()) {
            self.consider(through_roots(free.clone()));
        }
        self.consider(free);
    }

    /// Ports that serve one transfer at a time do not support it in every collective.
    fn consider_flat(&mut self) {
        let Choice { instance, ports, .. } = *self;
        let sharing = Instance { platform: ports.platform(), ..*instance };
        let budget = Budget::of_work(TO_MAKE);
        let flat = planned(&sharing, "flat", instance.message_bytes, &budget);
        self.left.spend(budget.done());
        let Ok(flat) = flat else { return };
        self.consider_all_ways(Plan { platform_digest: instance.platform.digest().to_string(), ..flat });
    }

    fn consider(&mut self, plan: Plan) {
        let left = self.left_for_candidates();
        if left.is_spent() {
            return;
        }
        let longest_s = WORTH_REFINING * self.fastest_s();
        let planned_bytes = plan.segment_bytes;
        let plan = self.in_few_transfers(plan);
        // A third of all the work at most.
        let timed = self.timed_within((plan, planned_bytes), longest_s, &left.divided(PARTS - 1));
        self.timed.extend(timed.unwrap_or_default());
    }

    fn in_few_transfers(&self, plan: Plan) -> Plan {
        let times = transfers_of(self.instance.platform, &plan).div_ceil(MOST_TRANSFERS).next_power_of_two();
        let longer_bytes = longest_segment_bytes(&plan).min(times.saturating_mul(plan.segment_bytes));
        if longer_bytes <= plan.segment_bytes {
            return plan;
        }
        let longer = self.in_segments(&plan, longer_bytes);
        longer.filter(|longer| longer.segment_bytes > plan.segment_bytes).unwrap_or(plan)
    }

    /// `None` if the plan has been simulated before or takes longer than that. Fails if its simulation takes too long.
    fn timed_within(
        &mut self,
        (plan, planned_bytes): (Plan, u64),
        longest_s: f64,
        budget: &Budget,
    ) -> Result<Option<Timed>, PlanError> {
        let as_run = (self.as_run)(plan.clone());
        let unnamed = unnamed(as_run.clone());
        if self.simulated.contains(&unnamed) {
            return Ok(None);
        }
        self.simulated.push(unnamed);
        let before = self.left.done();
        let run = self.ports.simulated(&as_run, longest_s, budget)?;
        let work = self.left.done() - before;
        let messages = self.messages(run, &as_run, (&plan, planned_bytes));
        let timed = Timed { taken_s: run.makespan_s, messages, work, plan, planned_bytes, is_cut: false };
        Ok(timed.taken_s.is_finite().then_some(timed))
    }
}

/// The times of two plans on shared ports, s; in the model, if either takes too long to simulate.
pub fn shared_or_predicted_s(placement: &Placement, plans: [&Plan; 2]) -> [f64; 2] {
    let (ports, budget) = (SharedPorts::new(placement), Budget::of_work(SIMULATED_WORK));
    let shared_s = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &budget.divided(PARTS));
    match plans.map(shared_s) {
        [Ok(one_s), Ok(other_s)] => [one_s, other_s],
        _ => plans.map(|plan| predicted_s(&placement.handled, plan).unwrap_or(f64::INFINITY)),
    }
}

/// A plan without what does not change how it is run.
fn unnamed(plan: Plan) -> Plan {
    Plan { planner: String::new(), seed: 0, predicted: Predicted::default(), ..plan }
}

/// The same trees without an exchange between heads.
fn through_roots(mut plan: Plan) -> Plan {
    plan.inward.iter_mut().for_each(|tree| tree.exchange.clear());
    plan
}
