//! The load bound of a plan: the steady-state throughput that its busiest resource allows.

use super::subtrees::Subtrees;
use super::{segment_bytes_of, Plan, PlanError};
use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Bytes/s of the message (or of one block, if each host has one) that a valid plan moves while its pipeline is full,
/// if no transfer ever waits for another.
///
/// One tree reaches it. Several trees without a period may not: a transfer needs both its ports at once, and ports
/// serve first come, first served. The simulator gives the actual rate.
///
/// Each segment of tree t holds every resource for the windows of t's edges; the trees carry their shares,
/// so a byte takes at least Σ share · window / segment of each resource (paper 1: 1 / max of the nodes'
/// periods). Infinite when nothing limits, e.g. on one node.
///
/// # Errors
/// An edge of the plan that no path of the platform leads along.
pub fn throughput(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    // Copying a plan of n² edges would take longer than the rest of the function.
    if plan.nodes == *platform.ids() {
        match bound_throughput(platform, plan) {
            Err(PlanError::NoPath { .. }) => {}
            found => return found,
        }
    }
    bound_throughput(platform, &plan.bind(platform)?.routed(platform)?)
}

/// [`throughput`] of a plan for the platform's nodes, whose edges have links or relays.
fn bound_throughput(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    let bytes = plan.segment_bytes.min(plan.message_bytes.max(1));
    let mut busy = Busy {
        ports_s: vec![0.0; 2 * platform.node_count()],
        shared_s: vec![0.0; platform.shared().len()],
        links_s: HashMap::new(),
        combining_s: vec![0.0; platform.node_count()],
    };
    for flow in plan.flows() {
        let tree = flow.tree;
        let below = plan.collective.is_personalised().then(|| Subtrees::new(tree, plan.root));
        let whole = [(segment_of(plan, plan.root_of(tree), bytes), 1.0)];
        for (parent, child) in flow.edges(plan.root_of(tree)) {
            let blocks = below.as_ref().map(|below| carried_below(plan, below.below(child), bytes));
            let carried = blocks.as_deref().unwrap_or(&whole);
            let (_, to) = flow.ends(parent, child);
            let rate = platform
                .node(to)
                .combine_bytes_per_s
                .filter(|_| flow.is_inward && plan.collective.combines());
            let combined: f64 = carried.iter().map(|&(bytes, count)| bytes as f64 * count).sum();
            busy.combining_s[to.index()] += tree.share * rate.map_or(0.0, |rate| combined / rate);
            let relays = tree.via.get(&child).map_or(&[][..], Vec::as_slice);
            let mut above = parent;
            for &next in relays.iter().chain(&[child]) {
                let (from, to) = flow.ends(std::mem::replace(&mut above, next), next);
                let class = platform.link(from, to).ok_or_else(|| PlanError::NoPath {
                    from: platform.node(from).id.clone(),
                    to: platform.node(to).id.clone(),
                })?;
                for &(bytes, count) in carried {
                    for window in occupation(platform, Hop { from, to, class }, bytes).windows {
                        busy.add(window.resource, tree.share * count * window.duration_s);
                    }
                }
            }
        }
    }
    let busiest_s = busy
        .ports_s
        .into_iter()
        .chain(busy.combining_s)
        .chain(busy.shared_s)
        .chain(busy.links_s.into_values())
        .fold(0.0, f64::max);
    Ok(bytes as f64 / busiest_s)
}

/// The bytes of a segment of a node's block; `bytes` is for a block of weight 1.
fn segment_of(plan: &Plan, owner: NodeId, bytes: u64) -> u64 {
    match plan.weights {
        Some(_) => segment_bytes_of(plan.message_bytes.max(1), bytes, plan.weight_of(owner)),
        None => bytes,
    }
}

/// `(bytes, count)` of the segments, one of each block, on the edge into the first of the nodes `below`.
fn carried_below(plan: &Plan, below: &[NodeId], bytes: u64) -> Vec<(u64, f64)> {
    match plan.weights {
        Some(_) => {
            below.iter().map(|&node| (segment_of(plan, node, bytes), 1.0)).filter(|each| each.0 > 0).collect()
        }
        None => vec![(bytes, below.len() as f64)],
    }
}

/// The time for which each resource is held for a segment, seconds.
struct Busy {
    /// Of each node, the sending side and the receiving side.
    ports_s: Vec<f64>,
    shared_s: Vec<f64>,
    links_s: HashMap<Resource, f64>,
    /// By host, the time to combine.
    combining_s: Vec<f64>,
}

impl Busy {
    fn add(&mut self, resource: Resource, held_s: f64) {
        let at = match resource {
            Resource::Out(node) => &mut self.ports_s[2 * node.index()],
            Resource::In(node) => &mut self.ports_s[2 * node.index() + 1],
            Resource::Shared(shared) => &mut self.shared_s[shared.index()],
            Resource::Link(..) => self.links_s.entry(resource).or_default(),
        };
        *at += held_s;
    }
}
