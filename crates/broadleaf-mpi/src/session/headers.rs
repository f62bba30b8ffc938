//! Receives and forwards a call's header.

use super::{Call, Session};
use crate::error::CallError;
use crate::intranode::Delivery;
use crate::observe::stats;
use crate::outcome::Outcome;
use crate::planning::plan_cache::{part, Current};
use crate::rank_plan::carried::Carried;
use crate::tags::call_tag;
use crate::transport::header::{decode_header, encode_header, HEADER_BYTES};
use crate::transport::MpiTransport;
use broadleaf::adapt::switch::{kind, Directive, Header, Listening};

impl Session {
    /// The header to act on, and its sender; some headers have arrived before.
    pub(super) fn listen(
        &self,
        call: u64,
        listening: &mut Listening,
        heard: Vec<(u32, Header)>,
    ) -> Result<(Header, u32), CallError> {
        let mut found = None;
        for (sender, header) in heard {
            if listening.hear(sender, &header)? {
                found = found.or(Some((header, sender)));
            }
        }
        loop {
            if let Some(found) = found {
                return Ok(found);
            }
            let mut bytes = [0; HEADER_BYTES];
            self.mpi.receive(&mut bytes, None, call_tag(call))?;
            let (sender, header) = decode_header(&bytes)?;
            found = listening.hear(sender, &header)?.then_some((header, sender));
        }
    }

    /// A root without memory for the packed message: for this call, all ranks use the MPI's own broadcast.
    pub(super) fn decline(&mut self, call: Call) -> Result<Outcome, CallError> {
        let Call { number: call, bytes, root, .. } = call;
        let version = self.plans.decline(call, root, bytes).version;
        let (order, message_bytes) = (Directive::Native, bytes);
        let header = Header { call, root, message_bytes, order, version, plan_bytes: 0, sends_plan: false };
        self.pass_by(header, &Listening::new(call, root))
    }

    /// Sends "use the MPI's own broadcast" to the others of this host, and to all ranks that receive headers by
    /// message: down the plan that they expect, or a binomial tree where there is none.
    pub(super) fn pass_by(&mut self, header: Header, listening: &Listening) -> Result<Outcome, CallError> {
        let header = Header { plan_bytes: 0, sends_plan: false, ..header };
        let is_served = self.hosts.is_served(self.rank, header.root);
        let entry = self.plans.entry(kind(header.root, header.message_bytes), header.call);
        if let Some(group) = self.group.as_mut().filter(|_| !is_served) {
            let by_message = entry.current.as_ref().is_some_and(|current| !current.carried.led);
            let delivery = if by_message { Delivery::Messages } else { Delivery::Native };
            group.announce(&self.mpi, delivery, super::announced(header, &stats::Ran::default()))?;
            group.finish_led(&self.mpi)?;
        }
        if let Some(current) = &entry.current {
            // SAFETY: no segment is sent or received.
            let mut transport = unsafe {
                MpiTransport::new(&self.mpi, std::ptr::null_mut(), part(current), header.call, None)
            };
            for other in listening.missing(current) {
                transport.drop_header(other, header.call)?;
            }
            send_headers(&mut transport, current, header, None)?;
            transport.finish()?;
            return Ok(Outcome::Own);
        }
        let hearers = self.hosts.hearers(header.root);
        let mine = hearers.iter().position(|&rank| rank == self.rank).unwrap_or(0);
        let bytes = encode_header(&header, self.rank);
        let mut reach =
            if mine == 0 { hearers.len().next_power_of_two() } else { 1 << mine.trailing_zeros() };
        while reach > 1 {
            reach /= 2;
            if let Some(&other) = hearers.get(mine + reach) {
                self.mpi.send(&bytes, other, call_tag(header.call))?;
            }
        }
        Ok(Outcome::Own)
    }
}

/// Sends the header to all children of this rank, and the plan, if one travels, down the first tree.
pub(super) fn send_headers(
    transport: &mut MpiTransport,
    current: &Current,
    header: Header,
    plan: Option<&Carried>,
) -> Result<(), CallError> {
    for (rank, header) in current.headers(header) {
        transport.send_header(rank, &header)?;
        if let Some(plan) = plan.filter(|_| header.sends_plan) {
            transport.send_plan(rank, plan.clone())?;
        }
    }
    Ok(())
}
