//! What travels beside a call's data: headers, and the next call's plan.

use super::buffer::Buffer;
use super::header::{decode_header, encode_header, HEADER_BYTES};
use super::requests::{Purpose, Requests};
use crate::error::CallError;
use crate::rank_plan::carried::Carried;
use crate::tags::{call_tag, PLAN_TAG};
use broadleaf::adapt::switch::Header;
use std::collections::VecDeque;

/// A plan that arrives beside the data and goes on to these ranks.
#[derive(Debug)]
pub struct Forward {
    pub from: u32,
    pub bytes: u64,
    pub to: Vec<u32>,
}

/// One call's messages beside its data.
#[derive(Default)]
pub(super) struct Control {
    under_way: u32,
    /// The ranks that get the plan next.
    forward_to: Vec<u32>,
    arrived_plan: Option<Carried>,
    /// Of receives posted ahead, in the order of their arrival.
    headers: VecDeque<(u32, Header)>,
}

impl Control {
    pub fn is_under_way(&self) -> bool {
        self.under_way > 0
    }

    /// Sends bytes; only the end of the call waits for this request.
    pub fn send(
        &mut self,
        requests: &mut Requests,
        bytes: Vec<u8>,
        to: u32,
        tag: i32,
    ) -> Result<(), CallError> {
        self.under_way += 1;
        requests.send(Purpose::Beside { _plan: None }, Buffer::own(bytes), to, tag, None)
    }

    pub fn send_header(
        &mut self,
        requests: &mut Requests,
        own: u32,
        to: u32,
        header: &Header,
    ) -> Result<(), CallError> {
        self.send(requests, encode_header(header, own).to_vec(), to, call_tag(header.call))
    }

    /// Posts the receive of a header: from one rank, which repeats a known header, or from any, to be read by
    /// [`Control::take_header`].
    pub fn expect_header(
        &mut self,
        requests: &mut Requests,
        from: Option<u32>,
        call: u64,
    ) -> Result<(), CallError> {
        self.under_way += 1;
        let purpose = from.map_or(Purpose::Header, |_| Purpose::Beside { _plan: None });
        requests.receive(purpose, Buffer::own(vec![0; HEADER_BYTES]), from, call_tag(call), None)
    }

    pub fn send_plan(&mut self, requests: &mut Requests, to: u32, plan: Carried) -> Result<(), CallError> {
        self.under_way += 1;
        let buffer = Buffer::lent(plan.bytes().as_ptr(), plan.bytes().len() as u64);
        requests.send(Purpose::Beside { _plan: Some(plan) }, buffer, to, PLAN_TAG, None)
    }

    pub fn receive_plan(&mut self, requests: &mut Requests, forward: Forward) -> Result<(), CallError> {
        self.under_way += 1;
        self.forward_to = forward.to;
        let buffer = Buffer::own(vec![0; forward.bytes as usize]);
        requests.receive(Purpose::NextPlan, buffer, Some(forward.from), PLAN_TAG, None)
    }

    /// Notes the end of one of these requests.
    pub fn ended(&mut self) {
        self.under_way -= 1;
    }

    pub fn header_arrived(&mut self, buffer: Buffer) -> Result<(), CallError> {
        self.ended();
        self.headers.push_back(decode_header(&buffer.into_own().unwrap_or_default())?);
        Ok(())
    }

    pub fn plan_arrived(&mut self, requests: &mut Requests, buffer: Buffer) -> Result<(), CallError> {
        self.ended();
        let plan = Carried::received(buffer.into_own().unwrap_or_default())?;
        for rank in std::mem::take(&mut self.forward_to) {
            self.send_plan(requests, rank, plan.clone())?;
        }
        self.arrived_plan = Some(plan);
        Ok(())
    }

    pub fn take_header(&mut self) -> Option<(u32, Header)> {
        self.headers.pop_front()
    }

    pub fn take_plan(&mut self) -> Option<Carried> {
        self.arrived_plan.take()
    }
}
