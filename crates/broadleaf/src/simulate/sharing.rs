//! One message down one tree, where all that is under way shares ports, links and pipes.
//!
//! The simulator grants windows one after the other, so of several messages through one port the first is there
//! early. A network that shares (TCP, and SimGrid's model of it) brings them all when the simulator brings the last,
//! so for whole messages, of which many are under way at once, the same tree takes longer there, and another may be
//! the quickest. Here a message that is sent first takes its latency, in which it occupies nothing, and then a part
//! of everything that [`occupation`] lists: max-min fairly, in inverse proportion to its latency as TCP does. Alone,
//! it arrives after latency + T(s) as everywhere.

use crate::model::{occupation, Resource};
use crate::platform::{Hop, LinkClassId, NodeId, Platform};
use std::collections::HashMap;

/// Relative; nearer than that, two limits are one.
const SAME: f64 = 1e-9;
/// No link is nearer, s.
const LEAST_LATENCY_S: f64 = 1e-9;

/// What a message over one link takes.
#[derive(Clone, Debug)]
struct Way {
    latency_s: f64,
    /// T(s): what it takes with nothing else under way.
    alone_s: f64,
    /// How much faster than another it becomes where both share something.
    weight: f64,
    /// Resources, and which part of each it takes at full speed.
    takes: Vec<(u32, f64)>,
    sending: Sending,
}

/// How a message is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Of its sender's port, until it has arrived ([`crate::execute::Window`]); a node sends on until the whole port
    /// is given out.
    pub part: f64,
    /// How long it takes the sender's port, s, where that serves one at a time; the next one waits for it.
    pub turn_s: f64,
    /// From the sending on until it comes to the port, s; so much earlier it may be sent.
    pub ahead_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    from: u32,
    to: u32,
    /// In [`Sharing::ways`].
    way: usize,
    /// Its latency is over.
    begins_s: f64,
    /// Of `alone_s`.
    left_s: f64,
    /// Of full speed.
    speed: f64,
}

/// Times trees for messages of one length on one platform.
pub struct Sharing<'a> {
    platform: &'a Platform,
    bytes: u64,
    sending: &'a dyn Fn(NodeId, LinkClassId) -> Sending,
    /// By ordered pair; made on first use. `None` inside: no link.
    ways: Vec<Option<Option<Way>>>,
    resources: HashMap<Resource, u32>,
    flows: Vec<Flow>,
    unused: Vec<f64>,
    asked: Vec<f64>,
    /// When each node holds the message.
    arrival_s: Vec<f64>,
}

impl<'a> Sharing<'a> {
    /// `sending` says how a node sends a message over a link.
    pub fn new(
        platform: &'a Platform,
        bytes: u64,
        sending: &'a dyn Fn(NodeId, LinkClassId) -> Sending,
    ) -> Sharing<'a> {
        let nodes = platform.node_count();
        Sharing {
            platform,
            bytes,
            sending,
            ways: vec![None; nodes * nodes],
            resources: HashMap::new(),
            flows: Vec::new(),
            unused: Vec::new(),
            asked: Vec::new(),
            arrival_s: vec![f64::INFINITY; nodes],
        }
    }

    /// When the last node of the tree holds the message, seconds; infinite where an edge has no link.
    /// `children[node]` in serving order.
    #[allow(clippy::too_many_lines, reason = "one event loop over local state")]
    pub fn makespan_s(&mut self, root: NodeId, children: &[Vec<NodeId>]) -> f64 {
        let nodes = self.platform.node_count();
        let mut next = vec![0usize; nodes];
        let mut given_out = vec![0.0f64; nodes];
        let mut open = vec![root];
        // Nodes that wait for their port, and until when.
        let mut waiting: Vec<(f64, NodeId)> = Vec::new();
        let mut port_free_s = vec![0.0f64; nodes];
        let (mut now_s, mut last_s) = (0.0f64, 0.0f64);
        self.flows.clear();
        self.arrival_s.fill(f64::INFINITY);
        self.arrival_s[root.index()] = 0.0;
        loop {
            for node in open.drain(..) {
                let at = node.index();
                while given_out[at] < 1.0 && next[at] < children[at].len() {
                    let to = children[at][next[at]];
                    let Some(index) = self.way(node, to) else { return f64::INFINITY };
                    let Some(Some(way)) = &self.ways[index] else { return f64::INFINITY };
                    let Sending { part, turn_s, ahead_s } = way.sending;
                    let may_go_s = port_free_s[at] - ahead_s;
                    if may_go_s > now_s * (1.0 + SAME) {
                        waiting.push((may_go_s, node));
                        break;
                    }
                    next[at] += 1;
                    given_out[at] += part;
                    if turn_s > 0.0 {
                        port_free_s[at] = now_s + ahead_s + turn_s;
                    }
                    let begins_s = now_s + way.latency_s;
                    let left_s = way.alone_s;
                    self.flows.push(Flow {
                        from: node.0,
                        to: to.0,
                        way: index,
                        begins_s,
                        left_s,
                        speed: 0.0,
                    });
                }
            }
            self.share_out(now_s);
            let ends_s = |flow: &Flow| match flow.begins_s > now_s {
                true => flow.begins_s,
                false => now_s + flow.left_s / flow.speed,
            };
            let waits_s = waiting.iter().map(|&(until_s, _)| until_s);
            let Some(then_s) = self.flows.iter().map(ends_s).chain(waits_s).reduce(f64::min) else {
                return last_s;
            };
            let until_s = then_s * (1.0 + SAME);
            waiting.retain(|&(until, node)| {
                let goes_on = until <= until_s;
                if goes_on {
                    open.push(node);
                }
                !goes_on
            });
            let mut at = 0;
            while at < self.flows.len() {
                let flow = &mut self.flows[at];
                if flow.begins_s > now_s {
                    at += 1;
                    continue;
                }
                if now_s + flow.left_s / flow.speed <= until_s {
                    let Flow { from, to, way, .. } = self.flows.swap_remove(at);
                    let Some(Some(way)) = &self.ways[way] else { continue };
                    given_out[from as usize] -= way.sending.part;
                    // What rounding leaves of a port is not free for one more.
                    if given_out[from as usize] < SAME {
                        given_out[from as usize] = 0.0;
                    }
                    self.arrival_s[to as usize] = then_s;
                    last_s = then_s;
                    open.extend([NodeId(from), NodeId(to)]);
                    continue;
                }
                flow.left_s -= (then_s - now_s) * flow.speed;
                at += 1;
            }
            now_s = then_s;
        }
    }

    /// When each node held the message in the last run, seconds.
    pub fn arrivals_s(&self) -> &[f64] {
        &self.arrival_s
    }

    /// The number of the way from one node to another, if there is a link.
    fn way(&mut self, from: NodeId, to: NodeId) -> Option<usize> {
        let index = from.index() * self.platform.node_count() + to.index();
        if self.ways[index].is_none() {
            let way = self.platform.link(from, to).map(|class| self.made(from, to, class));
            self.ways[index] = Some(way);
        }
        matches!(self.ways[index], Some(Some(_))).then_some(index)
    }

    fn made(&mut self, from: NodeId, to: NodeId, class: LinkClassId) -> Way {
        let latency_s = self.platform.class(class).latency_s;
        let occupied = occupation(self.platform, Hop { from, to, class }, self.bytes);
        let longest_s = occupied.windows.iter().map(|window| window.duration_s).fold(0.0, f64::max);
        // A pipe may be slower than the link that leads through it.
        let alone_s = (occupied.arrival_s - latency_s).max(longest_s).max(LEAST_LATENCY_S);
        let mut takes: Vec<(u32, f64)> = Vec::with_capacity(occupied.windows.len());
        for window in occupied.windows {
            let next = self.resources.len() as u32;
            let resource = *self.resources.entry(window.resource).or_insert(next);
            takes.push((resource, window.duration_s / alone_s));
        }
        self.unused.resize(self.resources.len(), 0.0);
        self.asked.resize(self.resources.len(), 0.0);
        let weight = alone_s / latency_s.max(LEAST_LATENCY_S);
        Way { latency_s, alone_s, weight, takes, sending: (self.sending)(from, class) }
    }

    /// The speed of every flow whose latency is over: all grow in proportion to their weights until something that
    /// they take is used up.
    fn share_out(&mut self, now_s: f64) {
        let Sharing { ways, flows, unused, asked, .. } = self;
        let of = |flow: &Flow| ways[flow.way].as_ref().and_then(Option::as_ref);
        let mut growing: Vec<usize> = Vec::with_capacity(flows.len());
        for (at, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.begins_s <= now_s) {
            growing.push(at);
            for &(resource, _) in of(flow).map_or(&[][..], |way| &way.takes) {
                unused[resource as usize] = 1.0;
            }
        }
        while !growing.is_empty() {
            let takes = |at: usize| of(&flows[at]).map_or((0.0, &[][..]), |way| (way.weight, &way.takes));
            for &at in &growing {
                takes(at).1.iter().for_each(|&(resource, _)| asked[resource as usize] = 0.0);
            }
            for &at in &growing {
                let (weight, parts) = takes(at);
                parts.iter().for_each(|&(resource, part)| asked[resource as usize] += part * weight);
            }
            // How far a flow can grow before something is full; none is faster than alone.
            let room = |at: usize, unused: &[f64]| {
                let (weight, parts) = takes(at);
                let of_resource = |&(resource, _): &(u32, f64)| {
                    (unused[resource as usize] / asked[resource as usize]).max(0.0)
                };
                parts.iter().map(of_resource).fold(1.0 / weight, f64::min)
            };
            let least = growing.iter().map(|&at| room(at, unused)).fold(f64::INFINITY, f64::min);
            let (full, rest): (Vec<usize>, Vec<usize>) =
                growing.iter().partition(|&&at| room(at, unused) <= least * (1.0 + SAME));
            for &at in &full {
                let (weight, parts) = takes(at);
                parts.iter().for_each(|&(resource, part)| unused[resource as usize] -= part * weight * least);
            }
            let speeds: Vec<(usize, f64)> = full.iter().map(|&at| (at, takes(at).0 * least)).collect();
            // What is used up to the last bit still lets a trickle through, or time would not end.
            speeds.into_iter().for_each(|(at, speed)| flows[at].speed = speed.max(SAME));
            growing = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    /// Nodes a to d: 1 s of latency and 1 s a message between any two, but 3 s of latency to d.
    fn platform(port_model: &str, more: &str) -> Platform {
        let text = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "four", "port_model": "{port_model}",
            "nodes": [{{"id": "a"}}, {{"id": "b"}}, {{"id": "c"}}, {{"id": "d"}}], {more}
            "meshes": [{{"nodes": ["a", "b", "c"], "link": {{"latency_s": 1, "bandwidth_bytes_per_s": 10}}}}]}}"#
        );
        Platform::from_json(&text).unwrap()
    }

    fn part(part: f64) -> Sending {
        Sending { part, turn_s: 0.0, ahead_s: 0.0 }
    }

    fn tree(edges: &[(u32, u32)]) -> Vec<Vec<NodeId>> {
        let mut children = vec![Vec::new(); 4];
        edges.iter().for_each(|&(from, to)| children[from as usize].push(NodeId(to)));
        children
    }

    const FAR: &str = r#""links": [{"from": "a", "to": "d", "latency_s": 3, "bandwidth_bytes_per_s": 10}],"#;

    #[test]
    fn messages_through_one_port_come_together() {
        let platform = platform("one-port", FAR);
        let mut all_at_once = Sharing::new(&platform, 10, &|_, _| part(0.0));
        // Both share the port after their latency.
        assert!((all_at_once.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 2)])) - 3.0).abs() < 1e-6);
        assert_eq!(all_at_once.arrivals_s()[1], all_at_once.arrivals_s()[2]);
        // When the far one's latency is over, the port is free again.
        let with_far = tree(&[(0, 3), (0, 1), (0, 2)]);
        assert!((all_at_once.makespan_s(NodeId(0), &with_far) - 4.0).abs() < 1e-6);
        // One behind the other, each with its latency.
        let mut one_by_one = Sharing::new(&platform, 10, &|_, _| part(1.0));
        assert!((one_by_one.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 2)])) - 4.0).abs() < 1e-6);
        assert!((one_by_one.makespan_s(NodeId(0), &tree(&[(0, 1), (1, 2)])) - 4.0).abs() < 1e-6);
        assert_eq!(one_by_one.makespan_s(NodeId(0), &tree(&[(0, 1), (1, 3)])), f64::INFINITY);
    }

    #[test]
    fn who_rests_between_messages_shares_less() {
        let platform = platform("one-port", FAR);
        // Sent 1 s apart they follow each other; half a second apart they share the port for half of their time.
        for (turn_s, expected) in [(1.0, [2.0, 3.0]), (0.5, [2.5, 3.0]), (4.0, [2.0, 6.0])] {
            let sending = |_, _| Sending { part: 0.25, turn_s, ahead_s: 0.0 };
            let mut sharing = Sharing::new(&platform, 10, &sending);
            let makespan_s = sharing.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 2)]));
            let arrivals = [sharing.arrivals_s()[1], sharing.arrivals_s()[2]];
            for (arrival, expected) in arrivals.iter().zip(expected) {
                assert!((arrival - expected).abs() < 1e-6, "{turn_s}: {arrivals:?}");
            }
            assert_eq!(makespan_s, arrivals[1]);
        }
    }

    #[test]
    fn what_is_far_is_sent_earlier_and_is_not_overtaken() {
        let platform = platform("one-port", FAR);
        let class = |to: u32| platform.link(NodeId(0), NodeId(to)).unwrap();
        let far = class(3);
        let sending =
            |_, class| Sending { part: 0.25, turn_s: 1.0, ahead_s: if class == far { 3.0 } else { 1.0 } };
        let mut sharing = Sharing::new(&platform, 10, &sending);
        // d's message has the port from 3 to 4 s, so b's is sent at 3 s and has it from 4 to 5 s.
        assert!((sharing.makespan_s(NodeId(0), &tree(&[(0, 3), (0, 1)])) - 5.0).abs() < 1e-6);
        assert!((sharing.arrivals_s()[3] - 4.0).abs() < 1e-6);
        // b's has it from 1 to 2 s; d's is sent at once.
        assert!((sharing.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 3)])) - 4.0).abs() < 1e-6);
    }

    #[test]
    fn who_is_near_takes_the_larger_part() {
        // From 3 s on both share the port; d is three times as far as b, whose message was sent at 2 s.
        let platform = platform("one-port", FAR);
        let mut sharing =
            Sharing::new(&platform, 10, &|from, _| part(f64::from(u32::from(from == NodeId(0)))));
        // c from a first: b's message begins at 3 s beside nothing. All one behind the other.
        assert!((sharing.makespan_s(NodeId(0), &tree(&[(0, 2), (0, 1)])) - 4.0).abs() < 1e-6);
        let mut together = Sharing::new(&platform, 20, &|_, _| part(0.0));
        // b alone from 1 to 3 s is done when d begins.
        assert!((together.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 3)])) - 5.0).abs() < 1e-6);
        let mut longer = Sharing::new(&platform, 40, &|_, _| part(0.0));
        // b has 2 of its 4 s left at 3 s and gets 3/4 of the port: until 3 + 8/3; d got 2/3 s by then.
        longer.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 3)]));
        let arrivals = [longer.arrivals_s()[1], longer.arrivals_s()[3]];
        assert!((arrivals[0] - (3.0 + 8.0 / 3.0)).abs() < 1e-6, "{arrivals:?}");
        assert!((arrivals[1] - 9.0).abs() < 1e-6, "{arrivals:?}");
    }

    #[test]
    fn a_pipe_is_shared_where_ports_are_not() {
        let platform = platform(
            "multi-port",
            r#""shared": [{"id": "pipe", "bandwidth_bytes_per_s": 5}],
            "links": [{"from": "b", "to": "d", "latency_s": 1, "bandwidth_bytes_per_s": 10, "uses": ["pipe"]},
                      {"from": "a", "to": "c", "latency_s": 2, "bandwidth_bytes_per_s": 10, "uses": ["pipe"]}],"#,
        );
        let mut sharing = Sharing::new(&platform, 10, &|_, _| part(0.0));
        // b at 2 s. c alone in the pipe from 2 to 3 s: half; then d's comes twice as fast as c's. d is done after
        // 3 s and has taken 2 of the 3; c's second half is over when the pipe is done with both.
        let makespan_s = sharing.makespan_s(NodeId(0), &tree(&[(0, 1), (0, 2), (1, 3)]));
        assert!((makespan_s - 6.0).abs() < 1e-6, "{makespan_s}");
    }
}
