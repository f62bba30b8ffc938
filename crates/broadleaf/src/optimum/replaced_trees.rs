//! Evens the loads of equal-share trees by whole trees: each in turn is replaced by the cheapest tree under prices that
//! rise steeply with the loads of the others.
//!
//! A tree enters a group of hosts behind a switch by one host, above the others. A change of that host changes several
//! parents at once, which no single move of [`super::balance_loads`] does.

use super::arborescence::Arborescence;
use super::column_generation::pricing_units;
use super::drawn_trees::DrawnTrees;
use super::occupation_table::OccupationTable;
use crate::budget::Budget;

/// Passes over all trees, chosen by experiment: later ones change little.
const PASSES: usize = 4;
/// Power of a load in the prices: high enough to avoid full resources, low enough to even the others, which leaves room
/// for a timetable. Chosen by experiment.
const STEEPNESS: i32 = 6;

/// Replaces the trees in `slots`, in several passes or until the budget is spent. The first pass always runs, and fills
/// empty slots. Loads are compared with `allowed`.
pub(crate) fn replace(table: &OccupationTable, slots: &mut DrawnTrees, allowed: f64, budget: &Budget) {
    let mut solver = Arborescence::default();
    let mut load = vec![0.0; table.resources.len()];
    let mut weights = vec![0.0; table.edge_count()];
    for pass in 0..PASSES {
        for slot in 0..slots.count {
            if pass > 0 {
                if budget.spend(pricing_units(table)) {
                    return;
                }
                table.add_tree(&slots.tree(slot), -1.0, &mut load);
            }
            for (edge, weight) in weights.iter_mut().enumerate() {
                let price = |&(resource, time): &(u32, f64)| {
                    time * ((load[resource as usize] + time) / allowed).powi(STEEPNESS)
                };
                *weight = table.uses(edge).iter().map(price).sum();
            }
            let (entering, _) = solver.cheapest(&table.graph, &weights);
            table.add_tree(&entering, 1.0, &mut load);
            for (vertex, &edge) in entering.iter().enumerate().skip(1) {
                slots.enter(slot, vertex, edge);
            }
        }
    }
}
