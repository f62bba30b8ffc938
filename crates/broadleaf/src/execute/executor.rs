//! The sans-I/O state machine of one node: events in, messages out.

mod by_slots;
mod by_trees;
mod joining;

pub use by_trees::LEADS_A_TURN;

use super::flow::{FlowWindow, Peer, Port};
use super::message::{Item, Kind, Message, Receive};
use super::send_order::{SendOrder, TreeOrder};
use super::wiring::{finals, inputs_by_output, outputs_by_input, peers_of, siblings, slot_order};
use crate::plan::{NodeProgram, OutChannel, Programs, Protocol, Segments};
use crate::platform::NodeId;
use std::collections::VecDeque;
use std::sync::Arc;

/// Progress of one sending channel.
#[derive(Clone, Debug, Default)]
struct Outgoing {
    peer: u32,
    sent: u64,
    available: u64,
    /// For a channel that joins several inputs, the number of inputs that have not delivered the next segment.
    waits_for: u32,
    /// The number of segments that it sends in all.
    carried: u64,
    /// How far its messages go ahead of their segments' turns, in [`LEADS_A_TURN`]ths of a turn.
    lead: u32,
    /// Whether the channel waits in the order, or is parked until its peer's window has room.
    queued: bool,
    permission: Permission,
}

/// Rendezvous state of a sending channel; without rendezvous it is always granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Permission {
    #[default]
    Missing,
    Requested,
    Granted,
}

/// Runs one node's program. Pass it events (`handle_…`), then take its messages (`poll_…`).
#[derive(Debug)]
pub struct NodeExecutor {
    program: Arc<NodeProgram>,
    segments: Arc<Segments>,
    order: SendOrder,
    combine: bool,
    rendezvous: bool,
    in_order: bool,
    port: Port,
    /// Sorted by node.
    peers: Vec<Peer>,
    outgoing: Vec<Outgoing>,
    /// Segments received so far on each input.
    received: Vec<u64>,
    /// Outputs fed by each input (or by the node's own message, in the last entry).
    fed: Vec<Vec<u32>>,
    /// By output: the inputs that all must have brought a segment before it goes out; empty for outputs that forward
    /// a single input.
    joined: Vec<Vec<u32>>,
    /// By input: the number of inputs that bring a part of the same segments.
    siblings: Vec<u32>,
    /// By input: whether its segments are final, that is, not combined further.
    finals: Vec<bool>,
    /// Rendezvous answers to give.
    answers: VecDeque<(NodeId, u32, u64)>,
    to_send: u64,
    to_receive: u64,
    /// Inputs whose next receive is to be posted.
    postings: VecDeque<u32>,
    posted: Vec<u64>,
    slot_posts_left: u32,
    posts_receives: bool,
    /// Where the ways of an all-reduce are apart: the segments of the way in that have not come yet.
    inward_left: u64,
    /// Inputs of the way out whose receives are posted then.
    outward: Vec<u32>,
    /// Whether no host of an all-reduce passes anything on.
    has_ways_apart: bool,
}

impl NodeExecutor {
    /// An executor for `node`. `window`: the transport's limit towards a peer; for a plan with
    /// [`skip_busy`](crate::plan::Transfers::skips_busy) the transport gives one that does not wait for other peers.
    pub fn new(programs: &Programs, node: NodeId, window: impl Fn(NodeId) -> FlowWindow) -> NodeExecutor {
        NodeExecutor::of(programs, Arc::new(programs.node(node)), window)
    }

    /// An executor for `program`, which is one of `programs`.
    pub fn of(
        programs: &Programs,
        program: Arc<NodeProgram>,
        window: impl Fn(NodeId) -> FlowWindow,
    ) -> NodeExecutor {
        let plan = programs.transfers();
        let segments = Arc::clone(programs.segments());
        let rendezvous = plan.protocol == Protocol::Rendezvous;
        let peers = peers_of(&program, rendezvous, window);
        let permission = if rendezvous { Permission::Missing } else { Permission::Granted };
        let carried = |tree: u32, blocks: Option<&Arc<[u32]>>| -> u64 {
            segments.in_tree(tree as usize) * blocks.map_or(1, |list| list.len() as u64)
        };
        let outgoing = program.outputs.iter().enumerate().map(|(at, output)| Outgoing {
            peer: find_peer(&peers, output.to),
            carried: carried(output.tree, program.output_blocks.get(at)),
            permission,
            ..Outgoing::default()
        });
        let outgoing: Vec<Outgoing> = outgoing.collect();
        let to_send = outgoing.iter().map(|channel| channel.carried).sum();
        let inputs = program.inputs.iter().enumerate();
        let to_receive = inputs.map(|(at, input)| carried(input.tree, program.input_blocks.get(at))).sum();
        let inward = program.inputs.iter().filter(|input| programs.has_ways_apart() && input.is_inward);
        let inward_left = inward.map(|input| carried(input.tree, None)).sum();
        let order = match &plan.period {
            Some(period) => SendOrder::Slots(slot_order(period, &program, &segments)),
            None => SendOrder::Trees(TreeOrder::default()),
        };
        let (inputs, fed) = (program.inputs.len(), outputs_by_input(&program));
        let (joined, siblings, finals) = (inputs_by_output(&program), siblings(&program), finals(&program));
        let mut executor = NodeExecutor {
            program,
            segments,
            order,
            combine: plan.combine,
            rendezvous,
            in_order: programs.receives_in_order(),
            port: Port::default(),
            peers,
            outgoing,
            received: vec![0; inputs],
            fed,
            joined,
            siblings,
            finals,
            answers: VecDeque::new(),
            to_send,
            to_receive,
            postings: VecDeque::new(),
            posted: vec![0; inputs],
            slot_posts_left: 0,
            posts_receives: false,
            inward_left,
            outward: Vec::new(),
            has_ways_apart: programs.has_ways_apart(),
        };
        for output in executor.fed[inputs].clone() {
            let channel = &mut executor.outgoing[output as usize];
            channel.available = channel.carried;
            executor.enqueue(output);
        }
        executor.begin_joining();
        executor
    }

    /// The executor's node.
    pub fn node(&self) -> NodeId {
        self.program.node
    }

    /// The executor's program.
    pub fn program(&self) -> &Arc<NodeProgram> {
        &self.program
    }

    /// Whether receives are announced in advance, so that data can arrive in place. Requires one segment a message, no
    /// control messages, and a known order of receives. Otherwise the transport must be ready for any message.
    pub fn is_announced(&self) -> bool {
        let known_order = self.in_order || matches!(self.order, SendOrder::Trees(_));
        !self.combine && !self.rendezvous && known_order
    }

    /// Lets an output's messages go ahead of their segments' turns, by that many [`LEADS_A_TURN`]ths of a turn.
    pub fn lead(&mut self, lead: impl Fn(&OutChannel) -> u32) {
        for (channel, output) in self.outgoing.iter_mut().zip(&self.program.outputs) {
            channel.lead = lead(output);
        }
        let SendOrder::Trees(order) = &mut self.order else { return };
        while let Some((_, output)) = order.pop() {
            self.outgoing[output as usize].queued = false;
        }
        for output in 0..self.outgoing.len() as u32 {
            self.enqueue(output);
        }
    }

    /// Allows `ahead` receives a channel (a node, with a period) to be posted before their data arrives.
    pub fn post_ahead(&mut self, ahead: u32) {
        if !self.is_announced() {
            return;
        }
        self.posts_receives = true;
        let by_slot = self.receives_in_order();
        self.slot_posts_left = ahead;
        for _ in 0..ahead {
            let inputs = self.program.inputs.iter().enumerate();
            // Segments that are only relayed have no slot.
            let queued = inputs.filter(|(_, input)| !by_slot || input.target != self.program.node);
            let (now, later): (Vec<_>, Vec<_>) =
                queued.partition(|(_, input)| self.inward_left == 0 || input.is_inward);
            self.postings.extend(now.iter().map(|&(at, _)| at as u32));
            self.outward.extend(later.iter().map(|&(at, _)| at as u32));
        }
    }

    /// Whether all segments are received and sent, and no message is under way.
    pub fn is_finished(&self) -> bool {
        self.to_send == 0 && self.to_receive == 0 && self.answers.is_empty() && self.port.is_idle()
    }

    /// A message to `to` no longer occupies its window and the port.
    pub fn handle_sent(&mut self, to: NodeId) {
        let peer = find_peer(&self.peers, to) as usize;
        self.port.release(&mut self.peers[peer]);
        for output in std::mem::take(&mut self.peers[peer].parked) {
            self.outgoing[output as usize].queued = false;
            self.enqueue(output);
        }
    }

    /// A message arrived from `from`.
    pub fn handle_received(&mut self, from: NodeId, kind: Kind, tag: u32, segment: u64) {
        match kind {
            Kind::Data => self.take(from, tag, segment),
            Kind::Request => self.answers.push_back((from, tag, segment)),
            Kind::Ready => {
                let to_it = |output: &crate::plan::OutChannel| output.to == from && output.tag == tag;
                let output = self.program.outputs.iter().position(to_it).expect("an answer to a request");
                self.outgoing[output].permission = Permission::Granted;
                self.enqueue(output as u32);
            }
        }
    }

    fn take(&mut self, from: NodeId, tag: u32, segment: u64) {
        let input = self.program.input(from, tag);
        self.to_receive -= 1;
        self.received[input] += 1;
        if self.inward_left > 0 && self.program.inputs[input].is_inward {
            self.inward_left -= 1;
            if self.inward_left == 0 {
                self.postings.extend(self.outward.drain(..));
            }
        }
        let relayed = self.program.inputs[input].target != self.program.node;
        let by_slot = self.receives_in_order();
        if self.posts_receives && (relayed || !by_slot) {
            self.postings.push_back(input as u32);
        }
        if let SendOrder::Slots(slots) = &mut self.order {
            if relayed {
                slots.relayed.push_back((segment, self.fed[input][0]));
            } else {
                // Without `post_ahead` no receive is announced, since the first announcement would be too late.
                self.slot_posts_left += u32::from(self.posts_receives);
                slots.take(segment, self.siblings[input], self.finals[input]);
            }
            return;
        }
        let (block, _) = self.segments.split(segment);
        for at in 0..self.fed[input].len() {
            let output = self.fed[input][at];
            if self.joined[output as usize].is_empty() {
                if !self.carries(output, block) {
                    continue;
                }
                self.outgoing[output as usize].available += 1;
            } else {
                self.join(input, output);
            }
            self.enqueue(output);
        }
    }

    /// Whether an output carries segments of a block.
    fn carries(&self, output: u32, block: u32) -> bool {
        let blocks = self.program.output_blocks.get(output as usize);
        blocks.is_none_or(|blocks| blocks.binary_search(&block).is_ok())
    }

    /// The next message to send now, if there is one and the port has room for it.
    pub fn poll_send(&mut self) -> Option<Message> {
        if !self.port.has_room() {
            return None;
        }
        if let Some(&(to, tag, segment)) = self.answers.front() {
            let peer = find_peer(&self.peers, to);
            if self.peers[peer as usize].has_room() {
                self.answers.pop_front();
                self.port.issue(&mut self.peers[peer as usize]);
                let first = Item::answer(to, tag, segment);
                return Some(Message { to, kind: Kind::Ready, output: None, first, rest: Vec::new() });
            }
        }
        match &self.order {
            SendOrder::Trees(_) => self.poll_trees(),
            SendOrder::Slots(_) => self.poll_slots(),
        }
    }

    fn item(&self, output: u32, segment: u64) -> Item {
        Item::sent(&self.program.outputs[output as usize], segment)
    }

    /// The data message of a channel's next segment, or the request for it.
    fn message(&mut self, output: u32, segment: u64) -> Message {
        let first = self.item(output, segment);
        let to = self.program.outputs[output as usize].to;
        let channel = &mut self.outgoing[output as usize];
        if channel.permission == Permission::Missing {
            channel.permission = Permission::Requested;
            return Message { to, kind: Kind::Request, output: Some(output), first, rest: Vec::new() };
        }
        if self.rendezvous {
            channel.permission = Permission::Missing;
        }
        channel.sent += 1;
        self.to_send -= 1;
        Message { to, kind: Kind::Data, output: Some(output), first, rest: Vec::new() }
    }

    /// The next receive to post, as far as [`NodeExecutor::post_ahead`] allows.
    pub fn poll_receive(&mut self) -> Option<Receive> {
        if !self.is_announced() {
            return None;
        }
        let (input, segment) = self.next_posting().or_else(|| self.next_slot_posting())?;
        let channel = &self.program.inputs[input as usize];
        let item = Item::received(channel, self.program.node, segment);
        Some(Receive { from: channel.from, item })
    }

    fn next_posting(&mut self) -> Option<(u32, u64)> {
        while let Some(input) = self.postings.pop_front() {
            let tree = self.program.inputs[input as usize].tree as usize;
            let index = self.posted[input as usize];
            let blocks = self.program.input_blocks.get(input as usize);
            let count = self.segments.in_tree(tree) * blocks.map_or(1, |blocks| blocks.len() as u64);
            if index < count {
                self.posted[input as usize] += 1;
                let segment = match blocks {
                    None => self.segments.nth(tree, index),
                    Some(blocks) => self.segments.nth_of(tree, blocks, index),
                };
                return Some((input, segment));
            }
        }
        None
    }
}

/// The id of the `index`-th segment that an output sends.
fn nth_sent(program: &NodeProgram, segments: &Segments, output: u32, index: u64) -> u64 {
    let tree = program.outputs[output as usize].tree as usize;
    match program.output_blocks.get(output as usize) {
        None => segments.nth(tree, index),
        Some(blocks) => segments.nth_of(tree, blocks, index),
    }
}

fn find_peer(peers: &[Peer], node: NodeId) -> u32 {
    peers.binary_search_by_key(&node, |peer| peer.node).expect("only peers of the program are talked to")
        as u32
}
