//! What a port program carries: the same segment to all hosts, or a block for or from each host.
//!
//! One round carries a segment of every block: over one spanning tree (broadcast), over one tree whose edges carry the
//! blocks of all hosts below them (scatter), or over a spanning tree from each host (all-gather). All rounds under the
//! same port capacities are the packing, and a round's cheapest trees under prices p cost C(p) = Σ_b w_b · C_b(p): over a
//! cheapest path or a cheapest arborescence for each block b. So the prices prove the bound Σ p / C(p) on rounds per unit
//! of time, as for one root.

use super::arborescence::{Arborescence, Digraph};
use super::cheapest_from::{Cheapest, NONE};
use crate::plan::Collective;
use std::ops::Range;

/// The blocks of one round; weights are by vertex.
#[derive(Clone, Debug)]
pub(crate) enum Demand {
    /// The root's segment to all.
    Broadcast,
    /// Each host's segment to it, from vertex 0.
    Scatter(Vec<f64>),
    /// Each host's segment to all others.
    Allgather(Vec<f64>),
}

impl Demand {
    /// That of an outward collective with these weights of blocks; `None` for one that has no program.
    pub fn of(collective: Collective, weights: Vec<f64>) -> Option<Demand> {
        match collective {
            Collective::Bcast => Some(Demand::Broadcast),
            Collective::Scatter => Some(Demand::Scatter(weights)),
            Collective::Allgather => Some(Demand::Allgather(weights)),
            _ => None,
        }
    }

    /// The trees of a round: one, or one from each of the vertices.
    pub fn trees(&self, vertices: usize) -> usize {
        match self {
            Demand::Broadcast | Demand::Scatter(_) => 1,
            Demand::Allgather(_) => vertices,
        }
    }

    /// The segments on the entering edge of each vertex of the tree from vertex `root`.
    pub fn carried(&self, graph: &Digraph, root: usize, entering: &[u32]) -> Vec<f64> {
        match self {
            Demand::Broadcast => vec![1.0; entering.len()],
            Demand::Scatter(weights) => below(graph, entering, weights),
            Demand::Allgather(weights) => vec![weights[root]; entering.len()],
        }
    }

    /// The cheapest trees from these vertices, and the cost of each one's blocks.
    pub(super) fn cheapest_from(
        &self,
        cheapest: &mut Cheapest,
        graph: &Digraph,
        roots: Range<usize>,
        costs: &[f64],
    ) -> Vec<(Vec<u32>, f64)> {
        match self {
            Demand::Broadcast => cheapest.arborescences(graph, roots, costs),
            Demand::Scatter(weights) => roots
                .map(|root| {
                    let (entering, distances) = cheapest.paths(graph, root, costs);
                    let blocks = distances.iter().zip(weights).skip(1);
                    (entering, blocks.map(|(distance, weight)| distance * weight).sum())
                })
                .collect(),
            Demand::Allgather(weights) => {
                let mut trees = cheapest.arborescences(graph, roots.clone(), costs);
                trees.iter_mut().zip(&weights[roots]).for_each(|(tree, weight)| tree.1 *= weight);
                trees
            }
        }
    }

    /// The cheapest trees of a round, one after the other, and their cost.
    pub fn cheapest(&self, solver: &mut Arborescence, graph: &Digraph, costs: &[f64]) -> (Vec<u32>, f64) {
        if matches!(self, Demand::Broadcast) {
            return solver.cheapest(graph, costs);
        }
        let roots = 0..self.trees(graph.vertices);
        let trees = self.cheapest_from(&mut Cheapest::new(graph), graph, roots, costs);
        let sum = trees.iter().map(|(_, cost)| cost).sum();
        (trees.into_iter().flat_map(|(entering, _)| entering).collect(), sum)
    }
}

/// The blocks, by weight, of each vertex and all below it.
fn below(graph: &Digraph, entering: &[u32], weights: &[f64]) -> Vec<f64> {
    let mut below = vec![0.0; entering.len()];
    for (vertex, weight) in weights.iter().enumerate() {
        let mut at = vertex;
        while entering[at] != NONE {
            below[at] += weight;
            at = graph.from[entering[at] as usize] as usize;
        }
    }
    below
}
