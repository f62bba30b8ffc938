//! The nodes below each node of a tree.

use super::Tree;
use crate::platform::NodeId;

/// The nodes of a tree in depth-first order, so that all nodes below a node follow it directly.
#[derive(Clone, Debug)]
pub(super) struct Subtrees {
    order: Vec<NodeId>,
    /// `order[first .. last]` is a node and all nodes below it; empty for nodes outside the tree.
    span: Vec<(u32, u32)>,
}

impl Subtrees {
    pub fn new(tree: &Tree, root: NodeId) -> Subtrees {
        let mut order = Vec::with_capacity(tree.node_count());
        let mut span = vec![(0, 0); tree.node_count()];
        // Each node is visited twice: on the way down, and after all nodes below it.
        let mut open = vec![(root, false)];
        while let Some((node, is_done)) = open.pop() {
            if is_done {
                span[node.index()].1 = order.len() as u32;
                continue;
            }
            span[node.index()] = (order.len() as u32, 0);
            order.push(node);
            open.push((node, true));
            open.extend(tree.children(node).iter().rev().map(|&child| (child, false)));
        }
        Subtrees { order, span }
    }

    /// A node and all nodes below it.
    pub fn below(&self, node: NodeId) -> &[NodeId] {
        let (first, last) = self.span[node.index()];
        &self.order[first as usize..last as usize]
    }
}
