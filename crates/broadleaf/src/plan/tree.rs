//! A spanning arborescence from the root, with its children ordered.

use crate::platform::NodeId;
use std::collections::BTreeMap;

/// Of an exchange; chosen. Each head sends to all others.
pub(super) const MOST_HEADS: usize = 1024;

/// One tree of a plan. [`check`](super::check) decides whether it spans all hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The part of the segments this tree carries, 0 < share ≤ 1.
    pub share: f64,
    /// The tree's own root (all-gather); `None` for the plan's.
    pub root: Option<NodeId>,
    /// `children[first[u] .. first[u + 1]]` are the children of node u in serving order.
    first: Vec<u32>,
    children: Vec<NodeId>,
    /// The relays of the transfer into a node, in order from its parent.
    pub via: BTreeMap<NodeId, Vec<NodeId>>,
    /// Of an all-reduce's way in, children of the root, on both ways. Each of these *heads*, and the root, sends what has
    /// come in to it to all others of them, and combines what they send; nothing goes out from the root to a head.
    pub exchange: Vec<NodeId>,
}

impl Tree {
    /// The number of the platform's nodes, switches included.
    pub fn node_count(&self) -> usize {
        self.first.len() - 1
    }

    /// Whether no child of a node passes anything on.
    pub fn serves_leaves(&self, parent: NodeId) -> bool {
        self.children(parent).iter().all(|&child| self.children(child).is_empty())
    }

    /// The children of a node in serving order.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        let at = node.index();
        &self.children[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// All edges (parent, child), by parent id and serving order.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        (0..self.node_count() as u32)
            .map(NodeId)
            .flat_map(move |parent| self.children(parent).iter().map(move |&child| (parent, child)))
    }

    /// The parent of every node; `None` for the root and for nodes outside the tree. A node that occurs twice has its
    /// first parent here (the checker refuses such a tree).
    pub fn parents(&self) -> Vec<Option<NodeId>> {
        let mut parents = vec![None; self.node_count()];
        for (parent, child) in self.edges() {
            parents[child.index()].get_or_insert(parent);
        }
        parents
    }

    /// The nodes in breadth-first order from `root`, children in serving order.
    pub fn breadth_first(&self, root: NodeId) -> Vec<NodeId> {
        let mut order = vec![root];
        let mut at = 0;
        while at < order.len() && order.len() <= self.node_count() {
            order.extend_from_slice(self.children(order[at]));
            at += 1;
        }
        order
    }

    /// The longest number of edges from `root` to a node.
    pub fn depth(&self, root: NodeId) -> usize {
        let mut depth = vec![0usize; self.node_count()];
        for node in self.breadth_first(root) {
            for child in self.children(node) {
                depth[child.index()] = depth[node.index()] + 1;
            }
        }
        depth.into_iter().max().unwrap_or(0)
    }

    pub(super) fn renamed(&self, node_count: usize, moved: &impl Fn(NodeId) -> NodeId) -> Tree {
        let mut builder = TreeBuilder::new(node_count);
        for (parent, child) in self.edges() {
            builder.add(moved(parent), moved(child));
        }
        let mut tree = builder.share(self.share).build();
        tree.root = self.root.map(moved);
        tree.exchange = self.exchange.iter().map(|&head| moved(head)).collect();
        tree.via = self
            .via
            .iter()
            .map(|(&node, relays)| (moved(node), relays.iter().map(|&relay| moved(relay)).collect()))
            .collect();
        tree
    }
}

/// Builds a tree from edges in serving order.
#[derive(Clone, Debug)]
pub struct TreeBuilder {
    node_count: usize,
    share: f64,
    root: Option<NodeId>,
    edges: Vec<(NodeId, NodeId)>,
    via: BTreeMap<NodeId, Vec<NodeId>>,
    exchange: Vec<NodeId>,
}

impl TreeBuilder {
    /// A tree without edges, share 1, over `node_count` nodes.
    pub fn new(node_count: usize) -> Self {
        let (edges, via, exchange) = (Vec::new(), BTreeMap::new(), Vec::new());
        TreeBuilder { node_count, share: 1.0, root: None, edges, via, exchange }
    }

    /// Sets the tree's share of the message, 0 … 1.
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Gives the tree a root of its own.
    pub fn root(mut self, root: NodeId) -> Self {
        self.root = Some(root);
        self
    }

    /// These children of the root exchange their sums with it ([`Tree::exchange`]).
    pub fn exchange(mut self, heads: Vec<NodeId>) -> Self {
        self.exchange = heads;
        self
    }

    /// Adds `child` as the last child of `parent` so far.
    pub fn add(&mut self, parent: NodeId, child: NodeId) -> &mut Self {
        self.edges.push((parent, child));
        self
    }

    /// The transfer into `child` is relayed through these nodes.
    pub fn via(&mut self, child: NodeId, relays: Vec<NodeId>) -> &mut Self {
        if !relays.is_empty() {
            self.via.insert(child, relays);
        }
        self
    }

    /// The tree; children in the order in which they were added.
    pub fn build(self) -> Tree {
        let mut first = vec![0u32; self.node_count + 1];
        for &(parent, _) in &self.edges {
            first[parent.index() + 1] += 1;
        }
        for at in 0..self.node_count {
            first[at + 1] += first[at];
        }
        let mut next = first.clone();
        let mut children = vec![NodeId(0); self.edges.len()];
        for &(parent, child) in &self.edges {
            let slot = &mut next[parent.index()];
            children[*slot as usize] = child;
            *slot += 1;
        }
        let TreeBuilder { share, root, via, exchange, .. } = self;
        Tree { share, root, first, children, via, exchange }
    }
}
