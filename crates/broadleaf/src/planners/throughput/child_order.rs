//! The order in which a tree's nodes serve their children.

use super::graph::{Edge, Graph};
use crate::plan::{Plan, TreeBuilder};

/// The plan of the tree with these edges, children in serving order.
pub fn tree_plan(graph: &Graph, planner: &str, edges: &[usize]) -> Plan {
    let mut tree = TreeBuilder::new(graph.node_count());
    for edge in in_serving_order(graph, edges) {
        let Edge { from, to, .. } = graph.edges[edge];
        tree.add(from, to);
        let relays = graph.relays(edge);
        if !relays.is_empty() {
            tree.via(to, relays);
        }
    }
    graph.instance().tree_plan(planner, tree)
}

/// The edges of a tree, each node's in serving order: the child whose subtree takes longest first.
///
/// The throughput of a tree does not depend on this order, but its first segment's arrival does: a child served late
/// delays all nodes below it. Serving by falling remaining time is the best order for one segment of a one-port tree
/// (exchanging two neighbours that stand otherwise never delays the last leaf). Ties to the smaller child.
fn in_serving_order(graph: &Graph, edges: &[usize]) -> Vec<usize> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); graph.node_count()];
    for &edge in edges {
        below[graph.edges[edge].from.index()].push(edge);
    }
    // Parents before children, so that the reverse finishes every subtree before it is needed.
    let mut nodes = vec![graph.root()];
    let mut at = 0;
    while let Some(node) = nodes.get(at) {
        let children: Vec<_> = below[node.index()].iter().map(|&edge| graph.edges[edge].to).collect();
        nodes.extend(children);
        at += 1;
    }
    // From a node's arrival of a segment to the last arrival below it, seconds.
    let mut remaining_s = vec![0.0f64; graph.node_count()];
    for &node in nodes.iter().rev() {
        // A child has the segment `arrival_s` after its transfer starts, the port is free after `send_s`.
        let mut children: Vec<(f64, usize)> = below[node.index()]
            .iter()
            .map(|&edge| {
                let arrival_s = graph.arrival_s(edge);
                (arrival_s + remaining_s[graph.edges[edge].to.index()], edge)
            })
            .collect();
        children.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut start_s = 0.0;
        for &(after_s, edge) in &children {
            remaining_s[node.index()] = remaining_s[node.index()].max(start_s + after_s);
            start_s += graph.edges[edge].send_s;
        }
        below[node.index()] = children.into_iter().map(|(_, edge)| edge).collect();
    }
    below.into_iter().flatten().collect()
}
