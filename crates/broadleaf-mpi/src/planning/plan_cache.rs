//! The plans that a communicator's ranks have in use.

use crate::rank_plan::carried::Carried;
use crate::rank_plan::part::Part;
use broadleaf::adapt::switch;
use std::sync::Arc;

pub type PlanVersions = switch::PlanVersions<Carried>;
pub type Current = switch::Current<Carried>;

/// This rank's part in the plan in use.
pub fn part(current: &Current) -> Part {
    Part::new(&current.carried, Arc::clone(&current.programs), Arc::clone(&current.program))
}
