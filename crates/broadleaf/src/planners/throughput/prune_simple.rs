//! Simple platform pruning: drops the heaviest edges, as long as all hosts can be reached.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 1. Steady state:
//! a segment every max over nodes of max(Σ T of the edges out, T of the edge in). Complexity: O(E log E) for the
//! order; each deletion searches for another way in O(E) at worst, and finds it at once on dense platforms.
//! Guarantee: none; a node may keep very many light edges.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{ExplicitLink, LinkClass, NodeId, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("triangle", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! for (from, to, bandwidth) in [(0, 1, 100.0), (0, 2, 50.0), (1, 2, 25.0)] {
//!     let class = builder.add_class(LinkClass::affine(0.0, bandwidth));
//!     builder.add_link(ExplicitLink { from: nodes[from], to: nodes[to], both_ways: false, class }).unwrap();
//! }
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(100);
//! let plan = find("prune-simple").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! // b→c takes 4 s and goes: a serves both in 1 + 2 s, the slower c first.
//! assert_eq!(plan.trees[0].edges().collect::<Vec<_>>(), [(nodes[0], nodes[2]), (nodes[0], nodes[1])]);
//! assert_eq!(broadleaf::plan::throughput(&platform, &plan).unwrap(), 100.0 / 3.0);
//! ```

use super::drop_edges::{heaviest_first, prune_in_order};
use super::graph::{self, Graph};
use super::tree_rule::TreeRule;
use crate::planners::{Card, Profile};

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 1e6;

pub(crate) static PRUNE_SIMPLE: TreeRule = TreeRule {
    card: &Card {
        name: "prune-simple",
        summary: "drops the heaviest edges of the platform until a tree is left",
        reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 1",
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
    // One pass is enough: an edge that must stay now must also stay when there are fewer others.
    let order = heaviest_first(graph, (0..graph.edges.len()).collect());
    prune_in_order(graph, order)
}
