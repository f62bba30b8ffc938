//! Local search over spanning trees: an edge enters, another of the cycle that it closes leaves, and the path between
//! them is reversed (as Fürer and Raghavachari exchange edges, and Pósa rotates paths).
//!
//! The aim is a short period, the load of the busiest resource. A maximum gives a search no slope, so the question
//! becomes: is there a tree whose loads all stay within a target? Its measure, the sum of the excess over the target,
//! falls in small steps. A target that is reached is lowered; one that is missed moves closer to the best period. The
//! excess is annealed: rises are accepted ever more rarely.

use super::tree_loads::{EdgeUses, Loaded, NO_EDGE, ROUNDING};
use crate::budget::Budget;
use crate::planners::anneal::{self, Level, Moves};
use crate::random::Random;

/// How far below the best period the first target lies, as a part of the way to the lower bound.
const FIRST_REACH: f64 = 0.3;
/// Targets closer than this count as equal; the search then starts over from the first one, for longer.
const LAST_REACH: f64 = 0.004;
/// The excess that is accepted with probability 1/e at first, as a part of the target.
const HEAT: f64 = 0.12;
/// Edges tried a node before a target counts as missed, the first time round.
const STEPS_PER_NODE: u64 = 1000;
/// A short search has steps for this many targets at least.
const TARGETS: u64 = 20;
/// Edges tried between two checks of the budget.
const STEPS_PER_LOOK: u64 = 1024;
/// Edges tried in a unit of work on one node, on a slow machine; more nodes make longer walks.
pub const STEPS_PER_UNIT: u64 = 250;

/// Improves the tree with the edges `start` into its nodes, by `steps` edges tried at most, and within the budget.
/// The result is never worse than the start.
pub fn improve(
    network: &EdgeUses,
    start: &[u32],
    steps: u64,
    random: &mut Random,
    budget: &Budget,
) -> Vec<u32> {
    let (best_s, low_s) = (network.period_s(start), network.lower_bound_s());
    let patience = (STEPS_PER_NODE * network.nodes as u64).min(steps / TARGETS).max(1);
    let aim = Aim { low_s, reach: FIRST_REACH, patience };
    let exchange = Exchange::new(network, start.to_vec(), aim.target_s(best_s));
    let mut search =
        TargetSearch { exchange, best: start.to_vec(), best_s, aim, step: 0, since: 0, steps, budget };
    anneal::anneal(&mut search, random);
    search.best
}

/// The targets that are tried, and their numbers of steps.
struct Aim {
    low_s: f64,
    reach: f64,
    /// Edges tried before a target counts as missed.
    patience: u64,
}

impl Aim {
    fn target_s(&self, best_s: f64) -> f64 {
        best_s - self.reach * (best_s - self.low_s)
    }

    /// The next target is nearer to the best period; after the nearest it starts over, for longer.
    fn missed(&mut self) {
        self.reach /= 2.0;
        if self.reach < LAST_REACH {
            self.reach = FIRST_REACH;
            self.patience *= 2;
        }
    }
}

struct TargetSearch<'a> {
    exchange: Exchange<'a>,
    best: Vec<u32>,
    best_s: f64,
    aim: Aim,
    step: u64,
    /// When the target was set, in steps.
    since: u64,
    steps: u64,
    budget: &'a Budget,
}

impl TargetSearch<'_> {
    /// Sets another target if the last step reached the current one, or its patience is over.
    fn judge(&mut self) {
        let tree = &mut self.exchange.tree;
        if tree.is_within_target() {
            let period_s = tree.network.period_s(&tree.into);
            if period_s < self.best_s {
                self.best.copy_from_slice(&tree.into);
                self.best_s = period_s;
            }
        } else if self.step - self.since < self.aim.patience {
            return;
        } else {
            self.aim.missed();
            tree.into.copy_from_slice(&self.best);
        }
        self.exchange.aim(self.aim.target_s(self.best_s));
        self.since = self.step;
    }
}

impl Moves for TargetSearch<'_> {
    fn next_level(&mut self) -> Option<Level> {
        if self.step > 0 {
            self.judge();
        }
        let is_over = self.step >= self.steps || self.best_s <= self.aim.low_s * (1.0 + ROUNDING);
        let units = || STEPS_PER_LOOK * self.exchange.tree.network.nodes as u64 / STEPS_PER_UNIT;
        if is_over || (self.step.is_multiple_of(STEPS_PER_LOOK) && self.budget.spend(units())) {
            return None;
        }
        self.step += 1;
        let cold = (self.step - self.since) as f64 / self.aim.patience as f64;
        let temperature = HEAT * (1.0 - cold) * self.exchange.tree.target_s;
        Some(Level { temperature, moves: 1, most_kept: 1 })
    }

    fn propose(&mut self, random: &mut Random) -> Option<f64> {
        self.exchange.propose(random)
    }

    fn keep(&mut self) {
        self.exchange.keep();
    }

    fn reject(&mut self) {
        self.exchange.reject();
    }
}

/// The moves of the search.
struct Exchange<'a> {
    tree: Loaded<'a>,
    /// The edges that may be in a tree, shortest first.
    edges: Vec<u32>,
    /// The number of them within the target; no other needs to enter.
    entering: usize,
    /// The last step that saw each node above the entering edge.
    seen: Vec<u64>,
    step: u64,
    /// The tree edges walked in the step.
    walked: Vec<u32>,
    proposed: Proposed,
}

/// An exchange that is tried.
#[derive(Clone, Copy, Default)]
struct Proposed {
    entering: u32,
    /// How many of the walked edges leave or are reversed.
    kept: usize,
    before_s: f64,
}

impl<'a> Exchange<'a> {
    fn new(network: &'a EdgeUses, into: Vec<u32>, target_s: f64) -> Self {
        let edges =
            (0..network.ends.len() as u32).filter(|&edge| network.ends[edge as usize].1 != network.root);
        let mut edges: Vec<u32> = edges.collect();
        edges.sort_by(|&a, &b| network.longest_s(a).total_cmp(&network.longest_s(b)));
        let mut exchange = Exchange {
            tree: Loaded::new(network, into, target_s),
            edges,
            entering: 0,
            seen: vec![0; network.nodes],
            step: 0,
            walked: Vec::new(),
            proposed: Proposed::default(),
        };
        exchange.aim(target_s);
        exchange
    }

    fn aim(&mut self, target_s: f64) {
        self.tree.aim(target_s);
        let network = self.tree.network;
        let most_s = target_s * (1.0 + ROUNDING);
        self.entering = self.edges.partition_point(|&edge| network.longest_s(edge) <= most_s);
    }

    /// Draws an edge and finds its best partner; returns the rise of the excess. `None` where no exchange leaves a
    /// tree.
    fn propose(&mut self, random: &mut Random) -> Option<f64> {
        let network = self.tree.network;
        // Not empty: the target is no less than the lower bound, which some edge has.
        let entering = self.edges[random.below(self.entering)];
        let (from, to) = network.ends[entering as usize];
        if self.tree.into[to as usize] == entering || !self.see_above(from, to) {
            return None;
        }
        let before_s = self.tree.excess_s;
        let (after_s, kept) = self.walk(entering, random);
        self.proposed = Proposed { entering, kept, before_s };
        Some(after_s - before_s)
    }

    fn keep(&mut self) {
        self.go_back(self.proposed.kept);
        self.turn_round(self.proposed.entering);
    }

    fn reject(&mut self) {
        self.go_back(0);
        self.tree.remove(self.proposed.entering);
        self.tree.excess_s = self.proposed.before_s;
    }

    /// Notes the nodes above `from`; false if `to` is one of them, since then no exchange leaves a tree.
    fn see_above(&mut self, from: u32, to: u32) -> bool {
        self.step += 1;
        let mut node = from;
        while node != to {
            self.seen[node as usize] = self.step;
            if node == self.tree.network.root {
                return true;
            }
            node = self.tree.network.parent(&self.tree.into, node);
        }
        false
    }

    /// Walks up from the entering edge's target to the common ancestor with its source: each tree edge on the way may
    /// leave, if those before it are reversed. The loads are left as they are at the end of the walk; returns the
    /// least excess met, and how many edges had been walked then. Ties at random.
    fn walk(&mut self, entering: u32, random: &mut Random) -> (f64, usize) {
        let network = self.tree.network;
        let mut node = network.ends[entering as usize].1;
        let mut least = (f64::INFINITY, 0);
        let mut ties = 0;
        self.walked.clear();
        self.tree.add(entering);
        loop {
            let leaving = self.tree.into[node as usize];
            self.tree.remove(leaving);
            self.walked.push(leaving);
            let rounding_s = ROUNDING * self.tree.target_s;
            if self.tree.excess_s < least.0 - rounding_s {
                least = (self.tree.excess_s, self.walked.len());
                ties = 1;
            } else if self.tree.excess_s <= least.0 + rounding_s {
                ties += 1;
                if random.below(ties) == 0 {
                    least = (self.tree.excess_s, self.walked.len());
                }
            }
            node = network.ends[leaving as usize].0;
            let back = network.reverse[leaving as usize];
            if self.seen[node as usize] == self.step || back == NO_EDGE {
                return least;
            }
            self.tree.add(back);
        }
    }

    /// Undoes the walk's changes of loads beyond the first `kept` edges.
    fn go_back(&mut self, kept: usize) {
        while self.walked.len() > kept {
            let leaving = self.walked.pop().expect("more edges than are kept");
            self.tree.add(leaving);
            if let Some(&before) = self.walked.last() {
                self.tree.remove(self.tree.network.reverse[before as usize]);
            }
        }
    }

    /// Makes the walked edges' reverses, and the entering edge, part of the tree.
    fn turn_round(&mut self, entering: u32) {
        let network = self.tree.network;
        let mut edge = entering;
        for &leaving in &self.walked {
            self.tree.into[network.ends[edge as usize].1 as usize] = edge;
            edge = network.reverse[leaving as usize];
        }
    }
}
