//! A single tree of short period, by local search from the best heuristic's.
//!
//! The objective of Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms* (section 3: the STP
//! problem, NP-hard), with their heuristics as the start and the exchanges of [`super::edge_exchange`] from there.
//! The period is exact under every port model, shared resources and switches included: the load of the busiest
//! resource. On 50 nodes as the paper draws them the tree is on average 1.3 times as fast as the paper's best after
//! 0.1 s and 1.4 times after 1 s; such trees are deep, so other planners suit short messages better.
//!
//! Without a time limit it tries a fixed number of edges. A limit is converted into a number of edges at a fixed
//! rate, so that equal seeds give equal trees; the clock ends the search only on slower machines. Complexity:
//! O(depth) an edge tried. Guarantee: never below grow and grow-multiport; up to 20,000 edges never below
//! prune-refined and prune-refined-multiport either.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{ExplicitLink, LinkClass, PlatformBuilder, PortModel};
//!
//! // A ring a–b–d–c–a: serving both neighbours over the quick links keeps a busy for 2 s a segment, the
//! // chain a, b, d, c over the slow ones no node for more than 1.25 s.
//! let mut builder = PlatformBuilder::new("ring", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c", "d"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let quick = builder.add_class(LinkClass::affine(0.0, 100.0));
//! let slow = builder.add_class(LinkClass::affine(0.0, 80.0));
//! for (from, to, class) in [(0, 1, quick), (0, 2, quick), (1, 3, slow), (3, 2, slow)] {
//!     builder.add_link(ExplicitLink { from: nodes[from], to: nodes[to], both_ways: true, class }).unwrap();
//! }
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(100);
//! let period_s = |planner: &str| {
//!     let plan = find(planner).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//!     100.0 / broadleaf::plan::throughput(&platform, &plan).unwrap()
//! };
//! assert_eq!((period_s("prune-simple"), period_s("single-tree")), (2.0, 1.25));
//! ```

use super::child_order::tree_plan;
use super::edge_exchange::{improve, STEPS_PER_UNIT};
use super::graph::{self, Graph};
use super::grow::GROW;
use super::grow_multiport::GROW_MULTIPORT;
use super::prune_refined::PRUNE_REFINED;
use super::prune_refined_multiport::PRUNE_REFINED_MULTIPORT;
use super::tree_loads::{EdgeUses, NO_EDGE};
use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};
use crate::random::Random;
use std::collections::HashMap;

/// Edges tried without a time limit: about 20 ms for 50 nodes.
const DEFAULT_STEPS: u64 = 60_000;

/// Pruning larger graphs takes longer than the search.
const PRUNED_EDGES: usize = 20_000;

pub(crate) struct SingleTree;

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 edges.
const EDGES_PER_S: f64 = 1.5e6;

static CARD: Card = Card {
    name: "single-tree",
    summary: "exchanges edges of the best heuristic's tree to shorten its period",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, section 3 (STP); \
                local search of our own",
    objective: "throughput of one pipelined tree",
    guarantee:
        "at least grow and grow-multiport; to 20,000 edges prune-refined and its multi-port version too",
    complexity: "O(E log E), then O(depth) an edge tried",
    profile: Profile { pace, least_s: |instance| graph::least_s(instance, EDGES_PER_S), ..Profile::QUICK },
};

impl Planner for SingleTree {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        graph::supports(instance)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let graph = Graph::of(instance);
        let network = network(&graph);
        let start = starts(&graph)
            .into_iter()
            .map(|tree| entering(&graph, &tree))
            .min_by(|a, b| network.period_s(a).total_cmp(&network.period_s(b)))
            .expect("there are heuristics");
        let steps = budget
            .asked()
            .map_or(DEFAULT_STEPS, |units| units.saturating_mul(STEPS_PER_UNIT) / graph.host_count() as u64);
        let into = improve(&network, &start, steps, &mut Random::new(instance.seed), budget);
        let tree: Vec<usize> =
            into.into_iter().filter(|&edge| edge != NO_EDGE).map(|edge| edge as usize).collect();
        Ok(tree_plan(&graph, CARD.name, &tree))
    }
}

/// Its starts are as slow as the paper's heuristics; its own search is counted.
fn pace(instance: &Instance) -> Pace {
    match graph::pace(instance) {
        Pace::ByName => Pace::ByName,
        _ => Pace::Slow,
    }
}

/// The trees of the paper's heuristics that use nodes' loads.
fn starts(graph: &Graph) -> Vec<Vec<usize>> {
    let mut rules = vec![&GROW, &GROW_MULTIPORT];
    if graph.edges.len() <= PRUNED_EDGES {
        rules.extend([&PRUNE_REFINED, &PRUNE_REFINED_MULTIPORT]);
    }
    rules.into_iter().map(|rule| (rule.tree)(graph)).collect()
}

/// The tree's edge into each node.
fn entering(graph: &Graph, tree: &[usize]) -> Vec<u32> {
    let mut into = vec![NO_EDGE; graph.node_count()];
    tree.iter().for_each(|&edge| into[graph.edges[edge].to.index()] = edge as u32);
    into
}

/// Every edge with the resources that a segment over it occupies.
fn network(graph: &Graph) -> EdgeUses {
    let mut index: HashMap<Resource, u32> = HashMap::new();
    let mut edges = Vec::with_capacity(graph.edges.len());
    for (at, edge) in graph.edges.iter().enumerate() {
        let mut uses: Vec<(u32, f64)> = Vec::new();
        for hop in graph.hops(at) {
            for window in occupation(graph.platform(), hop, graph.segment_bytes()).windows {
                let next = index.len() as u32;
                let resource = *index.entry(window.resource).or_insert(next);
                // Hops of one route may share a pipe.
                match uses.iter_mut().find(|(known, _)| *known == resource) {
                    Some((_, time_s)) => *time_s += window.duration_s,
                    None => uses.push((resource, window.duration_s)),
                }
            }
        }
        edges.push(((edge.from.0, edge.to.0), uses));
    }
    EdgeUses::new(graph.node_count(), graph.root().0, index.len(), &edges)
}
