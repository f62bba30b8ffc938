//! The choice among plans by their times on ports that messages share.

#[cfg(test)]
mod tests;

use super::adjust::{in_larger_segments, without_skips};
use super::as_run::predicted_s;
use super::shared_ports::SharedPorts;
use crate::smpi;
use crate::topology::placement::Placement;
use broadleaf::budget::{Budget, UNITS_PER_S};
use broadleaf::plan::{check, Plan, Predicted};
use broadleaf::planners::{find, Instance, OptimalTrees, Planner};
use broadleaf::portfolio::{planned, planned_by, Coarsening, Outcome, Tried};

/// Plans whose time in the model is longer than the least by this factor are left out; chosen, as is their number. Planners that
/// make the same plan count once, and so do its forms.
const NEAR: f64 = 1.6;
const MOST_PLANS: usize = 16;

/// Planners of one tree and of several that `best` passes over where another plan seems to be as fast as the bound.
const ALSO: [&str; 2] = ["makespan", "optimal-trees"];

/// The fastest plans are tried in shorter segments: at most this number, and none that take longer by more than this factor.
/// Chosen.
const MOST_SHORTENED: usize = 4;
const WORTH_SHORTENING: f64 = 1.15;

/// A smaller gain of shorter segments is rounding. Under SMPI, hosts take no time for a message, so any other counts.
const LEAST_GAIN: f64 = 1e-3;

/// The work of all, and of making one plan again, units.
const WORK: u64 = 6 * UNITS_PER_S;
const TO_MAKE: u64 = UNITS_PER_S;
/// A plan whose simulation takes more than this part of the work is left out, and a part is kept for shorter segments.
const PARTS: u32 = 3;

/// The plans simulated so far, and the times on shared ports, s, of those that were not much slower than the fastest.
struct Choice<'a> {
    instance: &'a Instance<'a>,
    ports: &'a SharedPorts<'a>,
    as_run: &'a dyn Fn(Plan) -> Plan,
    left: Budget,
    simulated: Vec<Plan>,
    timed: Vec<(f64, Plan)>,
}

/// What is compared with a plan.
pub struct Others {
    /// The plans that are near the fastest in the model, fastest first.
    near: Vec<Plan>,
    passed_over: Vec<&'static str>,
}

impl Others {
    pub fn of(best: &Outcome) -> Others {
        let mut near: Vec<(f64, &Plan)> = best.tried.iter().map(Tried::compared_s).zip(&best.plans).collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        let longest_s = near.first().map_or(0.0, |&(fastest_s, _)| NEAR * fastest_s);
        let near = near.into_iter().filter(|&(taken_s, _)| taken_s <= longest_s);
        let is_tried = |name: &&str| best.tried.iter().any(|one| one.name == *name);
        Others {
            near: near.map(|(_, plan)| plan.clone()).collect(),
            passed_over: ALSO.into_iter().filter(|name| !is_tried(name)).collect(),
        }
    }
}

/// Of `chosen`, `flat`, trees of even load and the others, the plan that is fastest on shared ports, in segments of half the size, a
/// quarter and so on where these are faster yet. `as_run`: a plan's form as ranks run it. `chosen` where its simulation takes too long.
pub fn fastest_on_shared_ports(
    instance: &Instance,
    ports: &SharedPorts,
    (chosen, others): (Plan, Others),
    as_run: &dyn Fn(Plan) -> Plan,
) -> Plan {
    let left = Budget::of_work(WORK);
    let of_chosen = as_run(chosen.clone());
    let Ok(chosen_s) = ports.seconds(&of_chosen, f64::INFINITY, &left.divided(PARTS)) else {
        return chosen;
    };
    // A flat plan may have one segment, which is too short for several trees.
    let pipelined = others.near.iter().find(|plan| plan.segment_count() > 1);
    let segment_bytes =
        if chosen.segment_count() > 1 { &chosen } else { pipelined.unwrap_or(&chosen) }.segment_bytes;
    let (simulated, timed) = (vec![unnamed(of_chosen)], vec![(chosen_s, chosen.clone())]);
    let mut choice = Choice { instance, ports, as_run, left, simulated, timed };
    let mut compared = 0;
    for plan in others.near {
        let before = choice.simulated.len();
        choice.consider_all_ways(plan);
        compared += usize::from(choice.simulated.len() > before);
        if compared == MOST_PLANS {
            break;
        }
    }
    for name in others.passed_over {
        find(name).into_iter().for_each(|planner| choice.consider_plan_of(planner, segment_bytes));
    }
    for count in OptimalTrees::FEW {
        choice.consider_plan_of(&OptimalTrees { count: Some(count) }, segment_bytes);
    }
    choice.consider_flat();
    choice.shorten_segments(smpi::is_on());
    let fastest = choice.fastest();
    if check::faults(instance.platform, &fastest).is_empty() {
        fastest
    } else {
        chosen
    }
}

impl Choice<'_> {
    fn fastest_s(&self) -> f64 {
        self.timed.iter().map(|&(taken_s, _)| taken_s).fold(f64::INFINITY, f64::min)
    }

    /// The first of equal ones.
    fn fastest(self) -> Plan {
        let fastest = self.timed.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
        fastest.map(|(_, plan)| plan).expect("the plan chosen before is timed")
    }

    fn made(&self, planner: &dyn Planner, segment_bytes: u64) -> Option<Plan> {
        let budget = Budget::of_work(TO_MAKE);
        let made = planned_by(self.instance, planner, segment_bytes, &budget);
        self.left.spend(budget.done());
        made.ok()
    }

    /// The work before shorter segments.
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

    /// A timetable with its turns and without; without turns, where a port serves one transfer at a time, with `skip_busy` and
    /// without, if ranks may run both.
    fn consider_all_ways(&mut self, plan: Plan) {
        if plan.period.is_some() {
            self.consider(plan.clone());
        }
        if plan.pattern.is_some() {
            return;
        }
        let free = Plan { period: None, ..plan };
        let Ok(free) = in_larger_segments(self.instance.platform, free) else { return };
        let waiting = without_skips(self.instance.platform, free.clone());
        for plan in [waiting, free] {
            if plan.inward.iter().any(|tree| !tree.exchange.is_empty()) {
                self.consider(through_roots(plan.clone()));
            }
            self.consider(plan);
        }
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
        // A third of all the work at most.
        if let Some(taken_s) = self.seconds_within(&plan, &left.divided(PARTS - 1)) {
            self.timed.push((taken_s, plan));
        }
    }

    /// The plan's time, s, unless it has been simulated before, takes much longer than the fastest, or its simulation takes
    /// too long.
    fn seconds_within(&mut self, plan: &Plan, budget: &Budget) -> Option<f64> {
        let as_run = (self.as_run)(plan.clone());
        let unnamed = unnamed(as_run.clone());
        if self.simulated.contains(&unnamed) {
            return None;
        }
        let longest_s = WORTH_SHORTENING * self.fastest_s();
        let taken_s = self.ports.seconds(&as_run, longest_s, budget);
        self.simulated.push(unnamed);
        taken_s.ok().filter(|taken_s| taken_s.is_finite())
    }

    /// Outside simulated time processors limit short segments, which the prediction does not know: only the fastest is tried
    /// in shorter ones there, unless it is a timetable or has blocks.
    fn shorten_segments(&mut self, is_simulated: bool) {
        self.timed.sort_by(|one, other| one.0.total_cmp(&other.0));
        let most = if is_simulated { MOST_SHORTENED } else { 1 };
        let mut near = self.timed[..self.timed.len().min(most)].to_vec();
        near.retain(|(_, plan)| is_simulated || (plan.period.is_none() && plan.block_bytes().is_none()));
        let worth = if is_simulated { LEAST_GAIN } else { Coarsening::BUSY.worth };
        for (taken_s, plan) in near {
            self.shorten_segments_of(taken_s, plan, worth);
        }
    }

    /// Hosts that are busy with a program handle more messages then, so it must be worth that.
    fn shorten_segments_of(&mut self, mut taken_s: f64, mut plan: Plan, worth: f64) {
        let Coarsening { least_bytes, .. } = Coarsening::BUSY;
        while plan.segment_bytes > least_bytes && !self.left.is_spent() {
            let Some(shorter) = self.in_segments(&plan, least_bytes.max(plan.segment_bytes / 2)) else {
                break;
            };
            match self.seconds_within(&shorter, &self.left.clone()) {
                Some(shorter_s) if shorter_s < (1.0 - worth) * taken_s => {
                    self.timed.push((shorter_s, shorter.clone()));
                    (taken_s, plan) = (shorter_s, shorter);
                }
                _ => break,
            }
        }
    }

    /// The same trees, or a timetable made again.
    fn in_segments(&self, plan: &Plan, segment_bytes: u64) -> Option<Plan> {
        if plan.period.is_none() && !plan.combine {
            return Some(Plan { segment_bytes, ..plan.clone() });
        }
        let made = self.made(find(&plan.planner).ok()?, segment_bytes)?;
        Some(made).filter(|made| made.segment_bytes < plan.segment_bytes)
    }
}

/// The times of two plans on shared ports, s; in the model, if either takes too long to simulate.
pub fn shared_or_predicted_s(placement: &Placement, plans: [&Plan; 2]) -> [f64; 2] {
    let (ports, budget) = (SharedPorts::new(placement), Budget::of_work(WORK));
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
