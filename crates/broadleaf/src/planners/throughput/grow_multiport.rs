//! Growing a minimum weighted out-degree tree for multi-port nodes, which send on several links at once.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 5. Adding (u, w)
//! costs max((children(u) + 1)·send_u, max T over children(u) ∪ {w}); the printed cost(u, v) is a misprint. A sum
//! over the children's send parts replaces the product; they are equal where send depends on the sender alone. Where
//! a platform states no send part, send = T. Steady state: a segment every max over nodes of max(that cost, T of the
//! edge in). Complexity: O(n·E) at worst, about O(E log n). Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, Node, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("fat", PortModel::MultiPort);
//! let nodes: Vec<_> = ["a", "b", "c", "d"]
//!     .iter()
//!     .map(|id| Node { id: id.to_string(), out_bytes_per_s: Some(200.0), ..Node::default() })
//!     .map(|node| builder.add_node(node).unwrap())
//!     .collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(100);
//! let plan = find("grow-multiport").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! // Two sends of half a second fit into the second of a link, a third would not: a serves b and c, then b
//! // is as good as any.
//! let [a, b, c, d] = [nodes[0], nodes[1], nodes[2], nodes[3]];
//! assert_eq!(plan.trees[0].edges().collect::<Vec<_>>(), [(a, b), (a, c), (b, d)]);
//! ```

use super::graph::{self, Graph};
use super::prim;
use super::tree_rule::TreeRule;
use crate::planners::{Card, Profile};

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 5e6;

pub(crate) static GROW_MULTIPORT: TreeRule = TreeRule {
    card: &Card {
        name: "grow-multiport",
        summary:
            "adds the edge whose sender then has the shortest multi-port period until everyone is in the tree",
        reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 5",
        objective: "throughput of one pipelined tree under multi-port",
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
    prim::grow(graph, |children, edge| {
        let edge = graph.edges[edge];
        let sends_s = children.sends_s + edge.send_s;
        ticks.count(sends_s.max(children.longest_s).max(edge.time_s))
    })
}
