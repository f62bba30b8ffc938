//! The binomial tree: in every round, each node that has the message sends it to one that has not.
//!
//! Node r, by index relative to the root, serves r + 2^i for every 2^i below its lowest set bit (the root:
//! below n), the largest subtree first, so that nodes with the largest subtrees begin first.
//!
//! Reference: the binomial tree of MPICH's and Open MPI's broadcasts; Barchet-Steffenel and Mounié, *Fast tuning of
//! intra-cluster collective communications*, table 1 (binomial tree; segmented). Where links are missing, the quickest
//! path carries the edge. Paper 1's algorithm 4 is another tree off powers of two: `binomial-printed`.
//! Cost: ⌈log2 n⌉·(T(m) + latency) unsegmented, about ⌈log2 n⌉·(k·T(s) + latency) segmented, on a
//! homogeneous one-port network. Complexity: O(n).
//! Guarantee: unsegmented and without latency, optimal on a homogeneous one-port network, since the nodes
//! that have the message can at most double in each T(m).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("five", PortModel::OnePort);
//! let nodes: Vec<_> = "abcde".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("binomial").unwrap().plan(&Instance::new(&platform, nodes[0], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Rounds of 1 s: a to e; a to c; a to b and c to d.
//! assert_eq!(trace.finish_s, [0.0, 3.0, 2.0, 3.0, 1.0]);
//! ```

use crate::budget::Budget;
use crate::plan::pattern::binomial::children;
use crate::plan::{Collective, Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};
use crate::platform::NodeId;

pub struct Binomial;

static CARD: Card = Card {
    name: "binomial",
    summary: "in every round, each node that has the message sends it to one that has not",
    reference: "MPICH and Open MPI; Barchet-Steffenel and Mounié, Fast tuning of intra-cluster collective \
         communications, table 1",
    objective: "makespan of short messages on a homogeneous network",
    guarantee: "unsegmented, optimal on a homogeneous one-port network without latency",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for Binomial {
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
        add_binomial(&mut tree, &instance.hosts_from_root());
        Ok(instance.tree_plan(CARD.name, tree))
    }
}

/// Adds the binomial tree over `nodes`, from the first of them.
pub(in crate::planners) fn add_binomial(tree: &mut TreeBuilder, nodes: &[NodeId]) {
    for place in 0..nodes.len() {
        for child in children(place, nodes.len()) {
            tree.add(nodes[place], nodes[child]);
        }
    }
}
