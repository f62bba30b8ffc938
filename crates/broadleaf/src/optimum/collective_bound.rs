//! The bound of every collective: those of its outward form, on the network of that form.

use super::makespan_bound::one_message_bound_s;
use super::{allgather_bound_s, allreduce_bound_s, scatter_bound_s};
use crate::budget::Budget;
use crate::plan::Collective;
use crate::platform::{NodeId, Platform};

/// A lower bound on the time of the collective, seconds; 0 for an empty one. `weights` by node are those of
/// [`Plan::weights`](crate::plan::Plan::weights). If the budget is spent first, the bound is lower but valid.
///
/// Played backwards, an inward plan is an outward one on the reversed network.
pub fn collective_bound_s(
    platform: &Platform,
    collective: Collective,
    root: NodeId,
    message_bytes: u64,
    weights: Option<&[f64]>,
    budget: &Budget,
) -> f64 {
    let outward = if collective.is_inward() { platform.reversed() } else { platform };
    match collective.outward() {
        Collective::Scatter => scatter_bound_s(outward, collective, root, message_bytes, weights, budget),
        Collective::Allgather => allgather_bound_s(outward, collective, message_bytes, weights, budget),
        Collective::Allreduce => allreduce_bound_s(outward, root, message_bytes, budget),
        _ => one_message_bound_s(outward, collective.is_inward(), root, message_bytes, budget),
    }
}
