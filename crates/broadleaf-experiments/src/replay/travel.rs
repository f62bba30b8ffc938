//! What a broadcast carries beside its data, and how much later the data arrive for that.
//!
//! Paper 3: "in addition to the propagation of the actual message during broadcast, information regarding the dynamic
//! tree should also be propagated to the nodes". It does not state how. Here the tree goes ahead of the data on the same
//! ways, and the broadcast has ended when all hosts have both; [`Travel::apart_s`] has the time if the tree were
//! broadcast by itself before.

use super::Program;
use broadleaf::plan::{Plan, PlanError};

/// The runtime's header of a call on every edge.
pub(super) const HEADER_BYTES: u64 = 48;

/// A host's parent in the paper's tree.
const PARENT_BYTES: u64 = 4;

/// About what the runtime sends of each tree for each node (children, child, windows), and of a period for each slot.
const NODE_BYTES: u64 = 12;
const SLOT_BYTES: u64 = 16;

/// The tree or plan that goes with a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Travel {
    /// In all, on each way.
    pub bytes: u64,
    /// How much later the last host has the message, seconds.
    pub seconds: f64,
    /// The same if it were a broadcast of its own that ends before the data begin, seconds.
    pub apart_s: f64,
}

/// The tree of every host's parent.
pub(super) fn tree_bytes(plan: &Plan) -> u64 {
    PARENT_BYTES * plan.nodes.len() as u64
}

/// A plan as the runtime sends it.
pub(super) fn plan_bytes(plan: &Plan) -> u64 {
    let slots = plan.period.as_ref().map_or(0, |period| period.slots.len());
    NODE_BYTES * (plan.trees.len() * plan.nodes.len()) as u64 + SLOT_BYTES * slots as u64
}

impl Program<'_> {
    /// Bytes ahead of the data of a plan that takes `data_s` without them.
    pub(super) fn ahead(&self, at_s: f64, plan: &Plan, data_s: f64, bytes: u64) -> Result<Travel, PlanError> {
        if bytes == 0 {
            return Ok(Travel::default());
        }
        let whole = plan.message_bytes + bytes;
        let is_whole = plan.segment_bytes >= plan.message_bytes;
        let segment_bytes = if is_whole { whole } else { plan.segment_bytes };
        let longer_s = self.trace(at_s, &Plan { segment_bytes, ..plan.resized(whole) }, false)?.makespan_s;
        let apart_s = self.alone_s(at_s, plan, bytes)?;
        Ok(Travel { bytes, seconds: (longer_s.max(apart_s) - data_s).max(0.0), apart_s })
    }

    /// The time of one message down a plan's first tree, seconds.
    fn alone_s(&self, at_s: f64, plan: &Plan, bytes: u64) -> Result<f64, PlanError> {
        let mut first = plan.trees[0].clone();
        first.share = 1.0;
        let (trees, segment_bytes) = (vec![first], bytes);
        let alone = Plan {
            trees: trees.into(),
            period: None,
            pattern: None,
            combine: false,
            segment_bytes,
            ..plan.resized(bytes)
        };
        Ok(self.trace(at_s, &alone, false)?.makespan_s)
    }
}
