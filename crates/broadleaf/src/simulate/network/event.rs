//! What happens in the simulated network, and when.

use crate::platform::NodeId;
use ordered_float::OrderedFloat;
use std::cmp::Reverse;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// `node` may send to `to` again.
    Free { node: NodeId, to: NodeId },
    /// The flight is at the end of its hop.
    Arrived { flight: u32 },
    /// The receiver has combined the flight's segments.
    Combined { flight: u32 },
}

/// The greatest event is the next one: the earliest, and of simultaneous ones the first scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// When, seconds, and a number in order of scheduling.
    pub due: Reverse<(OrderedFloat<f64>, u64)>,
    pub happening: Happening,
}

impl Event {
    pub fn at_s(&self) -> f64 {
        self.due.0 .0.into_inner()
    }
}
