//! The optimum of a platform, reported in its own nodes and units.

use super::column_generation::{Packing, Pricing};
use super::enclose::{enclose, Limits};
use super::error::OptimumError;
use super::occupation_table::OccupationTable;
use super::solution::{BoundOnly, Optimum, WeightedTree};
use crate::budget::Budget;
use crate::platform::{NodeId, Platform, PortModel};
use std::collections::HashMap;

/// The optimum for segments of `segment_bytes` from `root`, to a relative `gap` between the throughput of
/// the returned trees and the proved upper bound.
///
/// If the limits end the search first, the result is still valid, and [`Optimum::gap`] is the remaining gap.
/// Deterministic; ties go to the lower node id.
///
/// # Errors
/// A gap that is not positive, an empty segment, a root that is a switch, hosts out of reach, and more than
/// [`MOST_LINKS`](super::MOST_LINKS) links.
pub fn solve(
    platform: &Platform,
    root: NodeId,
    segment_bytes: u64,
    gap: f64,
    limits: Limits,
) -> Result<Optimum, OptimumError> {
    solve_within(platform, root, segment_bytes, gap, limits, &Budget::UNLIMITED)
}

/// [`solve`] within a budget: if it is spent first, the result is still valid, with a larger [`Optimum::gap`].
///
/// # Errors
/// Those of [`solve`].
pub fn solve_within(
    platform: &Platform,
    root: NodeId,
    segment_bytes: u64,
    gap: f64,
    limits: Limits,
    budget: &Budget,
) -> Result<Optimum, OptimumError> {
    if gap.is_nan() || gap <= 0.0 {
        return Err(OptimumError::Gap(gap));
    }
    let mut table = OccupationTable::new(platform, root, segment_bytes)?;
    let (pricing, packing) = enclose(&mut table, gap, limits, budget);
    Ok(report(platform, &table, &pricing, &packing, segment_bytes))
}

fn report(
    platform: &Platform,
    table: &OccupationTable,
    pricing: &Pricing,
    packing: &Packing,
    segment_bytes: u64,
) -> Optimum {
    let total: f64 = packing.trees.iter().map(|(rate, _)| rate).sum();
    let rate_per_s = packing.rate(table) / table.unit_s;
    let bytes_per_s = |per_s: f64| per_s * segment_bytes as f64;
    let mut load: HashMap<(NodeId, NodeId), f64> = HashMap::new();
    let mut trees = Vec::with_capacity(packing.trees.len());
    for (rate, entering) in &packing.trees {
        let tree = WeightedTree::of(platform, table, rate / total, entering);
        if rate_per_s.is_finite() {
            for hop in tree.hops() {
                *load.entry(hop).or_default() += tree.share * rate_per_s;
            }
        }
        trees.push(tree);
    }
    trees.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut link_load: Vec<_> = load.into_iter().map(|((from, to), n)| (from, to, n)).collect();
    link_load.sort_unstable_by_key(|&(from, to, _)| (from, to));
    let prices = table.resources.iter().copied().zip(pricing.bound.prices.iter().copied());
    Optimum {
        root: table.hosts[0],
        segment_bytes,
        throughput_bytes_per_s: bytes_per_s(rate_per_s),
        upper_bound_bytes_per_s: bytes_per_s(pricing.bound.rate / table.unit_s),
        trees,
        link_load,
        prices: prices.filter(|&(_, price)| price > 0.0).collect(),
        rounds: pricing.rounds,
        bound_only: bound_only(platform),
    }
}

fn bound_only(platform: &Platform) -> Option<BoundOnly> {
    match platform.port_model() {
        PortModel::OnePortUnidirectional => Some(BoundOnly::UnidirectionalOnePort),
        PortModel::OnePortSamePartner => Some(BoundOnly::SamePartner),
        PortModel::MultiPort => Some(BoundOnly::MultiPort),
        _ if platform.classes().iter().any(|class| !class.uses.is_empty()) => {
            Some(BoundOnly::SharedResources)
        }
        _ => None,
    }
}
