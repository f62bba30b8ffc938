//! Calls inside a host: of a rank that another one leads, and of all where an earlier call has said enough.

use super::Session;
use crate::memory::{Group, Heard, Inside};
use crate::outcome::Outcome;
use crate::stats;
use crate::transport::CallError;
use broadleaf::adapt::switch::kind;

impl Session {
    /// By the MPI's own broadcast, unannounced. C does the same by itself where nothing is kept of the call.
    pub(super) unsafe fn go_ahead(
        &mut self,
        packed: *mut u8,
        bytes: u64,
        root: u32,
    ) -> Result<Outcome, CallError> {
        if self.keeps_stats || self.tracer.is_some() {
            self.ran.clone_from(&self.ran_before);
        }
        self.mpi.broadcast(packed, bytes, root)?;
        let leads = self.rank == root;
        if self.group.as_ref().is_some_and(|group| group.lease().was_right(leads)) {
            return Ok(Outcome::Done);
        }
        self.attend(packed, bytes, root)
    }

    /// The part of a rank that another one of its host leads.
    pub(super) unsafe fn attend(
        &mut self,
        packed: *mut u8,
        bytes: u64,
        root: u32,
    ) -> Result<Outcome, CallError> {
        let call = self.calls;
        let Some(group) = &mut self.group else {
            return Err(CallError::Internal("a rank without shared memory is served by it".to_string()));
        };
        group.arrive();
        let announced = match group.hear(&self.mpi, call)? {
            Heard::Announced(announced) => announced,
            Heard::Ahead { bytes } => {
                self.mpi.broadcast(vec![0; bytes as usize].as_mut_ptr(), bytes, root)?;
                return Ok(Outcome::WrongLength);
            }
        };
        if announced.call != call || announced.root != root {
            return Err(CallError::Internal(format!(
                "this host is in broadcast {} from root {}, rank {} in broadcast {call} from root {root}",
                announced.call, announced.root, self.rank
            )));
        }
        let inside = Group::inside(&announced)?;
        let outcome = match inside {
            Inside::Messages => {
                group.finish(false);
                return self.follow(packed, bytes, root);
            }
            Inside::Own => Outcome::Own,
            Inside::Memory => {
                let fits = bytes == announced.bytes;
                group.take(&self.mpi, &announced, if fits { packed } else { std::ptr::null_mut() })?;
                if self.keeps_stats || self.tracer.is_some() {
                    self.ran = stats::Ran::heard(&announced);
                    if announced.leased > 0 {
                        self.ran_before.clone_from(&self.ran);
                    }
                }
                if fits {
                    Outcome::Done
                } else {
                    Outcome::WrongLength
                }
            }
        };
        group.finish(false);
        self.book.entry(kind(root, announced.bytes), call);
        Ok(outcome)
    }
}
