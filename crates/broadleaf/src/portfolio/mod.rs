//! The portfolio: runs the registry's planners on an instance, gives each plan its best segment size, and keeps
//! the fastest. Planners know nothing of it.

mod best;
mod make;
mod segment_search;

pub(crate) use segment_search::{HANDLING_S, MOST_SEGMENTS};

pub use make::{make, Effort, Outcome, PassedOver, SegmentChoice, Tried};
