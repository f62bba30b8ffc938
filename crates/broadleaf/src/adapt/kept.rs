//! The plan in use for messages of one kind, and earlier ones that may be faster again.

use crate::plan::Plan;
use std::collections::VecDeque;
use std::sync::Arc;

/// Earlier plans kept for each key.
const MOST_EARLIER: usize = 8;

/// The plans for one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// The plan in use, if the advisor knows it.
    pub plan: Option<Arc<Plan>>,
    pub earlier: VecDeque<Arc<Plan>>,
    /// The versions of the estimates at the last planning and at the last reconsideration.
    pub planned_at: Option<u64>,
    pub reconsidered_at: Option<u64>,
}

impl Kept {
    /// Keeps a plan for later, unless an equal one is kept; the oldest is dropped.
    pub fn keep(&mut self, plan: Arc<Plan>) {
        let is_like = |other: &Arc<Plan>| {
            other.segment_bytes == plan.segment_bytes
                && other.trees == plan.trees
                && other.period == plan.period
        };
        if self.earlier.iter().any(is_like) {
            return;
        }
        if self.earlier.len() == MOST_EARLIER {
            self.earlier.pop_front();
        }
        self.earlier.push_back(plan);
    }
}
