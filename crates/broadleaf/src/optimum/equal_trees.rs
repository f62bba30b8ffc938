//! A few trees of equal share, warm-started from the optimum's.
//!
//! The optimum shares the message among many trees in unequal parts. A plan is better with few trees, because each adds
//! start-up, and with equal shares, which a short period can carry. The optimum's largest shares alone lose too much
//! throughput; instead, W trees are drawn along the optimum's link loads, their loads evened, and their depths reduced.

use super::balance_loads::{ease, search, LEAST_BALANCING};
use super::column_generation::PriceBound;
use super::drawn_trees::{Draw, DrawnTrees};
use super::error::OptimumError;
use super::exchanged_parents::exchange_parents;
use super::occupation_table::OccupationTable;
use super::replaced_trees::replace;
use super::solution::{Optimum, WeightedTree};
use super::switch_paths::Relays;
use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Draws for few trees and for more than [`FEW`]; the best is kept. The loads of more trees are easier to even.
const DRAWS: u64 = 8;
const DRAWS_OF_MANY: u64 = 3;
const FEW: usize = 8;
/// Moves of the search in each draw, for each vertex of each tree, and at most.
const MOVES: usize = 40;
const MOST_MOVES: usize = 6_000;
/// Moves times links into a vertex at most: a move checks every other edge into a vertex.
const MOST_WAYS: usize = 72_000;
/// Drawing ends when the busiest resource is within this factor of the bound.
const ENOUGH: f64 = 1.001;

/// `count` trees of share 1 / `count` each, and the throughput they reach together, bytes/s.
///
/// Draws after the first are made within the budget. Equal trees are not merged: the list is the order in which a
/// period uses them.
///
/// # Errors
/// Those of [`super::solve()`] for the optimum's root and segment size on this platform.
pub fn equal_trees(
    platform: &Platform,
    optimum: &Optimum,
    count: usize,
    budget: &Budget,
) -> Result<(Vec<WeightedTree>, f64), OptimumError> {
    let mut table = OccupationTable::new(platform, optimum.root, optimum.segment_bytes)?;
    let share = 1.0 / count as f64;
    if optimum.trees.len() == 1 {
        return Ok(dealt(platform, optimum, count));
    }
    let rate = optimum.upper_bound_bytes_per_s / optimum.segment_bytes as f64 * table.unit_s;
    let prices: HashMap<_, f64> = optimum.prices.iter().copied().collect();
    let prices: Vec<f64> =
        table.resources.iter().map(|resource| prices.get(resource).copied().unwrap_or(0.0)).collect();
    if !table.hops.is_empty() {
        Relays::new(&table).add_ways(&mut table, &optimum.trees, &prices);
    }
    let edge_of = edges_of(&table, optimum);
    let mut fraction = vec![0.0; table.edge_count()];
    for (tree, edges) in optimum.trees.iter().zip(&edge_of) {
        edges.iter().for_each(|&(_, edge)| fraction[edge as usize] += tree.share);
    }
    let draw = Draw::new(&table, fraction, &PriceBound { rate, prices });
    let allowed = count as f64 / rate;
    let ways = table.edge_count().div_ceil(table.graph.vertices);
    let moves = (MOVES * count * table.graph.vertices).min(MOST_MOVES).min(MOST_WAYS / ways.max(1));
    let mut best: Option<(f64, _)> = None;
    // Many trees may be the optimum's own in whole parts: the effect of rounding is quickly evened.
    let own = (count > FEW).then(|| {
        let mut slots = DrawnTrees::empty(&table, count);
        let trees = edge_of.iter().zip(whole_parts(optimum, count));
        for (slot, edges) in trees.flat_map(|(edges, part)| std::iter::repeat_n(edges, part)).enumerate() {
            edges.iter().for_each(|&(to, edge)| slots.enter(slot, to as usize, edge));
        }
        slots
    });
    // Paths through switches are chosen tree by tree.
    let replaced = (!table.hops.is_empty()).then(|| {
        let mut slots = DrawnTrees::empty(&table, count);
        replace(&table, &mut slots, allowed, budget);
        slots
    });
    let draws = if count <= FEW { DRAWS } else { DRAWS_OF_MANY };
    for mut slots in
        replaced.into_iter().chain(own).chain((0..draws).map(|seed| draw.slots(&table, count, seed)))
    {
        if best.as_ref().is_some_and(|(least, _)| *least <= allowed * ENOUGH || budget.is_spent()) {
            break;
        }
        let balancing = if best.is_none() { budget.at_least(LEAST_BALANCING) } else { budget.clone() };
        let busiest = search(&table, &mut slots, &draw.into, allowed, moves, &balancing);
        if best.as_ref().is_none_or(|(least, _)| busiest < *least) {
            best = Some((busiest, slots));
        }
    }
    let (busiest, mut slots) = best.expect("there is a draw");
    ease(&table, &mut slots, &draw.into, busiest.max(allowed), &budget.at_least(LEAST_BALANCING));
    let bytes = count as f64 / busiest / table.unit_s * optimum.segment_bytes as f64;
    let mut trees: Vec<WeightedTree> =
        (0..count).map(|slot| WeightedTree::of(platform, &table, share, &slots.tree(slot))).collect();
    let root_and_size = (optimum.root, optimum.segment_bytes);
    exchange_parents(platform, root_and_size, &mut trees, busiest * table.unit_s, budget);
    Ok((trees, bytes))
}

/// The vertex and the table's edge of each transfer of the optimum's trees, by tree.
fn edges_of(table: &OccupationTable, optimum: &Optimum) -> Vec<Vec<(u32, u32)>> {
    let vertex: HashMap<_, u32> = table.hosts.iter().zip(0u32..).map(|(&host, at)| (host, at)).collect();
    let way = |edge: usize| (table.graph.from[edge], table.graph.to[edge], table.relays_of(edge));
    let edge_of: HashMap<_, u32> = (0..table.edge_count()).map(|edge| (way(edge), edge as u32)).collect();
    let of_tree = |tree: &WeightedTree| {
        let ways = tree.parent.iter().enumerate().filter_map(|(to, from)| {
            let (from, to) = (vertex[&(*from)?], NodeId(to as u32));
            let switches = tree.via.get(&to).map_or(&[][..], Vec::as_slice);
            Some((vertex[&to], edge_of[&(from, vertex[&to], switches)]))
        });
        ways.collect()
    };
    optimum.trees.iter().map(of_tree).collect()
}

/// Numbers of trees that a report compares with the whole optimum.
const KEPT: [usize; 4] = [1, 2, 4, 8];

/// The throughput with at most 1, 2, 4, 8 trees, and with all of the optimum's: (trees, bytes/s).
///
/// Few trees have equal shares, from [`equal_trees`]; the throughput never falls with more trees.
///
/// # Errors
/// Those of [`equal_trees`].
pub fn rates_by_trees(platform: &Platform, optimum: &Optimum) -> Result<Vec<(usize, f64)>, OptimumError> {
    let all = optimum.trees.len();
    let mut rates = Vec::new();
    let mut most = 0.0f64;
    for count in KEPT.into_iter().filter(|&count| count < all) {
        most = most
            .max(equal_trees(platform, optimum, count, &Budget::UNLIMITED)?.1)
            .min(optimum.throughput_bytes_per_s);
        rates.push((count, most));
    }
    rates.push((all, optimum.throughput_bytes_per_s));
    Ok(rates)
}

/// The number of the `count` equal parts that each of the optimum's trees gets, by largest remainder.
fn whole_parts(optimum: &Optimum, count: usize) -> Vec<usize> {
    let exact: Vec<f64> = optimum.trees.iter().map(|tree| tree.share * count as f64).collect();
    let mut parts: Vec<usize> = exact.iter().map(|exact| exact.floor() as usize).collect();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    let rest = |at: usize| exact[at] - exact[at].floor();
    order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)).then(a.cmp(&b)));
    let given: usize = parts.iter().sum();
    order.iter().cycle().take(count.saturating_sub(given)).for_each(|&at| parts[at] += 1);
    parts
}

/// The optimum's own trees in whole parts, by largest remainder, and their throughput.
fn dealt(platform: &Platform, optimum: &Optimum, count: usize) -> (Vec<WeightedTree>, f64) {
    let parts = whole_parts(optimum, count);
    let share = 1.0 / count as f64;
    let of = |(tree, &part): (&WeightedTree, &usize)| vec![WeightedTree { share, ..tree.clone() }; part];
    let trees: Vec<WeightedTree> = optimum.trees.iter().zip(&parts).flat_map(of).collect();
    let mut busy_s: HashMap<Resource, f64> = HashMap::new();
    for tree in &trees {
        for hop in tree.hops() {
            let class = platform.link(hop.0, hop.1).expect("a tree of the optimum uses links");
            let hop = Hop { from: hop.0, to: hop.1, class };
            for window in occupation(platform, hop, optimum.segment_bytes).windows {
                *busy_s.entry(window.resource).or_default() += share * window.duration_s;
            }
        }
    }
    let busiest_s = busy_s.into_values().fold(0.0, f64::max);
    (trees, optimum.segment_bytes as f64 / busiest_s)
}
