//! The hosts that relay a plan's transfers.

use super::Flow;
use crate::platform::NodeId;
use std::collections::HashMap;

/// A transfer that a host receives and passes on: between which hosts, for whom, over which edge by its lower end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    pub flow: u32,
    pub from: NodeId,
    pub to: NodeId,
    pub target: NodeId,
    pub child: NodeId,
}

/// The relays of each host; `parents` is by flow.
pub(super) fn relays_of(
    flows: &[Flow],
    parents: &[Vec<Option<NodeId>>],
    is_host: &[bool],
) -> HashMap<NodeId, Vec<Relay>> {
    let mut relays: HashMap<NodeId, Vec<Relay>> = HashMap::new();
    for (index, flow) in flows.iter().enumerate() {
        for (&child, via) in &flow.tree.via {
            let Some(parent) = parents[index][child.index()] else { continue };
            let mut path = vec![parent];
            path.extend(via.iter().filter(|relay| is_host[relay.index()]));
            path.push(child);
            if flow.is_inward {
                path.reverse();
            }
            let target = path[path.len() - 1];
            for hop in path.windows(3) {
                let relay = Relay { flow: index as u32, from: hop[0], to: hop[2], target, child };
                relays.entry(hop[1]).or_default().push(relay);
            }
        }
    }
    relays
}
