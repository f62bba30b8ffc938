//! How many messages an edge between ranks keeps in flight, and how many such links a port feeds at once.

use crate::smpi::Turn;
use broadleaf::plan::{Collective, Direction, Period, Plan, Slot, Tree};
use broadleaf::platform::{LinkClass, NodeId, Platform, PortModel, SharedId};
use std::collections::{HashMap, HashSet};

/// How a sender treats one of its links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Messages that may be in flight.
    pub window: u16,
    /// How many links like this one the sender's port can feed at once.
    pub feeds: u16,
    /// Of the sender's port, in simulated time.
    pub turn: Turn,
    /// How far its messages go ahead of their segments' turns, in parts of a turn.
    pub lead: u32,
}

impl Edge {
    /// Inside a node.
    pub fn local(link: &LinkClass, segment_bytes: u64) -> Edge {
        Edge {
            window: window(link, link.time.seconds(segment_bytes)),
            feeds: 1,
            turn: Turn::default(),
            lead: 0,
        }
    }
}

/// From a finished send until the next one is started, a rank may be busy elsewhere for about this long, s; a window
/// holds as much more.
const TURNAROUND_S: f64 = 20e-6;

/// Beyond this, more messages in flight only sit in buffers.
pub(super) const MAX_WINDOW: f64 = 2048.0;

/// How many messages keep a link busy, one every `message_s`: those on the wire and one being made ready.
///
/// Messages arrive in twos and threes, not one at a time. Where the way takes about as long as a message or longer,
/// one more and an eighth more keep the link busy until the next ones.
pub(super) fn window(class: &LinkClass, message_s: f64) -> u16 {
    let least = on_the_wire(class, message_s);
    let spare = if behind(class, message_s) > LONG_WAY { 1 + least / SPARE_PART } else { 0 };
    least.saturating_add(1 + spare)
}

/// In messages.
const LONG_WAY: f64 = 0.75;
const SPARE_PART: u16 = 8;

/// In messages; chosen.
const IN_STEP: f64 = 0.1;

/// The same where the next message is for another rank, as in a period, or where each rank gets the whole message at
/// once: a message made ready would share the wire with earlier ones instead of following them.
pub fn on_the_wire(class: &LinkClass, message_s: f64) -> u16 {
    behind(class, message_s).ceil().clamp(1.0, MAX_WINDOW) as u16
}

/// The same in simulated time, for a timetable's link that uses its sender's port for the part `busy` of the time.
/// One message at a time keeps senders and receivers in step, but after each the port is idle for a latency. Where that
/// costs more than messages that share a receiver's port, there are as many as the link holds.
fn in_simulated_timetable(class: &LinkClass, message_s: f64, busy: f64) -> u16 {
    let behind = behind(class, message_s);
    if behind > IN_STEP {
        return window(class, message_s);
    }
    ((1.0 + behind) * busy).ceil().max(1.0) as u16
}

/// What the edges of a plan in simulated time have in common.
struct SimulatedPorts {
    /// For which part of its sender's time each link of a timetable has a transfer under way, 0 to 1.
    busy: HashMap<(NodeId, NodeId), f64>,
    /// As [`Plan::is_direct`].
    is_direct: bool,
}

impl SimulatedPorts {
    fn of(plan: &Plan, platform: &Platform) -> SimulatedPorts {
        let (mut of_link, mut of_sender) = (HashMap::new(), HashMap::new());
        for (slot, way) in plan.period.iter().flat_map(|period| slots_by_way(plan, period)) {
            let Some(link) = platform.link(slot.from, slot.to) else { continue };
            let taken_s = platform.wire_s(platform.class(link), plan.segment_bytes);
            *of_link.entry((slot.from, slot.to, way)).or_insert(0.0) += taken_s;
            *of_sender.entry((slot.from, way)).or_insert(0.0) += taken_s;
        }
        let mut busy = HashMap::new();
        for ((from, to, way), taken_s) in of_link {
            let part: f64 = taken_s / of_sender[&(from, way)];
            let most = busy.entry((from, to)).or_insert(part);
            *most = most.max(part);
        }
        SimulatedPorts { busy, is_direct: plan.is_direct() }
    }
}

/// The slots of a period, each with whether it belongs to an all-reduce's way in, where the way out begins when most of the
/// message has come in: each way has the ports for itself.
pub fn slots_by_way<'a>(plan: &'a Plan, period: &'a Period) -> impl Iterator<Item = (&'a Slot, bool)> {
    let is_inward = |slot: &Slot| period.goes_inward(slot, plan.collective);
    let out = period.slots.iter().filter(|slot| !is_inward(slot));
    let periods = plan.segment_count().div_ceil(u64::from(period.segments.max(1)));
    let are_apart = periods <= u64::from(out.map(|slot| slot.lag).min().unwrap_or(0));
    period.slots.iter().map(move |slot| (slot, are_apart && is_inward(slot)))
}

/// The messages that could leave while one is on its way and the next is made ready.
fn behind(class: &LinkClass, message_s: f64) -> f64 {
    (class.latency_s + TURNAROUND_S) / message_s
}

/// A tree's edge, and which way its segments go.
pub(super) struct Ends {
    pub parent: NodeId,
    pub child: NodeId,
    pub is_inward: bool,
}

/// Whether what a tree moves of a message or block is one segment. Of an all-reduce's message it has a part.
pub fn goes_whole(plan: &Plan, tree: &Tree) -> bool {
    let of_tree = if plan.collective.direction() == Direction::Both { tree.share } else { 1.0 };
    plan.segment_bytes as f64 >= of_tree * plan.message_bytes as f64
}

/// Of a gather's block, a host may have one of as many parts in flight; chosen.
const BLOCK_PARTS: u64 = 4;

/// The edges of a plan's trees.
pub(super) struct Edges<'a> {
    plan: &'a Plan,
    platform: &'a Platform,
    /// In simulated time.
    simulated: Option<SimulatedPorts>,
    senders: PipeSenders,
}

impl<'a> Edges<'a> {
    pub fn of(plan: &'a Plan, platform: &'a Platform, is_simulated: bool) -> Edges<'a> {
        let simulated = is_simulated.then(|| SimulatedPorts::of(plan, platform));
        Edges { plan, platform, simulated, senders: PipeSenders::of(plan, platform) }
    }

    /// The messages in flight that do not yet hold up the segments behind them.
    fn part_of_block(&self) -> u16 {
        let segments = self.plan.message_bytes.div_ceil(self.plan.segment_bytes);
        segments.div_ceil(BLOCK_PARTS).min(MAX_WINDOW as u64) as u16
    }

    /// Between a node and one of its children in a tree, via the nodes that relay the transfer. Each hop moves whole
    /// segments, so the most demanding hop decides for all.
    pub fn edge(&self, tree: &Tree, ends: Ends) -> Edge {
        let Edges { plan, platform, .. } = *self;
        let simulated = self.simulated.as_ref();
        let bytes = plan.segment_bytes;
        let is_whole = goes_whole(plan, tree);
        let Ends { parent, child, is_inward } = ends;
        let mut path = vec![parent];
        path.extend(tree.via.get(&child).into_iter().flatten());
        path.push(child);
        if is_inward {
            path.reverse();
        }
        let ends = (path[0], path[path.len() - 1]);
        // A real port shares the wire among the messages to all ranks that get the whole message at once.
        let goes_alone = plan.period.is_some() || (is_whole && simulated.is_none());
        let busy = simulated.and_then(|ports| ports.busy.get(&ends));
        let in_flight = |class: &LinkClass, message_s: f64| match busy {
            Some(&busy) => in_simulated_timetable(class, message_s, busy),
            _ if goes_alone => on_the_wire(class, message_s),
            _ => window(class, message_s),
        };
        let mut edge = Edge { window: 1, feeds: 1, turn: Turn::default(), lead: 0 };
        for hop in path.windows(2) {
            let Some(link) = platform.link(hop[0], hop[1]) else { continue };
            let class = platform.class(link);
            let feeds = links_of_a_port(platform, hop[0], class, bytes);
            edge.feeds = if path.len() == 2 { feeds } else { 1 };
            // Simulated hosts take no time for a message.
            let message_s = match simulated {
                Some(_) => platform.wire_s(class, bytes),
                None => class.time.seconds(bytes),
            };
            let least = in_flight(class, message_s.max(self.senders.round_s(platform, class, bytes)));
            let paced = least.max(self.part_of_block());
            edge.window = edge.window.max(in_flight(class, message_s).min(paced));
            if simulated.is_some() {
                edge.turn.port_s = edge.turn.port_s.max((message_s / f64::from(feeds)) as f32);
                edge.turn.ahead_s += if is_whole { class.latency_s as f32 } else { 0.0 };
            }
        }
        if let Some(ports) = simulated.filter(|_| is_whole) {
            // One message per child: only turns separate them. Where no child passes anything on, only the last arrival
            // counts, which is no later if messages share the port; in turns, the port would wait for a far message's latency.
            edge.window = MAX_WINDOW as u16;
            if ports.is_direct || (plan.trees.len() == 1 && tree.serves_leaves(parent)) {
                edge.turn = Turn::default();
            }
        }
        edge
    }

    /// Between the heads of an exchange, each one's to all others.
    pub fn between_heads(&self, tree: &Tree, root: NodeId) -> Vec<(NodeId, NodeId, Edge)> {
        let heads = [&[root], &tree.exchange[..]].concat();
        let pairs = heads.iter().flat_map(|&from| heads.iter().map(move |&to| (from, to)));
        let apart = pairs.filter(|&(from, to)| from != to);
        let edge =
            |(child, parent)| (child, parent, self.edge(tree, Ends { parent, child, is_inward: true }));
        apart.map(edge).collect()
    }
}

/// By pipe, the number of hosts that send through it in a gather; empty for other collectives.
///
/// In a gather all hosts start at once, and share the pipes. If each had its whole block in flight, all segments would
/// pass the pipe at the same time, and relays would idle until the last ones are through. So each has its share of what
/// the pipe holds in flight, or a part of its block if that is more.
#[derive(Default)]
struct PipeSenders(HashMap<SharedId, HashSet<NodeId>>);

impl PipeSenders {
    fn of(plan: &Plan, platform: &Platform) -> PipeSenders {
        let mut senders = PipeSenders::default();
        if plan.collective == Collective::Gather {
            for (parent, child) in plan.trees.iter().flat_map(Tree::edges) {
                let link = platform.link(child, parent);
                for &pipe in link.iter().flat_map(|&link| &platform.class(link).uses) {
                    senders.0.entry(pipe).or_default().insert(child);
                }
            }
        }
        senders
    }

    /// The time in which the slowest pipe of a link carries one message of each of its senders, seconds; 0 where none is
    /// counted.
    fn round_s(&self, platform: &Platform, class: &LinkClass, bytes: u64) -> f64 {
        let round_s = |pipe: &SharedId| {
            let senders = self.0.get(pipe).map_or(0, HashSet::len);
            senders as f64 * bytes as f64 / platform.shared()[pipe.index()].bandwidth_bytes_per_s
        };
        class.uses.iter().map(round_s).fold(0.0, f64::max)
    }
}

/// More links than a port has.
const MOST_LINKS: u16 = 1000;

/// How many links of a class a node's port can feed at once: under the multi-port model, the link's time over the
/// sender's part of it.
fn links_of_a_port(platform: &Platform, from: NodeId, class: &LinkClass, segment_bytes: u64) -> u16 {
    let port = platform.node(from).out_bytes_per_s.map(|rate| segment_bytes as f64 / rate);
    let send_s = class.send.map(|send| send.seconds(segment_bytes)).or(port);
    let send_s = send_s.filter(|_| platform.port_model() == PortModel::MultiPort);
    let links = send_s.map_or(1.0, |send_s| class.time.seconds(segment_bytes) / send_s);
    // 1 % for the fixed cost of a message.
    (links * 1.01).floor().clamp(1.0, f64::from(MOST_LINKS)) as u16
}
