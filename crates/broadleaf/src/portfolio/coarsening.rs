//! Larger segments than the model's optimum: predictions lack the cost of a message on a busy machine, and a plan of
//! few messages hardly depends on it.

use super::make::make;
use super::request::{Effort, SegmentChoice};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::Instance;
use crate::platform::Platform;
use crate::simulate::estimate;

/// The limits of coarsening.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coarsening {
    /// The least segment size, except for shorter messages.
    pub least_bytes: u64,
    /// The largest segment size.
    pub most_bytes: u64,
    /// The cost that fewer, larger segments may add, as a part of the predicted time.
    pub worth: f64,
}

impl Coarsening {
    /// For idle machines: without a start-up cost the best size is the smallest, hardly better than one twenty times
    /// as large, which is far less work for every host on the way.
    pub const IDLE: Coarsening = Coarsening { least_bytes: 1, most_bytes: u64::MAX, worth: 0.003 };
    /// For machines that are busy with a program: smaller segments are mostly headers on the wire, about 150 bytes
    /// each with TCP, IP, Ethernet and the MPI's own; beyond the largest size, a segment's handling is negligible
    /// beside its bytes.
    pub const BUSY: Coarsening = Coarsening { least_bytes: 2 << 10, most_bytes: 32 << 10, worth: 0.03 };
}

/// The plan in the largest segments whose predicted extra cost is within the limit.
///
/// # Errors
///
/// What simulating the plan on the platform fails with, such as a host that cannot reach the next.
pub fn coarsened(platform: &Platform, plan: Plan, coarsening: Coarsening) -> Result<Plan, PlanError> {
    let most_bytes = coarsening.most_bytes.min(plan.message_bytes);
    let mut chosen = plan;
    let mut next_bytes = 2 * chosen.segment_bytes;
    let least_bytes = coarsening.least_bytes.min(chosen.message_bytes);
    if chosen.segment_bytes < least_bytes {
        chosen = in_segments(platform, &chosen, least_bytes)?;
        next_bytes = 2 * least_bytes;
    }
    let allowed_s = (1.0 + coarsening.worth) * estimate(platform, &chosen)?;
    while chosen.segment_bytes < most_bytes {
        let coarser = in_segments(platform, &chosen, next_bytes.min(most_bytes))?;
        // A planner may support only some sizes.
        if coarser.segment_bytes <= chosen.segment_bytes || estimate(platform, &coarser)? > allowed_s {
            break;
        }
        next_bytes = 2 * coarser.segment_bytes;
        chosen = coarser;
    }
    Ok(chosen)
}

/// The same in segments of another size; a timetable, or a plan that combines segments, is computed again for them.
fn in_segments(platform: &Platform, plan: &Plan, segment_bytes: u64) -> Result<Plan, PlanError> {
    if plan.period.is_none() && plan.pattern.is_none() && !plan.combine {
        return Ok(Plan { segment_bytes, ..plan.clone() });
    }
    let broadcast = Instance::new(platform, plan.root, plan.message_bytes)?;
    let instance = Instance {
        collective: plan.collective,
        weights: plan.weights.as_deref(),
        protocol: plan.protocol,
        seed: plan.seed,
        ..broadcast
    };
    let segment = SegmentChoice::Bytes(segment_bytes);
    make(&instance, &plan.planner, segment, Effort::Quick, &Budget::UNLIMITED).map(|made| made.plan)
}
