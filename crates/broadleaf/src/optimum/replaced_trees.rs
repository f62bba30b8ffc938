//! Evens the loads of equal-share trees by whole trees: each in turn gives way to the cheapest one under prices that
//! rise steeply with what the others load.
//!
//! Behind a switch a whole box of hosts hangs on the one host by which a tree enters it. For another host to be that one,
//! several parents change at once, which no single move of [`super::balance_loads`] does.

use super::arborescence::Arborescence;
use super::column_generation::pricing_units;
use super::drawn_trees::DrawnTrees;
use super::occupation_table::OccupationTable;
use crate::budget::Budget;

/// Passes over all trees. Chosen: later ones change little.
const PASSES: usize = 4;
/// Power of a load in the prices: high enough that full resources are avoided, low enough that those in between even out,
/// which leaves a timetable room. Chosen.
const STEEPNESS: i32 = 6;

/// Chooses the trees in `slots` again, some times over or until the budget is spent. The first pass takes place in any
/// case, and fills empty slots. Loads are compared with `allowed`.
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
