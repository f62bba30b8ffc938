//! The root's very first segment goes in two messages.
//!
//! With w messages of equal size in flight over a port that they share, all of them begin together, arrive together
//! and are followed together: for a latency nothing is on the wire, in every round, and it stays like that. Where
//! one is shorter, those that follow it begin while the others are under way, and that stays like that as well.
//! Everybody behind the root sends when something comes in, so it is enough that the root begins out of step.

use crate::trace::Side;
use crate::transport::{CallError, MpiTransport, Request};
use broadleaf::execute::Item;
use broadleaf::plan::Collective;
use broadleaf::platform::NodeId;

impl MpiTransport<'_> {
    /// The bytes of the first part, where a message is the root's first. Sender and receiver must agree, so only
    /// the plan decides.
    pub(crate) fn first_half(&self, from: NodeId, to: NodeId, item: &Item) -> Option<u64> {
        let plan = self.plan;
        let is_first = item.segment == 0 && from == plan.root && !item.relayed && item.target == to;
        if !is_first || self.blocks > 1 || plan.collective != Collective::Bcast || plan.period.is_some() {
            return None;
        }
        let is_long = plan.segment_count() > 1 && plan.segment_bytes > 1;
        let first_child = plan.trees[item.tree as usize].children(from).first();
        (is_long && first_child == Some(&to)).then_some(plan.segment_bytes / 2)
    }

    /// Two messages that count as one.
    pub(crate) fn send_halves(
        &mut self,
        to: NodeId,
        tag: u32,
        (data, length): (*const u8, u64),
        half: u64,
        noted: (u32, u64),
    ) -> Result<(), CallError> {
        let message = self.next_message;
        self.next_message = message.wrapping_add(1);
        self.parts.insert(message, (to, 2));
        for (start, bytes) in [(0, half), (half, length - half)] {
            let number = self.number(Request::PartOut { message, _bytes: Vec::new() });
            // The segment is sent when its second half is.
            if let Some(watch) = self.watch.as_mut().filter(|_| start > 0) {
                watch.begin(Side::Send, number, to.0, noted, 1, length);
            }
            // SAFETY: a part of the segment at `data`.
            self.mpi.isend(unsafe { data.add(start as usize) }, bytes, to.0, tag as i32, number)?;
        }
        Ok(())
    }

    pub(crate) fn receive_half(
        &mut self,
        from: NodeId,
        tag: u32,
        to: *mut u8,
        half: u64,
    ) -> Result<(), CallError> {
        let turn = self.in_turn.entry((from, tag)).or_default().next();
        let number = self.number(Request::HalfIn { from, tag, bytes: half, turn });
        Ok(self.mpi.irecv(to, half, Some(from.0), (tag + self.salt) as i32, number)?)
    }
}
