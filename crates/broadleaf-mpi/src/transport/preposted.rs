//! Receives posted before the call's header has come.
//!
//! A message of some size is only sent once its receive is posted. If that waited for the header, every hop would
//! take one latency more. So a rank that has a plan for the root and length it was called with posts the receives
//! for them at once; the header then only confirms them. Where lengths differ, which is an error of the program,
//! nothing has been matched with these receives, since the tags depend on the root's length: they are taken back.
//! Headers are received from any rank: another length may have another plan, where another rank sends them.

use super::header::{decode_header, HEADER_BYTES};
use super::{MpiTransport, Request};
use crate::error::CallError;
use crate::tags::call_tag;
use broadleaf::adapt::switch::Header;
use broadleaf::execute::{NodeExecutor, Transport};

impl MpiTransport<'_> {
    /// Posts the receives of the headers that [`MpiTransport::next_header`] gives, and of the first segments.
    pub(crate) fn post_ahead(
        &mut self,
        executor: &mut NodeExecutor,
        headers: usize,
        call: u64,
    ) -> Result<(), CallError> {
        for _ in 0..headers {
            self.expect_header(call)?;
        }
        while let Some(receive) = executor.poll_receive() {
            self.post_receive(&receive)?;
        }
        Ok(())
    }

    fn expect_header(&mut self, call: u64) -> Result<(), CallError> {
        let mut bytes = vec![0; HEADER_BYTES];
        let pointer = bytes.as_mut_ptr();
        let number = self.number(Request::HeaderIn { bytes });
        self.control_messages += 1;
        Ok(self.mpi.irecv(pointer, HEADER_BYTES as u64, None, call_tag(call), number)?)
    }

    /// Waits for the next of the expected headers; what else happens is kept for the executor.
    pub(crate) fn next_header(&mut self) -> Result<(u32, Header), CallError> {
        loop {
            if let Some(bytes) = self.headers.pop_front() {
                return Ok(decode_header(&bytes)?);
            }
            let mut early = std::mem::take(&mut self.early);
            self.progress(&mut early, true)?;
            self.early = early;
        }
    }

    /// Takes back what is posted, after a header that speaks of another broadcast; gives the headers that have come
    /// meanwhile.
    pub(crate) fn withdraw(&mut self) -> Result<Vec<(u32, Header)>, CallError> {
        let mut headers: Vec<Vec<u8>> = self.headers.drain(..).collect();
        let mut strayed = self.early.len() as u64;
        for number in 0..self.requests.len() {
            let request = std::mem::replace(&mut self.requests[number], Request::Free);
            if matches!(request, Request::Free) {
                continue;
            }
            let has_come = self.mpi.withdraw(number as u32)?;
            match request {
                Request::HeaderIn { bytes } if has_come => headers.push(bytes),
                _ => strayed += u64::from(has_come),
            }
        }
        if strayed > 0 {
            let fact = format!("{strayed} segments of another length came under this one's tags");
            return Err(CallError::Internal(fact));
        }
        headers.into_iter().map(|bytes| Ok(decode_header(&bytes)?)).collect()
    }
}
