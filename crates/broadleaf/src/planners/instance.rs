//! The input of a planner: one collective on one platform.

use crate::plan::{Collective, Pattern, Plan, PlanError, Protocol, Regular, TreeBuilder};
use crate::platform::{NodeId, Platform, PlatformError};

/// One collective to be planned.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// The network.
    pub platform: &'a Platform,
    /// By whose times the portfolio compares plans and segment sizes; `None`: the network's.
    pub timed_on: Option<&'a Platform>,
    /// What to move.
    pub collective: Collective,
    /// The host that has or gets the message; the first in order for collectives without a root.
    pub root: NodeId,
    /// > 0.
    pub message_bytes: u64,
    /// The segment size to plan for, 1 ..= `message_bytes`; planners whose plans fix the segment size ignore it.
    pub segment_bytes: u64,
    /// By node, as [`Plan::weights`]; set by [`Instance::weighted`].
    pub weights: Option<&'a [f64]>,
    /// How the plan's transfers start, whatever the planner ([`plan_with`](super::plan_with)).
    pub protocol: Protocol,
    /// For planners that draw.
    pub seed: u64,
}

impl<'a> Instance<'a> {
    /// An unsegmented broadcast; refuses a root that is a switch, an empty message, and unreachable hosts.
    ///
    /// # Errors
    /// An empty message, a root that is a switch, or hosts that cannot be reached.
    pub fn new(platform: &'a Platform, root: NodeId, message_bytes: u64) -> Result<Self, PlanError> {
        if !platform.node(root).is_host() {
            return Err(PlatformError::RootIsSwitch(platform.node(root).id.clone()).into());
        }
        if message_bytes == 0 {
            return Err(PlanError::BadRequest(
                "a message of 0 bytes needs no plan; give a size of at least 1 byte".to_string(),
            ));
        }
        if let Some(&node) = platform.unreachable_from(root).first() {
            let (root, node) = (platform.node(root).id.clone(), platform.node(node).id.clone());
            return Err(PlatformError::Unreachable { root, node }.into());
        }
        Ok(Instance {
            platform,
            timed_on: None,
            collective: Collective::Bcast,
            root,
            message_bytes,
            segment_bytes: message_bytes,
            weights: None,
            protocol: Protocol::Eager,
            seed: 0,
        })
    }

    /// The instance with blocks of `message_bytes` × the weight of their host, by node; switches have none.
    ///
    /// # Errors
    /// A collective without a block for each host, a weight that is negative or no number, only weights of 0, or blocks
    /// of more than 2^63 - 1 bytes together.
    pub fn weighted(self, weights: &'a [f64]) -> Result<Self, PlanError> {
        let refused = |reason: String| Err(PlanError::BadRequest(reason));
        if !self.collective.has_blocks() {
            let collective = self.collective;
            return refused(format!(
                "{collective} has no block for each host to weigh; leave the weights out, or plan a scatter, gather, \
                 allgather or reduce-scatter"
            ));
        }
        let mut all_bytes = 0.0;
        for host in self.platform.hosts() {
            let weight = weights[host.index()];
            if !(weight >= 0.0 && weight.is_finite()) {
                let id = &self.platform.node(host).id;
                return refused(format!("the weight of \"{id}\" is {weight}; give a number of at least 0"));
            }
            all_bytes += weight * self.message_bytes as f64;
        }
        if all_bytes == 0.0 {
            return refused(
                "all weights are 0, so nothing is to be moved; give one host a weight above 0".to_string(),
            );
        }
        if all_bytes > i64::MAX as f64 {
            let fact = format!(
                "the weighted blocks have {all_bytes:.3e} bytes, more than the 2^63 - 1 of a message"
            );
            return refused(format!("{fact}; give smaller weights"));
        }
        let are_equal = self.platform.hosts().all(|host| weights[host.index()] == 1.0);
        Ok(Instance { weights: (!are_equal).then_some(weights), ..self })
    }

    /// The same broadcast in segments of that size, at most the whole message.
    pub fn segmented(self, segment_bytes: u64) -> Self {
        Instance { segment_bytes: segment_bytes.clamp(1, self.message_bytes), ..self }
    }

    /// The same, its plans compared by their times on another platform of the same nodes and links, such as one
    /// [`with_handling`](Platform::with_handling).
    pub fn timed_on(self, platform: &'a Platform) -> Self {
        Instance { timed_on: Some(platform), ..self }
    }

    /// The platform by whose times plans and segment sizes are compared.
    pub fn timing(&self) -> &'a Platform {
        self.timed_on.unwrap_or(self.platform)
    }

    /// The outward collective of which this one is the reverse, on the reversed network: algorithms plan that one.
    /// Itself if it is outward.
    pub fn outward(&self) -> Self {
        match self.collective.is_inward() {
            true => Instance {
                platform: self.platform.reversed(),
                timed_on: self.timed_on.map(Platform::reversed),
                collective: self.collective.outward(),
                ..*self
            },
            false => *self,
        }
    }

    /// The hosts besides the root, by id.
    pub fn receivers(&self) -> impl Iterator<Item = NodeId> + Clone + 'a {
        let root = self.root;
        self.platform.hosts().filter(move |&host| host != root)
    }

    /// The root, then the other hosts by id.
    pub fn root_and_receivers(&self) -> Vec<NodeId> {
        std::iter::once(self.root).chain(self.receivers()).collect()
    }

    /// All hosts by index relative to the root, wrapping: place r holds host (r + root) mod n, as in MPI.
    pub fn hosts_from_root(&self) -> Vec<NodeId> {
        let mut hosts: Vec<NodeId> = self.platform.hosts().collect();
        let at = hosts.partition_point(|&host| host < self.root);
        hosts.rotate_left(at);
        hosts
    }
}

impl Instance<'_> {
    /// The plan of one tree for this instance.
    pub fn tree_plan(&self, planner: &str, tree: TreeBuilder) -> Plan {
        let plan = Plan::bcast(
            self.platform,
            planner,
            self.root,
            self.message_bytes,
            self.segment_bytes,
            vec![tree.build()],
        );
        // A scatter's blocks with the same way travel together; trees have no other way to save start-ups. Where no edge
        // has two, a receiver knows the length of what comes, and its sender need not announce it, a latency ahead.
        let passes_on = plan.trees[0].edges().any(|(_, child)| !plan.trees[0].children(child).is_empty());
        let combine = self.collective.is_personalised() && (passes_on || plan.segment_count() > 1);
        Plan { seed: self.seed, collective: self.collective, combine, ..plan }
    }

    /// The regular plan over `hosts` in their order, in segments of this instance's size.
    pub fn regular_plan(&self, planner: &str, regular: Regular, hosts: Vec<NodeId>) -> Plan {
        let pattern = Pattern { regular, hosts };
        let (message_bytes, segment_bytes) = (self.message_bytes, self.segment_bytes);
        let plan = Plan::regular(self.platform, planner, pattern, message_bytes, segment_bytes);
        Plan { seed: self.seed, root: self.root, ..plan }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instance moved to another platform is not timed on the one before.
    #[test]
    fn an_instance_is_timed_on_its_own_platform_unless_told_otherwise() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "two", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}], "meshes": [{"nodes": ["a", "b"], "link": {"latency_s": 1}}]}"#;
        let [network, other] = [(); 2].map(|()| Platform::from_json(text).unwrap());
        let slow = network.with_handling().unwrap();
        let instance = Instance::new(&network, NodeId(0), 1).unwrap();
        assert!(std::ptr::eq(Instance { platform: &other, ..instance }.timing(), &other));
        let timed = instance.timed_on(&slow);
        assert!(std::ptr::eq(timed.platform, &network));
        assert!(std::ptr::eq(timed.segmented(1).timing(), &slow));
    }
}
