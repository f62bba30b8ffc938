//! Reasons why a plan is refused or cannot be made.

use crate::json::Fault;

/// A plan that cannot be made, read or run, in one line.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum PlanError {
    #[error("{0}")]
    Document(#[from] Fault),
    #[error("{path}: {fault}")]
    File { path: String, fault: Fault },
    #[error("cannot read {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("the plan names node \"{id}\", which the platform does not have; plan again for this platform")]
    UnknownNode { id: String },
    #[error("the plan is not valid: {}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("no path leads from \"{from}\" to \"{to}\"; add a link or plan another tree")]
    NoPath { from: String, to: String },
    #[error(
        "the plan stops with {waiting} nodes waiting, \"{node}\" first; its period's orders block each other"
    )]
    Deadlock { node: String, waiting: usize },
    #[error("planner {planner} cannot plan this: {reason}")]
    Unsupported { planner: String, reason: String },
    #[error("the time limit was reached before there was a plan; give a longer one")]
    OutOfTime,
    #[error("unknown planner {name:?}; use one of {known}")]
    UnknownPlanner { name: String, known: String },
    #[error(transparent)]
    Platform(#[from] crate::platform::PlatformError),
    #[error("{0}")]
    BadRequest(String),
}
