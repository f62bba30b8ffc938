//! Bruck's all-gather: in round i every node gets all blocks of the node 2^i places ahead, for any n.
//!
//! Reference: Bruck, Ho, Kipnis, Upfal and Weathersby, *Efficient algorithms for all-to-all communications in
//! multiport message-passing systems*, 1997, section 4; Thakur, Rabenseifner and Gropp, *Optimization of collective
//! communication operations in MPICH*, section 4.1. Cost: ⌈log2 n⌉ transfers of m, 2m, 4m …, the last of the
//! remainder, on a homogeneous one-port network. Complexity: O(n²) slots. Guarantee: ⌈log2 n⌉ start-ups, the minimum,
//! for any n.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = "abc".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap();
//! let instance = Instance { collective: Collective::Allgather, ..instance };
//! let plan = find("bruck").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Two rounds of 1 s each. Of three nodes each sends its own contribution in both, so that one latency counts.
//! assert_eq!(trace.finish_s, [2.5; 3]);
//! ```

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Regular};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
pub(super) const MOST_HOSTS: usize = 1024;

pub struct Bruck;

static CARD: Card = Card {
    name: "bruck",
    summary: "in round i every node gets from the one 2^i places ahead all that it has",
    reference: "Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all communications in multiport \
                message-passing systems, 1997, section 4",
    objective: "makespan of small all-gathers among any number of nodes on a homogeneous network",
    guarantee: "ceil(log2(n)) start-ups, the fewest there can be",
    complexity: "O(n^2)",
    profile: Profile { segments: Segmentation::Fixed, ..Profile::QUICK },
};

impl Planner for Bruck {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        at_most(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        Ok(instance.regular_plan(CARD.name, Regular::Bruck, instance.platform.hosts().collect()))
    }
}

/// Refuses platforms on which the plan would be too large.
pub(super) fn at_most(instance: &Instance) -> Result<(), Unsupported> {
    match instance.platform.hosts().count() {
        hosts if hosts > MOST_HOSTS => Err(Unsupported(format!("{hosts} hosts; at most {MOST_HOSTS}"))),
        _ => Ok(()),
    }
}
