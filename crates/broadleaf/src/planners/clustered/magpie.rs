//! MagPIe: flat between clusters, binomial inside each.
//!
//! The root sends to one coordinator of each other cluster itself, in cluster order, then serves its own cluster; a
//! coordinator, the cluster's first host, starts its binomial tree as the message comes in. So every wide-area link
//! is crossed once, and no message crosses two.
//!
//! Nodes without a cluster count as one cluster with the other such nodes of their site: where a platform names no
//! clusters the sites are used instead, and without sites all nodes are one cluster.
//!
//! Reference: Kielmann, Hofman, Bal, Plaat and Bhoedjang, *MagPIe: MPI's collective communication
//! operations for clustered wide area systems*, PPoPP 1999; as described in Barchet-Steffenel and Mounié,
//! *Scheduling heuristics for efficient broadcast operations on grid environments*, sections 2 and 4.1.
//! Cost: (c − 1)·T(m) over the wide area for c clusters, then a binomial tree in the last. Complexity: O(n).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{Bridge, LinkClass, Mesh, Node, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("two clusters", PortModel::OnePort);
//! let (here, there) = (builder.cluster("A"), builder.cluster("B"));
//! let mut add = |id: &str, cluster| {
//!     builder.add_node(Node { id: id.into(), cluster: Some(cluster), ..Node::default() }).unwrap()
//! };
//! let (a, b) = ([add("a0", here), add("a1", here)], [add("b0", there), add("b1", there)]);
//! let near = builder.add_class(LinkClass::affine(0.0, 100.0));
//! let far = builder.add_class(LinkClass::affine(3.0, 50.0));
//! builder.add_mesh(Mesh { nodes: a.to_vec(), class: near }).unwrap();
//! builder.add_mesh(Mesh { nodes: b.to_vec(), class: near }).unwrap();
//! builder.add_bridge(Bridge { from: here, to: there, both_ways: true, class: far }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("magpie").unwrap().plan(&Instance::new(&platform, a[0], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Two seconds of sending to b0, then one to a1; b0 has it at 5 s and passes it on.
//! assert_eq!(trace.finish_s, [0.0, 3.0, 5.0, 6.0]);
//! ```

use super::groups::{by_cluster, with_root_first};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError, TreeBuilder};
use crate::planners::shapes::add_binomial;
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub(crate) struct Magpie;

static CARD: Card = Card {
    name: "magpie",
    summary: "the root sends to a coordinator of each cluster, binomial trees inside",
    reference: "Kielmann et al., MagPIe: MPI's collective communication operations for clustered wide area \
                systems, PPoPP 1999",
    objective: "makespan where wide-area latency dominates",
    guarantee: "each cluster is entered once",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for Magpie {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.platform.hosts().collect();
        let clusters = with_root_first(by_cluster(instance.platform, hosts), instance.root);
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        for cluster in &clusters[1..] {
            tree.add(instance.root, cluster[0]);
        }
        for cluster in &clusters {
            add_binomial(&mut tree, cluster);
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}
