//! The choice among plans by their times on ports that messages share.

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
use broadleaf::simulate::transfers_of;

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

    /// The time by which plans are compared, seconds. Outside simulated time, processors handle every message: twice as many have to
    /// gain as much as segments of half the size. A message too long for its handling to matter counts as several.
    fn compared_s(&self, one: &Timed) -> f64 {
        if self.is_simulated {
            return one.taken_s;
        }
        let Coarsening { most_bytes, worth, .. } = Coarsening::BUSY;
        let messages = transfers_of(self.instance.platform, &one.plan).max(1) as f64;
        let messages = messages * (one.plan.segment_bytes as f64 / most_bytes as f64).max(1.0);
        one.taken_s / (1.0 - worth).powf(messages.log2())
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
        let taken_s = self.ports.seconds(&as_run, longest_s, budget)?;
        let work = self.left.done() - before;
        Ok(taken_s.is_finite().then_some(Timed { taken_s, work, plan, planned_bytes, is_cut: false }))
    }

    /// Outside simulated time processors limit short segments, which the prediction does not know: only the fastest is tried
    /// in shorter ones there, unless it is a timetable or has blocks.
    fn refine(&mut self) {
        let mut timed = std::mem::take(&mut self.timed);
        timed.sort_by(|one, other| self.compared_s(one).total_cmp(&self.compared_s(other)));
        self.timed = timed;
        if !self.is_simulated {
            let can_be_shorter = |one: &Timed| one.plan.period.is_none() && one.plan.block_bytes().is_none();
            let open = self.timed.first().filter(|one| can_be_shorter(one)).map(|_| 0);
            self.shorten_segments(open.into_iter().collect(), |from, _| {
                (1.0 - Coarsening::BUSY.worth) * from.taken_s
            });
            return;
        }
        let mut open: Vec<usize> = (0..self.timed.len().min(MOST_REFINED)).collect();
        for at in open.clone().into_iter().take(MOST_SKIPPING) {
            let Some(skipping) = with_skips(&self.timed[at]) else { continue };
            let longest_s = self.timed[at].taken_s;
            let timed = self.timed_within(skipping, longest_s, &self.left.divided(PARTS)).unwrap_or_default();
            open.extend(timed.is_some().then_some(self.timed.len()));
            self.timed.extend(timed);
        }
        // Half the size may be slower and a quarter faster.
        self.shorten_segments(open, |_, fastest_s| WORTH_REFINING * fastest_s);
    }

    /// The fastest first, while there is work left. `open`: indices of plans. `tolerated_s`: the longest time of a plan in shorter
    /// segments, from the plan that it was and the fastest time.
    fn shorten_segments(&mut self, mut open: Vec<usize>, tolerated_s: impl Fn(&Timed, f64) -> f64) {
        while let Some(next) = self.next_of(&open) {
            let at = open.swap_remove(next);
            let from = self.timed[at].clone();
            let Some(shorter) = self.in_half(&from) else { continue };
            // The simulation of a segment of half the size takes twice the work at least.
            if 2 * from.work > self.left.left() {
                self.timed[at].is_cut = true;
                continue;
            }
            let fastest_s = self.fastest_s();
            let Coarsening { least_bytes, worth, .. } = Coarsening::BUSY;
            let has_to_gain = shorter.segment_bytes < least_bytes;
            let longest_s =
                if has_to_gain { (1.0 - worth) * fastest_s } else { tolerated_s(&from, fastest_s) };
            match self.timed_within((shorter, from.planned_bytes), longest_s, &self.left.clone()) {
                Ok(timed) => {
                    open.extend(timed.is_some().then_some(self.timed.len()));
                    self.timed.extend(timed);
                }
                Err(_) => self.timed[at].is_cut = true,
            }
        }
    }

    /// The position of the fastest; of about equal ones of the one with the least work.
    fn next_of(&self, open: &[usize]) -> Option<usize> {
        let taken_s = |position: &usize| self.timed[open[*position]].taken_s;
        let fastest_s = (0..open.len()).map(|position| taken_s(&position)).fold(f64::INFINITY, f64::min);
        let about_equal = (0..open.len()).filter(|position| taken_s(position) <= ABOUT_EQUAL * fastest_s);
        about_equal.min_by_key(|&position| self.timed[open[position]].work)
    }

    /// In segments of half the size, or of the planned size where that is between.
    fn in_half(&self, from: &Timed) -> Option<Plan> {
        let Timed { plan, planned_bytes, .. } = from;
        let usual_bytes = Coarsening::BUSY.least_bytes;
        let goes_below = self.is_simulated && plan.segment_bytes <= usual_bytes;
        let least_bytes = if goes_below { LEAST_SIMULATED_BYTES } else { usual_bytes };
        if plan.segment_bytes <= least_bytes {
            return None;
        }
        let half = least_bytes.max(plan.segment_bytes.div_ceil(2));
        let is_longer = plan.segment_bytes > *planned_bytes;
        let shorter = self.in_segments(plan, if is_longer { half.max(*planned_bytes) } else { half });
        shorter.filter(|shorter| shorter.segment_bytes < plan.segment_bytes)
    }

    /// The same trees, or a timetable made again, with its turns or without as before.
    fn in_segments(&self, plan: &Plan, segment_bytes: u64) -> Option<Plan> {
        if plan.period.is_none() && !plan.combine {
            return Some(Plan { segment_bytes, ..plan.clone() });
        }
        let made = self.made(find(&plan.planner).ok()?, segment_bytes)?;
        let period = made.period.filter(|_| plan.period.is_some());
        Some(Plan { skip_busy: plan.skip_busy, period, ..made })
    }
}

fn with_skips(Timed { plan, planned_bytes, .. }: &Timed) -> Option<(Plan, u64)> {
    let may_skip = !plan.skip_busy && !plan.combine && plan.period.is_none() && plan.pattern.is_none();
    may_skip.then(|| (Plan { skip_busy: true, ..plan.clone() }, *planned_bytes))
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
