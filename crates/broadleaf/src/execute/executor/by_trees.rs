//! Sending in tree order: of the segments held, the lowest first, less leads, then child order.

use super::{nth_sent, NodeExecutor, Permission};
use crate::execute::message::{Kind, Message};
use crate::execute::send_order::SendOrder;

/// Leads are counted in parts of a segment's turn.
pub const LEADS_A_TURN: u32 = 1 << 10;
/// In turns: more than any lead has.
const FIRST_TURN: u64 = 1 << 32;

impl NodeExecutor {
    /// Puts a channel into the order if it has a segment to send and is not in it yet.
    pub(super) fn enqueue(&mut self, output: u32) {
        let waits_for_contributions = self.waits_for_contributions(output);
        let SendOrder::Trees(order) = &mut self.order else { return };
        let channel = &mut self.outgoing[output as usize];
        if !channel.queued && channel.sent < channel.available && channel.permission != Permission::Requested
        {
            channel.queued = true;
            let segment = nth_sent(&self.program, &self.segments, output, channel.sent);
            // A lead could put results before contributions.
            let (behind, lead) =
                if waits_for_contributions { (self.segments.count(), 0) } else { (0, channel.lead) };
            // Requests go ahead of data: they are short, and their answers arrive while data is sent.
            let turn = match channel.permission {
                Permission::Missing => 0,
                _ => {
                    let turn = FIRST_TURN + behind + self.segments.split(segment).1;
                    turn * u64::from(LEADS_A_TURN) - u64::from(lead)
                }
            };
            order.push(turn, output);
        }
    }

    pub(super) fn poll_trees(&mut self) -> Option<Message> {
        loop {
            let SendOrder::Trees(order) = &mut self.order else { unreachable!("called for tree order only") };
            let (_, output) = order.pop()?;
            let waits_for_contributions = self.waits_for_contributions(output);
            let channel = &mut self.outgoing[output as usize];
            let segment = nth_sent(&self.program, &self.segments, output, channel.sent);
            let peer = &mut self.peers[channel.peer as usize];
            let is_behind = waits_for_contributions && !peer.parked.is_empty();
            if is_behind || !peer.has_room_for_one_of(channel.carried - channel.sent) {
                peer.parked.push(output);
                continue;
            }
            channel.queued = false;
            self.port.issue(peer);
            let message = self.message(output, segment);
            if message.kind == Kind::Data && self.combine {
                return Some(self.combined(message));
            }
            self.enqueue(output);
            return Some(message);
        }
    }

    /// Whether all contributions of this node to the output's peer go first. The peer takes results only when it has all
    /// contributions: a result before the last one could fill the window, and both would wait for ever.
    fn waits_for_contributions(&self, output: u32) -> bool {
        self.has_ways_apart && !self.program.outputs[output as usize].is_inward
    }

    /// Adds every other item that is ready for the same receiver, lowest segment first.
    fn combined(&mut self, mut message: Message) -> Message {
        let same: Vec<u32> = (0..self.program.outputs.len() as u32)
            .filter(|&output| self.program.outputs[output as usize].to == message.to)
            .collect();
        for &output in &same {
            for index in self.outgoing[output as usize].sent..self.outgoing[output as usize].available {
                let segment = nth_sent(&self.program, &self.segments, output, index);
                message.rest.push(self.item(output, segment));
            }
            let channel = &mut self.outgoing[output as usize];
            self.to_send -= channel.available - channel.sent;
            channel.sent = channel.available;
            channel.queued = false;
        }
        if let SendOrder::Trees(order) = &mut self.order {
            order.remove(&same);
        }
        message.rest.sort_unstable_by_key(|item| (item.segment, item.tag));
        message
    }
}
