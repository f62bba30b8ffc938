//! A short makespan: the best heuristic, then simulated annealing over trees whose senders serve in the best
//! order, and for small grids a proof.

use super::branch_and_bound;
use super::flat_sends::flat_sends;
use super::grid::Grid;
use super::ordered_tree::{Move, OrderedTree};
use super::rules::HEURISTICS;
use super::sends::{makespan_s, ClusterSend};
use crate::random::Random;
use std::time::{Duration, Instant};

/// How much to try. Results repeat for equal efforts unless the clock cuts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEffort {
    /// Moves annealed.
    pub moves: u64,
    /// Steps of branch and bound.
    pub steps: u64,
    /// A cap on top of both.
    pub time_limit: Option<Duration>,
    /// Of the random draws.
    pub seed: u64,
}

/// Moves per cluster, and the most of all, which take some tens of milliseconds: 150 ns each at 50 clusters.
const MOVES_PER_CLUSTER: u64 = 3_000;
const MOST_MOVES: u64 = 200_000;

/// That would be too few each for thousands of clusters, whose heuristics take a second anyway.
const LEAST_MOVES_PER_CLUSTER: u64 = 1_000;
const MOST_MOVES_OF_MANY: u64 = 2_000_000;

/// A proof of so many steps takes about 10 ms at 20 clusters; where it fails, annealing goes on.
const STEPS: u64 = 3_000;

/// Beyond so many clusters a proof hardly ever comes out in [`STEPS`].
const PROVABLE_CLUSTERS: usize = 32;

/// What annealing manages per second, nearly, to turn a generous time limit into moves.
fn moves_per_s(clusters: usize) -> f64 {
    6e6 / (1.0 + clusters as f64 / 300.0)
}

/// By so much of the time limit the moves may be late before the clock rather than their number decides how far
/// the search has come: until then results repeat.
const LATE: f64 = 0.1;

/// Temperatures at the ends, as parts of the first makespan; tried out on the paper's draws.
const HOT: f64 = 0.005;
const COLD: f64 = 0.0004;
/// Moves per temperature, and per look at the clock.
const LEVEL_MOVES: u64 = 64;
/// How often a move takes a send that delays the critical path, else any; and exchanges, else moves one.
const CRITICAL: f64 = 0.7;
const EXCHANGE: f64 = 0.3;

impl SearchEffort {
    /// Milliseconds for small grids, tens of them at 50 clusters, a second or two at thousands; a longer time
    /// limit is used.
    pub fn usual(clusters: usize, seed: u64, time_limit: Option<Duration>) -> SearchEffort {
        let count = clusters as u64;
        let of_many = (LEAST_MOVES_PER_CLUSTER * count).min(MOST_MOVES_OF_MANY);
        let moves = (MOVES_PER_CLUSTER * count).min(MOST_MOVES).max(of_many);
        let affordable = time_limit.map_or(0, |limit| (limit.as_secs_f64() * moves_per_s(clusters)) as u64);
        let steps = if clusters <= PROVABLE_CLUSTERS { STEPS } else { 0 };
        SearchEffort { moves: moves.max(affordable), steps, time_limit, seed }
    }
}

/// The sends of the best of all heuristics and the flat tree.
pub(super) fn best_heuristic(grid: &Grid) -> Vec<ClusterSend> {
    let all = HEURISTICS.iter().map(|heuristic| heuristic.sends(grid)).chain([flat_sends(grid)]);
    let timed = all.map(|sends| (makespan_s(grid, &sends), sends));
    timed.reduce(|best, next| if next.0 < best.0 { next } else { best }).expect("there are heuristics").1
}

/// The best sends found; never later than any heuristic's or the flat tree's.
pub fn search(grid: &Grid, effort: &SearchEffort) -> Vec<ClusterSend> {
    // A limit beyond what a clock can show is none.
    let deadline = effort.time_limit.and_then(|limit| Instant::now().checked_add(limit));
    let start = best_heuristic(grid);
    if grid.len() < 3 {
        return start;
    }
    let mut best = start;
    if effort.steps > 0 && grid.len() <= branch_and_bound::MOST_CLUSTERS {
        // A good start makes the proof short, and a proof makes the long search needless.
        best = shorter(grid, anneal(grid, &best, effort.moves / 10, effort.seed, deadline), best);
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let proof = branch_and_bound::prove(grid, &best, effort.steps, left);
        if proof.proved {
            return proof.sends;
        }
        best = proof.sends;
    }
    shorter(grid, anneal(grid, &best, effort.moves, effort.seed, deadline), best)
}

/// The first unless the second is really shorter: forward and backward sums differ in their last bits.
fn shorter(grid: &Grid, one: Vec<ClusterSend>, other: Vec<ClusterSend>) -> Vec<ClusterSend> {
    if makespan_s(grid, &other) < makespan_s(grid, &one) {
        other
    } else {
        one
    }
}

pub(super) fn anneal(
    grid: &Grid,
    start: &[ClusterSend],
    moves: u64,
    seed: u64,
    deadline: Option<Instant>,
) -> Vec<ClusterSend> {
    let mut random = Random::new(seed);
    let mut tree = OrderedTree::new(grid, start);
    let mut best = tree.parents().to_vec();
    let mut best_s = tree.makespan_s();
    let mut path = Vec::new();
    tree.critical_path(&mut path);
    let levels = moves.div_ceil(LEVEL_MOVES);
    let hot_s = HOT * best_s;
    let begin = Instant::now();
    for level in 0..levels {
        let mut done = level as f64 / levels as f64;
        if let Some(deadline) = deadline {
            let left_s = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
            if left_s == 0.0 {
                break;
            }
            // Where not all moves can be made in time, it still cools down to the end.
            let time_part = 1.0 - left_s / (deadline - begin).as_secs_f64();
            done = done.max((time_part - LATE) / (1.0 - LATE));
        }
        let temperature_s = hot_s * (COLD / HOT).powf(done);
        for _ in 0..LEVEL_MOVES {
            let Some(step) = propose(grid, &tree, &path, &mut random) else { continue };
            let after_s = tree.after(step);
            let worse_s = after_s - tree.makespan_s();
            if worse_s > 0.0 && random.unit() >= (-worse_s / temperature_s).exp() {
                continue;
            }
            tree.make(step);
            tree.critical_path(&mut path);
            if after_s < best_s {
                best_s = after_s;
                best.copy_from_slice(tree.parents());
            }
        }
    }
    OrderedTree::from_parents(grid, &best).sends()
}

/// A random move; `None` where the drawn one is none.
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
