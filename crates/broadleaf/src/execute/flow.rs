//! Limits of the messages under way: per peer, and through the node's port.
//!
//! Too few starve a long link, too many share the port and break the pipeline. A message to a peer whose window holds w
//! of them takes 1/w of the link's share of the port: with w = (latency + T)/T messages in flight the port is exactly
//! saturated, for any mixture of near and far peers.

use crate::platform::NodeId;

/// A transport's limits towards one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowWindow {
    /// Messages in flight at most, ≥ 1.
    pub messages: u32,
    /// Whether they go through the node's one port, or over their own link.
    pub shares_port: bool,
    /// The number of links as slow as this one that the port can feed at once, ≥ 1: above 1 only if a port sends to
    /// several peers at a time.
    pub feeds: u32,
    /// A channel's last messages, as many as the window holds, are sent one by one. A sender that runs out of messages
    /// sends its last ones faster, as no later ones share the port. Forwarded as they arrive, they would travel
    /// together from hop to hop, each at half of the rate.
    pub last_alone: bool,
}

impl FlowWindow {
    /// One message at a time through the port: every port model, since there the transport reports a
    /// message as sent when the port is free again.
    pub const PORT: FlowWindow = FlowWindow { messages: 1, shares_port: true, feeds: 1, last_alone: false };
    /// One message at a time on the link, any number of links at once: link-capacity.
    pub const LINK: FlowWindow = FlowWindow { messages: 1, shares_port: false, feeds: 1, last_alone: false };

    /// The same limit on the link, whatever goes over the node's others: the transport divides the port among them.
    pub fn apart(self) -> FlowWindow {
        FlowWindow { shares_port: false, ..self }
    }

    /// The same limit on the link, and `times` as many messages through the port.
    pub fn oversubscribed(self, times: u32) -> FlowWindow {
        FlowWindow { feeds: self.feeds.saturating_mul(times), ..self }
    }
}

/// The whole port, in parts small enough that every window divides it well.
const PORT_UNITS: u32 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub node: NodeId,
    window: u32,
    units: u32,
    in_flight: u32,
    last_alone: bool,
    /// Outputs with a segment for this peer but no room in its window.
    pub parked: Vec<u32>,
}

impl Peer {
    pub fn new(node: NodeId, window: FlowWindow) -> Peer {
        let messages = window.messages.max(1);
        let units = if window.shares_port { (PORT_UNITS / messages / window.feeds.max(1)).max(1) } else { 0 };
        let FlowWindow { last_alone, .. } = window;
        Peer { node, window: messages, units, in_flight: 0, last_alone, parked: Vec::new() }
    }

    pub fn has_room(&self) -> bool {
        self.in_flight < self.window
    }

    /// Whether there is room for a message of a channel that has `left` to send, that one included.
    pub fn has_room_for_one_of(&self, left: u64) -> bool {
        self.in_flight == 0 || (self.has_room() && !(self.last_alone && left <= u64::from(self.window)))
    }
}

/// The port of a node, and the part of it that the messages in flight take.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    used: u32,
    in_flight: u32,
}

impl Port {
    pub fn has_room(&self) -> bool {
        self.used < PORT_UNITS
    }

    pub fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    pub fn issue(&mut self, peer: &mut Peer) {
        peer.in_flight += 1;
        self.in_flight += 1;
        self.used += peer.units;
    }

    pub fn release(&mut self, peer: &mut Peer) {
        peer.in_flight -= 1;
        self.in_flight -= 1;
        self.used -= peer.units;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two messages fill a link, and the port; twice as many are under way where it is oversubscribed.
    #[test]
    fn an_oversubscribed_port_has_as_many_times_its_messages() {
        let window = FlowWindow { messages: 2, ..FlowWindow::PORT };
        for (window, most) in [(window, 2), (window.oversubscribed(2), 4)] {
            let mut port = Port::default();
            let mut peers: Vec<Peer> = (1..5).map(|node| Peer::new(NodeId(node), window)).collect();
            let mut under_way = 0;
            for at in 0..8 {
                let peer = &mut peers[at % 4];
                if port.has_room() && peer.has_room() {
                    port.issue(peer);
                    under_way += 1;
                }
            }
            assert_eq!(under_way, most);
        }
    }

    #[test]
    fn the_last_messages_of_a_window_go_one_by_one_where_that_is_asked() {
        let (mut port, plain) = (Port::default(), FlowWindow { messages: 2, ..FlowWindow::PORT });
        for last_alone in [false, true] {
            let mut peer = Peer::new(NodeId(1), FlowWindow { last_alone, ..plain });
            assert!(peer.has_room_for_one_of(1), "nothing is in flight");
            port.issue(&mut peer);
            // Three are left, so the next is not one of the last two.
            assert!(peer.has_room_for_one_of(3));
            assert_eq!(peer.has_room_for_one_of(2), !last_alone);
            assert_eq!(peer.has_room_for_one_of(1), !last_alone);
            port.release(&mut peer);
            assert!(peer.has_room_for_one_of(2));
        }
    }
}
