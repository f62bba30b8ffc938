//! Encloses the optimum: prices that bound every packing of trees, and trees whose rate is near the bound.

use super::balance_loads::{balance, LEAST_BALANCING};
use super::block_trees::swept;
use super::column_generation::{generate, Master, Packing, Pricing};
use super::cut_relaxation;
use super::demand::Demand;
use super::drawn_trees::Draw;
use super::occupation_table::OccupationTable;
use crate::budget::Budget;

/// Limits of a search's work; the same limits give the same result on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most cheapest trees computed.
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { rounds: 4_000 }
    }
}

/// Prices that bound the rate, and trees that come within the gap of it.
pub(crate) fn enclose(
    table: &mut OccupationTable,
    gap: f64,
    limits: Limits,
    budget: &Budget,
) -> (Pricing, Packing) {
    let mut pricing = Pricing::new(table);
    let even = vec![1.0 / table.resources.len().max(1) as f64; table.resources.len()];
    let (first, _) = pricing.tree(table, &even);
    let packing = if pricing.bound.rate.is_finite() {
        pack(table, &mut pricing, first, gap, limits, budget)
    } else {
        // A tree that occupies no resource, or no other host.
        Packing { trees: vec![(1.0, first)] }
    };
    (pricing, packing)
}

/// Up to this many vertices, generating trees from the first one on is quicker than a cover.
const FEW_VERTICES: usize = 70;
/// Up to this many, a rough cover is enough, because tree generation finishes quickly.
const SOME_VERTICES: usize = 300;
const ROUGH_SWEEPS: usize = 240;
const SWEEPS: usize = 20_000;
/// Numbers of equal-share trees drawn before trees are generated one by one.
const DRAWN: [usize; 5] = [4, 8, 16, 32, 64];
/// Drawing continues while it gains this factor.
const DRAWING_HELPS: f64 = 1.001;
/// Times that the trees of blocks are split in two before trees are generated one by one.
const SPLITS: usize = 3;
/// The part of the gap that the cover may leave open.
const COVER_PART: f64 = 0.3;

fn pack(
    table: &mut OccupationTable,
    pricing: &mut Pricing,
    first: Vec<u32>,
    gap: f64,
    limits: Limits,
    budget: &Budget,
) -> Packing {
    let mut centre = pricing.bound.clone();
    let mut master = Master::new(table.resources.len());
    master.add(table, first, true);
    // Sweeps and covers are over direct links; paths through switches are only found during tree generation.
    if table.hops.is_empty() && !matches!(table.demand, Demand::Broadcast) {
        let splits = if table.graph.vertices > FEW_VERTICES { SPLITS } else { 0 };
        let swept = swept(table, gap, splits, budget);
        for round in swept.rounds {
            master.add(table, round, true);
        }
        for prices in &swept.prices {
            let (round, _) = pricing.tree(table, prices);
            master.add(table, round, true);
        }
        centre = pricing.bound.clone();
    } else if table.hops.is_empty() && table.graph.vertices > FEW_VERTICES {
        let rough = table.graph.vertices <= SOME_VERTICES;
        let sweeps = if rough { ROUGH_SWEEPS } else { SWEEPS };
        let fraction = cut_relaxation::solve(table, pricing, gap * COVER_PART, sweeps, budget);
        let draw = Draw::new(table, fraction, &pricing.bound);
        let mut reached = 0.0;
        for count in DRAWN {
            let mut slots = draw.slots(table, count, 0);
            let balancing = budget.at_least(LEAST_BALANCING);
            balance(table, &mut slots, &draw.into, count as f64 / pricing.bound.rate, &balancing);
            for slot in 0..count {
                master.add(table, slots.tree(slot), true);
            }
            master.start_rows();
            let packing = generate(table, pricing, &mut master, &mut centre, gap, 0, budget);
            let rate = packing.rate(table);
            if rate >= pricing.bound.rate * (1.0 - gap) {
                return packing;
            }
            // More drawn trees no longer help; a better bound or generated trees may.
            if rate < reached * DRAWING_HELPS || budget.is_spent() {
                break;
            }
            reached = rate;
        }
    }
    master.start_rows();
    generate(table, pricing, &mut master, &mut centre, gap, limits.rounds, budget)
}
