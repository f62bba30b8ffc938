//! The look-ahead functions F_j of Bhat and of paper 2: how useful j would be once it holds the message.
//!
//! Absent links count neither in a minimum nor in a mean; F_j = 0 where j can reach no waiting cluster.

use super::frontier::Frontier;
use super::grid::Grid;
use super::sends::ClusterSend;
use super::waiting::Waiting;

/// F_j, updated while clusters leave B.
pub(super) trait Lookahead {
    /// Called at the start of each round.
    fn begin_round(&mut self, _waiting: &Waiting) {}

    /// F_j for the waiting kind `j`, seconds.
    fn value_s(&mut self, j: usize, waiting: &Waiting) -> f64;

    /// A cluster of `kind` has left B; it now sends too.
    fn left(&mut self, _kind: usize, _waiting: &Waiting) {}
}

/// ECEF with a look-ahead: min over i, j of RT_i + g_ij + L_ij + F_j.
pub(super) fn earliest_completion(grid: &Grid, mut lookahead: impl Lookahead) -> Vec<ClusterSend> {
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
/// Valid until that k leaves B, then searched again among the waiting clusters. B only shrinks, so a new k lasts for
/// about half of the remaining rounds on average; a row that is searched too often is sorted.
pub(super) struct Extreme<'g> {
    grid: &'g Grid,
    largest: bool,
    local: bool,
    rows: Vec<Row>,
}

/// The targets of one kind.
#[derive(Clone, Default)]
struct Row {
    /// The best target and its value, seconds; none before the first look, and where no link is left.
    best: Option<(f64, u32)>,
    looks: u32,
    /// All that waited when this was sorted, best last.
    sorted: Vec<u32>,
}

/// Full searches of a row before it is sorted, which costs about as much as this many searches.
const LOOKS: u32 = 16;

impl<'g> Extreme<'g> {
    /// `largest` for the maximum; `local` adds T_k.
    pub fn new(grid: &'g Grid, largest: bool, local: bool) -> Self {
        Extreme { grid, largest, local, rows: vec![Row::default(); grid.kinds()] }
    }

    /// A target's rank, seconds; less is better. Absent links are infinite either way.
    fn rank(&self, j: usize, k: usize) -> f64 {
        let edge_s = self.grid.kind_edge_s(j, k);
        let value_s = if self.local { edge_s + self.grid.kind_local_s(k) } else { edge_s };
        if self.largest && value_s.is_finite() {
            -value_s
        } else {
            value_s
        }
    }

    /// The best target of `j` among those that wait.
    fn look(&self, j: usize, waiting: &Waiting) -> Option<(f64, u32)> {
        let mut best = (f64::INFINITY, u32::MAX);
        for &k in waiting.kinds() {
            let rank = self.rank(j, k as usize);
            if rank < best.0 && waiting.besides(j, k as usize) > 0 {
                best = (rank, k);
            }
        }
        (best.0 < f64::INFINITY).then_some(best)
    }

    /// The same from the sorted row.
    fn look_up(&mut self, j: usize, waiting: &Waiting) -> Option<(f64, u32)> {
        let mut sorted = std::mem::take(&mut self.rows[j].sorted);
        if sorted.is_empty() {
            sorted.extend(waiting.kinds());
            sorted.sort_unstable_by(|&a, &b| self.rank(j, b as usize).total_cmp(&self.rank(j, a as usize)));
        }
        while sorted.last().is_some_and(|&k| waiting.besides(j, k as usize) == 0) {
            sorted.pop();
        }
        let best = sorted.last().map(|&k| (self.rank(j, k as usize), k));
        self.rows[j].sorted = sorted;
        best.filter(|best| best.0 < f64::INFINITY)
    }
}

impl Lookahead for Extreme<'_> {
    fn value_s(&mut self, j: usize, waiting: &Waiting) -> f64 {
        let Row { best, looks, .. } = &mut self.rows[j];
        let still_waits = best.is_some_and(|(_, k)| waiting.besides(j, k as usize) > 0);
        // A row without a target never gets one.
        if !still_waits && (*looks == 0 || best.is_some()) {
            *looks += 1;
            self.rows[j].best = match self.rows[j].looks {
                ..=LOOKS => self.look(j, waiting),
                _ => self.look_up(j, waiting),
            };
        }
        self.rows[j].best.map_or(0.0, |(rank, _)| rank.abs())
    }
}

/// Sums of g_jk + L_jk over k in B∖{j}, kept while B shrinks.
///
/// Subtraction leaves rounding errors, which must not decide ties: the sums are recomputed whenever |B| has halved,
/// and every time once it is small. The total stays O(n²).
pub(super) struct Sums<'g> {
    grid: &'g Grid,
    sum_s: Vec<f64>,
    links: Vec<u32>,
}

/// From this |B| down, sums are always recomputed.
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
