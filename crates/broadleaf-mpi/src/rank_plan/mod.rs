//! From a plan over the platform's nodes to a plan over the ranks of a communicator.
//!
//! Nodes with several ranks make it a two-level plan: one rank of each node, its *leader*, takes the node's
//! place in every tree, and the others hang below it in an inner tree. The root's own rank leads its node,
//! elsewhere the lowest rank does. Leaders serve other nodes first, since those links are the slower ones.

pub mod allgather;
pub mod carried;
mod encode;
pub mod inner_tree;
#[cfg(test)]
mod tests;

use broadleaf::plan::{Period, Plan, PlanError, Slot, Tree, TreeBuilder};
use broadleaf::platform::{LinkClass, NodeId, Platform, PortModel};
use std::sync::Arc;

/// A plan whose nodes are MPI ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct RankPlan {
    pub plan: Arc<Plan>,
    /// `edges[tree][rank]`: the one into `rank`.
    pub edges: Arc<Vec<Vec<Edge>>>,
    /// Only one rank of each host that shares memory takes part; it passes the message on inside.
    pub led: bool,
}

/// How a sender treats one of its links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Messages that may be in flight.
    pub window: u16,
    /// How many links like this one the sender's port can feed at once.
    pub feeds: u16,
    /// How long the port takes for a segment, s; 0 where the network serves messages one after the other by itself.
    pub turn_s: f32,
    /// How long a whole message to it leaves the port alone at first, s: its latency. 0 in segments, of which others are
    /// under way meanwhile.
    pub ahead_s: f32,
}

impl Edge {
    pub const ONE_BY_ONE: Edge = Edge { window: 1, feeds: 1, turn_s: 0.0, ahead_s: 0.0 };
}

/// What a node with several ranks is like inside.
pub struct Inside<'a> {
    pub tree: InnerTree<'a>,
    /// Between two of its ranks.
    pub link: &'a LinkClass,
    /// Whether the ranks of that rank's node get the message by other means than the plan's.
    pub served: &'a dyn Fn(u32) -> bool,
}

/// The inner tree of a node with that many ranks: (parent, child) positions, breadth first, 0 = leader.
pub type InnerTree<'a> = &'a dyn Fn(usize) -> Vec<(usize, usize)>;

/// From a finished send until the next one is started, a rank may be busy elsewhere for about this long; a
/// window holds so much more, s.
const TURNAROUND_S: f64 = 20e-6;

/// Beyond this, more messages in flight only sit in buffers.
const MAX_WINDOW: f64 = 2048.0;

/// How many messages keep a link busy, one every `message_s`: those on the wire and one being made ready.
///
/// Messages come in twos and threes, not one at a time. Where the way takes about as long as a message or longer,
/// one more, and one in eight more, keep the link busy until the next few come.
pub fn window(class: &LinkClass, message_s: f64) -> u16 {
    let least = on_the_wire(class, message_s);
    let spare = if behind(class, message_s) > LONG_WAY { 1 + least / SPARE_PART } else { 0 };
    least.saturating_add(1 + spare)
}

/// In messages.
const LONG_WAY: f64 = 0.75;
const SPARE_PART: u16 = 8;

/// The same where the next message is for another rank, as in a period, or where each gets the whole in one: the
/// one made ready would share the wire of those before it instead of following them.
fn on_the_wire(class: &LinkClass, message_s: f64) -> u16 {
    behind(class, message_s).ceil().clamp(1.0, MAX_WINDOW) as u16
}

/// How many messages could leave while one that has left is on its way and the next is made ready.
fn behind(class: &LinkClass, message_s: f64) -> f64 {
    (class.latency_s + TURNAROUND_S) / message_s
}

/// `plan`, over the nodes of `platform`, as a plan over ranks. `ranks[node]` are the ranks that sit on a node,
/// ascending; `paced` where ranks have to see to it that messages do not share their port.
pub fn expand(
    plan: &Plan,
    platform: &Platform,
    ranks: &[Vec<u32>],
    root: u32,
    inside: &Inside,
    paced: bool,
) -> Result<RankPlan, PlanError> {
    let plan = plan.bind(platform)?.routed(platform)?;
    let sites: Vec<Vec<NodeId>> = ranks.iter().map(|ranks| led_by(ranks, root)).collect();
    let inner_edges: Vec<(NodeId, NodeId)> = sites
        .iter()
        .filter(|site| site.len() > 1 && !(inside.served)(site[0].0))
        .flat_map(|site| {
            (inside.tree)(site.len()).into_iter().map(|(parent, child)| (site[parent], site[child]))
        })
        .collect();
    let count = ranks.iter().map(Vec::len).sum();
    let leader = |node: NodeId| sites[node.index()][0];
    let shares_freely = goes_apart(&plan, platform);
    let local = Edge {
        window: window(inside.link, inside.link.time.seconds(plan.segment_bytes)),
        ..Edge::ONE_BY_ONE
    };
    let (mut trees, mut edges) = (Vec::new(), Vec::new());
    for tree in &plan.trees {
        trees.push(expand_tree(tree, platform, &leader, &inner_edges, count));
        let mut into = vec![local; count];
        for (from, to) in tree.edges() {
            let edge = edge(&plan, platform, &hops(tree, from, to), paced);
            let is_direct = platform.link(from, to).is_some();
            let feeds = if shares_freely && is_direct { ANY_LINKS } else { edge.feeds };
            into[leader(to).index()] = Edge { feeds, ..edge };
        }
        edges.push(into);
    }
    let period =
        plan.period.as_ref().map(|period| expand_period(period, plan.root, &leader, &inner_edges, count));
    let nodes = Arc::new(vec![String::new(); count]);
    let expanded = Plan { nodes, root: NodeId(root), trees, period, pattern: None, ..plan };
    Ok(RankPlan { plan: Arc::new(expanded), edges: Arc::new(edges), led: false })
}

/// From a node to one of its children, by way of those that pass the transfer on.
fn hops(tree: &Tree, from: NodeId, to: NodeId) -> Vec<NodeId> {
    let mut path = vec![from];
    path.extend(tree.via.get(&to).into_iter().flatten());
    path.push(to);
    path
}

/// Each hop of a relayed transfer moves whole segments, so what the most demanding hop needs holds for all.
fn edge(plan: &Plan, platform: &Platform, path: &[NodeId], paced: bool) -> Edge {
    let bytes = plan.segment_bytes;
    let is_whole = bytes >= plan.message_bytes;
    // A port that is not paced shares the wire between the messages for all who are to get the whole in one.
    let goes_alone = plan.period.is_some() || (is_whole && !paced);
    let in_flight = if goes_alone { on_the_wire } else { window };
    let mut edge = Edge::ONE_BY_ONE;
    for hop in path.windows(2) {
        let Some(link) = platform.link(hop[0], hop[1]) else { continue };
        let class = platform.class(link);
        let feeds = links_of_a_port(platform, hop[0], class, bytes);
        edge.feeds = if path.len() == 2 { feeds } else { 1 };
        // Simulated hosts take no time for a message.
        let message_s = if paced { class.wire_s(bytes) } else { class.time.seconds(bytes) };
        edge.window = edge.window.max(in_flight(class, message_s));
        if paced {
            edge.turn_s = edge.turn_s.max((message_s / f64::from(feeds)) as f32);
            edge.ahead_s += if is_whole { class.latency_s as f32 } else { 0.0 };
        }
    }
    if paced && is_whole {
        // One message a child: their turns are all that keeps them apart.
        edge.window = MAX_WINDOW as u16;
    }
    edge
}

/// Whether each link goes at its own pace: several trees over ports that serve several links at once. A port that waits
/// for a receiver that is busy with other trees' segments would leave idle what other links could take of it; in one
/// tree the children get the same segments, and what one is given early another one waits for.
fn goes_apart(plan: &Plan, platform: &Platform) -> bool {
    let takes_turns = plan.period.is_some() || plan.pattern.is_some() || plan.combine;
    platform.port_model() == PortModel::MultiPort && plan.trees.len() > 1 && !takes_turns
}

/// More links than a port has.
const ANY_LINKS: u16 = 1000;

/// How many links of a class a node's port can feed at once: under the multi-port model, what the port sends over
/// what such a link carries.
fn links_of_a_port(platform: &Platform, from: NodeId, class: &LinkClass, segment_bytes: u64) -> u16 {
    let port = platform.node(from).out_bytes_per_s.filter(|_| platform.port_model() == PortModel::MultiPort);
    let links = port.map_or(1.0, |rate| rate * class.time.seconds(segment_bytes) / segment_bytes as f64);
    // 1 % for what a message costs beside its bytes.
    (links * 1.01).floor().clamp(1.0, f64::from(ANY_LINKS)) as u16
}

/// A node's ranks, its leader first.
fn led_by(ranks: &[u32], root: u32) -> Vec<NodeId> {
    let mut site: Vec<NodeId> = ranks.iter().map(|&rank| NodeId(rank)).collect();
    site.sort_by_key(|&rank| (rank.0 != root, rank));
    site
}

fn expand_tree(
    tree: &Tree,
    platform: &Platform,
    leader: &dyn Fn(NodeId) -> NodeId,
    inner: &[(NodeId, NodeId)],
    count: usize,
) -> Tree {
    let mut builder = TreeBuilder::new(count).share(tree.share);
    for (parent, child) in tree.edges() {
        builder.add(leader(parent), leader(child));
        let relays = tree.via.get(&child).map_or(&[][..], Vec::as_slice);
        // What a switch does between two hosts, the network does by itself.
        let hosts = relays.iter().filter(|&&relay| platform.node(relay).is_host());
        builder.via(leader(child), hosts.map(|&relay| leader(relay)).collect());
    }
    for &(parent, child) in inner {
        builder.add(parent, child);
    }
    builder.build()
}

/// Every node passes a segment on inside in the same period in which it got it, after all other transfers of
/// that period. So if the outer period can be run slot by slot, the whole one can.
fn expand_period(
    period: &Period,
    root: NodeId,
    leader: &dyn Fn(NodeId) -> NodeId,
    inner: &[(NodeId, NodeId)],
    count: usize,
) -> Period {
    let mut slots: Vec<Slot> = period
        .slots
        .iter()
        .map(|slot| Slot { from: leader(slot.from), to: leader(slot.to), ..*slot })
        .collect();
    let within = if inner.is_empty() { 0 } else { period.segments };
    for segment in 0..within {
        let mut lag = vec![0; count];
        for slot in period.slots.iter().filter(|slot| slot.segment == segment && slot.to != root) {
            lag[leader(slot.to).index()] = slot.lag;
        }
        for &(from, to) in inner {
            lag[to.index()] = lag[from.index()];
            slots.push(Slot { segment, from, to, lag: lag[from.index()] });
        }
    }
    Period { segments: period.segments, slots }
}
