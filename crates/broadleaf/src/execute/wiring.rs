//! The initial state of an executor: its peers, the inputs of its outputs, and its slots.

use super::flow::{FlowWindow, Peer};
use super::send_order::SlotOrder;
use crate::plan::{InChannel, NodeProgram, OutChannel, Period, Segments, Source};
use crate::platform::NodeId;
use std::collections::{HashMap, HashSet};

/// All nodes to which the node sends, or, with rendezvous, answers; sorted.
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

/// A tree, whether its segments go inward, and whether heads exchange them.
type Way = (u32, bool, bool);

/// The inputs of each tree and direction that bring segments for the node itself.
fn own_inputs(program: &NodeProgram) -> HashMap<Way, Vec<u32>> {
    let mut of_way: HashMap<Way, Vec<u32>> = HashMap::new();
    let own = program.inputs.iter().enumerate().filter(|(_, input)| input.target == program.node);
    own.for_each(|(at, input)| of_way.entry(way_of(input)).or_default().push(at as u32));
    of_way
}

fn way_of(input: &InChannel) -> Way {
    (input.tree, input.is_inward, input.is_exchanged)
}

/// The inputs that bring an output's segments; none for the node's own segments.
fn sources(of_way: &HashMap<Way, Vec<u32>>, output: &OutChannel) -> Vec<u32> {
    if let Source::Relay(input) = output.source {
        return vec![input];
    }
    let of = |is_inward, is_exchanged| {
        of_way.get(&(output.tree, is_inward, is_exchanged)).map_or(&[][..], Vec::as_slice)
    };
    match of(output.is_inward, false) {
        // Outward segments without an input were combined here, at the root or a head of an all-reduce.
        [] if !output.is_inward => [of(true, false), of(true, true)].concat(),
        inputs => inputs.to_vec(),
    }
}

/// The outputs that each input feeds; the last entry is for the node's own message.
pub(super) fn outputs_by_input(program: &NodeProgram) -> Vec<Vec<u32>> {
    let (of_way, own) = (own_inputs(program), [program.inputs.len() as u32]);
    let mut fed = vec![Vec::new(); program.inputs.len() + 1];
    for (at, output) in program.outputs.iter().enumerate() {
        let inputs = sources(&of_way, output);
        let inputs = if inputs.is_empty() { &own[..] } else { &inputs };
        inputs.iter().for_each(|&input| fed[input as usize].push(at as u32));
    }
    fed
}

/// The inputs that each output joins, if it sends combined or gathered segments; else none.
pub(super) fn inputs_by_output(program: &NodeProgram) -> Vec<Vec<u32>> {
    let of_way = own_inputs(program);
    let joined = program.outputs.iter().map(|output| {
        let inputs = sources(&of_way, output);
        let is_joined = output.source == Source::Held
            && inputs.first().is_some_and(|&input| program.inputs[input as usize].is_inward);
        if is_joined {
            inputs
        } else {
            Vec::new()
        }
    });
    joined.collect()
}

/// By input, the number of inputs, itself included, that bring a part of the same segments.
pub(super) fn siblings(program: &NodeProgram) -> Vec<u32> {
    let of_way = own_inputs(program);
    let count = |input: &InChannel| match input.target == program.node {
        true => of_way[&way_of(input)].len() as u32,
        false => 1,
    };
    program.inputs.iter().map(count).collect()
}

/// By input, for a node that contributes, whether its segments are final: they come from the root, or the node is the
/// root.
pub(super) fn finals(program: &NodeProgram) -> Vec<bool> {
    let inward = program.outputs.iter().filter(|output| output.is_inward && output.source == Source::Held);
    let passed_on: HashSet<u32> = inward.map(|output| output.tree).collect();
    let is_final = |input: &InChannel| !input.is_inward || !passed_on.contains(&input.tree);
    program.inputs.iter().map(|input| program.is_inward && is_final(input)).collect()
}

/// The slots of a plan with a period; the node holds its own block from the start, and segments to which it alone
/// contributes.
pub(super) fn slot_order(period: &Period, program: &NodeProgram, segments: &Segments) -> SlotOrder {
    let holds_all = !program.is_inward && program.is_root && segments.blocks() == 1;
    let mut slots = SlotOrder::new(period, segments, holds_all, program.is_inward);
    if program.is_inward {
        // The trees in which the node is a leaf.
        let of_way = own_inputs(program);
        let is_own = |segment: &u64| !of_way.contains_key(&(segments.tree_of(*segment) as u32, true, false));
        (0..segments.count()).filter(is_own).for_each(|segment| slots.hold(segment));
    } else if program.is_root && segments.blocks() > 1 {
        let own = (u64::from(program.block)..segments.count()).step_by(segments.blocks() as usize);
        own.for_each(|segment| slots.hold(segment));
    }
    slots
}
