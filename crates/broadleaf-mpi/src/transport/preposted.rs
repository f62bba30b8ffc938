//! Receives posted before the call's header has come.
//!
//! A large message is sent only once its receive is posted. If that waited for the header, every hop would take
//! another latency. So a rank that has a plan for the root and length it was called with posts the receives for them
//! at once; the header then only confirms them. Where lengths differ, which is an error of the program, no message
//! has matched these receives, since the tags depend on the root's length: they are withdrawn. Headers are received
//! from any rank: another length may have another plan, where another rank sends them.

use super::requests::Purpose;
use super::MpiTransport;
use crate::error::CallError;
use broadleaf::adapt::switch::Header;
use broadleaf::execute::{NodeExecutor, Transport};

impl MpiTransport<'_> {
    /// Posts the receives of the headers that [`MpiTransport::next_header`] gives, and of the first segments.
    pub fn post_ahead(
        &mut self,
        executor: &mut NodeExecutor,
        headers: usize,
        call: u64,
    ) -> Result<(), CallError> {
        for _ in 0..headers {
            self.control.expect_header(&mut self.requests, None, call)?;
        }
        while let Some(receive) = executor.poll_receive() {
            self.post_receive(&receive)?;
        }
        Ok(())
    }

    /// Waits for the next expected header; other completions are kept for the executor.
    pub fn next_header(&mut self) -> Result<(u32, Header), CallError> {
        loop {
            if let Some(header) = self.control.take_header() {
                return Ok(header);
            }
            let mut early = std::mem::take(&mut self.early);
            self.progress(&mut early, true)?;
            self.early = early;
        }
    }

    /// Withdraws the posted receives, after a header of another broadcast; returns the headers that have come
    /// meanwhile.
    pub fn withdraw(&mut self) -> Result<Vec<(u32, Header)>, CallError> {
        let mut strayed = self.early.len();
        for (purpose, buffer) in self.requests.withdraw()? {
            match purpose {
                Purpose::Header => self.control.header_arrived(buffer)?,
                _ => strayed += 1,
            }
        }
        if strayed > 0 {
            let fact = format!("{strayed} segments of another length came under this one's tags");
            return Err(CallError::Internal(fact));
        }
        Ok(std::iter::from_fn(|| self.control.take_header()).collect())
    }
}
