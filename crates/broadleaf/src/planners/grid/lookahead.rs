//! The look-ahead functions F_j of Bhat and of paper 2: how useful j would be once it holds the message.
//!
//! Absent links count neither in a minimum nor in a mean; F_j = 0 where nobody is left that j could reach.

use super::frontier::Frontier;
use super::instance::Grid;
use super::sends::Send;
use super::waiting::Waiting;

/// F_j, followed while clusters leave B.
pub(super) trait Lookahead {
    /// Called before the values of each round are asked for.
    fn begin_round(&mut self, _waiting: &Waiting) {}

    /// F_j for the waiting kind `j`, seconds.
    fn value_s(&mut self, j: usize, waiting: &Waiting) -> f64;

    /// A cluster of `kind` has left B; it now sends too.
    fn left(&mut self, _kind: usize, _waiting: &Waiting) {}
}

/// ECEF with a look-ahead: min over i, j of RT_i + g_ij + L_ij + F_j.
pub(super) fn earliest_completion(grid: &Grid, mut lookahead: impl Lookahead) -> Vec<Send> {
    let mut frontier = Frontier::new(grid);
    let mut ahead_s = vec![0.0; grid.kinds()];
    loop {
        lookahead.begin_round(frontier.waiting());
        for &kind in frontier.waiting().kinds() {
            ahead_s[kind as usize] = lookahead.value_s(kind as usize, frontier.waiting());
        }
        match frontier.send_to_least(|arrival_s, kind| arrival_s + ahead_s[kind]) {
            Some(kind) => lookahead.left(kind, frontier.waiting()),
            None => return frontier.into_sends(),
        }
    }
}

/// The least or the largest g_jk + L_jk (+ T_k) over k in B∖{j}.
///
/// Each kind's targets are sorted once; B only shrinks, so the first that still waits moves only forward.
pub(super) struct Extreme {
    /// `order[j·kinds ..]`: targets of j, best first.
    order: Vec<u32>,
    at: Vec<u32>,
    value_s: Vec<f64>,
    kinds: usize,
}

impl Extreme {
    /// `largest` for the maximum; `local` adds T_k.
    pub fn new(grid: &Grid, largest: bool, local: bool) -> Self {
        let kinds = grid.kinds();
        let mut value_s = Vec::with_capacity(kinds * kinds);
        for j in 0..kinds {
            let edges = grid.edges_from(j);
            value_s.extend((0..kinds).map(|k| edges[k] + if local { grid.kind_local_s(k) } else { 0.0 }));
        }
        let mut order = Vec::with_capacity(kinds * kinds);
        let mut keyed: Vec<(f64, u32)> = Vec::with_capacity(kinds);
        for row in value_s.chunks_exact(kinds) {
            keyed.clear();
            // Absent links come last either way.
            let sign = if largest { -1.0 } else { 1.0 };
            keyed.extend(
                row.iter().enumerate().map(|(k, &value)| {
                    (if value.is_finite() { sign * value } else { f64::INFINITY }, k as u32)
                }),
            );
            keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            order.extend(keyed.iter().map(|&(_, k)| k));
        }
        Extreme { order, at: vec![0; kinds], value_s, kinds }
    }
}

impl Lookahead for Extreme {
    fn value_s(&mut self, j: usize, waiting: &Waiting) -> f64 {
        let row = j * self.kinds;
        while let Some(&k) = self.order[row..row + self.kinds].get(self.at[j] as usize) {
            if waiting.besides(j, k as usize) > 0 {
                let value_s = self.value_s[row + k as usize];
                return if value_s.is_finite() { value_s } else { 0.0 };
            }
            self.at[j] += 1;
        }
        0.0
    }
}

/// Sums of g_jk + L_jk over k in B∖{j}, kept while B shrinks.
///
/// Subtraction leaves rounding behind, which must not decide ties: the sums are added up anew whenever |B|
/// has halved, and every time once it is small. That stays O(n²) in all.
pub(super) struct Sums<'g> {
    grid: &'g Grid,
    sum_s: Vec<f64>,
    links: Vec<u32>,
}

/// From this |B| on sums are always added up anew.
const ALWAYS_ANEW: usize = 64;

impl<'g> Sums<'g> {
    pub fn new(grid: &'g Grid) -> Self {
        let mut sums = Sums { grid, sum_s: vec![0.0; grid.kinds()], links: vec![0; grid.kinds()] };
        sums.add_up(&Waiting::new(grid));
        sums
    }

    fn add_up(&mut self, waiting: &Waiting) {
        // In index order, so that matrices give the same sums as adding up by cluster.
        let mut open = waiting.kinds().to_vec();
        open.sort_unstable();
        for &j in &open {
            let (mut sum_s, mut links) = (0.0, 0);
            let edges = self.grid.edges_from(j as usize);
            for &k in &open {
                let (count, edge_s) = (waiting.besides(j as usize, k as usize), edges[k as usize]);
                if count > 0 && edge_s.is_finite() {
                    sum_s += f64::from(count) * edge_s;
                    links += count;
                }
            }
            self.sum_s[j as usize] = sum_s;
            self.links[j as usize] = links;
        }
    }

    fn left(&mut self, kind: usize, waiting: &Waiting) {
        if waiting.total() <= ALWAYS_ANEW || waiting.total().is_power_of_two() {
            self.add_up(waiting);
            return;
        }
        for &j in waiting.kinds() {
            let edge_s = self.grid.kind_edge_s(j as usize, kind);
            if edge_s.is_finite() {
                self.sum_s[j as usize] -= edge_s;
                self.links[j as usize] -= 1;
            }
        }
    }
}

/// The mean of g_jk + L_jk over k in B∖{j}.
pub(super) struct Mean<'g>(Sums<'g>);

impl<'g> Mean<'g> {
    pub fn new(grid: &'g Grid) -> Self {
        Mean(Sums::new(grid))
    }
}

impl Lookahead for Mean<'_> {
    fn value_s(&mut self, j: usize, _: &Waiting) -> f64 {
        match self.0.links[j] {
            0 => 0.0,
            links => self.0.sum_s[j] / f64::from(links),
        }
    }

    fn left(&mut self, kind: usize, waiting: &Waiting) {
        self.0.left(kind, waiting);
    }
}

/// The mean of g_ik + L_ik over i in A ∪ {j}, k in B∖{j}.
pub(super) struct SendersMean<'g> {
    out: Sums<'g>,
    /// By kind k: Σ over i in A of g_ik + L_ik, and how many links that is.
    into_s: Vec<f64>,
    into_links: Vec<u64>,
    /// Σ over i in A, k in B, and how many links that is: the same for every j of a round.
    all_s: f64,
    all_links: u64,
}

impl<'g> SendersMean<'g> {
    pub fn new(grid: &'g Grid) -> Self {
        let kinds = grid.kinds();
        let out = Sums::new(grid);
        let mut mean = SendersMean {
            out,
            into_s: vec![0.0; kinds],
            into_links: vec![0; kinds],
            all_s: 0.0,
            all_links: 0,
        };
        mean.joined(grid.kind(grid.root()));
        mean
    }

    fn joined(&mut self, kind: usize) {
        for (k, &edge_s) in self.out.grid.edges_from(kind).iter().enumerate() {
            if edge_s.is_finite() {
                self.into_s[k] += edge_s;
                self.into_links[k] += 1;
            }
        }
    }
}

impl Lookahead for SendersMean<'_> {
    fn begin_round(&mut self, waiting: &Waiting) {
        let mut open = waiting.kinds().to_vec();
        open.sort_unstable();
        (self.all_s, self.all_links) = (0.0, 0);
        for k in open.into_iter().map(|k| k as usize) {
            self.all_s += f64::from(waiting.count(k)) * self.into_s[k];
            self.all_links += u64::from(waiting.count(k)) * self.into_links[k];
        }
    }

    fn value_s(&mut self, j: usize, waiting: &Waiting) -> f64 {
        let links = self.all_links - self.into_links[j] + u64::from(self.out.links[j]);
        if waiting.total() <= 1 || links == 0 {
            return 0.0;
        }
        (self.all_s - self.into_s[j] + self.out.sum_s[j]) / links as f64
    }

    fn left(&mut self, kind: usize, waiting: &Waiting) {
        self.joined(kind);
        self.out.left(kind, waiting);
    }
}
