//! Refined platform pruning for multi-port nodes, which send on several links at once: drops the heaviest edge of the
//! node with the longest period, as long as all hosts can be reached.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, section 5.2.2,
//! "Multiport-Prune-Degree": algorithm 2 with section 3.2's period, max(Σ send, longest T of the edges out). The sum
//! replaces children · send_u; they are equal where send depends on the sender alone. Where a platform states no send
//! part, send = T. Complexity: as simple pruning. Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, Node, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("fat", PortModel::MultiPort);
//! let nodes: Vec<_> = ["a", "b", "c"]
//!     .iter()
//!     .map(|id| Node { id: id.to_string(), out_bytes_per_s: Some(400.0), ..Node::default() })
//!     .map(|node| builder.add_node(node).unwrap())
//!     .collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(100);
//! let plan = find("prune-refined-multiport").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! // Two sends of 0.25 s fit into the second that a link takes: whatever the tree, the links limit.
//! assert_eq!(broadleaf::plan::throughput(&platform, &plan).unwrap(), 100.0);
//! ```

use super::drop_edges::prune_busiest;
use super::graph::{self, Graph};
use super::tree_rule::TreeRule;
use crate::planners::{Card, Profile};

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 2e5;

pub(crate) static PRUNE_REFINED_MULTIPORT: TreeRule = TreeRule {
    card: &Card {
        name: "prune-refined-multiport",
        summary: "drops an edge of the node with the longest multi-port period until a tree is left",
        reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, section 5.2.2",
        objective: "throughput of one pipelined tree under multi-port",
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
    prune_busiest(graph, |load| load.sends_s.max(load.longest_s))
}
