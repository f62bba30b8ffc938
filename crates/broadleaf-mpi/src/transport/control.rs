//! What travels beside a call's data: headers, and a plan.

use super::header::{encode_header, HEADER_BYTES};
use super::{MpiTransport, Request};
use crate::error::CallError;
use crate::rank_plan::carried::Carried;
use crate::tags::{call_tag, PLAN_TAG};
use broadleaf::adapt::switch::Header;

/// A plan that arrives beside the data and goes on to these ranks.
#[derive(Debug)]
pub struct Forward {
    pub from: u32,
    pub bytes: u64,
    pub to: Vec<u32>,
}

impl MpiTransport<'_> {
    pub fn send_header(&mut self, to: u32, header: &Header) -> Result<(), CallError> {
        let bytes = encode_header(header, self.program.node.0).to_vec();
        let pointer = bytes.as_ptr();
        let number = self.number(Request::Control { _bytes: bytes });
        self.control_messages += 1;
        Ok(self.mpi.isend(pointer, HEADER_BYTES as u64, to, call_tag(header.call), number)?)
    }

    /// Receives a header that says what is known, and drops it.
    pub fn drop_header(&mut self, from: u32, call: u64) -> Result<(), CallError> {
        let mut bytes = vec![0; HEADER_BYTES];
        let pointer = bytes.as_mut_ptr();
        let number = self.number(Request::Control { _bytes: bytes });
        self.control_messages += 1;
        Ok(self.mpi.irecv(pointer, HEADER_BYTES as u64, Some(from), call_tag(call), number)?)
    }

    pub fn send_plan(&mut self, to: u32, plan: Carried) -> Result<(), CallError> {
        // The bytes stay where they are, whoever holds the plan.
        let (pointer, length) = (plan.bytes().as_ptr(), plan.bytes().len() as u64);
        let number = self.number(Request::PlanOut { _plan: plan });
        self.control_messages += 1;
        Ok(self.mpi.isend(pointer, length, to, PLAN_TAG, number)?)
    }

    /// Receives the next call's plan and passes it on.
    pub fn receive_plan(&mut self, forward: Forward) -> Result<(), CallError> {
        let (from, length) = (forward.from, forward.bytes);
        self.forward = Some(forward);
        let mut bytes = vec![0; length as usize];
        let pointer = bytes.as_mut_ptr();
        let number = self.number(Request::PlanIn { bytes });
        self.control_messages += 1;
        Ok(self.mpi.irecv(pointer, length, Some(from), PLAN_TAG, number)?)
    }

    pub(crate) fn take_plan(&mut self, bytes: Vec<u8>) -> Result<(), CallError> {
        self.control_messages -= 1;
        let plan = Carried::received(bytes)?;
        for rank in self.forward.take().map_or_else(Vec::new, |forward| forward.to) {
            self.send_plan(rank, plan.clone())?;
        }
        self.arrived_plan = Some(plan);
        Ok(())
    }
}
