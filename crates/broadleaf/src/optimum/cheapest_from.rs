//! Cheapest paths and cheapest arborescences from any vertex of a graph.

use super::arborescence::{Arborescence, Digraph};
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The entering edge of a vertex that has none.
pub(super) const NONE: u32 = u32::MAX;

/// Finds cheapest paths and arborescences; the scratch space is kept between calls.
pub(super) struct Cheapest {
    /// The edges out of each vertex.
    out: Vec<Vec<u32>>,
    /// The graph's vertices, each one higher, and last an edge from a new vertex 0 to the root.
    hung: Digraph,
    solver: Arborescence,
    weights: Vec<f64>,
}

impl Cheapest {
    pub fn new(graph: &Digraph) -> Cheapest {
        let mut out = vec![Vec::new(); graph.vertices];
        for (edge, &from) in (0u32..).zip(&graph.from) {
            out[from as usize].push(edge);
        }
        let higher = |ends: &[u32], last: u32| ends.iter().map(|end| end + 1).chain([last]).collect();
        let hung =
            Digraph { vertices: graph.vertices + 1, from: higher(&graph.from, 0), to: higher(&graph.to, 1) };
        Cheapest { out, hung, solver: Arborescence::default(), weights: Vec::new() }
    }

    /// The entering edges of shortest paths from `root`, and the distances; ties go to the lower vertex.
    pub fn paths(&self, graph: &Digraph, root: usize, weights: &[f64]) -> (Vec<u32>, Vec<f64>) {
        let mut entering = vec![NONE; self.out.len()];
        let mut distances = vec![f64::INFINITY; self.out.len()];
        let mut is_done = vec![false; self.out.len()];
        distances[root] = 0.0;
        let mut open = BinaryHeap::from([Reverse((OrderedFloat(0.0), root))]);
        while let Some(Reverse((OrderedFloat(distance), vertex))) = open.pop() {
            if std::mem::replace(&mut is_done[vertex], true) {
                continue;
            }
            for &edge in &self.out[vertex] {
                let to = graph.to[edge as usize] as usize;
                let onward = distance + weights[edge as usize];
                if onward < distances[to] && !is_done[to] {
                    (distances[to], entering[to]) = (onward, edge);
                    open.push(Reverse((OrderedFloat(onward), to)));
                }
            }
        }
        (entering, distances)
    }

    /// The entering edges of cheapest arborescences from these vertices, and their weights. Several share one
    /// contraction, for which every vertex must reach every other.
    pub fn arborescences(
        &mut self,
        graph: &Digraph,
        roots: Range<usize>,
        weights: &[f64],
    ) -> Vec<(Vec<u32>, f64)> {
        if roots.len() == 1 {
            return vec![self.arborescence(roots.start, weights)];
        }
        self.solver.contract_all(graph, weights);
        roots.map(|root| self.solver.entered_from(root as u32, graph)).collect()
    }

    /// The same from `root`.
    fn arborescence(&mut self, root: usize, weights: &[f64]) -> (Vec<u32>, f64) {
        let last = weights.len();
        self.hung.to[last] = root as u32 + 1;
        self.weights.clear();
        self.weights.extend_from_slice(weights);
        self.weights.push(0.0);
        let (mut entering, cost) = self.solver.cheapest(&self.hung, &self.weights);
        entering.remove(0);
        entering[root] = NONE;
        (entering, cost)
    }
}
