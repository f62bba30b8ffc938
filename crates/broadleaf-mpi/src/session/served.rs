//! A call at a rank whose host another one leads.

use super::Session;
use crate::error::CallError;
use crate::intranode::{Delivery, HostGroup};
use crate::observe::stats;
use crate::outcome::Outcome;
use broadleaf::adapt::switch::kind;

impl Session {
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
        let announced = group.hear(&self.mpi)?;
        if announced.call != call || announced.root != root {
            return Err(CallError::Internal(format!(
                "this host is in broadcast {} from root {}, rank {} in broadcast {call} from root {root}",
                announced.call, announced.root, self.rank
            )));
        }
        let inside = HostGroup::inside(&announced)?;
        let outcome = match inside {
            Delivery::Messages => {
                group.finish(false);
                return self.follow(packed, bytes, root);
            }
            Delivery::Native => Outcome::Own,
            Delivery::SharedMemory => {
                let fits = bytes == announced.bytes;
                group.take(&self.mpi, &announced, if fits { packed } else { std::ptr::null_mut() })?;
                if self.keeps_stats || self.tracer.is_some() {
                    self.ran = stats::Ran::heard(&announced);
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
