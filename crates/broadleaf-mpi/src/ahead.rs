//! Receives posted before the call's header has come.
//!
//! A message of some size is only sent once its receive is posted. If that waited for the header, every hop would
//! take one latency more. So a rank that has a plan for the root and length it was called with posts the receives
//! for them at once; the header then only confirms them. Where lengths differ, which is an error of the program,
//! nothing has been matched with these receives, since the tags depend on the root's length: they are taken back.

use crate::book::{executor, Book};
use crate::transport::{call_tag, CallError, MpiTransport, Request, CHANNEL_TAGS};
use crate::wire::{decode_header, HEADER_BYTES};
use broadleaf::adapt::switch::{Header, Order};
use broadleaf::execute::{NodeExecutor, Transport};
use broadleaf::plan::{NodeProgram, Plan};
use std::sync::Arc;

/// What is added to the channel numbers of a plan to make tags: the length of the message picks one of the ranges
/// that fit below [`CHANNEL_TAGS`]. Lengths that differ almost always get different tags; where they do not, a
/// segment's length tells.
pub(crate) fn salt(plan: &Plan) -> u32 {
    let range = channels(plan).next_power_of_two();
    let ranges = u64::from(CHANNEL_TAGS) / range.max(1);
    if ranges < 2 {
        return 0;
    }
    // Neighbouring lengths get tags far apart: the golden ratio's multiples.
    let mixed = plan.message_bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (mixed % ranges * range) as u32
}

/// Channels of one pair of ranks: at most one a tree, and one more for each relayed edge.
pub(crate) fn channels(plan: &Plan) -> u64 {
    let relayed: usize = plan.trees.iter().map(|tree| tree.via.len()).sum();
    (plan.trees.len() + relayed) as u64
}

/// What a rank expects of a broadcast before it hears its header.
pub(crate) struct Forecast {
    pub plan: Arc<Plan>,
    pub program: NodeProgram,
    /// Everyone who sends to this rank.
    pub before: Vec<u32>,
    version: u32,
}

impl Forecast {
    /// With this rank's part in it. None where no plan is known, or receives cannot be posted ahead.
    pub(crate) fn of(book: &mut Book, root: u32, bytes: u64) -> Option<(Forecast, NodeExecutor)> {
        let (current, version) = book.expected(root, bytes)?;
        current.resize(bytes);
        let executor = executor(current);
        if !executor.is_announced() || current.before.is_empty() {
            return None;
        }
        let forecast = Forecast {
            plan: Arc::clone(current.programs.plan()),
            program: current.program.clone(),
            before: current.before.iter().copied().collect(),
            version,
        };
        Some((forecast, executor))
    }

    pub(crate) fn holds(&self, header: &Header) -> bool {
        header.message_bytes == self.plan.message_bytes
            && header.version == self.version
            && matches!(header.order, Order::Run | Order::RunThenSwitch)
    }
}

impl MpiTransport<'_> {
    /// Posts the receives of the headers that [`MpiTransport::next_header`] gives, and of the first segments.
    pub(crate) fn post_ahead(
        &mut self,
        executor: &mut NodeExecutor,
        before: &[u32],
        call: u64,
    ) -> Result<(), CallError> {
        for &from in before {
            self.expect_header(from, call)?;
        }
        while let Some(receive) = executor.poll_receive() {
            self.post_receive(&receive)?;
        }
        Ok(())
    }

    fn expect_header(&mut self, from: u32, call: u64) -> Result<(), CallError> {
        let mut bytes = vec![0; HEADER_BYTES];
        let pointer = bytes.as_mut_ptr();
        let number = self.number(Request::HeaderIn { from, bytes });
        self.asides += 1;
        Ok(self.mpi.irecv(pointer, HEADER_BYTES as u64, Some(from), call_tag(call), number)?)
    }

    /// Waits for the next of the expected headers; what else happens is kept for the executor.
    pub(crate) fn next_header(&mut self) -> Result<(u32, Header), CallError> {
        loop {
            if let Some((from, bytes)) = self.headers.pop_front() {
                return Ok((from, decode_header(&bytes)?));
            }
            let mut early = std::mem::take(&mut self.early);
            self.progress(&mut early, true)?;
            self.early = early;
        }
    }

    /// Takes back what is posted, after a header that speaks of another broadcast; gives the headers that have come
    /// meanwhile.
    pub(crate) fn withdraw(&mut self) -> Result<Vec<(u32, Header)>, CallError> {
        let mut headers: Vec<(u32, Vec<u8>)> = self.headers.drain(..).collect();
        let mut strayed = self.early.len() as u64;
        for number in 0..self.requests.len() {
            let request = std::mem::replace(&mut self.requests[number], Request::Free);
            if matches!(request, Request::Free) {
                continue;
            }
            let has_come = self.mpi.withdraw(number as u32)?;
            match request {
                Request::HeaderIn { from, bytes } if has_come => headers.push((from, bytes)),
                _ => strayed += u64::from(has_come),
            }
        }
        if strayed > 0 {
            let fact = format!("{strayed} segments of another length came under this one's tags");
            return Err(CallError::Internal(fact));
        }
        headers.into_iter().map(|(from, bytes)| Ok((from, decode_header(&bytes)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::planners::{find, plan_with, Instance};
    use broadleaf::platform::Mesh;
    use broadleaf::platform::{LinkClass, NodeId, PlatformBuilder, PortModel};

    fn plan(planner: &str, bytes: u64) -> Plan {
        let mut builder = PlatformBuilder::new("eight", PortModel::OnePort);
        for node in 0..8 {
            builder.add_host(format!("n{node}")).unwrap();
        }
        let class = builder.add_class(LinkClass::affine(1e-6, 1e9));
        builder.add_mesh(Mesh { nodes: (0..8).map(NodeId).collect(), class }).unwrap();
        let platform = builder.build().unwrap();
        let instance = Instance::new(&platform, NodeId(0), bytes).unwrap().segmented(1000);
        plan_with(find(planner).unwrap(), &instance).unwrap()
    }

    #[test]
    fn tags_of_near_lengths_do_not_meet_and_stay_in_range() {
        for planner in ["chain", "round-robin"] {
            let base = plan(planner, 300_000);
            let channels = channels(&base) as u32;
            for bytes in [299_999, 300_001, 150_000, 600_000, 70_000] {
                let (one, other) = (salt(&base), salt(&plan(planner, bytes)));
                assert!(one.abs_diff(other) >= channels, "{planner}: {one} and {other} for {bytes}");
                assert!(other + channels <= CHANNEL_TAGS, "{planner}: {other}");
            }
        }
    }
}
