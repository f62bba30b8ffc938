//! The segment size of the least predicted makespan.
//!
//! Small segments fill a pipeline early and pay more start-ups, large ones the reverse: on a pipeline
//! of depth d with T(s) = a + b·s the makespan is about (d + m/s)·(a + b·s), whose minimum is flat. So the
//! search brackets over segment counts 1, 2, 4 … and then halves the step around the best. Counts rather
//! than sizes, since of all sizes that make k segments the smallest, ⌈m/k⌉, is the best.

use super::request::Effort;
use super::segment_counts::SegmentCounts;
use super::settings::{
    DEEP_SEGMENTS_PER_NODE, FIRST_PLAN, FIRST_PLAN_PART, FURTHER_PLAN_PART, HALVINGS, LARGE_SKETCH_FACTOR,
    OTHER_TREES, REFINED_MINIMA, ROUGH_SEGMENTS, SKETCH_FACTOR, SKETCH_SEGMENTS, WORTH_LEAVING,
    WORTH_REFINING,
};
use super::timing::Timing;
use super::tuned::Tuned;
use super::unwaiting::{steady_s, unwaiting_s};
use crate::budget::Budget;
use crate::plan::{Direction, Plan, PlanError};
use crate::planners::{plan_with, Instance, Planner, LARGE_NODES};
use crate::platform::PortModel;
use crate::simulate::estimate_from;

/// A sketch, and whether its segment size is the one that the planner's model chose, so that no search follows.
pub(super) struct Sketch {
    pub tuned: Tuned,
    pub is_sized: bool,
}

/// Searches the segment size of a segmentable planner, from `least_bytes` on.
///
/// Stops early, with the best so far, when the budget is spent.
pub(super) fn search(
    instance: &Instance,
    planner: &dyn Planner,
    least_bytes: u64,
    effort: Effort,
    budget: &Budget,
) -> Result<Tuned, PlanError> {
    let counts = SegmentCounts::new(instance, planner, least_bytes);
    if let Some(count) = counts.known(budget) {
        let sized = instance.segmented(counts.segment_bytes(count));
        return Tuned::estimated(Timing::of(instance), routed(planner, &sized, budget)?, budget);
    }
    match effort {
        Effort::Thorough => thorough(instance, planner, counts, budget),
        Effort::Quick => {
            let sketched = sketch(instance, planner, least_bytes, effort, f64::INFINITY, budget)?;
            let sketched = sketched.expect("there is nothing to beat");
            Tuned::rough(Timing::of(instance), sketched.tuned.plan, budget)
        }
    }
}

/// The planner's plan, routed: each of its estimates would find the paths again.
///
/// Turned round, a timetable has the lags of the ways that were, and waits where others are longer. A reduction or an
/// all-reduce keeps it unless the same trees without one are clearly faster.
pub(super) fn routed(planner: &dyn Planner, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
    let plan = plan_with(planner, instance, budget)?.routed(instance.platform)?;
    let is_outward = instance.collective.direction() == Direction::Outward;
    // Measured under SMPI (`benches/smpi_sweep.py --collective reduce`): under multi-port, turns are worth keeping.
    let shares_ports = instance.platform.port_model() == PortModel::MultiPort;
    if is_outward || shares_ports || plan.period.is_none() || plan.pattern.is_some() {
        return Ok(plan);
    }
    let free = Plan { period: None, skip_busy: true, ..plan.clone() };
    let times_s = [&plan, &free].map(|plan| estimate_from(instance.timing(), plan, ROUGH_SEGMENTS, budget));
    match times_s {
        [Ok(timed_s), Ok(free_s)] if free_s < WORTH_LEAVING * timed_s => Ok(free),
        _ => Ok(plan),
    }
}

struct Search<'a> {
    instance: &'a Instance<'a>,
    planner: &'a dyn Planner,
    counts: SegmentCounts<'a>,
    budget: &'a Budget,
    /// The plan whose segment size is varied; `None`: each size gets its own plan.
    varied: Option<Plan>,
    best: Option<Tuned>,
    /// (count, makespan or a bound that exceeded the best then), by count.
    seen: Vec<(u64, f64)>,
}

impl Search<'_> {
    fn out_of_time(&self) -> bool {
        self.best.is_some() && self.budget.is_spent()
    }

    /// The predicted makespan with `count` segments, seconds.
    fn try_count(&mut self, count: u64) -> Result<f64, PlanError> {
        let count = self.counts.nearest(count);
        let at = match self.seen.binary_search_by_key(&count, |&(seen, _)| seen) {
            Ok(at) => return Ok(self.seen[at].1),
            Err(at) => at,
        };
        let segment_bytes = self.counts.segment_bytes(count);
        let plan = match &self.varied {
            Some(plan) => Plan { segment_bytes, ..plan.clone() },
            None => routed(self.planner, &self.instance.segmented(segment_bytes), self.budget)?,
        };
        let least_s = steady_s(self.instance.timing(), &plan)?;
        let best_s = self.best.as_ref().map_or(f64::INFINITY, |best| best.makespan_s);
        // The busiest resource alone takes longer than the best plan: no need to simulate.
        let makespan_s = if least_s > best_s {
            least_s
        } else if best_s.is_finite() {
            Timing::of(self.instance).estimate(&plan, self.budget)?
        } else {
            Tuned::estimated(Timing::of(self.instance), plan.clone(), self.budget)?.makespan_s
        };
        self.seen.insert(at, (count, makespan_s));
        if makespan_s < best_s {
            self.best = Some(Tuned { plan, makespan_s });
        }
        Ok(makespan_s)
    }

    /// Plans for `count` segments and varies that plan from now on: slow planners would otherwise spend the search's
    /// time on trees that hardly differ. Each plan of the search gets a part of the budget.
    fn vary(&mut self, count: u64) -> Result<(), PlanError> {
        let sized = self.instance.segmented(self.counts.segment_bytes(count));
        let share = match self.varied {
            None => self.budget.divided(FIRST_PLAN_PART).at_least(FIRST_PLAN),
            Some(_) => self.budget.divided(FURTHER_PLAN_PART),
        };
        let plan = routed(self.planner, &sized, &share)?;
        self.varied = Some(plan);
        self.seen.clear();
        Ok(())
    }

    /// Trees that are best for few segments branch, where with many segments a deep pipeline would end sooner:
    /// varying the former does not show whether the latter are better.
    fn go_deep(&mut self) -> Result<(), PlanError> {
        let Some(best) = &self.best else { return Ok(()) };
        let (best_s, count) = (best.makespan_s, self.counts.of_bytes(best.plan.segment_bytes));
        let wanted =
            (DEEP_SEGMENTS_PER_NODE * self.instance.platform.node_count() as u64).max(OTHER_TREES * count);
        let Some(many) = self.counts.bracket(2).into_iter().find(|&many| many >= wanted) else {
            return Ok(());
        };
        if self.out_of_time() {
            return Ok(());
        }
        self.vary(many)?;
        let (mut count, mut count_s) = (many, self.try_count(many)?);
        let further = self.counts.bracket(2).into_iter().filter(|&further| further > many);
        for further in further {
            if self.out_of_time() {
                return Ok(());
            }
            let further_s = self.try_count(further)?;
            if further_s >= count_s {
                break;
            }
            (count, count_s) = (further, further_s);
        }
        if count_s <= best_s * WORTH_REFINING {
            self.refine(count)?;
        }
        Ok(())
    }

    /// Halves the step around `count` until it is fine.
    fn refine(&mut self, count: u64) -> Result<(), PlanError> {
        let most = self.counts.most();
        let mut centre = count;
        let mut centre_s = self.try_count(centre)?;
        for halving in 1..=HALVINGS {
            let step = 2f64.powf(0.5f64.powi(halving as i32));
            let around = [(centre as f64 / step).round() as u64, (centre as f64 * step).round() as u64];
            for next in around {
                if self.out_of_time() {
                    return Ok(());
                }
                let next = next.clamp(1, most);
                let next_s = self.try_count(next)?;
                if next_s < centre_s {
                    (centre, centre_s) = (next, next_s);
                }
            }
        }
        Ok(())
    }
}

fn thorough(
    instance: &Instance,
    planner: &dyn Planner,
    counts: SegmentCounts,
    budget: &Budget,
) -> Result<Tuned, PlanError> {
    let mut search = Search { instance, planner, counts, budget, varied: None, best: None, seen: Vec::new() };
    match search_thoroughly(&mut search) {
        Err(PlanError::OutOfTime) => {}
        searched => searched?,
    }
    Ok(search.best.expect("one segment is always tried"))
}

fn search_thoroughly(search: &mut Search) -> Result<(), PlanError> {
    let Search { instance, planner, budget, .. } = *search;
    let mut bracket_s = Vec::new();
    let mut counts = search.counts.bracket(2);
    let middle = counts[counts.len() / 2];
    let is_quick = planner.card().profile.is_quick(instance);
    if !is_quick {
        search.vary(middle)?;
    }
    if budget.is_timed() {
        // From the middle outwards, so that a short budget is not spent on the ends, where the best size never is.
        counts.sort_by_key(|count| (count.ilog2().abs_diff(middle.ilog2()), *count));
    }
    for count in counts {
        if search.out_of_time() {
            break;
        }
        bracket_s.push((count, search.try_count(count)?));
    }
    bracket_s.sort_by_key(|&(count, _)| count);
    let minima = minima(&bracket_s);
    if !is_quick && !search.out_of_time() {
        search.vary(minima[0].0)?;
    }
    for (count, _) in minima {
        search.refine(count)?;
    }
    if !is_quick {
        search.go_deep()?;
    }
    Ok(())
}

/// The bracket's local minima that are worth refining, best first.
fn minima(bracket_s: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let at = |index: usize| bracket_s.get(index).map_or(f64::INFINITY, |&(_, makespan_s)| makespan_s);
    let mut minima: Vec<(u64, f64)> = (0..bracket_s.len())
        .filter(|&index| at(index) <= at(index.wrapping_sub(1)) && at(index) < at(index + 1))
        .map(|index| bracket_s[index])
        .collect();
    minima.sort_by(|a, b| a.1.total_cmp(&b.1));
    let best_s = minima.first().map_or(0.0, |&(_, makespan_s)| makespan_s);
    minima.retain(|&(_, makespan_s)| makespan_s <= best_s * WORTH_REFINING);
    minima.truncate(REFINED_MINIMA);
    minima
}

/// One plan, made for a medium segment size, with the best of few sizes.
///
/// A thorough sketch without a limit simulates each size roughly. A quick one simulates the first segment of a tree
/// and takes the rest at the steady rate, which needs no more work than a broadcast of one segment; where a period's
/// static order may make nodes wait, the steady rate is too optimistic, and it is simulated too. A size that cannot
/// be faster than `to_beat_s` is left out; `None` where none can.
pub(super) fn sketch(
    instance: &Instance,
    planner: &dyn Planner,
    least_bytes: u64,
    effort: Effort,
    to_beat_s: f64,
    budget: &Budget,
) -> Result<Option<Sketch>, PlanError> {
    let (platform, timing) = (instance.timing(), Timing::of(instance));
    let is_large = platform.node_count() > LARGE_NODES;
    let segments = SegmentCounts::new(instance, planner, least_bytes);
    let known = segments.known(budget);
    let counts = match known {
        Some(count) => vec![count],
        None => segments.bracket(if is_large { LARGE_SKETCH_FACTOR } else { SKETCH_FACTOR }),
    };
    let middle = counts[counts.len() / 2];
    let plan = routed(planner, &instance.segmented(segments.segment_bytes(middle)), budget)?;
    let has_time = effort == Effort::Thorough && !is_large && !budget.is_timed();
    let is_simulated = plan.period.is_some() || has_time;
    // The lags of a period that no pattern stands for are those of one segment size.
    let has_lags = plan.period.is_some() && plan.pattern.is_none();
    let mut best: Option<Tuned> = None;
    for count in counts {
        // Each further plan would be late; a limit of work is for the searches inside it.
        if has_lags && best.is_some() && budget.is_timed() && budget.is_spent() {
            break;
        }
        let segment_bytes = segments.segment_bytes(segments.nearest(count));
        let plan = match has_lags {
            true => routed(planner, &instance.segmented(segment_bytes), budget)?,
            false => Plan { segment_bytes, ..plan.clone() },
        };
        // The busiest resource alone takes longer than the plan to beat.
        if steady_s(platform, &plan)? >= to_beat_s {
            continue;
        }
        let makespan_s = match is_simulated {
            true => match timing.estimate_from(&plan, SKETCH_SEGMENTS, budget) {
                Err(PlanError::OutOfTime) if best.is_some() => break,
                estimated => Tuned::in_any_case(platform, plan.clone(), estimated)?.makespan_s,
            },
            false => unwaiting_s(timing, &plan, budget)?,
        };
        if best.as_ref().is_none_or(|best| makespan_s < best.makespan_s) {
            best = Some(Tuned { plan, makespan_s });
        }
    }
    if let Some(best) = &mut best {
        // Trees for segments of another size may be far slower.
        if has_time && !has_lags && best.plan.segment_bytes != plan.segment_bytes {
            best.plan = routed(planner, &instance.segmented(best.plan.segment_bytes), budget)?;
        }
    }
    Ok(best.map(|tuned| Sketch { tuned, is_sized: known.is_some() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planners::PLANNERS;
    use crate::platform::{NodeId, Platform};
    use std::time::Duration;

    /// The runtime's first plan has a tenth of a second; its sizes must not be tried from the ends inwards.
    #[test]
    fn a_search_that_is_out_of_time_has_begun_in_the_middle() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "meshes": [{"nodes": ["a", "b", "c"], "link": {"bandwidth_bytes_per_s": 1e8, "startup_s": 1e-5}}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let instance = Instance::new(&platform, NodeId(0), 16 << 20).unwrap();
        for name in ["optimal", "chain"] {
            let planner = PLANNERS.iter().find(|planner| planner.card().name == name).unwrap();
            let found =
                search(&instance, *planner, 1, Effort::Thorough, &Budget::within(Duration::ZERO)).unwrap();
            let thorough = search(&instance, *planner, 1, Effort::Thorough, &Budget::UNLIMITED).unwrap();
            assert!(found.plan.segment_bytes < 1 << 20, "{name}: {}", found.plan.segment_bytes);
            let (ours, theirs) = (found.makespan_s, thorough.makespan_s);
            assert!(ours < 1.2 * theirs, "{name}: {ours} s, {theirs} s with all the time");
        }
    }
}
