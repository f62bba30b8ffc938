//! Reasons why a platform cannot be tuned for.

use crate::plan::PlanError;

/// A choice that cannot be made, in one line.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum TuneError {
    #[error("{platform}: {fact}; {remedy}")]
    Platform { platform: String, fact: String, remedy: &'static str },
    #[error("unknown MPI \"{0}\"; use openmpi or mpich")]
    UnknownMpi(String),
    #[error("{0}")]
    BadRequest(String),
    #[error(transparent)]
    Plan(#[from] PlanError),
}
