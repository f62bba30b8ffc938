//! Sending and receiving in slot order: a plan with a period fixes the order.

use super::{NodeExecutor, Permission};
use crate::execute::message::{Kind, Message};
use crate::execute::send_order::{SendOrder, SlotOrder};
use crate::plan::SlotSend;
use crate::platform::NodeId;

impl NodeExecutor {
    pub(super) fn poll_slots(&mut self) -> Option<Message> {
        let relayed = self.slots().relayed.front().copied();
        if let Some((segment, output)) = relayed {
            return self.issue_slot(output, segment, |executor| {
                executor.slots().relayed.pop_front();
            });
        }
        let (slot, segment) = self.next_slot()?;
        let output = self.program.sends[slot].out;
        if !self.holds(output, segment) {
            return None;
        }
        let mut message = self.issue_slot(output, segment, NodeExecutor::next_send)?;
        while self.combine && message.kind == Kind::Data {
            let Some((slot, segment)) = self.next_slot() else { break };
            let SlotSend { out: output, joins, .. } = self.program.sends[slot];
            let same_peer = joins && self.program.outputs[output as usize].to == message.to;
            if !same_peer || !self.holds(output, segment) {
                break;
            }
            self.outgoing[output as usize].sent += 1;
            self.to_send -= 1;
            message.rest.push(self.item(output, segment));
            self.next_send();
        }
        Some(message)
    }

    /// Sends (or asks to send) a slot's segment if its peer has room, then `done` moves on.
    fn issue_slot(&mut self, output: u32, segment: u64, done: impl Fn(&mut Self)) -> Option<Message> {
        let channel = &self.outgoing[output as usize];
        let peer = channel.peer as usize;
        if channel.permission == Permission::Requested || !self.peers[peer].has_room() {
            return None;
        }
        self.port.issue(&mut self.peers[peer]);
        let message = self.message(output, segment);
        if message.kind == Kind::Data {
            done(self);
        }
        Some(message)
    }

    /// Whether the node has a segment for an output: its part of the sum, or, on the way out, the sum.
    fn holds(&mut self, output: u32, segment: u64) -> bool {
        let is_final = self.program.is_inward && !self.program.outputs[output as usize].is_inward;
        let slots = self.slots();
        slots.holds(if is_final { slots.final_of(segment) } else { segment })
    }

    pub(super) fn slots(&mut self) -> &mut SlotOrder {
        match &mut self.order {
            SendOrder::Slots(slots) => slots,
            SendOrder::Trees(_) => unreachable!("called for slot order only"),
        }
    }

    fn next_slot(&mut self) -> Option<(usize, u64)> {
        let NodeExecutor { order: SendOrder::Slots(slots), program, .. } = self else { return None };
        let (period, count, periods) = (&slots.period, slots.count, slots.periods);
        let lag = |slot: usize| program.sends[slot].lag;
        slots.send.settle(program.sends.len(), periods, lag, |slot, at| {
            let send = &program.sends[slot];
            period.segment_of(send.segment, send.lag, at, count)
        })
    }

    fn next_send(&mut self) {
        let sends = self.program.sends.len();
        self.slots().send.advance(sends);
    }

    /// With a period: the sender and segment that this node must receive next, in slot order; `None` when
    /// all are received or receives have no order.
    pub fn expected(&mut self) -> Option<(NodeId, u64)> {
        let NodeExecutor { order: SendOrder::Slots(slots), program, .. } = self else { return None };
        let (period, count, periods) = (&slots.period, slots.count, slots.periods);
        let lag = |slot: usize| program.receives[slot].lag;
        let (slot, segment) = slots.receive.settle(program.receives.len(), periods, lag, |slot, at| {
            let receive = &program.receives[slot];
            period.segment_of(receive.segment, receive.lag, at, count)
        })?;
        Some((program.inputs[program.receives[slot].input as usize].from, segment))
    }

    /// Whether receives have an order.
    pub fn receives_in_order(&self) -> bool {
        self.in_order
    }

    /// The expected receive is under way: the next one is expected.
    pub fn advance_expected(&mut self) {
        let receives = self.program.receives.len();
        self.slots().receive.advance(receives);
    }

    pub(super) fn next_slot_posting(&mut self) -> Option<(u32, u64)> {
        let NodeExecutor { order: SendOrder::Slots(slots), program, slot_posts_left, .. } = self else {
            return None;
        };
        if *slot_posts_left == 0 {
            return None;
        }
        let (period, count, periods) = (&slots.period, slots.count, slots.periods);
        let lag = |slot: usize| program.receives[slot].lag;
        let (slot, segment) = slots.posted.settle(program.receives.len(), periods, lag, |slot, at| {
            let receive = &program.receives[slot];
            period.segment_of(receive.segment, receive.lag, at, count)
        })?;
        slots.posted.advance(program.receives.len());
        *slot_posts_left -= 1;
        Some((program.receives[slot].input, segment))
    }
}
