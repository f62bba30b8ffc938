//! Recursive-doubling all-gather: in round i, node r exchanges all it has with node r XOR 2^i.
//!
//! Reference: Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
//! section 4.1; the second half of van de Geijn's broadcast in paper 5, table 1.
//! Cost: log2(n) transfers of m, 2m, 4m … on a homogeneous one-port network. Complexity: O(n²) slots.
//! Guarantee: log2(n) start-ups, for n a power of two only.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = "abcd".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap();
//! let instance = Instance { collective: Collective::Allgather, ..instance };
//! let plan = find("recursive-doubling").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // One contribution of 1 s, there at 1.5; then two together, there at 4.
//! assert_eq!(trace.finish_s, [4.0; 4]);
//! assert_eq!(trace.transfer_count, 8);
//! ```

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Regular};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
const MOST_HOSTS: usize = 1024;

pub struct RecursiveDoubling;

static CARD: Card = Card {
    name: "recursive-doubling",
    summary: "in round i, node r exchanges all it has with node r XOR 2^i",
    reference:
        "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 4.1",
    objective: "makespan of small all-gathers on a homogeneous network",
    guarantee: "log2(n) start-ups, n a power of two",
    complexity: "O(n^2)",
    profile: Profile { segments: Segmentation::Fixed, ..Profile::QUICK },
};

impl Planner for RecursiveDoubling {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        match instance.platform.hosts().count() {
            hosts if !hosts.is_power_of_two() => {
                Err(Unsupported(format!("{hosts} hosts, not a power of two")))
            }
            hosts if hosts > MOST_HOSTS => Err(Unsupported(format!("{hosts} hosts; at most {MOST_HOSTS}"))),
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        Ok(instance.regular_plan(CARD.name, Regular::RecursiveDoubling, instance.platform.hosts().collect()))
    }
}
