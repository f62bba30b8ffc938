//! The fastest plans of a choice, in segments of other sizes.

use super::{
    Choice, Timed, ABOUT_EQUAL, LEAST_SIMULATED_BYTES, MOST_REFINED, MOST_SKIPPING, PARTS, WORTH_REFINING,
};
use crate::planning::adjust::longest_segment_bytes;
use broadleaf::plan::Plan;
use broadleaf::planners::find;
use broadleaf::portfolio::Coarsening;

impl Choice<'_> {
    /// Outside simulated time processors limit short segments, which the prediction does not know: there the fastest is tried
    /// in longer ones, and in shorter ones unless it has blocks; a timetable in neither.
    pub(super) fn refine(&mut self) {
        let mut timed = std::mem::take(&mut self.timed);
        timed.sort_by(|one, other| self.compared_s(one).total_cmp(&self.compared_s(other)));
        self.timed = timed;
        if !self.is_simulated {
            let Some(Timed { plan, .. }) = self.timed.first().filter(|one| one.plan.period.is_none()) else {
                return;
            };
            let candidates = self.timed.len();
            if plan.block_bytes().is_none() {
                self.shorten_segments(vec![0], |from, _| (1.0 - Coarsening::BUSY.worth) * from.taken_s);
            }
            // Shorter ones that were kept are worth their messages.
            if self.timed.len() == candidates {
                self.lengthen_segments(0);
            }
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
    pub(super) fn shorten_segments(
        &mut self,
        mut open: Vec<usize>,
        tolerated_s: impl Fn(&Timed, f64) -> f64,
    ) {
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

    /// In segments of twice the size, and so on, while half the messages make up for the time.
    fn lengthen_segments(&mut self, mut at: usize) {
        let Coarsening { most_bytes, worth, .. } = Coarsening::BUSY;
        loop {
            let Timed { taken_s, plan, .. } = &self.timed[at];
            let longer_bytes = (2 * plan.segment_bytes).min(longest_segment_bytes(plan)).min(most_bytes);
            if longer_bytes <= plan.segment_bytes {
                return;
            }
            let longest_s = taken_s / (1.0 - worth);
            let Some(longer) = self.in_segments(plan, longer_bytes) else { return };
            match self.timed_within((longer, longer_bytes), longest_s, &self.left.clone()) {
                Ok(Some(longer)) => self.timed.push(longer),
                _ => return,
            }
            at = self.timed.len() - 1;
        }
    }

    /// The position of the fastest; of about equal ones of the one with the least work.
    pub(super) fn next_of(&self, open: &[usize]) -> Option<usize> {
        let taken_s = |position: &usize| self.timed[open[*position]].taken_s;
        let fastest_s = (0..open.len()).map(|position| taken_s(&position)).fold(f64::INFINITY, f64::min);
        let about_equal = (0..open.len()).filter(|position| taken_s(position) <= ABOUT_EQUAL * fastest_s);
        about_equal.min_by_key(|&position| self.timed[open[position]].work)
    }

    /// In segments of half the size, or of the planned size where that is between.
    pub(super) fn in_half(&self, from: &Timed) -> Option<Plan> {
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
    pub(super) fn in_segments(&self, plan: &Plan, segment_bytes: u64) -> Option<Plan> {
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
