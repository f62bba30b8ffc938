//! What can stop a broadcast.

use broadleaf::adapt::switch::Stray;

/// An MPI error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiError(pub i32);

/// A malformed message from a rank of the same job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rank sent a malformed {0}")]
pub struct Malformed(pub &'static str);

/// Why a broadcast stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("an MPI call failed with code {0}")]
    Mpi(i32),
    #[error("{0}")]
    Internal(String),
    /// Ranks called with blocks of different lengths.
    #[error("blocks of different lengths")]
    WrongLength,
    /// Caught, and printed by the panic itself.
    #[error("a fault of our own")]
    Panicked,
}

impl From<MpiError> for CallError {
    fn from(error: MpiError) -> Self {
        CallError::Mpi(error.0)
    }
}

impl From<Stray> for CallError {
    fn from(error: Stray) -> Self {
        CallError::Internal(error.to_string())
    }
}

impl From<Malformed> for CallError {
    fn from(error: Malformed) -> Self {
        CallError::Internal(error.to_string())
    }
}
