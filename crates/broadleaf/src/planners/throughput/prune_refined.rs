//! Refined platform pruning: drops the busiest node's heaviest edge, as long as all hosts can be reached.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 2.
//! Steady state: a segment every max over nodes of max(Σ T of the edges out, T of the edge in).
//! Complexity: as simple pruning. Guarantee: none; about 0.7 of the optimum in the paper.
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
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(100);
//! let plan = find("prune-refined").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! // The nodes lose edges in turn, so that none keeps two: a chain, a segment every second.
//! assert_eq!(broadleaf::plan::throughput(&platform, &plan).unwrap(), 100.0);
//! ```

use super::drop_edges::prune_busiest;
use super::graph::{self, Graph};
use super::tree_rule::TreeRule;
use crate::planners::{Card, Profile};

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 2e5;

pub(crate) static PRUNE_REFINED: TreeRule = TreeRule {
    card: &Card {
        name: "prune-refined",
        summary: "drops an edge of the node with the largest weighted out-degree until a tree is left",
        reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 2",
        objective: "throughput of one pipelined tree",
        guarantee: "none",
        complexity: "O(E²) at worst, about O(E log E) on dense platforms",
        profile: Profile {
            pace: graph::pace,
            least_s: |instance| graph::least_s(instance, EDGES_PER_S),
            ..Profile::QUICK
        },
    },
    tree,
};

fn tree(graph: &Graph) -> Vec<usize> {
    prune_busiest(graph, |load| load.times_s)
}
