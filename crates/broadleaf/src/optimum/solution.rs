//! The optimum: trees with shares, the bound, and the prices that prove it.

use super::occupation_table::OccupationTable;
use crate::model::Resource;
use crate::plan::{Collective, Tree, TreeBuilder};
use crate::platform::{NodeId, Platform};
use std::collections::BTreeMap;

/// A spanning tree and the part of the segments it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedTree {
    /// > 0; the shares of all trees sum to 1.
    pub share: f64,
    /// By node; `None` for the root and for switches.
    pub parent: Vec<Option<NodeId>>,
    /// The switches that relay the transfer into a node, in order from its parent.
    pub via: BTreeMap<NodeId, Vec<NodeId>>,
}

/// Reasons why a schedule may not reach the value, although none can exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundOnly {
    /// One port for both directions: on three nodes with unit links the program's value is 0.75, and the best
    /// schedule's 0.5.
    UnidirectionalOnePort,
    /// Both directions at once only with the same partner; the program allows different ones.
    SamePartner,
    /// A transfer needs several resources at once, whose free times need not overlap.
    MultiPort,
    /// As for multi-port: ports and an exclusive shared resource must be free together.
    SharedResources,
}

impl std::fmt::Display for BoundOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BoundOnly::UnidirectionalOnePort => {
                "bound: under unidirectional one-port, conflicts of three nodes can keep any plan below it"
            }
            BoundOnly::SamePartner => {
                "bound: under one-port-same-partner, sending and receiving wait for each other where partners differ"
            }
            BoundOnly::MultiPort => {
                "bound: under multi-port, the windows of one transfer need not fit together"
            }
            BoundOnly::SharedResources => {
                "bound: with exclusive shared resources, the windows of one transfer need not fit together"
            }
        })
    }
}

/// The throughput optimum, enclosed from both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// What the trees carry.
    pub collective: Collective,
    /// The root of the trees, unless each host has a tree.
    pub root: NodeId,
    /// The weights of the blocks by node, if they differ.
    pub weights: Option<Vec<f64>>,
    /// The size at which T(s) of every link is read, bytes.
    pub segment_bytes: u64,
    /// The rate of `trees` when their busiest resource is always busy, of a block of weight 1 if there are blocks;
    /// infinite without a limit.
    pub throughput_bytes_per_s: f64,
    /// Σ prices / cheapest trees for all blocks under them: no packing of trees carries more.
    pub upper_bound_bytes_per_s: f64,
    /// By root, the largest share first; the shares of each root sum to 1.
    pub trees: Vec<WeightedTree>,
    /// n_uv, the segments a second over each link at that throughput, by (from, to); links of 0 left out.
    pub link_load: Vec<(NodeId, NodeId, f64)>,
    /// The certificate above: a price for each resource, summing to 1, zeros left out.
    pub prices: Vec<(Resource, f64)>,
    /// The number of cheapest trees computed.
    pub rounds: usize,
    /// Set where the value is a bound that schedules need not reach.
    pub bound_only: Option<BoundOnly>,
}

impl Optimum {
    /// (upper bound − throughput) / upper bound; 0 where both are infinite.
    pub fn gap(&self) -> f64 {
        if self.throughput_bytes_per_s == self.upper_bound_bytes_per_s {
            return 0.0;
        }
        // Rounding may lift an exact throughput above the bound.
        (1.0 - self.throughput_bytes_per_s / self.upper_bound_bytes_per_s).max(0.0)
    }

    /// The trees for a plan, children by id.
    pub fn plan_trees(&self) -> Vec<Tree> {
        let plan_tree = |tree: &WeightedTree| {
            let mut planned = tree.plan_tree();
            planned.root = tree.root().filter(|_| !self.collective.is_rooted());
            planned
        };
        self.trees.iter().map(plan_tree).collect()
    }

    /// The optimum of the mirrored collective on the reversed network: the same trees, with data going the other way.
    pub(super) fn mirrored(self) -> Optimum {
        let turned = |resource: Resource| match resource {
            Resource::Out(node) if self.bound_only != Some(BoundOnly::UnidirectionalOnePort) => {
                Resource::In(node)
            }
            Resource::In(node) => Resource::Out(node),
            Resource::Link(from, to) => Resource::Link(to, from),
            resource => resource,
        };
        let prices = self.prices.iter().map(|&(resource, price)| (turned(resource), price)).collect();
        let mut link_load: Vec<_> = self.link_load.iter().map(|&(from, to, load)| (to, from, load)).collect();
        link_load.sort_unstable_by_key(|&(from, to, _)| (from, to));
        Optimum { collective: self.collective.mirror(), prices, link_load, ..self }
    }
}

impl WeightedTree {
    /// The tree with these entering edges, in terms of the platform's nodes; the root has none.
    pub(crate) fn of(
        platform: &Platform,
        table: &OccupationTable,
        share: f64,
        entering: &[u32],
    ) -> WeightedTree {
        let mut tree =
            WeightedTree { share, parent: vec![None; platform.node_count()], via: BTreeMap::new() };
        for (vertex, &edge) in entering.iter().enumerate().filter(|(_, edge)| **edge != u32::MAX) {
            let to = table.hosts[vertex];
            tree.parent[to.index()] = Some(table.hosts[table.graph.from[edge as usize] as usize]);
            let relays = table.relays_of(edge as usize);
            if !relays.is_empty() {
                tree.via.insert(to, relays.to_vec());
            }
        }
        tree
    }

    /// The links the tree uses, those through switches included, by receiver.
    pub fn hops(&self) -> Vec<(NodeId, NodeId)> {
        (0..self.parent.len() as u32).flat_map(|to| self.hops_into(NodeId(to))).collect()
    }

    /// Those from its parent to a node; none for the root.
    pub(super) fn hops_into(&self, to: NodeId) -> Vec<(NodeId, NodeId)> {
        let Some(parent) = self.parent[to.index()] else { return Vec::new() };
        let mut way = vec![parent];
        way.extend(self.via.get(&to).into_iter().flatten().chain([&to]));
        way.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// The parent without a parent; `None` of a tree without edges.
    pub fn root(&self) -> Option<NodeId> {
        self.parent.iter().flatten().copied().find(|parent| self.parent[parent.index()].is_none())
    }

    /// The tree for a plan, children by id.
    pub fn plan_tree(&self) -> Tree {
        let mut builder = TreeBuilder::new(self.parent.len()).share(self.share);
        for (child, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                let child = NodeId(child as u32);
                builder.add(*parent, child);
                if let Some(relays) = self.via.get(&child) {
                    builder.via(child, relays.clone());
                }
            }
        }
        builder.build()
    }
}
