//! Bine trees: binomial trees and butterflies whose distances alternate in sign, so that partners stay a third nearer.
//!
//! A broadcast's root sends first to the node about a third of all places away, then each node that has the message
//! to its partner at a distance of 2^i − 2^(i−1) + … ± 1 places, ahead for even and back for odd ones. An all-gather
//! is the butterfly of the same partners, the nearest first; turned round they are reduce and reduce-scatter, and
//! together the all-reduce. It saves traffic between groups of neighbouring nodes, on otherwise homogeneous networks.
//!
//! Reference: De Sensi, Pasqualoni, Piarulli, Bonato, Ba, Turisini, Domke and Hoefler, *Bine trees: enhancing collective
//! operations by optimizing communication locality*, SC 2025.
//! Cost: those of the binomial tree and of recursive doubling on a homogeneous one-port network. Complexity: O(n), O(n²)
//! slots for all-gathers. Guarantee: log2(n) rounds, for n a power of two only.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = "abcd".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("bine").unwrap().plan(&Instance::new(&platform, nodes[0], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! // One place back, around the end, then one place ahead of a and one back of d.
//! assert_eq!(plan.trees[0].children(nodes[0]), [nodes[3], nodes[1]]);
//! assert_eq!(plan.trees[0].children(nodes[3]), [nodes[2]]);
//! ```

use super::bruck::at_most;
use crate::budget::Budget;
use crate::plan::pattern::bine::edges;
use crate::plan::{Collective, Plan, PlanError, Regular, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub struct Bine;

static CARD: Card = Card {
    name: "bine",
    summary: "a binomial tree, or a butterfly, whose distances alternate in sign and so are a third shorter",
    reference: "De Sensi, Pasqualoni, Piarulli, Bonato, Ba, Turisini, Domke and Hoefler, Bine trees: enhancing collective \
                operations by optimizing communication locality, SC 2025",
    objective: "traffic between groups of neighbouring nodes, in as many rounds as the binomial tree",
    guarantee: "log2(n) rounds, n a power of two",
    complexity: "O(n); O(n^2) for all-gathers",
    profile: Profile::QUICK,
};

impl Planner for Bine {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Scatter, Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        match instance.platform.hosts().count() {
            hosts if !hosts.is_power_of_two() => {
                Err(Unsupported(format!("{hosts} hosts, not a power of two")))
            }
            _ if instance.collective == Collective::Allgather => at_most(instance),
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        if instance.collective == Collective::Allgather {
            let hosts = instance.platform.hosts().collect();
            return Ok(instance.regular_plan(CARD.name, Regular::Bine, hosts));
        }
        let hosts = instance.hosts_from_root();
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        for (parent, child) in edges(hosts.len()) {
            tree.add(hosts[parent], hosts[child]);
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}
