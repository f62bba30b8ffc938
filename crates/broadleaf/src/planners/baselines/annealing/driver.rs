//! `driverSA`: annealings from random trees, then from the good ones they found (the paper's figure 2).

use super::basic::{anneal, Found, GoodList};
use crate::budget::{Budget, Stopwatch};
use crate::planners::baselines::Pairs;
use crate::random::Random;
use std::time::Duration;

/// Annealings without a limit, in each phase.
const RANDOM_RUNS: u64 = 50;
const REFINING_RUNS: u64 = 25;
/// Random starts end when the best has not changed for this factor times the remaining allowance.
const PATIENCE: f64 = 1.5;

/// The limit of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// The paper's numbers of annealings for each driver.
    Runs,
    /// A number of moves in all.
    Moves(u64),
    /// A time in all.
    Time(Duration),
}

impl Allowance {
    /// An equal part for each of `drivers`.
    pub fn divided(self, drivers: usize) -> Allowance {
        let drivers = drivers.max(1);
        match self {
            Allowance::Runs => Allowance::Runs,
            Allowance::Moves(moves) => Allowance::Moves(moves / drivers as u64),
            Allowance::Time(time) => Allowance::Time(time / drivers as u32),
        }
    }
}

/// The best so far after each annealing: the paper's figure 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Moves tried so far.
    pub moves: u64,
    /// Time spent so far.
    pub seconds: f64,
    /// Makespan of the best tree so far, seconds.
    pub best_s: f64,
    /// Whether the second phase has begun.
    pub is_refining: bool,
}

/// How much of an allowance is used and left, in its own unit.
struct Meter {
    allowance: Allowance,
    watch: Stopwatch,
    moves: u64,
    runs: u64,
}

impl Meter {
    fn new(allowance: Allowance) -> Meter {
        Meter { allowance, watch: Stopwatch::start(), moves: 0, runs: 0 }
    }

    fn used(&self) -> f64 {
        match self.allowance {
            Allowance::Runs => self.runs as f64,
            Allowance::Moves(_) => self.moves as f64,
            Allowance::Time(_) => self.watch.seconds(),
        }
    }

    fn left(&self) -> f64 {
        let whole = match self.allowance {
            Allowance::Runs => (RANDOM_RUNS + REFINING_RUNS) as f64,
            Allowance::Moves(moves) => moves as f64,
            Allowance::Time(time) => time.as_secs_f64(),
        };
        whole - self.used()
    }

    /// Whether random starts are over, the best having been found when `found_at` was used.
    fn is_time_to_refine(&self, found_at: f64) -> bool {
        match self.allowance {
            Allowance::Runs => self.runs >= RANDOM_RUNS,
            _ => self.used() - found_at > PATIENCE * self.left(),
        }
    }
}

/// The best tree found; from `root`, or without one from the best host. It ends early, after one annealing at least, when
/// the clock of `limit` strikes.
pub fn drive(
    pairs: &Pairs,
    root: Option<usize>,
    allowance: Allowance,
    limit: &Budget,
    random: &mut Random,
    mut watch: impl FnMut(Progress),
) -> Found {
    if pairs.len() == 1 {
        return Found { cost_s: 0.0, root: 0, edges: Vec::new() };
    }
    let mut meter = Meter::new(allowance);
    let mut good = GoodList::default();
    let mut best: Option<Found> = None;
    let mut found_at = 0.0;
    let mut report = |meter: &Meter, best_s: f64, is_refining: bool| {
        let seconds = meter.watch.seconds();
        watch(Progress { moves: meter.moves, seconds, best_s, is_refining });
    };
    // At least one, or there would be no tree.
    loop {
        let start = root.unwrap_or_else(|| random.below(pairs.len()));
        let annealed =
            anneal(pairs, start, &random_tree(pairs.len(), start, random), Some(&mut good), random);
        meter.moves += annealed.moves.max(1);
        meter.runs += 1;
        if best.as_ref().is_none_or(|best| annealed.best.cost_s < best.cost_s) {
            best = Some(annealed.best);
            found_at = meter.used();
        }
        report(&meter, best.as_ref().expect("one was found").cost_s, false);
        if meter.is_time_to_refine(found_at) || limit.is_late() {
            break;
        }
    }
    let mut best = best.expect("one was found");
    // Refining does not extend the list that is cycled through.
    for start in good.trees().iter().cycle() {
        if meter.left() <= 0.0 || limit.is_late() {
            break;
        }
        let annealed = anneal(pairs, start.root, &start.edges, None, random);
        meter.moves += annealed.moves.max(1);
        meter.runs += 1;
        if annealed.best.cost_s < best.cost_s {
            best = annealed.best;
        }
        report(&meter, best.cost_s, true);
    }
    best
}

/// Hosts in random order, each below a random one before it.
fn random_tree(count: usize, root: usize, random: &mut Random) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..count as u32).filter(|&node| node != root as u32).collect();
    random.shuffle(&mut order);
    order.insert(0, root as u32);
    (1..count).map(|at| (order[random.below(at)], order[at])).collect()
}
