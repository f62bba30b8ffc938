//! The number of segments with the least makespan by a planner's model.

use crate::budget::Budget;
use crate::planners::Instance;
use std::collections::BTreeMap;

/// A search by doubling and halving, since a makespan has nearly a single minimum over the number of segments.
pub(super) struct SegmentCounts {
    /// Where the search starts.
    pub start: u64,
    /// Twice as many messages must be quicker by this factor: hosts have to handle them.
    pub worth_twice: f64,
    /// The factor beyond `many_messages` messages in all.
    pub worth_many: f64,
    pub many_messages: u64,
}

impl SegmentCounts {
    /// The count of at most `most` segments by `modelled_s`: the makespan of an instance in that many segments, seconds.
    /// The best so far, or the start, when a time limit is over.
    pub fn best(
        &self,
        instance: &Instance,
        most: u64,
        budget: &Budget,
        modelled_s: impl Fn(&Instance, u64) -> f64,
    ) -> u64 {
        let mut known: BTreeMap<u64, f64> = BTreeMap::new();
        let mut makespan_s = |count: u64| {
            *known.entry(count).or_insert_with(|| {
                let sized = instance.segmented(instance.message_bytes.div_ceil(count));
                modelled_s(&sized, count)
            })
        };
        let hosts = instance.platform.hosts().count() as u64;
        let worth = |count: u64| {
            if 2 * count * hosts > self.many_messages {
                self.worth_many
            } else {
                self.worth_twice
            }
        };
        let is_over = || budget.is_timed() && budget.is_spent();
        let mut best = self.start.min(most);
        while 2 * best <= most && !is_over() && makespan_s(2 * best) < makespan_s(best) / worth(best) {
            best *= 2;
        }
        while best > 1 && !is_over() && makespan_s(best / 2) <= makespan_s(best) * worth(best / 2) {
            best /= 2;
        }
        best
    }
}
