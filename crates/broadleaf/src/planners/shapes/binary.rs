//! The binary tree: node r serves nodes 2r + 1 and 2r + 2, by index relative to the root.
//!
//! Reference: Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*,
//! table 1 (binary tree).
//! Cost: at most ⌈log2 n⌉·(2·T(m) + latency), segmented about ⌈log2 n⌉·(2·T(s) + latency) + (k − 1)·2·T(s),
//! on a homogeneous one-port network. Complexity: O(n).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c", "d"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("binary").unwrap().plan(&Instance::new(&platform, nodes[3], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! // Relative to d: d serves a and b, a serves c.
//! assert_eq!(plan.trees[0].children(nodes[3]), [nodes[0], nodes[1]]);
//! assert_eq!(plan.trees[0].children(nodes[0]), [nodes[2]]);
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! assert_eq!(trace.finish_s, [1.0, 2.0, 2.0, 0.0]);
//! ```

use crate::budget::Budget;
use crate::plan::{Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub struct Binary;

static CARD: Card = Card {
    name: "binary",
    summary: "node r serves nodes 2r + 1 and 2r + 2, by index relative to the root",
    reference:
        "Barchet-Steffenel and Mounié, Fast tuning of intra-cluster collective communications, table 1",
    objective: "makespan of middling messages on a homogeneous network",
    guarantee: "at most ceil(log2 n) levels of two transfers",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for Binary {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.hosts_from_root();
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        for place in 1..hosts.len() {
            tree.add(hosts[(place - 1) / 2], hosts[place]);
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}
