//! The set B of paper 2: the clusters that still wait for the message, by kind.

use super::grid::Grid;

/// The waiting clusters. Those of a kind leave in rising order, since ties go to the smaller one.
#[derive(Clone, Debug)]
pub(super) struct Waiting<'g> {
    grid: &'g Grid,
    /// By kind, how many of its members have left (the root counts as passed over, not as left).
    passed: Vec<u32>,
    count: Vec<u32>,
    /// Kinds with a waiting cluster, in no order.
    open: Vec<u32>,
    total: usize,
}

impl<'g> Waiting<'g> {
    /// All clusters but the root.
    pub fn new(grid: &'g Grid) -> Self {
        let mut count: Vec<u32> = (0..grid.kinds()).map(|kind| grid.members(kind).len() as u32).collect();
        count[grid.kind(grid.root())] -= 1;
        let open = (0..grid.kinds() as u32).filter(|&kind| count[kind as usize] > 0).collect();
        let mut waiting = Waiting { grid, passed: vec![0; grid.kinds()], count, open, total: grid.len() - 1 };
        waiting.pass_over_root(grid.kind(grid.root()));
        waiting
    }

    fn pass_over_root(&mut self, kind: usize) {
        let at = self.passed[kind] as usize;
        if self.grid.members(kind).get(at) == Some(&(self.grid.root() as u32)) {
            self.passed[kind] += 1;
        }
    }

    /// |B|.
    pub fn total(&self) -> usize {
        self.total
    }

    pub fn kinds(&self) -> &[u32] {
        &self.open
    }

    /// How many of a kind wait.
    pub fn count(&self, kind: usize) -> u32 {
        self.count[kind]
    }

    /// How many of kind `k` wait besides one of kind `j`: B∖{j}.
    pub fn besides(&self, j: usize, k: usize) -> u32 {
        self.count[k] - u32::from(j == k)
    }

    /// The smallest cluster of a kind that waits.
    pub fn first(&self, kind: usize) -> u32 {
        self.grid.members(kind)[self.passed[kind] as usize]
    }

    /// Moves the first of a kind out of B.
    pub fn remove_first(&mut self, kind: usize) -> u32 {
        let cluster = self.first(kind);
        self.passed[kind] += 1;
        self.pass_over_root(kind);
        self.count[kind] -= 1;
        self.total -= 1;
        if self.count[kind] == 0 {
            let at = self.open.iter().position(|&open| open as usize == kind).expect("the kind was open");
            self.open.swap_remove(at);
        }
        cluster
    }

    /// The kind of least value; ties to the one whose first cluster is smaller.
    pub fn least(&self, mut value: impl FnMut(usize) -> f64) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for &kind in &self.open {
            let kind = kind as usize;
            let value = value(kind);
            let better = match best {
                None => true,
                Some((least, of)) => value < least || value == least && self.first(kind) < self.first(of),
            };
            if better {
                best = Some((value, kind));
            }
        }
        best.map(|(_, kind)| kind)
    }
}
