//! A planner: a card, and a function from an instance to a plan.

use super::{Instance, Profile};
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError};

/// A planner's description, for people and for the portfolio. No defaults: an undocumented planner does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// As on the command line.
    pub name: &'static str,
    /// What it builds, in one sentence.
    pub summary: &'static str,
    /// The paper and section it comes from.
    pub reference: &'static str,
    /// What it optimises: makespan or throughput, of what.
    pub objective: &'static str,
    /// What is proved about its plans, or "none".
    pub guarantee: &'static str,
    /// Planning time, n = nodes, k = segments.
    pub complexity: &'static str,
    /// The properties that decide how it is run; [`Profile::QUICK`] for most.
    pub profile: Profile,
}

/// Why a planner does not support an instance; not an error of the instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// An algorithm that plans broadcasts, other outward collectives, or all-reduces.
pub trait Planner: Sync {
    /// The planner's card.
    fn card(&self) -> &'static Card;

    /// Whether [`Planner::plan`] takes the instance; never panics.
    ///
    /// # Errors
    /// Why the planner refuses the instance.
    fn supports(&self, instance: &Instance) -> Result<(), Unsupported>;

    /// The outward collectives it plans; their mirrors come for free ([`plan_with`](super::plan_with)). With all-reduce
    /// among them it plans the way in and the way out together, else they are planned apart.
    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast]
    }

    /// The outward collectives from whose plans all-reduces are made; of these, the first that it plans for an instance. An
    /// all-gather comes before a broadcast, since it moves less through each port where a broadcast has one tree.
    fn all_reduce_from(&self) -> &'static [Collective] {
        &[Collective::Allgather, Collective::Bcast]
    }

    /// A valid plan; without a limit to the budget the same instance and seed give the same bytes.
    ///
    /// # Errors
    ///
    /// [`PlanError::Unsupported`] for reasons found only during planning, such as a proof that does not end in time.
    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError>;
}
