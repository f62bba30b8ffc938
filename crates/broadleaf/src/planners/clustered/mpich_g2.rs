//! MPICH-G2's multi-level tree: by site, then by cluster, then by node.
//!
//! The root sends to one representative of each other site itself; each representative of a site sends to
//! one of each other cluster there; each representative of a cluster starts a binomial tree over its
//! cluster. Slow levels come first, so that all levels overlap.
//!
//! Nodes without a site are one site together, and nodes without a cluster one cluster with the other such
//! nodes of their site; without either it is a binomial tree.
//!
//! Reference: Karonis, Toonen and Foster, *MPICH-G2: a grid-enabled implementation of the Message Passing
//! Interface*; drawn in figure 7 of *Adaptive broadcast trees by simulated annealing* ("the small dark
//! circles denote representative nodes of the clusters", section 5); flat at the two wide-area levels after
//! table 1 of Barchet-Steffenel and Mounié, *Scheduling heuristics … on grid environments*.
//! Cost: one wide-area flat tree over the sites, one flat tree over the clusters of the last, one binomial
//! tree. Complexity: O(n).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, Node, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("two sites", PortModel::OnePort);
//! let mut add = |id: &str, site: &str, cluster: &str| {
//!     let (site, cluster) = (Some(builder.site(site)), Some(builder.cluster(cluster)));
//!     builder.add_node(Node { id: id.into(), site, cluster, ..Node::default() }).unwrap()
//! };
//! let a = [add("a0", "x", "A"), add("a1", "x", "A")];
//! let (b, c, d) = (add("b", "x", "B"), add("c", "y", "C"), add("d", "y", "D"));
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: vec![a[0], a[1], b, c, d], class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("mpich-g2").unwrap().plan(&Instance::new(&platform, a[0], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! // Site y first, then cluster B of the root's site, then its own cluster.
//! assert_eq!(plan.trees[0].children(a[0]), [c, b, a[1]]);
//! assert_eq!(plan.trees[0].children(c), [d]);
//! ```

use super::groups::{by_cluster, by_site, with_root_first};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError, TreeBuilder};
use crate::planners::shapes::add_binomial;
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub(crate) struct MpichG2;

static CARD: Card = Card {
    name: "mpich-g2",
    summary: "flat over the sites, flat over the clusters of each site, binomial trees inside",
    reference: "Karonis, Toonen and Foster, MPICH-G2: a grid-enabled implementation of the Message Passing \
                Interface, 2003",
    objective: "makespan where each level is much slower than the next",
    guarantee: "each site and each cluster is entered once",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for MpichG2 {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let platform = instance.platform;
        let sites = with_root_first(by_site(platform, platform.hosts().collect()), instance.root);
        let mut tree = TreeBuilder::new(platform.node_count());
        for site in &sites[1..] {
            tree.add(instance.root, site[0]);
        }
        for site in sites {
            let representative = site[0];
            let clusters = with_root_first(by_cluster(platform, site), representative);
            for cluster in &clusters[1..] {
                tree.add(representative, cluster[0]);
            }
            for cluster in &clusters {
                add_binomial(&mut tree, cluster);
            }
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}
