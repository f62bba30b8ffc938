//! The relaxation by cuts: every set of vertices must be entered by one unit, and the largest load is minimised.
//!
//! min max_r load_r(f) with Σ f over the edges into S ≥ 1, at first for every single vertex, then also for the sets
//! that a cheapest arborescence contracts under the prices found. Its value is a bound, its f is the use of each edge,
//! and its prices are the start for the trees.
//!
//! Solved to moderate precision by the primal-dual hybrid gradient method (Chambolle and Pock, *A first-order
//! primal-dual algorithm for convex problems*, 2011) with diagonal steps, averages, and restarts (Applegate and others,
//! *Practical large-scale linear programming using primal-dual hybrid gradient*, 2021): some thousand sweeps over the
//! edges; a factorisation would fill in.

use super::column_generation::{pricing_units, Pricing};
use super::occupation_table::OccupationTable;
use crate::budget::Budget;

/// Sweeps between two checks of the gap.
const SWEEPS: usize = 40;
/// A restart is due when the gap has shrunk by this factor since the last one …
const ENOUGH: f64 = 0.6;
/// … or when this part of all sweeps passed without one.
const LONG: f64 = 0.36;
/// A set is worth a row if its dual value is at least this part of a vertex' mean.
const WORTH: f64 = 1e-3;

#[derive(Clone)]
struct Point {
    /// By edge.
    f: Vec<f64>,
    /// By set.
    lambda: Vec<f64>,
    /// By resource, on the unit simplex.
    p: Vec<f64>,
}

impl Point {
    /// Moves by the given part towards another point.
    fn approach(&mut self, other: &Point, part: f64) {
        let lists = [(&mut self.f, &other.f), (&mut self.lambda, &other.lambda), (&mut self.p, &other.p)];
        for (mine, theirs) in lists {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += part * (theirs - *mine));
        }
    }
}

/// The sets that must be entered: the single vertices, then larger ones.
#[derive(Default)]
struct Sets {
    larger: Vec<Vec<u32>>,
    entering: Vec<Vec<u32>>,
    /// The larger sets each edge enters.
    of_edge: Vec<Vec<u32>>,
}

/// The relaxation's matrix: its rows' and columns' sums set the steps.
struct Program<'a> {
    table: &'a OccupationTable,
    sets: Sets,
    resource_sum: Vec<f64>,
    /// Without the larger sets.
    edge_sum: Vec<f64>,
    in_degree: Vec<f64>,
}

/// Edges of a sweep per unit of work.
const EDGES_PER_UNIT: usize = 50;

/// The mean number of uses of each edge per segment, which enter every vertex once in sum, from the relaxation solved
/// until its value and the best bound are within `gap`, for `sweeps` sweeps at most, and within the budget.
pub(crate) fn solve(
    table: &mut OccupationTable,
    pricing: &mut Pricing,
    gap: f64,
    sweeps: usize,
    budget: &Budget,
) -> Vec<f64> {
    let plain = table.clone();
    let mut program = Program::new(&plain);
    let mut now = program.start();
    let mut start = now.clone();
    let mut mean = now.clone();
    let mut better = now.clone();
    let mut balance = 1.0 / plain.graph.vertices as f64;
    let mut averaged = 0.0;
    let mut gap_at_restart = f64::INFINITY;
    for sweep in 1..=sweeps {
        program.step(&mut now, balance);
        averaged += 1.0;
        mean.approach(&now, 1.0 / averaged);
        if budget.spend((plain.direct / EDGES_PER_UNIT) as u64) {
            better.clone_from(&mean);
            break;
        }
        if sweep % SWEEPS != 0 && sweep != sweeps {
            continue;
        }
        budget.spend(2 * pricing_units(&plain));
        let mut gaps = [f64::INFINITY; 2];
        let mut added = false;
        for (gap_here, point) in gaps.iter_mut().zip([&now, &mean]) {
            let rate = program.rate(&point.f);
            pricing.tree(table, &point.p);
            *gap_here = pricing.last_rate / rate - 1.0;
            // Near the end, progress needs the sets that the prices pay for and the relaxation lacks.
            if *gap_here < 2.0 * gap {
                let worth = WORTH / (pricing.last_rate * plain.graph.vertices as f64);
                for set in pricing.paying_sets(&plain, worth) {
                    added |= program.add_set(set);
                }
            }
            if pricing.bound.rate <= rate * (1.0 + gap) && !added {
                return scaled(&plain, &point.f);
            }
        }
        better.clone_from(if gaps[1] < gaps[0] { &mean } else { &now });
        let least = gaps[0].min(gaps[1]);
        let is_due = least <= ENOUGH * gap_at_restart || averaged >= LONG * sweep as f64;
        if !is_due && !added {
            continue;
        }
        gap_at_restart = if added { f64::INFINITY } else { least };
        let (primal, dual) = program.moved(&better, &start);
        if primal > 0.0 && dual > 0.0 {
            // The geometric mean with the balance at which both sides would have moved equally.
            balance = (balance * (dual / primal).sqrt()).sqrt();
        }
        better.lambda.resize(plain.graph.vertices + program.sets.larger.len(), 0.0);
        now.clone_from(&better);
        start.clone_from(&better);
        mean.clone_from(&better);
        averaged = 0.0;
    }
    scaled(&plain, &better.f)
}

impl Program<'_> {
    fn new(table: &OccupationTable) -> Program<'_> {
        let mut resource_sum = vec![0.0; table.resources.len()];
        let mut in_degree = vec![0.0; table.graph.vertices];
        let mut edge_sum = Vec::with_capacity(table.direct);
        for edge in 0..table.direct {
            in_degree[table.graph.to[edge] as usize] += 1.0;
            edge_sum.push(1.0 + table.uses(edge).iter().map(|&(_, time)| time).sum::<f64>());
            for &(resource, time) in table.uses(edge) {
                resource_sum[resource as usize] += time;
            }
        }
        let sets = Sets { of_edge: vec![Vec::new(); table.direct], ..Sets::default() };
        Program { table, sets, resource_sum, edge_sum, in_degree }
    }

    /// Every edge into a vertex equally used, every resource at the same price.
    fn start(&self) -> Point {
        let resources = self.resource_sum.len();
        let f = self.table.graph.to.iter().map(|&to| 1.0 / self.in_degree[to as usize]).collect();
        Point { f, lambda: vec![0.0; self.in_degree.len()], p: vec![1.0 / resources as f64; resources] }
    }

    /// Makes a set a row of the relaxation, unless it is one.
    fn add_set(&mut self, set: Vec<u32>) -> bool {
        if self.sets.larger.contains(&set) {
            return false;
        }
        let graph = &self.table.graph;
        let mut inside = vec![false; graph.vertices];
        set.iter().for_each(|&vertex| inside[vertex as usize] = true);
        let enters = |&edge: &u32| {
            inside[graph.to[edge as usize] as usize] && !inside[graph.from[edge as usize] as usize]
        };
        let entering: Vec<u32> = (0..self.table.direct as u32).filter(enters).collect();
        let number = self.sets.larger.len() as u32;
        entering.iter().for_each(|&edge| self.sets.of_edge[edge as usize].push(number));
        self.sets.larger.push(set);
        self.sets.entering.push(entering);
        true
    }

    /// One primal step, then one dual step against the primal one's extrapolation.
    fn step(&self, now: &mut Point, balance: f64) {
        let (table, sets, vertices) = (self.table, &self.sets, self.in_degree.len());
        let mut load = vec![0.0; self.resource_sum.len()];
        let mut entered = vec![0.0; now.lambda.len()];
        for (edge, f) in now.f.iter_mut().enumerate() {
            let to = table.graph.to[edge] as usize;
            let (uses, larger) = (table.uses(edge), &sets.of_edge[edge]);
            let mut slope = -now.lambda[to];
            for &(resource, time) in uses {
                slope += now.p[resource as usize] * time;
            }
            for &set in larger {
                slope -= now.lambda[vertices + set as usize];
            }
            let next = (*f - slope / (balance * (self.edge_sum[edge] + larger.len() as f64))).max(0.0);
            let ahead = 2.0 * next - *f;
            *f = next;
            for &(resource, time) in uses {
                load[resource as usize] += time * ahead;
            }
            entered[to] += ahead;
            for &set in larger {
                entered[vertices + set as usize] += ahead;
            }
        }
        let larger = sets.entering.iter().map(|entering| entering.len() as f64);
        let degrees = self.in_degree.iter().copied().chain(larger);
        // No edge enters the root.
        for ((lambda, entered), degree) in now.lambda.iter_mut().zip(&entered).zip(degrees).skip(1) {
            *lambda = (*lambda + balance / degree * (1.0 - entered)).max(0.0);
        }
        for ((p, load), sum) in now.p.iter_mut().zip(&load).zip(&self.resource_sum) {
            *p += balance / sum * load;
        }
        project(&mut now.p, &self.resource_sum);
    }

    /// The rate at which `f`, scaled to enter every set, keeps the busiest resource busy.
    fn rate(&self, f: &[f64]) -> f64 {
        let vertices = self.in_degree.len();
        let mut entered = vec![0.0; vertices + self.sets.larger.len()];
        let mut load = vec![0.0; self.resource_sum.len()];
        for (edge, &f) in f.iter().enumerate() {
            entered[self.table.graph.to[edge] as usize] += f;
            self.sets.of_edge[edge].iter().for_each(|&set| entered[vertices + set as usize] += f);
            for &(resource, time) in self.table.uses(edge) {
                load[resource as usize] += time * f;
            }
        }
        let least = entered[1..].iter().copied().fold(f64::INFINITY, f64::min);
        least / load.into_iter().fold(0.0, f64::max)
    }

    /// The squared distances of the primal and the dual sides of two points, in the steps' metric.
    fn moved(&self, point: &Point, from: &Point) -> (f64, f64) {
        fn distance(a: &[f64], b: &[f64], weight: &[f64]) -> f64 {
            a.iter().zip(b).zip(weight).map(|((a, b), weight)| (a - b).powi(2) * weight).sum()
        }
        let dual = distance(&point.p, &from.p, &self.resource_sum)
            + distance(&point.lambda, &from.lambda, &self.in_degree);
        (distance(&point.f, &from.f, &self.edge_sum), dual)
    }
}

/// The nearest point of the unit simplex in the steps' metric: p_r − θ / w_r, cut off at 0, θ by Newton's
/// method from below, which ends after finitely many steps.
fn project(p: &mut [f64], weight: &[f64]) {
    let mut theta = f64::NEG_INFINITY;
    loop {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (&p, &weight) in p.iter().zip(weight) {
            if theta == f64::NEG_INFINITY || p * weight > theta {
                sum += p;
                slope += 1.0 / weight;
            }
        }
        let next = (sum - 1.0) / slope;
        if next <= theta {
            break;
        }
        theta = next;
    }
    for (p, &weight) in p.iter_mut().zip(weight) {
        *p = (*p - theta / weight).max(0.0);
    }
}

/// `f` with every vertex entered exactly once.
fn scaled(table: &OccupationTable, f: &[f64]) -> Vec<f64> {
    let mut entered = vec![0.0; table.graph.vertices];
    (0..table.direct).for_each(|edge| entered[table.graph.to[edge] as usize] += f[edge]);
    (0..table.direct).map(|edge| f[edge] / entered[table.graph.to[edge] as usize]).collect()
}
