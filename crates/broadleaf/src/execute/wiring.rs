//! What an executor starts with: its peers, what feeds its outputs, and its slots.

use super::flow::{FlowWindow, Peer};
use super::send_order::SlotOrder;
use crate::plan::{NodeProgram, Period, Segments, Source};
use crate::platform::NodeId;
use std::collections::HashMap;

/// Everyone that the node sends to, and with rendezvous everyone that it answers; sorted.
pub(super) fn peers_of(
    program: &NodeProgram,
    rendezvous: bool,
    window: impl Fn(NodeId) -> FlowWindow,
) -> Vec<Peer> {
    let mut around: Vec<NodeId> = program.outputs.iter().map(|output| output.to).collect();
    if rendezvous {
        around.extend(program.inputs.iter().map(|input| input.from));
    }
    around.sort_unstable();
    around.dedup();
    around.into_iter().map(|peer| Peer::new(peer, window(peer))).collect()
}

/// The outputs that each input feeds; the last entry is for the node's own message.
pub(super) fn outputs_by_input(program: &NodeProgram) -> Vec<Vec<u32>> {
    let own_inputs = program.inputs.iter().enumerate().filter(|(_, input)| input.target == program.node);
    let input_of: HashMap<u32, usize> = own_inputs.map(|(at, input)| (input.tree, at)).collect();
    let mut fed = vec![Vec::new(); program.inputs.len() + 1];
    for (at, output) in program.outputs.iter().enumerate() {
        let input = match output.source {
            Source::Relay(input) => input as usize,
            // What no input brings is the node's own.
            Source::Held => input_of.get(&output.tree).copied().unwrap_or(program.inputs.len()),
        };
        fed[input].push(at as u32);
    }
    fed
}

/// The slots of a plan with a period; the node has its own block at hand.
pub(super) fn slot_order(period: &Period, program: &NodeProgram, segments: &Segments) -> SlotOrder {
    let mut slots = SlotOrder::new(period, segments, program.is_root && segments.blocks() == 1);
    if program.is_root && segments.blocks() > 1 {
        let own = (u64::from(program.block)..segments.count()).step_by(segments.blocks() as usize);
        own.for_each(|segment| slots.hold(segment));
    }
    slots
}
