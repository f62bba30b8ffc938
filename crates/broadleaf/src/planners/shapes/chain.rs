//! The chain: every node passes the message on to the next one, by index relative to the root.
//!
//! Where those have no link, relays would take a port's time several times for each segment, so hosts come in the order
//! of a walk over the clusters instead ([`chain_order`]).
//!
//! Reference: Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*,
//! table 1 (chain; segmented chain, the classic pipeline).
//! Cost: (n − 1)·(T(s) + latency) + (k − 1)·T(s) on a homogeneous one-port network. Complexity: O(n).
//! Guarantee: with segments small enough it approaches the throughput optimum of a homogeneous one-port
//! network, where no node can receive faster than 1/T.
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
//! let instance = Instance::new(&platform, nodes[1], 200).unwrap().segmented(100);
//! let plan = find("chain").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // b sends segments at 0 and 1 s; c has them at 1.5 and 2.5 s, and a, behind c, at 3 and 4 s.
//! assert_eq!(trace.finish_s, [4.0, 0.0, 2.5]);
//! ```

use super::walk::chain_order;
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub struct Chain;

static CARD: Card = Card {
    name: "chain",
    summary:
        "every node passes the message on to the next one: by index, or from cluster to cluster over links",
    reference:
        "Barchet-Steffenel and Mounié, Fast tuning of intra-cluster collective communications, table 1",
    objective: "throughput on a homogeneous one-port network",
    guarantee: "optimal steady state on a homogeneous one-port network",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for Chain {
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
        for pair in chain_order(instance).windows(2) {
            tree.add(pair[0], pair[1]);
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}
