//! A plan's time where the messages under way share ports, pipes and links.
//!
//! The model's port serves one transfer after the other, and a transfer holds all that it needs from its start
//! ([`super::simulate`]). A real port serves all messages under way at once, and one that waits for a pipe leaves the port
//! to the others. Here the executors run as a transport drives them, with its limits of messages in flight.

mod earliest;
mod flows;
#[cfg(test)]
mod tests;

use super::calendar::same_until;
use crate::budget::Budget;
use crate::execute::{Completion, Kind, Message, NodeExecutor};
use crate::plan::{PlanError, Programs, Protocol};
use crate::platform::{Hop, NodeId, Platform};
use flows::Flows;
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Looks at the use of a resource per unit of work, and looks that a message counts besides.
const LOOKS_PER_UNIT: u64 = 35;
const LOOKS_PER_MESSAGE: u64 = 100;
/// The least work of a transfer, units.
pub const UNITS_PER_TRANSFER: u64 = LOOKS_PER_MESSAGE / LOOKS_PER_UNIT;

/// How a transport sends.
pub trait Sending {
    /// When a node may start a message, seconds, `now_s` or later. It does nothing else until then.
    fn starts_s(&mut self, from: NodeId, message: &Message, bytes: u64, now_s: f64) -> f64;

    /// Whether a message that no receive was posted for takes another latency: one that announces it goes first.
    fn is_announced_apart(&self, bytes: u64) -> bool;

    /// Whether messages from one node to another arrive one after the other, as over a TCP connection, or share the way.
    fn goes_in_order(&self) -> bool;
}

/// A plan's simulation where messages share ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedRun {
    /// Infinite if it was stopped.
    pub makespan_s: f64,
    /// The number of messages that were sent.
    pub messages: u64,
    /// Of all of them.
    pub bytes: u64,
}

/// Runs a valid plan's executors, one for each node; a plan that takes longer than `longest_s`, seconds, until that is certain.
///
/// # Errors
/// [`PlanError::OutOfTime`] if the budget is spent first. [`PlanError::BadRequest`] for a plan with rendezvous, over switches, or
/// that deadlocks.
pub fn simulate_shared(
    platform: &Platform,
    programs: &Programs,
    executors: Vec<NodeExecutor>,
    sending: &mut dyn Sending,
    (longest_s, budget): (f64, &Budget),
) -> Result<SharedRun, PlanError> {
    let nodes = executors.into_iter().map(|executor| Node { executor, asleep: None, done: Vec::new() });
    let mut run = Run {
        platform,
        programs,
        sending,
        nodes: nodes.collect(),
        flights: Vec::new(),
        channels: HashMap::new(),
        connections: HashMap::new(),
        flows: Flows::default(),
        events: BinaryHeap::new(),
        combined_s: vec![0.0; platform.node_count()],
        now_s: 0.0,
        finish_s: 0.0,
    };
    let makespan_s = run.finish(longest_s, budget)?;
    let bytes = run.flights.iter().map(|flight| flight.bytes).sum();
    Ok(SharedRun { makespan_s, messages: run.flights.len() as u64, bytes })
}

struct Node {
    executor: NodeExecutor,
    /// The message that waits for its start.
    asleep: Option<u32>,
    done: Vec<Completion>,
}

struct Flight {
    from: NodeId,
    message: Message,
    bytes: u64,
    track: u32,
    has_arrived: bool,
}

/// Messages from one node to another with one tag: a message starts when its receive is posted.
#[derive(Default)]
struct Channel {
    posted: u32,
    waiting: VecDeque<u32>,
    /// The executor counts them in the order of sending.
    not_reported: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begins { flight: u32 },
    Combined { flight: u32 },
    Starts { node: NodeId },
}

struct Run<'a> {
    platform: &'a Platform,
    programs: &'a Programs,
    sending: &'a mut dyn Sending,
    nodes: Vec<Node>,
    flights: Vec<Flight>,
    channels: HashMap<(NodeId, NodeId, u32), Channel>,
    /// Where messages go in order: the one under way, and those behind it.
    connections: HashMap<(NodeId, NodeId), VecDeque<u32>>,
    flows: Flows,
    events: BinaryHeap<Reverse<(OrderedFloat<f64>, Event)>>,
    /// The time at which each host has combined all segments received so far, seconds.
    combined_s: Vec<f64>,
    now_s: f64,
    finish_s: f64,
}

impl Run<'_> {
    fn finish(&mut self, longest_s: f64, budget: &Budget) -> Result<f64, PlanError> {
        if self.programs.transfers().protocol == Protocol::Rendezvous {
            return Err(PlanError::BadRequest("its messages ask for permission".to_string()));
        }
        let mut dirty: Vec<NodeId> = self.platform.nodes().collect();
        let (mut ended, mut counted) = (Vec::new(), 0);
        loop {
            dirty.sort_unstable();
            dirty.dedup();
            for node in dirty.drain(..) {
                self.act(node)?;
            }
            let next_s = self.events.peek().map_or(f64::INFINITY, |Reverse((at_s, _))| at_s.0);
            let next_s = next_s.min(self.flows.next_end_s());
            if next_s.is_infinite() {
                break;
            }
            if next_s > longest_s {
                return Ok(f64::INFINITY);
            }
            self.now_s = next_s;
            let instant = same_until(self.now_s);
            self.flows.end(self.now_s, instant, &mut ended);
            while let Some(&Reverse((_, event))) =
                self.events.peek().filter(|Reverse((at_s, _))| at_s.0 <= instant)
            {
                self.events.pop();
                self.happen(event, &mut dirty);
            }
            for flight in ended.drain(..) {
                self.arrive(flight, &mut dirty);
            }
            self.flows.share(self.now_s);
            let looks = self.flows.looks() + LOOKS_PER_MESSAGE * self.flights.len() as u64;
            if looks - counted >= LOOKS_PER_UNIT {
                let spent = budget.spend((looks - counted) / LOOKS_PER_UNIT);
                counted = looks;
                if spent {
                    return Err(PlanError::OutOfTime);
                }
            }
        }
        match self.is_finished() {
            true => Ok(self.finish_s),
            false => Err(PlanError::BadRequest("the plan deadlocks, or a transfer never ends".to_string())),
        }
    }

    fn is_finished(&self) -> bool {
        self.nodes.iter().all(|node| node.executor.is_finished())
    }

    fn at(&mut self, at_s: f64, event: Event) {
        self.events.push(Reverse((OrderedFloat(at_s), event)));
    }

    fn happen(&mut self, event: Event, dirty: &mut Vec<NodeId>) {
        match event {
            Event::Begins { flight } => self.begin(flight),
            Event::Combined { flight } => self.report(flight, dirty),
            Event::Starts { node } => {
                let flight = self.nodes[node.index()].asleep.take();
                flight.into_iter().for_each(|flight| self.send(flight));
                dirty.push(node);
            }
        }
    }

    /// What a rank does between two waits, as [`crate::execute::drive`].
    fn act(&mut self, node: NodeId) -> Result<(), PlanError> {
        while self.nodes[node.index()].asleep.is_none() {
            while let Some(receive) = self.nodes[node.index()].executor.poll_receive() {
                let channel = self.channels.entry((receive.from, node, receive.item.tag)).or_default();
                match channel.waiting.pop_front() {
                    Some(flight) => self.leave(flight, 1.0),
                    None => channel.posted += 1,
                }
            }
            while let Some(message) = self.nodes[node.index()].executor.poll_send() {
                let flight = self.take_off(node, message)?;
                let Flight { message, bytes, .. } = &self.flights[flight as usize];
                let start_s = self.sending.starts_s(node, message, *bytes, self.now_s);
                if start_s > same_until(self.now_s) {
                    self.nodes[node.index()].asleep = Some(flight);
                    self.at(start_s, Event::Starts { node });
                    return Ok(());
                }
                self.send(flight);
            }
            let Node { executor, done, .. } = &mut self.nodes[node.index()];
            if done.is_empty() {
                break;
            }
            for completion in done.drain(..) {
                match completion {
                    Completion::Sent { to } => executor.handle_sent(to),
                    Completion::Received { from, kind, tag, segment } => {
                        executor.handle_received(from, kind, tag, segment);
                    }
                }
            }
        }
        Ok(())
    }

    fn take_off(&mut self, from: NodeId, message: Message) -> Result<u32, PlanError> {
        let to = message.to;
        let no_link = || PlanError::BadRequest("it goes over switches".to_string());
        let class = self.platform.link(from, to).ok_or_else(no_link)?;
        let bytes = message.items().map(|item| self.programs.place(item.segment).1).sum();
        let track = self.flows.track(self.platform, Hop { from, to, class }, bytes);
        self.flights.push(Flight { from, message, bytes, track, has_arrived: false });
        Ok(self.flights.len() as u32 - 1)
    }

    fn send(&mut self, flight: u32) {
        let Flight { from, message, bytes, .. } = &self.flights[flight as usize];
        let (from, to, tag) = (*from, message.to, message.first.tag);
        let bytes = *bytes;
        let is_posted = self.nodes[to.index()].executor.is_announced();
        let channel = self.channels.entry((from, to, tag)).or_default();
        channel.not_reported.push_back(flight);
        if is_posted && channel.posted == 0 {
            channel.waiting.push_back(flight);
            return;
        }
        channel.posted = channel.posted.saturating_sub(1);
        let latencies = if !is_posted && self.sending.is_announced_apart(bytes) { 2.0 } else { 1.0 };
        self.leave(flight, latencies);
    }

    fn leave(&mut self, flight: u32, latencies: f64) {
        let latency_s = self.flows.latency_s(self.flights[flight as usize].track);
        self.at(self.now_s + latencies * latency_s, Event::Begins { flight });
    }

    fn begin(&mut self, flight: u32) {
        let Flight { from, message, track, .. } = &self.flights[flight as usize];
        if self.sending.goes_in_order() {
            let connection = self.connections.entry((*from, message.to)).or_default();
            connection.push_back(flight);
            if connection.len() > 1 {
                return;
            }
        }
        self.flows.begin(self.now_s, *track, flight);
    }

    fn arrive(&mut self, flight: u32, dirty: &mut Vec<NodeId>) {
        let Flight { from, message, bytes, .. } = &self.flights[flight as usize];
        let (from, to, bytes) = (*from, message.to, *bytes);
        if let Some(connection) = self.connections.get_mut(&(from, to)) {
            connection.pop_front();
            if let Some(&next) = connection.front() {
                self.flows.begin(self.now_s, self.flights[next as usize].track, next);
            }
        }
        // A message is in its sender's window until it has arrived.
        self.nodes[from.index()].done.push(Completion::Sent { to });
        dirty.push(from);
        let combines = self.flights[flight as usize].message.items().any(|item| item.combines);
        match self.platform.node(to).combine_bytes_per_s.filter(|_| combines) {
            Some(rate) => {
                let done_s = &mut self.combined_s[to.index()];
                *done_s = done_s.max(self.now_s) + bytes as f64 / rate;
                let done_s = *done_s;
                self.at(done_s, Event::Combined { flight });
            }
            None => self.report(flight, dirty),
        }
    }

    /// Reports a message, and those of its channel that wait for it, to the receiver.
    fn report(&mut self, flight: u32, dirty: &mut Vec<NodeId>) {
        self.finish_s = self.finish_s.max(self.now_s);
        self.flights[flight as usize].has_arrived = true;
        let Flight { from, message, .. } = &self.flights[flight as usize];
        let (from, to, tag) = (*from, message.to, message.first.tag);
        let Some(channel) = self.channels.get_mut(&(from, to, tag)) else { return };
        let flights = &self.flights;
        let has_arrived = |&flight: &u32| flights[flight as usize].has_arrived;
        while let Some(flight) = channel.not_reported.front().copied().filter(has_arrived) {
            channel.not_reported.pop_front();
            let received = flights[flight as usize].message.items().map(|item| Completion::Received {
                from,
                kind: Kind::Data,
                tag: item.tag,
                segment: item.segment,
            });
            self.nodes[to.index()].done.extend(received);
        }
        dirty.push(to);
    }
}
