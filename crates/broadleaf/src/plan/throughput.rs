//! The steady-state throughput of a plan: what its busiest resource allows.

use super::subtrees::Subtrees;
use super::{Collective, Plan, PlanError};
use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Bytes/s of the message (of one block, for a scatter or an all-gather) that a valid plan moves once its pipeline is full, if no resource ever waits.
///
/// Each segment of tree t holds every resource for the windows of t's edges; the trees carry their shares,
/// so a byte takes at least Σ share · window / segment of each resource (paper 1: 1 / max of the nodes'
/// periods). Infinite when nothing limits, e.g. on one node.
pub fn throughput(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    let plan = plan.bind(platform)?.routed(platform)?;
    let bytes = plan.segment_bytes.min(plan.message_bytes.max(1));
    let mut busy_s: HashMap<Resource, f64> = HashMap::new();
    for tree in &plan.trees {
        let below = (plan.collective == Collective::Scatter).then(|| Subtrees::new(tree, plan.root));
        for (parent, child) in tree.edges() {
            let blocks = below.as_ref().map_or(1.0, |below| below.below(child).len() as f64);
            let relays = tree.via.get(&child).map_or(&[][..], Vec::as_slice);
            let mut path: Vec<NodeId> = vec![parent];
            path.extend_from_slice(relays);
            path.push(child);
            for pair in path.windows(2) {
                let class = platform.link(pair[0], pair[1]).ok_or_else(|| PlanError::NoPath {
                    from: platform.node(pair[0]).id.clone(),
                    to: platform.node(pair[1]).id.clone(),
                })?;
                let hop = Hop { from: pair[0], to: pair[1], class };
                for window in occupation(platform, hop, bytes).windows {
                    *busy_s.entry(window.resource).or_default() += tree.share * blocks * window.duration_s;
                }
            }
        }
    }
    let busiest_s = busy_s.into_values().fold(0.0, f64::max);
    Ok(bytes as f64 / busiest_s)
}
