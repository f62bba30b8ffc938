//! Ring all-gather: every node forwards to its right-hand neighbour the block that it last got from the left.
//!
//! Reference: Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
//! section 4.1; one of the baselines of paper 5's global data exchange.
//! Cost: (n − 1)·(T(m) + latency) on a homogeneous one-port network, which is optimal but for the latencies.
//! Complexity: O(n²) slots. Guarantee: none elsewhere.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap();
//! let instance = Instance { collective: Collective::Allgather, ..instance };
//! let plan = find("ring").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Two rounds of 1 s, half a second on the way each.
//! assert_eq!(trace.finish_s, [3.0, 3.0, 3.0]);
//! ```

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Regular};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
const MOST_HOSTS: usize = 1500;

/// Beyond this, a simulation at every size would take too long.
const MOST_SEARCHED: usize = 256;

pub struct Ring;

static CARD: Card = Card {
    name: "ring",
    summary: "everyone passes on to its right-hand neighbour what it last got from the left",
    reference:
        "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 4.1",
    objective: "makespan of large all-gathers on a homogeneous network",
    guarantee: "optimal but for latencies on a homogeneous one-port network",
    complexity: "O(n^2)",
    profile: Profile {
        // In one piece, which is best apart from latencies.
        segments: Segmentation::Guided {
            whole: |_, count| count,
            modelled: |instance, _| (instance.platform.hosts().count() > MOST_SEARCHED).then_some(1),
        },
        ..Profile::QUICK
    },
};

impl Planner for Ring {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        match instance.platform.hosts().count() {
            hosts if hosts > MOST_HOSTS => Err(Unsupported(format!("{hosts} hosts; at most {MOST_HOSTS}"))),
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        Ok(instance.regular_plan(CARD.name, Regular::Ring, instance.platform.hosts().collect()))
    }
}
