//! Growing a minimum weighted out-degree tree: Prim's algorithm, where the cost of an edge is its sender's total busy
//! time with it.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 3, by
//! the text's metric: adding (u, w) costs Σ T of u's tree edges + T_uw (the printed update counts edges
//! twice). Steady state: a segment every max over nodes of max(Σ T of the edges out, T of the edge in).
//! Complexity: O(n·E) at worst, about O(E log n). Guarantee: none; about 0.7 of the optimum in the paper.
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
//! let plan = find("grow").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! // A second child would make its node's period 2 s, one for the newcomer 1 s: a chain by id.
//! let [a, b, c, d] = [nodes[0], nodes[1], nodes[2], nodes[3]];
//! assert_eq!(plan.trees[0].edges().collect::<Vec<_>>(), [(a, b), (b, c), (c, d)]);
//! ```

use super::graph::{self, Graph};
use super::prim;
use super::tree_rule::TreeRule;
use crate::planners::{Card, Profile};

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 5e6;

pub(crate) static GROW: TreeRule = TreeRule {
    card: &Card {
        name: "grow",
        summary: "adds the edge whose sender is then least busy until everyone is in the tree",
        reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 3",
        objective: "throughput of one pipelined tree",
        guarantee: "none",
        complexity: "O(n·E) at worst, about O(E log n)",
        profile: Profile {
            pace: graph::pace,
            least_s: |instance| graph::least_s(instance, EDGES_PER_S),
            ..Profile::QUICK
        },
    },
    tree,
};

fn tree(graph: &Graph) -> Vec<usize> {
    let ticks = graph.ticks();
    prim::grow(graph, |children, edge| ticks.count(children.times_s + graph.edges[edge].time_s))
}
