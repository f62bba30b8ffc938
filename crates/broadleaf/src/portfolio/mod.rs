//! The portfolio: runs the registry's planners on an instance, gives each plan its best segment size, and keeps
//! the fastest. Planners do not depend on it.

mod best;
mod coarsening;
mod entrant;
mod make;
mod outcome;
mod request;
mod segment_counts;
mod segment_search;
mod settings;
mod timing;
mod tuned;
mod unwaiting;

pub(crate) use settings::MOST_SEGMENTS;

pub use coarsening::{coarsened, Coarsening};
pub use make::{make, planned, planned_by};
pub use outcome::{Outcome, PassedOver, Tried};
pub use request::{Effort, SegmentChoice};
pub use timing::compared;
