//! The optimum by column generation: trees one by one, each the cheapest under the resources' prices.
//!
//! The master program shares the message among the trees known so far; its prices decide whether a further tree gains.
//! Any prices give the upper bound Σ prices / cheapest tree, so the gap closes from both sides. The prices used are a
//! mixture with the best so far (Wentges, *Weighted Dantzig–Wolfe decomposition for linear mixed-integer programming*,
//! 1997), which keeps them from swinging.

use super::arborescence::Arborescence;
use super::cheapest_from::NONE;
use super::occupation_table::OccupationTable;
use super::simplex::{Column, Simplex};
use super::switch_paths::Relays;
use crate::budget::Budget;

/// A spanning tree as the entering edge of each vertex, `u32::MAX` for its root; of an all-gather, the trees of all
/// vertices one after the other.
pub(crate) type Entering = Vec<u32>;

/// The best prices known and the rate that they prove, in segments per unit of time.
#[derive(Clone, Debug)]
pub(crate) struct PriceBound {
    pub rate: f64,
    /// Sum to 1.
    pub prices: Vec<f64>,
}

/// Finds cheapest trees, through switches where there are any, and keeps the best bound.
pub(crate) struct Pricing {
    solver: Arborescence,
    relays: Option<Relays>,
    weights: Vec<f64>,
    pub bound: PriceBound,
    /// The rate that the last prices proved.
    pub last_rate: f64,
    pub rounds: usize,
}

impl Pricing {
    pub fn new(table: &OccupationTable) -> Pricing {
        Pricing {
            solver: Arborescence::default(),
            relays: (!table.hops.is_empty()).then(|| Relays::new(table)),
            weights: Vec::new(),
            bound: PriceBound { rate: f64::INFINITY, prices: vec![0.0; table.resources.len()] },
            last_rate: f64::INFINITY,
            rounds: 0,
        }
    }

    /// The cheapest tree under `prices` (sum 1), and whether it proved a better bound than all before.
    pub fn tree(&mut self, table: &mut OccupationTable, prices: &[f64]) -> (Entering, bool) {
        self.rounds += 1;
        self.weights.clear();
        self.weights.extend((0..table.direct).map(|edge| table.weight(edge, prices)));
        let (entering, weight) = match &mut self.relays {
            None => table.demand.cheapest(&mut self.solver, &table.graph, &self.weights),
            Some(relays) => {
                let paths = relays.cheapest(table, prices);
                let mut graph = table.graph.clone();
                graph.from.truncate(table.direct);
                graph.to.truncate(table.direct);
                for path in &paths {
                    graph.from.push(path.from);
                    graph.to.push(path.to);
                    self.weights.push(path.weight);
                }
                let (mut entering, weight) = table.demand.cheapest(&mut self.solver, &graph, &self.weights);
                for edge in entering.iter_mut().filter(|edge| **edge != NONE) {
                    if let Some(path) = (*edge as usize).checked_sub(table.direct) {
                        *edge = relays.edge(table, &paths[path]);
                    }
                }
                (entering, weight)
            }
        };
        let sum: f64 = prices.iter().sum();
        let rate = sum / weight;
        self.last_rate = rate;
        let better = rate < self.bound.rate;
        if better {
            self.bound = PriceBound { rate, prices: prices.iter().map(|price| price / sum).collect() };
        }
        (entering, better)
    }

    /// The sets of vertices of the last tree's proof with dual values above `least`.
    pub fn paying_sets(&self, table: &OccupationTable, least: f64) -> Vec<Vec<u32>> {
        self.solver.paying_sets(table.graph.vertices, least)
    }
}

/// Trees with their rates, in segments per unit of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    pub trees: Vec<(f64, Entering)>,
}

impl Packing {
    /// The trees' total rate when all are scaled by one factor so that the busiest resource is exactly saturated.
    pub fn rate(&self, table: &OccupationTable) -> f64 {
        let mut load = vec![0.0; table.resources.len()];
        for (rate, tree) in &self.trees {
            table.add_tree(tree, *rate, &mut load);
        }
        let total: f64 = self.trees.iter().map(|(rate, _)| rate).sum();
        total / load.into_iter().fold(0.0, f64::max)
    }
}

/// Edges of a cheapest tree's graph, loads of the master program's trees, and entries of its inverse that a pivot
/// changes, per unit of work.
const EDGES_PER_UNIT: usize = 10;
const LOADS_PER_UNIT: usize = 200;
const ENTRIES_PER_UNIT: usize = 1200;

/// The cost of a round's cheapest trees, units of work.
pub(crate) fn pricing_units(table: &OccupationTable) -> u64 {
    (table.demand.trees(table.graph.vertices) * table.edge_count() / EDGES_PER_UNIT) as u64
}

/// The share of the best prices in the first mixture.
const KEPT: f64 = 0.8;
/// The part of the gap that the master's own tolerances may not use up.
const SPARE: f64 = 0.999;
/// Overloaded resources that get a row in one round.
const ROWS_AT_ONCE: usize = 64;
/// A first tree's resource this near to its busiest one has a row from the start.
const NEAR: f64 = 0.8;

/// The program over the trees known so far, with rows for the resources that were ever overloaded.
pub(crate) struct Master {
    simplex: Simplex,
    trees: Vec<Entering>,
    /// By tree, how long each resource is busy for a segment.
    loads: Vec<Vec<f64>>,
    row_of: Vec<Option<u32>>,
    resource_of: Vec<u32>,
    /// Entries of the inverse that pivots had changed when they were charged last.
    entries_charged: usize,
}

impl Master {
    pub fn new(resources: usize) -> Master {
        Master {
            simplex: Simplex::default(),
            trees: Vec::new(),
            loads: Vec::new(),
            row_of: vec![None; resources],
            resource_of: Vec::new(),
            entries_charged: 0,
        }
    }

    /// Adds the tree if it gains, or `always`.
    pub fn add(&mut self, table: &OccupationTable, tree: Entering, always: bool) -> bool {
        let mut load = vec![0.0; table.resources.len()];
        table.tree_load(&tree, &mut load);
        if self.resource_of.iter().all(|&resource| load[resource as usize] == 0.0) {
            // A column without a row would gain without limit.
            let heavier = |&a: &usize, &b: &usize| load[a].total_cmp(&load[b]).then(b.cmp(&a));
            (0..load.len()).max_by(heavier).into_iter().for_each(|busiest| self.add_row(busiest));
        }
        let rows = (0u32..).zip(&self.resource_of).map(|(row, &resource)| (row, load[resource as usize]));
        let column: Column = rows.filter(|&(_, value)| value > 0.0).collect();
        let gains = self.simplex.gain(&column) > 1e-9;
        if always || gains {
            self.simplex.add_column(column);
            self.trees.push(tree);
            self.loads.push(load);
        }
        gains
    }

    fn add_row(&mut self, resource: usize) {
        if self.row_of[resource].is_none() {
            self.row_of[resource] = Some(self.resource_of.len() as u32);
            self.resource_of.push(resource as u32);
            let values: Vec<f64> = self.loads.iter().map(|load| load[resource]).collect();
            self.simplex.add_row(&values);
        }
    }

    /// Rows for the resources that limit the first trees: those that any one tree, or all trees together, load nearly
    /// as much as the most loaded one.
    pub fn start_rows(&mut self) {
        let mut sum = vec![0.0; self.row_of.len()];
        for load in &self.loads {
            sum.iter_mut().zip(load).for_each(|(sum, by)| *sum += by);
        }
        let mut near = vec![false; self.row_of.len()];
        for load in self.loads.iter().chain([&sum]) {
            let most = load.iter().copied().fold(0.0, f64::max);
            near.iter_mut().zip(load).for_each(|(near, &load)| *near |= load >= NEAR * most && load > 0.0);
        }
        (0..near.len()).filter(|&resource| near[resource]).for_each(|resource| self.add_row(resource));
    }

    /// The trees' rates at the optimum with no resource overloaded by more than `over`.
    fn optimise(&mut self, over: f64) -> Vec<f64> {
        loop {
            self.simplex.optimise();
            let rates = self.simplex.solution();
            let mut load = vec![0.0; self.row_of.len()];
            for (rate, tree) in rates.iter().zip(&self.loads).filter(|(rate, _)| **rate > 0.0) {
                load.iter_mut().zip(tree).for_each(|(sum, by)| *sum += rate * by);
            }
            let mut late: Vec<usize> =
                (0..load.len()).filter(|&r| load[r] > 1.0 + over && self.row_of[r].is_none()).collect();
            if late.is_empty() {
                return rates;
            }
            late.sort_by(|&a, &b| load[b].total_cmp(&load[a]).then(a.cmp(&b)));
            late.truncate(ROWS_AT_ONCE);
            late.into_iter().for_each(|resource| self.add_row(resource));
        }
    }

    /// The cost of the pivots since the last call, and of adding up the trees' loads, units of work.
    fn units(&mut self) -> u64 {
        let changed = self.simplex.entries_changed;
        let since = changed - std::mem::replace(&mut self.entries_charged, changed);
        (since / ENTRIES_PER_UNIT + self.trees.len() * self.row_of.len() / LOADS_PER_UNIT) as u64
    }

    /// Σ prices, and the prices by resource.
    fn prices(&self) -> (f64, Vec<f64>) {
        let mut by_resource = vec![0.0; self.row_of.len()];
        for (&resource, &price) in self.resource_of.iter().zip(self.simplex.prices()) {
            by_resource[resource as usize] = price.max(0.0);
        }
        (by_resource.iter().sum(), by_resource)
    }
}

/// Shares the message among the trees known and further ones until the gap is closed or the rounds are
/// used up; with no rounds, among the trees known.
///
/// `centre` are prices to start the mixture from.
pub(crate) fn generate(
    table: &mut OccupationTable,
    pricing: &mut Pricing,
    master: &mut Master,
    centre: &mut PriceBound,
    gap: f64,
    most_rounds: usize,
    budget: &Budget,
) -> Packing {
    let mut asked = vec![0.0; table.resources.len()];
    let rates = loop {
        let rates = master.optimise(1e-3 * gap.min(1e-3));
        let (value, prices) = master.prices();
        if value >= pricing.bound.rate * (1.0 - gap * SPARE)
            || pricing.rounds >= most_rounds
            || budget.spend(master.units())
        {
            break rates;
        }
        let mut kept = KEPT;
        let mut gained = false;
        while !gained {
            for (at, price) in asked.iter_mut().enumerate() {
                *price = kept * centre.prices[at] + (1.0 - kept) * prices[at] / value;
            }
            let (tree, _) = pricing.tree(table, &asked);
            budget.spend(pricing_units(table));
            let better = pricing.last_rate < centre.rate;
            if better {
                *centre = PriceBound { rate: pricing.last_rate, prices: asked.clone() };
            }
            gained = master.add(table, tree, false);
            if !gained && !better && kept == 0.0 {
                break;
            }
            kept = if kept < 0.1 { 0.0 } else { kept * 0.5 };
        }
        if !gained {
            break rates;
        }
    };
    let used = rates.into_iter().zip(&master.trees).filter(|(rate, _)| *rate > 0.0);
    Packing { trees: used.map(|(rate, tree)| (rate, tree.clone())).collect() }
}
