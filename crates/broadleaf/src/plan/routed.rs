//! Routes edges without a link along the quickest path.

use super::{Flow, Plan, PlanError};
use crate::platform::{NodeId, Platform};
use std::collections::HashSet;

impl Plan {
    /// The plan with every edge that has no link and no `via` routed along the quickest path.
    ///
    /// # Errors
    /// As [`Programs::for_platform`](super::Programs::for_platform).
    pub fn routed(&self, platform: &Platform) -> Result<Plan, PlanError> {
        let mut missing = self.without_link(platform);
        let (flows, mut plan) = (self.flows(), self.clone());
        // One search of paths for each sender.
        missing.sort_unstable();
        for of_sender in missing.chunk_by(|a, b| a.0 == b.0) {
            let targets: Vec<NodeId> = of_sender.iter().map(|&(_, _, to)| to).collect();
            let routes = platform.routes(of_sender[0].0, &targets, self.segment_bytes);
            for (&(from, flow, to), route) in of_sender.iter().zip(routes) {
                let route = route.ok_or_else(|| PlanError::NoPath {
                    from: platform.node(from).id.clone(),
                    to: platform.node(to).id.clone(),
                })?;
                let mut relays: Vec<NodeId> = route.hops[1..].iter().map(|hop| hop.from).collect();
                let Flow { index, is_inward, .. } = flows[flow];
                // They are listed from the parent.
                if is_inward {
                    relays.reverse();
                }
                let besides = is_inward && !self.collective.is_inward();
                let trees = if besides { &mut plan.inward } else { &mut plan.trees };
                trees[index as usize].via.insert(if is_inward { from } else { to }, relays);
            }
        }
        Ok(plan)
    }

    /// The edges that have neither a link nor a `via`: sender, flow and receiver.
    fn without_link(&self, platform: &Platform) -> Vec<(NodeId, usize, NodeId)> {
        let mut missing = Vec::new();
        for (at, flow) in self.flows().iter().enumerate() {
            for (parent, child) in flow.tree.edges() {
                let (from, to) = flow.ends(parent, child);
                if platform.link(from, to).is_none() && !flow.tree.via.contains_key(&child) {
                    missing.push((from, at, to));
                }
            }
        }
        missing
    }

    /// The number of nodes with such an edge: [`Plan::routed`] searches paths from each of them.
    pub(crate) fn senders_without_link(&self, platform: &Platform) -> usize {
        self.without_link(platform).iter().map(|&(from, ..)| from).collect::<HashSet<_>>().len()
    }
}
