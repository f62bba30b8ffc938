//! The optimum by column generation: trees one by one, each the cheapest under the resources' prices.
//!
//! The master program shares the message among the trees known so far; its prices say what a further tree
//! would have to save. Any prices give the upper bound Σ prices / cheapest tree, so the gap closes from
//! both sides. The prices asked are a mixture with the best so far (Wentges, *Weighted Dantzig–Wolfe
//! decomposition for linear mixed-integer programming*, 1997), which keeps them from swinging.

use super::arborescence::Arborescence;
use super::relay::Relays;
use super::simplex::{Column, Simplex};
use super::table::Table;

/// A spanning tree as the entering edge of each vertex; vertex 0 has none.
pub(crate) type Entering = Vec<u32>;

/// The least prices known and what they prove, in segments a unit of time.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub rate: f64,
    /// Sum to 1.
    pub prices: Vec<f64>,
}

/// Finds cheapest trees, through switches where there are any, and keeps the best bound.
pub(crate) struct Pricing {
    solver: Arborescence,
    relays: Option<Relays>,
    weights: Vec<f64>,
    pub bound: Bound,
    pub rounds: usize,
}

impl Pricing {
    pub fn new(table: &Table) -> Pricing {
        Pricing {
            solver: Arborescence::default(),
            relays: (!table.hops.is_empty()).then(|| Relays::new(table)),
            weights: Vec::new(),
            bound: Bound { rate: f64::INFINITY, prices: vec![0.0; table.resources.len()] },
            rounds: 0,
        }
    }

    /// The cheapest tree under `prices` (sum 1), and whether it proved a better bound than all before.
    pub fn tree(&mut self, table: &mut Table, prices: &[f64]) -> (Entering, bool) {
        self.rounds += 1;
        self.weights.clear();
        self.weights.extend((0..table.direct).map(|edge| table.weight(edge, prices)));
        let (entering, weight) = match &mut self.relays {
            None => self.solver.cheapest(&table.graph, &self.weights),
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
                let (mut entering, weight) = self.solver.cheapest(&graph, &self.weights);
                for edge in entering.iter_mut().skip(1) {
                    if let Some(path) = (*edge as usize).checked_sub(table.direct) {
                        *edge = relays.edge(table, &paths[path]);
                    }
                }
                (entering, weight)
            }
        };
        let sum: f64 = prices.iter().sum();
        let rate = sum / weight;
        let better = rate < self.bound.rate;
        if better {
            self.bound = Bound { rate, prices: prices.iter().map(|price| price / sum).collect() };
        }
        (entering, better)
    }

    /// The sets of vertices of the last tree's proof that are worth more than `least`.
    pub fn paying_sets(&self, table: &Table, least: f64) -> Vec<Vec<u32>> {
        self.solver.paying_sets(table.graph.vertices, least)
    }
}

/// Trees with their rates, in segments a unit of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    pub trees: Vec<(f64, Entering)>,
}

impl Packing {
    /// What the trees carry together when all are slowed or sped up alike until the busiest resource is
    /// just always busy.
    pub fn rate(&self, table: &Table) -> f64 {
        let mut load = vec![0.0; table.resources.len()];
        for (rate, tree) in &self.trees {
            table.add_tree(tree, *rate, &mut load);
        }
        let total: f64 = self.trees.iter().map(|(rate, _)| rate).sum();
        total / load.into_iter().fold(0.0, f64::max)
    }
}

/// The share of the best prices in those asked first.
const KEPT: f64 = 0.8;

/// Shares the message among `trees` and further ones until the gap is closed or the rounds are used up.
pub(crate) fn generate(
    table: &mut Table,
    pricing: &mut Pricing,
    trees: Vec<Entering>,
    gap: f64,
    most_rounds: usize,
) -> Packing {
    let mut master = Simplex::new(table.resources.len());
    let mut known = Vec::new();
    let mut load = vec![0.0; table.resources.len()];
    let mut add = |table: &Table, master: &mut Simplex, tree: Entering, known: &mut Vec<Entering>| {
        table.tree_load(&tree, &mut load);
        master.add(column(&load));
        known.push(tree);
    };
    for tree in trees {
        add(table, &mut master, tree, &mut known);
    }
    let mut asked = vec![0.0; table.resources.len()];
    let mut kept = if pricing.bound.rate.is_finite() { KEPT } else { 0.0 };
    loop {
        master.optimise(usize::MAX);
        let value: f64 = master.prices().iter().sum();
        if value >= pricing.bound.rate * (1.0 - gap * SPARE) || pricing.rounds >= most_rounds {
            break;
        }
        let mut share = kept;
        let mut gained = false;
        while !gained {
            for (at, price) in asked.iter_mut().enumerate() {
                *price = share * pricing.bound.prices[at] + (1.0 - share) * master.prices()[at] / value;
            }
            let (tree, better) = pricing.tree(table, &asked);
            table.tree_load(&tree, &mut load);
            gained = master.gain(&column(&load)) > 1e-9;
            if gained {
                master.add(column(&load));
                known.push(tree);
            } else if !better && share == 0.0 {
                break;
            }
            share = if share < 0.1 { 0.0 } else { share * 0.5 };
        }
        if !gained {
            break;
        }
        kept = KEPT;
    }
    let trees = master.solution().into_iter().zip(known).filter(|(rate, _)| *rate > 0.0).collect();
    Packing { trees }
}

/// The part of the gap that the master's own tolerances may not use up.
const SPARE: f64 = 0.999;

fn column(load: &[f64]) -> Column {
    (0u32..).zip(load).filter(|(_, &value)| value > 0.0).map(|(row, &value)| (row, value)).collect()
}
