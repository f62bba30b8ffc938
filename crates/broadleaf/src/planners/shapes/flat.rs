//! The flat tree: the root serves every node itself, in id order.
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

pub struct Flat;

static CARD: Card = Card {
    name: "flat",
    summary: "the root sends to every node itself, in id order",
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
        for receiver in instance.receivers() {
            tree.add(instance.root, receiver);
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}
