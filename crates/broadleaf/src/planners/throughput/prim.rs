//! Growing a spanning tree edge by edge from the root, as Prim does: the common part of the growing
//! planners.

use super::graph::Graph;
use crate::platform::NodeId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The load of a node's current children.
#[derive(Clone, Copy, Debug, Default)]
pub struct Children {
    pub times_s: f64,
    pub sends_s: f64,
    pub longest_s: f64,
}

/// Takes, until all hosts are in, the edge (u, v) from the tree to outside with the smallest
/// `rank(children of u, edge)`; ties to the smaller u, then the smaller v.
///
/// One edge of each node is queued. It stays valid when other nodes join the tree, unless its target is among them:
/// then the node's next best edge, which ranks no lower, replaces it.
pub fn grow(graph: &Graph, rank: impl Fn(&Children, usize) -> i64) -> Vec<usize> {
    let mut children = vec![Children::default(); graph.node_count()];
    let mut is_in = vec![false; graph.node_count()];
    let mut tree = Vec::with_capacity(graph.host_count());
    let mut queue: BinaryHeap<Reverse<(i64, NodeId, usize)>> = BinaryHeap::new();
    let best = |node: NodeId, children: &Children, is_in: &[bool]| {
        graph
            .out_edges(node)
            .filter(|&edge| !is_in[graph.edges[edge].to.index()])
            .map(|edge| Reverse((rank(children, edge), node, edge)))
            .max()
    };
    is_in[graph.root().index()] = true;
    queue.extend(best(graph.root(), &children[graph.root().index()], &is_in));
    while tree.len() + 1 < graph.host_count() {
        let Reverse((_, from, index)) = queue.pop().expect("every host can be reached");
        let edge = graph.edges[index];
        if !std::mem::replace(&mut is_in[edge.to.index()], true) {
            tree.push(index);
            let load = &mut children[from.index()];
            load.times_s += edge.time_s;
            load.sends_s += edge.send_s;
            load.longest_s = load.longest_s.max(edge.time_s);
            queue.extend(best(edge.to, &children[edge.to.index()], &is_in));
        }
        queue.extend(best(from, &children[from.index()], &is_in));
    }
    tree
}
