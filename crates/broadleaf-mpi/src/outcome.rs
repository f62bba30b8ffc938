//! The outcome of a collective call, as returned to C.

use crate::error::CallError;
use crate::report;

/// How a broadcast ended at this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The data is there.
    Done,
    /// All ranks use the MPI's own broadcast for this call.
    Own,
    /// As `Own`, because of a setting that has been reported.
    BadValue,
    /// This rank's length is not the root's.
    WrongLength,
    /// A rank without memory for its part has left out its contribution.
    NoMemory,
    /// An MPI error code.
    Mpi(i32),
    /// A bug in Broadleaf; reported.
    Internal,
}

impl Outcome {
    pub fn from_error(error: &CallError) -> Outcome {
        match error {
            CallError::Mpi(code) => Outcome::Mpi(*code),
            CallError::WrongLength => Outcome::WrongLength,
            CallError::Panicked => Outcome::Internal,
            CallError::Internal(fact) => {
                report::once(&format!("internal error: {fact}; please report it"));
                Outcome::Internal
            }
        }
    }
}
