//! The options of planning, beside the instance.

use crate::plan::PlanError;
use crate::planners::Instance;

/// The choice of a plan's segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SegmentChoice {
    /// Searched for the least predicted makespan.
    #[default]
    Auto,
    /// As `Auto`, of sizes from that many bytes on; a message of less than twice as many stays whole. A planner whose
    /// number of segments must be a multiple of something rounds it up.
    AtLeast(u64),
    /// That many bytes, at most the whole message. Planners whose plans fix the segment size keep that size.
    Bytes(u64),
}

impl SegmentChoice {
    /// The smallest size to try, where the size is to be searched.
    pub(super) fn searched_from(self) -> Option<u64> {
        match self {
            SegmentChoice::Auto => Some(1),
            SegmentChoice::AtLeast(bytes) => Some(bytes.max(1)),
            SegmentChoice::Bytes(_) => None,
        }
    }

    /// The instance with the requested segment size, if any.
    pub(super) fn applied<'a>(self, instance: &Instance<'a>) -> Result<Instance<'a>, PlanError> {
        match self {
            SegmentChoice::Auto | SegmentChoice::AtLeast(_) => Ok(*instance),
            SegmentChoice::Bytes(0) => {
                Err(PlanError::BadRequest("a segment of 0 bytes; give at least 1 byte, or auto".to_string()))
            }
            SegmentChoice::Bytes(bytes) => Ok(instance.segmented(bytes)),
        }
    }
}

/// How much work planning may do, apart from its [`Budget`](crate::budget::Budget).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Effort {
    /// Every planner that supports the instance, fine segment search, the final plans simulated in full.
    #[default]
    Thorough,
    /// At most about 100 ms for 100 nodes: the quick planners, few segment sizes, short simulations. The
    /// work is counted, not timed, so the same instance always gives the same plan.
    Quick,
}
