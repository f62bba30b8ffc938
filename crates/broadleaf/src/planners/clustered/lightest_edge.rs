//! For every waiting cluster, the sender of least fixed weight: min over i in A of w_ij, regardless of ready times.

use super::grid::Grid;
use super::sends::ClusterSend;
use super::waiting::Waiting;

/// The weight of the link between two kinds.
pub(super) type Weight = fn(&Grid, usize, usize) -> f64;

pub(super) struct LightestEdges<'g> {
    grid: &'g Grid,
    weight: Weight,
    waiting: Waiting<'g>,
    /// By kind: the least weight into it and the smallest cluster that has it.
    best: Vec<(f64, u32)>,
    sends: Vec<ClusterSend>,
}

impl<'g> LightestEdges<'g> {
    pub fn new(grid: &'g Grid, weight: Weight) -> Self {
        let best = vec![(f64::INFINITY, u32::MAX); grid.kinds()];
        let mut nearest =
            LightestEdges { grid, weight, waiting: Waiting::new(grid), best, sends: Vec::new() };
        nearest.join(grid.root() as u32);
        nearest
    }

    pub fn waiting(&self) -> &Waiting<'g> {
        &self.waiting
    }

    pub fn weight_s(&self, kind: usize) -> f64 {
        self.best[kind].0
    }

    fn join(&mut self, cluster: u32) {
        let from = self.grid.kind(cluster as usize);
        for &kind in self.waiting.kinds() {
            let weight = (self.weight)(self.grid, from, kind as usize);
            let (least, by) = self.best[kind as usize];
            if weight < least || weight == least && cluster < by {
                self.best[kind as usize] = (weight, cluster);
            }
        }
    }

    /// Sends to the first waiting cluster of a kind.
    pub fn send_to(&mut self, kind: usize) {
        let (_, from) = self.best[kind];
        let to = self.waiting.remove_first(kind);
        self.sends.push(ClusterSend { from, to });
        self.join(to);
    }

    pub fn into_sends(self) -> Vec<ClusterSend> {
        self.sends
    }
}

/// FEF: always over the lightest link out of A, ties to the smallest receiver, then sender.
pub(super) fn fastest_edge_first(grid: &Grid, weight: Weight) -> Vec<ClusterSend> {
    let mut nearest = LightestEdges::new(grid, weight);
    while let Some(kind) = nearest.waiting.least(|kind| nearest.weight_s(kind)) {
        nearest.send_to(kind);
    }
    nearest.into_sends()
}
