//! The bound that a group's in-ports give together.
//!
//! Each byte gets to every host of a group, and to the first of them over a link from outside. So it holds the in-ports of
//! all the group's hosts for at least the least time of each, one of them for the time of a link from outside. The
//! windows of a port are disjoint, and lie between when the first byte can be there and the makespan: the bound is the
//! time by which the ports together can have been held for what all bytes need. A cut around the group counts only what
//! enters, one around a host only what that host gets.

use super::crossing::Crossings;
use super::imprint::Role;
use super::lanes::{Held, Lanes};
use crate::platform::{Hop, NodeId};
use std::collections::HashMap;

impl Crossings<'_> {
    /// The least time by which all `hosts`, those among the nodes `behind` a cut that the root's side can reach, can have
    /// `bytes` bytes, seconds; 0 where a transfer reaches one of them without a port.
    pub fn filled_s(&self, behind: &[bool], hosts: &[NodeId], bytes: u64) -> f64 {
        let ports: Option<HashMap<NodeId, Held>> =
            hosts.iter().map(|&host| Some((host, self.in_port(host)?))).collect();
        let Some(ports) = ports else { return 0.0 };
        let entries = self.entering(behind).into_iter().flat_map(|crossing| {
            let from = crossing.from[0];
            let hops = crossing.to.into_iter().map(move |to| Hop { from, to, class: crossing.class });
            hops.collect::<Vec<Hop>>()
        });
        // How much longer than its least a byte from outside holds a port.
        let longer = |hop: Hop| {
            let entry = self.imprints(hop).on(Role::In).map(|port| port.s_per_byte);
            entry.zip(ports.get(&hop.to)).map_or(0.0, |(entry, port)| entry - port.s_per_byte())
        };
        let entry = entries.map(longer).fold(f64::INFINITY, f64::min);
        let least: f64 = ports.values().map(|port| port.s_per_byte()).sum();
        let mut lanes = Lanes::default();
        ports.values().for_each(|port| lanes.rated(port.ready_s(), 1.0));
        let needed = least + if entry.is_finite() { entry } else { 0.0 };
        lanes.carried_s(needed * bytes as f64)
    }
}
