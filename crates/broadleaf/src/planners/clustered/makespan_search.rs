//! A short makespan: the best heuristic, then simulated annealing over trees whose senders serve in the best
//! order, and for small grids a proof.

use super::branch_and_bound;
use super::flat_sends::flat_sends;
use super::grid::Grid;
use super::ordered_tree::{Move, OrderedTree};
use super::rules::HEURISTICS;
use super::sends::{makespan_s, ClusterSend};
use crate::budget::Budget;
use crate::planners::anneal::{self, Level, Moves};
use crate::random::Random;

/// The effort of a search. Results repeat for equal efforts unless the budget ends the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEffort {
    /// Moves annealed.
    pub moves: u64,
    /// Steps of branch and bound.
    pub steps: u64,
    /// The seed of the random draws.
    pub seed: u64,
}

/// Moves per cluster, and the most in all, which take tens of milliseconds: 150 ns each at 50 clusters.
const MOVES_PER_CLUSTER: u64 = 3_000;
const MOST_MOVES: u64 = 200_000;

/// The least moves per cluster, for thousands of clusters, whose heuristics take a second anyway.
const LEAST_MOVES_PER_CLUSTER: u64 = 1_000;
const MOST_MOVES_OF_MANY: u64 = 2_000_000;

/// A proof of this many steps takes about 10 ms at 20 clusters; where it fails, annealing goes on.
const STEPS: u64 = 3_000;

/// Beyond this many clusters a proof hardly ever ends within [`STEPS`].
const PROVABLE_CLUSTERS: usize = 32;

/// Approximate moves of annealing per unit of work, to convert a generous time limit into moves.
fn moves_per_unit(clusters: usize) -> f64 {
    6.0 / (1.0 + clusters as f64 / 300.0)
}

/// Pairs of clusters that a heuristic examines in a unit of work.
const PAIRS_PER_UNIT: usize = 20;

/// The first and last temperature, as parts of the first makespan; tuned on the paper's draws.
const HOT: f64 = 0.005;
const COLD: f64 = 0.0004;
/// Moves per temperature, and per check of the budget.
const LEVEL_MOVES: u64 = 64;
/// The share of moves on sends that delay the critical path, and the share of exchanges.
const CRITICAL: f64 = 0.7;
const EXCHANGE: f64 = 0.3;

impl SearchEffort {
    /// Milliseconds for small grids, tens of them at 50 clusters, a second or two at thousands; a longer time
    /// limit is used.
    pub fn usual(clusters: usize, seed: u64, budget: &Budget) -> SearchEffort {
        let count = clusters as u64;
        let of_many = (LEAST_MOVES_PER_CLUSTER * count).min(MOST_MOVES_OF_MANY);
        let moves = (MOVES_PER_CLUSTER * count).min(MOST_MOVES).max(of_many);
        let affordable = budget.asked().map_or(0, |units| (units as f64 * moves_per_unit(clusters)) as u64);
        let steps = if clusters <= PROVABLE_CLUSTERS { STEPS } else { 0 };
        SearchEffort { moves: moves.max(affordable), steps, seed }
    }
}

/// The sends of the best of all heuristics and the flat tree, or of those that the budget permits.
pub(super) fn best_heuristic(grid: &Grid, budget: &Budget) -> Vec<ClusterSend> {
    let units = (grid.len() * grid.len() / PAIRS_PER_UNIT) as u64;
    let in_time = HEURISTICS.iter().take_while(|_| !budget.spend(units));
    let all = in_time.map(|heuristic| heuristic.sends(grid)).chain([flat_sends(grid)]);
    let timed = all.map(|sends| (makespan_s(grid, &sends), sends));
    timed.reduce(|best, next| if next.0 < best.0 { next } else { best }).expect("there is the flat tree").1
}

/// The best sends found within the budget; never later than the flat tree's, nor than any heuristic's within the
/// budget.
pub fn search(grid: &Grid, effort: &SearchEffort, budget: &Budget) -> Vec<ClusterSend> {
    let mut best = best_heuristic(grid, budget);
    if grid.len() < 3 {
        return best;
    }
    if effort.steps > 0 && grid.len() <= branch_and_bound::MOST_CLUSTERS {
        // A good start shortens the proof, and a proof replaces the long search.
        best = shorter(grid, annealed(grid, &best, effort.moves / 10, effort.seed, budget), best);
        let proof = branch_and_bound::prove(grid, &best, effort.steps, budget);
        if proof.proved {
            return proof.sends;
        }
        best = proof.sends;
    }
    shorter(grid, annealed(grid, &best, effort.moves, effort.seed, budget), best)
}

/// The first unless the second is significantly shorter: forward and backward sums differ in their last bits.
fn shorter(grid: &Grid, one: Vec<ClusterSend>, other: Vec<ClusterSend>) -> Vec<ClusterSend> {
    if makespan_s(grid, &other) < makespan_s(grid, &one) {
        other
    } else {
        one
    }
}

/// The sends of the best tree that annealing finds from `start` on.
pub(super) fn annealed(
    grid: &Grid,
    start: &[ClusterSend],
    moves: u64,
    seed: u64,
    budget: &Budget,
) -> Vec<ClusterSend> {
    let tree = OrderedTree::new(grid, start);
    let mut path = Vec::new();
    tree.critical_path(&mut path);
    let mut annealing = OrderAnnealing {
        grid,
        best: tree.parents().to_vec(),
        best_s: tree.makespan_s(),
        hot_s: HOT * tree.makespan_s(),
        tree,
        path,
        proposed: None,
        level: 0,
        levels: moves.div_ceil(LEVEL_MOVES),
        budget: budget.divided(1),
    };
    anneal::anneal(&mut annealing, &mut Random::new(seed));
    OrderedTree::from_parents(grid, &annealing.best).sends()
}

struct OrderAnnealing<'g> {
    grid: &'g Grid,
    tree: OrderedTree<'g>,
    path: Vec<(u32, usize)>,
    proposed: Option<(Move, f64)>,
    best: Vec<u32>,
    best_s: f64,
    hot_s: f64,
    level: u64,
    levels: u64,
    budget: Budget,
}

impl Moves for OrderAnnealing<'_> {
    fn next_level(&mut self) -> Option<Level> {
        let units = LEVEL_MOVES as f64 / moves_per_unit(self.grid.len());
        if self.level == self.levels || self.budget.spend(units.ceil() as u64) {
            return None;
        }
        // It cools down to the end even if the budget permits only a part of the moves.
        let done = (self.level as f64 / self.levels as f64).max(self.budget.spent_part());
        self.level += 1;
        let temperature = self.hot_s * (COLD / HOT).powf(done);
        Some(Level { temperature, moves: LEVEL_MOVES, most_kept: LEVEL_MOVES })
    }

    fn propose(&mut self, random: &mut Random) -> Option<f64> {
        let step = propose(self.grid, &self.tree, &self.path, random)?;
        let after_s = self.tree.after(step);
        self.proposed = Some((step, after_s));
        Some(after_s - self.tree.makespan_s())
    }

    fn keep(&mut self) {
        let Some((step, after_s)) = self.proposed else { return };
        self.tree.make(step);
        self.tree.critical_path(&mut self.path);
        if after_s < self.best_s {
            self.best_s = after_s;
            self.best.copy_from_slice(self.tree.parents());
        }
    }

    fn reject(&mut self) {}
}

/// A random move; `None` where the draw gives no valid one.
fn propose(grid: &Grid, tree: &OrderedTree, path: &[(u32, usize)], random: &mut Random) -> Option<Move> {
    let anyone = |random: &mut Random| random.below(grid.len()) as u32;
    let child = if random.chance(CRITICAL) {
        let (node, sends) = path[random.below(path.len())];
        if sends == 0 {
            return None;
        }
        tree.child(node, random.below(sends))
    } else {
        anyone(random)
    };
    let above = tree.parent(child)?;
    let other = anyone(random);
    if tree.is_below(other, child) {
        return None;
    }
    if random.chance(EXCHANGE) {
        let movable = tree.parent(other)? != above && !tree.is_below(child, other);
        let can = |parent, child: u32| grid.edge_s(parent as usize, child as usize).is_finite();
        let linked = movable && can(above, other) && can(tree.parent(other)?, child);
        linked.then_some(Move::Exchange { one: child, other })
    } else {
        let linked = other != above && grid.edge_s(other as usize, child as usize).is_finite();
        linked.then_some(Move::Under { child, parent: other })
    }
}
