//! Messages in segments: the tree between chain and ECEF whose pipeline ends first.
//!
//! Few children keep a node's period short, many keep the way to the last node short. ECEF under a budget for the
//! period gives every compromise, from a chain to ECEF itself; annealing with the pipeline's formula starts from the
//! best.

use super::frontier::Frontier;
use super::grid::Grid;
use super::pipeline_time::Pipeline;
use super::sends::ClusterSend;
use crate::budget::Budget;
use crate::planners::anneal::{self, Level, Moves};
use crate::random::Random;

/// Budgets tried: this factor apart, and every small whole number of least gaps, the only ones that matter for equal
/// links.
const BUDGET_STEP: f64 = 1.15;

/// Budgets beyond this many least gaps hardly limit ECEF, unless gaps differ by more than that.
const MOST_GAPS: f64 = 40.0;

/// The most larger budgets: where gaps differ by many orders of magnitude, the steps are longer.
const MOST_LARGER: f64 = 32.0;

/// Approximate pairs examined under all budgets together; a few budgets are tried in any case.
pub(super) const TRIED_PAIRS: usize = 20_000_000;
const LEAST_BUDGETS: usize = 6;

/// PipelineAnnealing: the most moves per node, the most nodes evaluated in all (a move evaluates all), and temperatures
/// at the ends as parts of the first makespan.
const MOVES_PER_NODE: usize = 1_000;
const EVALUATED_NODES: usize = 500_000;
/// Moves between two checks of the budget.
const MOVES_PER_LOOK: usize = 16;
/// Nodes evaluated in a unit of work, and pairs that a tree grows over in one.
const EVALUATED_PER_UNIT: usize = 25;
const PAIRS_PER_UNIT: usize = 50;
/// The first run leaves the start's neighbourhood, the second refines.
const HOT: [f64; 2] = [0.1, 0.003];
const COLD: f64 = 0.0001;

/// The makespan by the formula, seconds, and the edges of the best tree found for `segments` ≥ 1; gaps and pipes
/// of `grid` are those of the whole message, its latencies those of a segment. Searches within the budget.
pub(super) fn plan(grid: &Grid, segments: u64, seed: u64, budget: &Budget) -> (f64, Vec<ClusterSend>) {
    let mut pipeline = Pipeline::new(grid, segments);
    let mut best: Option<(f64, Vec<u32>)> = None;
    for budget_s in budgets(grid, TRIED_PAIRS) {
        if best.is_some() && budget.spend((2 * grid.len() * grid.kinds() / PAIRS_PER_UNIT) as u64) {
            break;
        }
        for into_clusters_first in [false, true] {
            let Some(parents) = budgeted(grid, budget_s, into_clusters_first) else { continue };
            let makespan_s = pipeline.makespan_s(&parents);
            if best.as_ref().is_none_or(|best| makespan_s < best.0) {
                best = Some((makespan_s, parents));
            }
        }
    }
    if let Some(parents) = chain(grid) {
        let makespan_s = pipeline.makespan_s(&parents);
        if best.as_ref().is_none_or(|best| makespan_s < best.0) {
            best = Some((makespan_s, parents));
        }
    }
    let (_, parents) = best.expect("without a budget everyone is reached");
    let parents =
        HOT.into_iter().fold(parents, |parents, hot| annealed(&mut pipeline, parents, hot, seed, budget));
    (pipeline.makespan_s(&parents), pipeline.sends())
}

/// All hosts in index order from the root on, wrapping; `None` where a link is missing.
fn chain(grid: &Grid) -> Option<Vec<u32>> {
    let n = grid.len();
    let mut parents = vec![grid.root() as u32; n];
    for step in 1..n {
        let (from, to) = ((grid.root() + step - 1) % n, (grid.root() + step) % n);
        if !grid.gap_s(from, to).is_finite() {
            return None;
        }
        parents[to] = from as u32;
    }
    Some(parents)
}

/// Budgets of a sender's total busy time, from the least gap on, seconds, in the units of the grid's gaps: as many as
/// examine about `tried` pairs.
pub(super) fn budgets(grid: &Grid, tried: usize) -> Vec<f64> {
    let kinds = grid.kinds();
    let gaps = (0..kinds * kinds).map(|pair| grid.kind_gap_s(pair / kinds, pair % kinds));
    let gaps = gaps.filter(|gap| gap.is_finite() && *gap > 0.0);
    let (least_s, largest_s) =
        gaps.fold((f64::INFINITY, 0.0f64), |(least, largest), gap| (least.min(gap), largest.max(gap)));
    let mut budgets = vec![f64::INFINITY];
    if least_s.is_infinite() {
        return budgets;
    }
    // In least gaps; a little more, so that rounding does not lose a gap.
    let mut budget = |gaps: f64| budgets.push(gaps * least_s * (1.0 + 1e-9));
    let mut gaps: f64 = 1.0;
    while gaps <= MOST_GAPS {
        budget(gaps);
        gaps = (gaps.floor() + 1.0).min(gaps * BUDGET_STEP);
    }
    let factor = BUDGET_STEP.max((largest_s / least_s / gaps).powf(1.0 / MOST_LARGER));
    for _ in 0..MOST_LARGER as usize {
        if gaps * least_s > largest_s * factor {
            break;
        }
        budget(gaps);
        gaps *= factor;
    }
    let most = (tried / (grid.len() * kinds)).max(LEAST_BUDGETS);
    let step = budgets.len().div_ceil(most);
    budgets.into_iter().step_by(step).collect()
}

/// The parents of ECEF under a budget, the root's its own; `None` where a host cannot be reached under it.
///
/// `into_clusters_first`: hosts that other clusters can reach come before all others.
fn budgeted(grid: &Grid, budget_s: f64, into_clusters_first: bool) -> Option<Vec<u32>> {
    let mut frontier = Frontier::with_budget(grid, budget_s);
    let waits = |kind: usize| !(into_clusters_first && is_entrance(grid, kind));
    // A power of two beyond all differences of arrivals: scaled arrivals compare exactly, after the others.
    let last = 2f64.powi(600);
    while frontier
        .send_to_least(|arrival_s, kind| if waits(kind) { last * arrival_s } else { arrival_s })
        .is_some()
    {}
    frontier.into_parents()
}

/// Whether all others may send to a kind.
fn is_entrance(grid: &Grid, kind: usize) -> bool {
    (0..grid.kinds()).all(|from| from == kind || grid.kind_gap_s(from, kind).is_finite())
}

fn annealed(pipeline: &mut Pipeline, start: Vec<u32>, hot: f64, seed: u64, budget: &Budget) -> Vec<u32> {
    let grid = pipeline.grid;
    if grid.len() < 3 {
        return start;
    }
    let moves = (EVALUATED_NODES / HOT.len() / grid.len()).min(MOVES_PER_NODE * grid.len());
    let now_s = pipeline.makespan_s(&start);
    let mut annealing = PipelineAnnealing {
        neighbours: Neighbours::new(grid),
        pipeline,
        best: start.clone(),
        best_s: now_s,
        after: start.clone(),
        after_s: now_s,
        parents: start,
        now_s,
        temperature_s: hot * now_s,
        cool: (COLD / hot).powf(1.0 / moves.max(1) as f64),
        left: moves,
        budget,
    };
    anneal::anneal(&mut annealing, &mut Random::new(seed));
    annealing.best
}

/// The tree, the proposed one and the best, by their parents.
struct PipelineAnnealing<'a, 'g> {
    pipeline: &'a mut Pipeline<'g>,
    neighbours: Neighbours,
    parents: Vec<u32>,
    now_s: f64,
    after: Vec<u32>,
    after_s: f64,
    best: Vec<u32>,
    best_s: f64,
    temperature_s: f64,
    /// The factor from one move's temperature to the next one's.
    cool: f64,
    /// Moves left.
    left: usize,
    budget: &'a Budget,
}

impl Moves for PipelineAnnealing<'_, '_> {
    fn next_level(&mut self) -> Option<Level> {
        self.left = self.left.checked_sub(1)?;
        let units = MOVES_PER_LOOK * self.parents.len() / EVALUATED_PER_UNIT;
        if self.left.is_multiple_of(MOVES_PER_LOOK) && self.budget.spend(1 + units as u64) {
            return None;
        }
        self.temperature_s *= self.cool;
        Some(Level { temperature: self.temperature_s, moves: 1, most_kept: 1 })
    }

    fn propose(&mut self, random: &mut Random) -> Option<f64> {
        let grid = self.pipeline.grid;
        let root = grid.root();
        self.after.copy_from_slice(&self.parents);
        let one = random.below(grid.len());
        let kind = random.below(STEPS.len());
        let other = self.neighbours.other(kind, one, random);
        let is_move = one != root
            && one != other
            && STEPS[kind](&mut self.after, root, one, other)
            && has_links(grid, &self.parents, &self.after);
        if !is_move {
            return None;
        }
        self.after_s = self.pipeline.makespan_s(&self.after);
        Some(self.after_s - self.now_s)
    }

    fn keep(&mut self) {
        self.now_s = self.after_s;
        std::mem::swap(&mut self.parents, &mut self.after);
        if self.now_s < self.best_s {
            self.best_s = self.now_s;
            self.best.copy_from_slice(&self.parents);
        }
    }

    fn reject(&mut self) {}
}

/// The links of each host, where links are missing: most random pairs would have none.
struct Neighbours {
    nodes: usize,
    into: Vec<Vec<u32>>,
    out_of: Vec<Vec<u32>>,
}

impl Neighbours {
    fn new(grid: &Grid) -> Self {
        let kinds = grid.kinds();
        let nodes = grid.len();
        let is_whole = (0..kinds * kinds).all(|pair| {
            let (from, to) = (pair / kinds, pair % kinds);
            from == to || grid.kind_gap_s(from, to).is_finite()
        });
        let mut neighbours = Neighbours { nodes, into: Vec::new(), out_of: Vec::new() };
        if is_whole || nodes > MOST_LISTED {
            return neighbours;
        }
        let of = |is_linked: &dyn Fn(usize, usize) -> bool| -> Vec<Vec<u32>> {
            let list = |one: usize| {
                let linked = (0..nodes).filter(|&other| other != one && is_linked(one, other));
                linked.map(|other| other as u32).collect()
            };
            (0..nodes).map(list).collect()
        };
        neighbours.into = of(&|one, other| grid.gap_s(other, one).is_finite());
        neighbours.out_of = of(&|one, other| grid.gap_s(one, other).is_finite());
        neighbours
    }

    /// The partner of `one` in a step: a sender to go under, a receiver to go above, or any host.
    fn other(&self, step: usize, one: usize, random: &mut Random) -> usize {
        let lists = match step {
            0 => self.into.get(one),
            1 => self.out_of.get(one),
            _ => None,
        };
        match lists {
            Some(list) if !list.is_empty() => list[random.below(list.len())] as usize,
            _ => random.below(self.nodes),
        }
    }
}

/// The most nodes whose links are listed: longer lists would take more time than the search.
const MOST_LISTED: usize = 1_000;

/// A change of a tree around two different nodes, `one` not the root; false where there is none.
type Step = fn(parents: &mut [u32], root: usize, one: usize, other: usize) -> bool;

/// The last two turn chains into chains; all trees between two good chains may be slow.
const STEPS: [Step; 3] = [under, between, trade];

/// `one` with all below it goes under `other`.
fn under(parents: &mut [u32], root: usize, one: usize, other: usize) -> bool {
    if parents[one] as usize == other || is_below(parents, root, other, one) {
        return false;
    }
    parents[one] = other as u32;
    true
}

/// `one` leaves its children to its parent and goes between `other` and the parent of that.
fn between(parents: &mut [u32], root: usize, one: usize, other: usize) -> bool {
    if other == root || parents[other] as usize == one {
        return false;
    }
    let above = parents[one];
    for node in (0..parents.len()).filter(|&node| node != root) {
        if parents[node] as usize == one {
            parents[node] = above;
        }
    }
    parents[one] = parents[other];
    parents[other] = one as u32;
    true
}

/// The two take each other's place.
fn trade(parents: &mut [u32], root: usize, one: usize, other: usize) -> bool {
    if other == root {
        return false;
    }
    parents.swap(one, other);
    for (_, parent) in parents.iter_mut().enumerate().filter(|&(node, _)| node != root) {
        if *parent as usize == one {
            *parent = other as u32;
        } else if *parent as usize == other {
            *parent = one as u32;
        }
    }
    true
}

/// Whether there is a link wherever the parents differ.
fn has_links(grid: &Grid, before: &[u32], after: &[u32]) -> bool {
    let mut changed = (0..after.len()).filter(|&node| after[node] != before[node]);
    changed.all(|node| grid.gap_s(after[node] as usize, node).is_finite())
}

fn is_below(parents: &[u32], root: usize, node: usize, above: usize) -> bool {
    let mut at = node;
    while at != root && at != above {
        at = parents[at] as usize;
    }
    at == above
}
