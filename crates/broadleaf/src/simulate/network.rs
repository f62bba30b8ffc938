//! The event queue that simulates the network.

mod event;
mod executors;
mod reservations;
mod routes;

use super::calendar::same_until;
use super::trace::{Trace, Transfer};
use super::varying::Varying;
use crate::budget::Budget;
use crate::execute::{Item, Kind, Message, NodeExecutor};
use crate::plan::{Collective, PlanError, Programs};
use crate::platform::{LocalStart, NodeId, Platform};
use event::{Event, Happening};
use executors::executors;
use ordered_float::OrderedFloat;
use reservations::{Grant, Reservations};
use routes::{Routes, CONTROL_BYTES};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Events between two checks of the budget, and events per unit of work.
pub(super) const EVENTS_PER_LOOK: u64 = 512;
pub(super) const EVENTS_PER_UNIT: u64 = 3;
/// Nodes and messages set up per unit of work, before the first event.
const NODES_PER_UNIT: usize = 2;

/// A message under way.
#[derive(Debug)]
struct Flight {
    from: NodeId,
    message: Message,
    bytes: u64,
    route: u32,
    hop: usize,
}

pub(super) struct Network<'a> {
    platform: &'a Platform,
    programs: &'a Programs,
    rates: Option<&'a dyn Varying>,
    executors: Vec<NodeExecutor>,
    reservations: Reservations<'a>,
    routes: Routes<'a>,
    flights: Vec<Option<Flight>>,
    free_flights: Vec<u32>,
    events: BinaryHeap<Event>,
    next_event: u64,
    /// By receiver, messages whose receiver must take another one first (plans with a period).
    held_back: Vec<Vec<u32>>,
    /// By receiver, requests to send whose receiver must take another message first. Answered at once, their data would
    /// be held back, in the port that the sender needs for answers of its own.
    asked: Vec<Vec<u32>>,
    /// Combined items that came before their slot: (receiver, sender, segment).
    early: HashSet<(NodeId, NodeId, u64)>,
    finish_s: Vec<f64>,
    /// The time at which each host has combined all segments received so far, seconds.
    combined_s: Vec<f64>,
    last_release_s: Vec<f64>,
    in_order: bool,
    skips_busy: bool,
    record: bool,
    transfers: Vec<Transfer>,
    transfer_count: u64,
}

impl<'a> Network<'a> {
    /// With `rates`, the rates of links and pipes change as listed there. Fails with [`PlanError::OutOfTime`] if the
    /// time is up first: among n trees, to set up the nodes takes longer than to run them.
    pub fn new(
        platform: &'a Platform,
        programs: &'a Programs,
        rates: Option<&'a dyn Varying>,
        record: bool,
        budget: &Budget,
    ) -> Result<Self, PlanError> {
        let nodes = platform.node_count();
        let executors = executors(platform, programs, budget)?;
        let routes = Routes::new(platform, programs, &executors)?;
        Ok(Network {
            platform,
            programs,
            rates,
            executors,
            reservations: Reservations::new(platform),
            routes,
            flights: Vec::new(),
            free_flights: Vec::new(),
            events: BinaryHeap::new(),
            next_event: 0,
            held_back: vec![Vec::new(); nodes],
            asked: vec![Vec::new(); nodes],
            early: HashSet::new(),
            finish_s: vec![0.0; nodes],
            combined_s: vec![0.0; nodes],
            last_release_s: vec![0.0; nodes],
            in_order: programs.receives_in_order(),
            skips_busy: programs.transfers().skips_busy(),
            record,
            transfers: Vec::new(),
            transfer_count: 0,
        })
    }

    /// Fails with [`PlanError::OutOfTime`] if the budget is spent first.
    pub fn run(mut self, budget: &Budget) -> Result<Trace, PlanError> {
        let mut next_look = EVENTS_PER_LOOK;
        budget.spend((self.executors.len() / NODES_PER_UNIT) as u64);
        let mut dirty: Vec<NodeId> = self.platform.nodes().collect();
        let mut now_s = 0.0;
        // Hops that continue from a switch, with the switch as their sender.
        let mut onward: Vec<(NodeId, u32)> = Vec::new();
        loop {
            dirty.sort_unstable();
            dirty.dedup();
            onward.sort_unstable();
            self.request_all(now_s, &dirty, &onward)?;
            dirty.clear();
            onward.clear();
            let Some(next) = self.events.peek() else { break };
            now_s = next.at_s();
            if self.next_event >= next_look {
                next_look = self.next_event + EVENTS_PER_LOOK;
                if budget.spend(EVENTS_PER_LOOK / EVENTS_PER_UNIT) {
                    return Err(PlanError::OutOfTime);
                }
            }
            let instant = same_until(now_s);
            while let Some(event) = self.events.peek().copied().filter(|event| event.at_s() <= instant) {
                self.events.pop();
                match event.happening {
                    Happening::Free { node, to } => {
                        self.executors[node.index()].handle_sent(to);
                        dirty.push(node);
                    }
                    Happening::Arrived { flight } => {
                        self.arrive(event.at_s(), flight, &mut dirty, &mut onward)
                    }
                    Happening::Combined { flight } => self.land(event.at_s(), flight, &mut dirty),
                }
            }
        }
        self.finish()
    }

    /// Lets every node in `dirty` issue its possible sends, senders in id order, switches' onward hops among them.
    fn request_all(
        &mut self,
        now_s: f64,
        dirty: &[NodeId],
        onward: &[(NodeId, u32)],
    ) -> Result<(), PlanError> {
        let mut onward = onward.iter().peekable();
        for &node in dirty {
            while let Some(&(_, flight)) = onward.next_if(|(switch, _)| *switch < node) {
                self.grant(now_s, flight);
            }
            while let Some(message) = self.executors[node.index()].poll_send() {
                let flight = self.take_off(node, message)?;
                self.request(now_s, flight);
            }
        }
        for &(_, flight) in onward {
            self.grant(now_s, flight);
        }
        Ok(())
    }

    fn take_off(&mut self, from: NodeId, message: Message) -> Result<u32, PlanError> {
        let route = match message.output {
            Some(output) => self.routes.of_output(from, output),
            None => self.routes.back(from, message.to)?,
        };
        let bytes = match message.kind {
            Kind::Data => message.items().map(|item| self.programs.place(item.segment).1).sum(),
            Kind::Request | Kind::Ready => CONTROL_BYTES,
        };
        let flight = Flight { from, message, bytes, route, hop: 0 };
        Ok(match self.free_flights.pop() {
            Some(index) => {
                self.flights[index as usize] = Some(flight);
                index
            }
            None => {
                self.flights.push(Some(flight));
                self.flights.len() as u32 - 1
            }
        })
    }

    /// Grants a message its windows, or holds it back until it is next in its receiver's order.
    fn request(&mut self, now_s: f64, flight: u32) {
        let Flight { from, message, .. } = self.flights[flight as usize].as_ref().expect("a live flight");
        let (from, to, first) = (*from, message.to, message.first);
        if !self.in_order || message.kind != Kind::Data || first.target != to {
            self.grant(now_s, flight);
            return;
        }
        if self.executors[to.index()].expected() != Some((from, first.segment)) {
            self.held_back[to.index()].push(flight);
            return;
        }
        self.grant_in_order(now_s, to, flight);
        while let Some((sender, segment)) = self.executors[to.index()].expected() {
            let is_next = |&flight: &u32| {
                let waiting = self.flights[flight as usize].as_ref().expect("a live flight");
                waiting.from == sender && waiting.message.first.segment == segment
            };
            let Some(at) = self.held_back[to.index()].iter().position(is_next) else { break };
            let next = self.held_back[to.index()].remove(at);
            self.grant_in_order(now_s, to, next);
        }
        for flight in std::mem::take(&mut self.asked[to.index()]) {
            self.schedule(now_s, Happening::Arrived { flight });
        }
    }

    /// Whether a request to send must wait for its turn.
    fn is_early(&mut self, to: NodeId, flight: u32) -> bool {
        let Flight { from, message, .. } = self.flights[flight as usize].as_ref().expect("a live flight");
        let next = Some((*from, message.first.segment));
        let has_turn = self.in_order && message.kind == Kind::Request && message.first.target == to;
        has_turn && self.executors[to.index()].expected() != next
    }

    fn grant_in_order(&mut self, now_s: f64, to: NodeId, flight: u32) {
        let Flight { from, message, .. } = self.flights[flight as usize].as_ref().expect("a live flight");
        let from = *from;
        let rest: Vec<u64> = message.rest.iter().map(|item| item.segment).collect();
        self.grant(now_s, flight);
        self.executors[to.index()].advance_expected();
        self.early.extend(rest.into_iter().map(|segment| (to, from, segment)));
        if self.early.is_empty() {
            return;
        }
        while let Some((sender, segment)) = self.executors[to.index()].expected() {
            if !self.early.remove(&(to, sender, segment)) {
                break;
            }
            self.executors[to.index()].advance_expected();
        }
    }

    /// Grants a flight's current hop the earliest free windows, and schedules its events.
    fn grant(&mut self, now_s: f64, index: u32) {
        let flight = self.flights[index as usize].as_ref().expect("a live flight");
        let (from, to, route, hop_index, bytes) =
            (flight.from, flight.message.to, flight.route, flight.hop, flight.bytes);
        let (first, kind, items) =
            (flight.message.first, flight.message.kind, 1 + flight.message.rest.len() as u32);
        let hops = self.routes.hops(route);
        let (hop, is_last) = (hops[hop_index], hop_index + 1 == hops.len());
        let ordered = (self.in_order && is_last && kind == Kind::Data && first.target == to).then_some(to);
        let held = match self.rates {
            Some(rates) => self.reservations.reserve_varying(now_s, rates, hop, bytes, ordered),
            None if bytes == self.programs.transfers().segment_bytes => {
                let timing = self.routes.full_timing(route, hop_index, bytes, &mut self.reservations);
                self.reservations.reserve(now_s, timing, ordered)
            }
            None => {
                let timing = self.reservations.timing(hop, bytes);
                self.reservations.reserve(now_s, &timing, ordered)
            }
        };
        let Grant { start_s, release_s, arrival_s } = held;
        self.transfer_count += 1;
        if self.record {
            let segments = if kind == Kind::Data { items } else { 0 };
            self.transfers.push(Transfer {
                from: hop.from,
                to: hop.to,
                tree: first.tree,
                segment: first.segment,
                segments,
                bytes,
                start_s,
                release_s,
                arrival_s,
            });
        }
        if hop_index == 0 {
            self.last_release_s[from.index()] = self.last_release_s[from.index()].max(release_s);
            // A link with a queue of its own takes the next segment when it is free, whenever the port was.
            let free_s = match self.skips_busy {
                true => release_s.max(arrival_s - self.platform.class(hop.class).latency_s),
                false => release_s,
            };
            self.schedule(free_s, Happening::Free { node: from, to });
        }
        self.schedule(arrival_s, Happening::Arrived { flight: index });
    }

    fn schedule(&mut self, at_s: f64, happening: Happening) {
        let number = self.next_event;
        self.next_event += 1;
        self.events.push(Event { due: Reverse((OrderedFloat(at_s), number)), happening });
    }

    fn arrive(&mut self, at_s: f64, index: u32, dirty: &mut Vec<NodeId>, onward: &mut Vec<(NodeId, u32)>) {
        let flight = self.flights[index as usize].as_mut().expect("a live flight");
        let hops = self.routes.hops(flight.route);
        if flight.hop + 1 < hops.len() {
            flight.hop += 1;
            onward.push((hops[flight.hop].from, index));
            return;
        }
        let to = flight.message.to;
        if self.is_early(to, index) {
            self.asked[to.index()].push(index);
            return;
        }
        let flight = self.flights[index as usize].as_ref().expect("a live flight");
        if let Some(rate) = self.platform.node(to).combine_bytes_per_s {
            let is_data = flight.message.kind == Kind::Data;
            let combined = flight.message.items().filter(|item| is_data && item.combines);
            let bytes: u64 = combined.map(|item| self.programs.place(item.segment).1).sum();
            if bytes > 0 {
                let done_s = &mut self.combined_s[to.index()];
                *done_s = done_s.max(at_s) + bytes as f64 / rate;
                let done_s = *done_s;
                self.schedule(done_s, Happening::Combined { flight: index });
                return;
            }
        }
        self.land(at_s, index, dirty);
    }

    /// Delivers a flight to its receiver.
    fn land(&mut self, at_s: f64, index: u32, dirty: &mut Vec<NodeId>) {
        let Flight { from, message, .. } = self.flights[index as usize].take().expect("a live flight");
        self.free_flights.push(index);
        let to = message.to;
        let segments = self.programs.segments();
        let is_scatter = self.programs.transfers().collective == Collective::Scatter;
        let executor = &mut self.executors[to.index()];
        let own_block = executor.program().block;
        let mut land = |item: Item| {
            executor.handle_received(from, message.kind, item.tag, item.segment);
            // A scatter's relayed blocks pass through members of the tree, which finish without them.
            let is_needed = !is_scatter || segments.split(item.segment).0 == own_block;
            if message.kind == Kind::Data && item.target == to && is_needed {
                let finish = &mut self.finish_s[to.index()];
                *finish = finish.max(at_s);
            }
        };
        message.items().for_each(&mut land);
        dirty.push(to);
    }

    fn finish(mut self) -> Result<Trace, PlanError> {
        let waiting: Vec<NodeId> = self
            .executors
            .iter()
            .filter(|executor| !executor.is_finished())
            .map(NodeExecutor::node)
            .collect();
        if let Some(&first) = waiting.first() {
            let node = self.platform.node(first).id.clone();
            return Err(PlanError::Deadlock { node, waiting: waiting.len() });
        }
        let is_inward = self.programs.transfers().collective.is_inward();
        for node in self.platform.nodes() {
            let properties = self.platform.node(node);
            let finish = &mut self.finish_s[node.index()];
            if is_inward {
                // A node finishes no earlier than its last send.
                *finish = finish.max(self.last_release_s[node.index()]);
            }
            if !properties.is_host() {
                *finish = f64::NAN;
            } else if let Some(local_s) = properties.local_broadcast_s {
                let start = match self.platform.local_start() {
                    LocalStart::AfterLastSend => finish.max(self.last_release_s[node.index()]),
                    LocalStart::OnArrival => *finish,
                };
                *finish = start + local_s;
            }
        }
        let makespan_s = self.finish_s.iter().copied().fold(0.0, f64::max);
        Ok(Trace {
            makespan_s,
            finish_s: self.finish_s,
            transfer_count: self.transfer_count,
            transfers: self.transfers,
            busy_s: self.reservations.busy_s(),
        })
    }
}
