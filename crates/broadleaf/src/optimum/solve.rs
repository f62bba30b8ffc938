//! The optimum of a platform, reported in its own nodes and units.

use super::block_trees::segment_table;
use super::column_generation::{Packing, Pricing};
use super::enclose::{enclose, Limits};
use super::error::OptimumError;
use super::occupation_table::OccupationTable;
use super::solution::{BoundOnly, Optimum, WeightedTree};
use crate::budget::Budget;
use crate::plan::Collective;
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

/// The optimum of a collective: [`solve()`] of a broadcast, and the same program for blocks and for trees turned round.
///
/// Of a collective with a block for each host, rates are those of one block of weight 1, in segments of `segment_bytes`;
/// `weights` by node. The shares of an all-gather's trees sum to 1 for each root.
///
/// # Errors
/// Those of [`solve()`], for each host as the root if each has a tree; an all-reduce, which has no program.
pub fn solve_collective(
    platform: &Platform,
    collective: Collective,
    root: NodeId,
    weights: Option<&[f64]>,
    segment_bytes: u64,
    gap: f64,
    limits: Limits,
) -> Result<Optimum, OptimumError> {
    if gap.is_nan() || gap <= 0.0 {
        return Err(OptimumError::Gap(gap));
    }
    let outward = if collective.is_inward() { platform.reversed() } else { platform };
    let optimum = match collective.outward() {
        Collective::Bcast => solve(outward, root, segment_bytes, gap, limits)?,
        blocks => {
            let mut table = segment_table(blocks, outward, root, segment_bytes, weights)?;
            let (pricing, packing) = enclose(&mut table, gap, limits, &Budget::UNLIMITED);
            let optimum = report(outward, &table, &pricing, &packing, segment_bytes);
            Optimum { collective: blocks, weights: weights.map(<[f64]>::to_vec), ..optimum }
        }
    };
    Ok(if collective.is_inward() { optimum.mirrored() } else { optimum })
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
    // A tree of several rounds is one tree with the sum of their shares.
    let mut trees: Vec<((usize, &[u32]), f64)> = Vec::new();
    let mut known: HashMap<(usize, &[u32]), usize> = HashMap::new();
    for (rate, round) in &packing.trees {
        for tree in round.chunks(table.graph.vertices).enumerate() {
            let at = *known.entry(tree).or_insert(trees.len());
            if at == trees.len() {
                trees.push((tree, 0.0));
            }
            trees[at].1 += rate / total;
        }
    }
    let mut listed: Vec<(usize, WeightedTree)> = Vec::with_capacity(trees.len());
    for ((root, entering), share) in trees {
        let tree = WeightedTree::of(platform, table, share, entering);
        let carried = table.demand.carried(&table.graph, root, entering);
        for (to, carried) in table.hosts.iter().zip(carried).filter(|_| rate_per_s.is_finite()) {
            for hop in tree.hops_into(*to) {
                *load.entry(hop).or_default() += tree.share * rate_per_s * carried;
            }
        }
        listed.push((root, tree));
    }
    listed.sort_by(|(a, one), (b, other)| {
        table.hosts[*a].cmp(&table.hosts[*b]).then(other.share.total_cmp(&one.share))
    });
    let mut link_load: Vec<_> =
        load.into_iter().filter(|&(_, n)| n > 0.0).map(|((from, to), n)| (from, to, n)).collect();
    link_load.sort_unstable_by_key(|&(from, to, _)| (from, to));
    let prices = table.resources.iter().copied().zip(pricing.bound.prices.iter().copied());
    Optimum {
        collective: Collective::Bcast,
        root: table.hosts[0],
        weights: None,
        segment_bytes,
        throughput_bytes_per_s: bytes_per_s(rate_per_s),
        upper_bound_bytes_per_s: bytes_per_s(pricing.bound.rate / table.unit_s),
        trees: listed.into_iter().map(|(_, tree)| tree).collect(),
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
