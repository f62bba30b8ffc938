//! The flat tree: the root serves every node itself, in id order; in a scatter, the farthest first.
//!
//! A scatter ends when the last block has arrived, some after the port has sent it. So the blocks with the longest
//! latencies leave first, which is optimal for one port (Jackson's rule: largest delivery time first). A gather needs no
//! order: the nearest block comes first.
//!
//! Reference: Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*,
//! table 1 (flat tree; segmented: segment by segment to every node); the inter-cluster strategy of ECO and
//! MagPIe in *Scheduling heuristics for efficient broadcast operations on grid environments*, section 2.
//! Cost: (n − 1)·T(m) + latency on a homogeneous one-port network. Complexity: O(n).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("flat").unwrap().plan(&Instance::new(&platform, nodes[0], 200).unwrap(), &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Two transfers of 2 s each, one after the other, the second half a second on its way.
//! assert_eq!(trace.finish_s, [0.0, 2.5, 4.5]);
//! ```

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};
use crate::platform::NodeId;

pub struct Flat;

static CARD: Card = Card {
    name: "flat",
    summary: "the root sends to every node itself, in id order; a scatter's farthest blocks first",
    reference:
        "Barchet-Steffenel and Mounié, Fast tuning of intra-cluster collective communications, table 1",
    objective: "makespan of very few nodes",
    guarantee: "none",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for Flat {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Scatter]
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        let mut receivers: Vec<NodeId> = instance.receivers().collect();
        if instance.collective == Collective::Scatter {
            let after_s = latencies_s(instance);
            receivers.sort_by(|a, b| after_s[b.index()].total_cmp(&after_s[a.index()]).then(a.cmp(b)));
        }
        receivers.into_iter().for_each(|receiver| {
            tree.add(instance.root, receiver);
        });
        Ok(instance.tree_plan(CARD.name, tree))
    }
}

/// By node, how long after its departure a block from the root arrives, without its time in ports, seconds.
fn latencies_s(instance: &Instance) -> Vec<f64> {
    let Instance { platform, root, .. } = *instance;
    // Without a link of their own, transfers take the quickest path.
    let mut latency_s = platform.distances(root, |class| platform.class(class).latency_s);
    for (to, class) in platform.successors(root) {
        latency_s[to.index()] = platform.class(class).latency_s;
    }
    latency_s
}
