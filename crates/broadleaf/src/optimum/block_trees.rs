//! Trees for a scatter or an all-gather, and prices that bound every other set of trees.
//!
//! A scatter sends every host its own block, an all-gather sends every host's block to all others. With trees t of
//! shares x_t for each block the busiest resource is held for τ = max_r Σ x_t · load_t(r); a scatter's tree loads an
//! edge once for every block below it. The least τ is a linear program. As for one root, prices p_r ≥ 0 prove a bound:
//! Σ_b w_b · C_b(p) ≤ τ · Σ p, where C_b is the least cost of block b, over a cheapest path (scatter) or a cheapest
//! arborescence from its host (all-gather), and w_b its weight.
//!
//! The trees are found one by one, each the cheapest under prices that rise steeply with the loads of all others, and
//! then again and again (Garg and Könemann, *Faster and simpler algorithms for multicommodity flow and other fractional
//! packing problems*, 2007, with equal trees in place of small steps: a plan needs few trees of equal share).
//! O(sweeps · trees · cheapest tree); many roots choose a few at a time, from one contraction.

use super::cheapest_from::{Cheapest, NONE};
use super::demand::Demand;
use super::error::OptimumError;
use super::gateways::gateways;
use super::occupation_table::{held_by_segments, refuse, OccupationTable};
use super::solution::WeightedTree;
use crate::budget::Budget;
use crate::model::Resource;
use crate::plan::Collective;
use crate::platform::{Hop, NodeId, Platform};
use std::ops::Range;

/// The power of a load in its price. Chosen: lower ones leave more load on the busiest resource, higher ones let it
/// jump from one resource to another.
const POWER: i32 = 11;
/// The price of an idle resource beside that of the busiest: of equally loaded trees the shorter one is taken.
const IDLE: f64 = 1e-4;
/// Times that each tree is chosen again. Chosen: the loads hardly change after the fourth.
const SWEEPS: usize = 6;
/// Steps in which all roots choose a tree each: in each step an equal part of them, under the same prices; fewer than
/// twice as many roots choose one by one. Chosen: a hundredth of the trees hardly changes a load, and of 1,000 roots ten
/// share a contraction.
const STEPS: usize = 100;
/// Powers of the loads tried as prices of the bound.
const BOUND_POWERS: [i32; 4] = [6, 12, 24, 48];
/// The price of an edge that is not a gateway, far above all others.
const BARRED: f64 = 1e6;
/// Edges of a cheapest tree per unit of work.
const EDGES_PER_UNIT: usize = 10;

/// Trees of equal share and the bound.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockTrees {
    /// One for each share (scatter), or for each share and host, hosts by id (all-gather); all shares of a root sum
    /// to 1.
    pub trees: Vec<(NodeId, WeightedTree)>,
    /// The bytes of a block of weight 1 that the trees move a second, while the busiest resource is always busy.
    pub throughput_bytes_per_s: f64,
    /// No trees move more.
    pub upper_bound_bytes_per_s: f64,
    /// The prices that prove it, summing to 1, zeros left out.
    pub prices: Vec<(Resource, f64)>,
}

/// `count` trees of equal share for a scatter from `root` in segments of `segment_bytes`; `weights` by node.
///
/// # Errors
/// Those of [`super::solve()`].
pub fn scatter_trees(
    platform: &Platform,
    root: NodeId,
    segment_bytes: u64,
    weights: Option<&[f64]>,
    count: usize,
    budget: &Budget,
) -> Result<BlockTrees, OptimumError> {
    block_trees(Collective::Scatter, platform, root, segment_bytes, weights, count, budget)
}

/// `count` trees of equal share from every host for an all-gather in segments of `segment_bytes`; `weights` by node.
///
/// # Errors
/// Those of [`super::solve()`], for each host as the root.
pub fn allgather_trees(
    platform: &Platform,
    segment_bytes: u64,
    weights: Option<&[f64]>,
    count: usize,
    budget: &Budget,
) -> Result<BlockTrees, OptimumError> {
    block_trees(Collective::Allgather, platform, any_host(platform), segment_bytes, weights, count, budget)
}

/// A table, the prices of its resources, summing to 1, and the rate that they prove, in blocks per unit of time.
pub(crate) struct Priced {
    pub table: OccupationTable,
    pub prices: Vec<f64>,
    pub rate: f64,
}

/// Prices that prove a bound for a scatter of `weights` blocks by node, whose hops hold `held`, seconds.
pub(crate) fn scatter_prices(
    platform: &Platform,
    root: NodeId,
    held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    weights: &[f64],
    budget: &Budget,
) -> Result<Priced, OptimumError> {
    block_prices(Collective::Scatter, platform, root, held, weights, budget)
}

/// The same for an all-gather.
pub(crate) fn allgather_prices(
    platform: &Platform,
    held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    weights: &[f64],
    budget: &Budget,
) -> Result<Priced, OptimumError> {
    block_prices(Collective::Allgather, platform, any_host(platform), held, weights, budget)
}

fn any_host(platform: &Platform) -> NodeId {
    platform.hosts().next().expect("a platform has a host")
}

/// Trees of each block's root whose loads make the prices of a bound: more make better prices.
fn trees_for_prices(demand: &Demand) -> usize {
    match demand {
        Demand::Allgather(_) => 2,
        Demand::Broadcast | Demand::Scatter(_) => 16,
    }
}

/// The program of blocks in segments of `segment_bytes`.
pub(super) fn segment_table(
    collective: Collective,
    platform: &Platform,
    root: NodeId,
    segment_bytes: u64,
    weights: Option<&[f64]>,
) -> Result<OccupationTable, OptimumError> {
    block_table(collective, platform, root, held_by_segments(platform, segment_bytes)?, weights)
}

/// The program of blocks: its trees may have any root.
fn block_table(
    collective: Collective,
    platform: &Platform,
    root: NodeId,
    held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    weights: Option<&[f64]>,
) -> Result<OccupationTable, OptimumError> {
    if collective == Collective::Allgather {
        // If any host reaches all and is reached by all, so does every host.
        refuse(platform.reversed(), root)?;
    }
    let mut table = OccupationTable::of_any_root(platform, root, held)?;
    let weight = |host: &NodeId| weights.map_or(1.0, |weights| weights[host.index()]);
    let weights = table.hosts.iter().map(weight).collect();
    table.demand = Demand::of(collective, weights).ok_or(OptimumError::NoProgram(collective))?;
    Ok(table)
}

fn block_prices(
    collective: Collective,
    platform: &Platform,
    root: NodeId,
    held: impl FnMut(Hop) -> Vec<(Resource, f64)>,
    weights: &[f64],
    budget: &Budget,
) -> Result<Priced, OptimumError> {
    let table = block_table(collective, platform, root, held, Some(weights))?;
    let may_use = vec![true; table.edge_count()];
    let mut search = Search::new(&table, may_use, trees_for_prices(&table.demand));
    search.sweep(budget);
    let (rate, prices) = search.bound();
    Ok(Priced { table, prices, rate })
}

/// Rounds of different trees and prices of the resources, to start from.
pub(super) struct Swept {
    pub rounds: Vec<Vec<u32>>,
    pub prices: Vec<Vec<f64>>,
}

/// Those of a few sweeps over direct links. While the trees are farther than `gap` from the bound, each is split in two
/// that are chosen again, `most_splits` times at most.
pub(super) fn swept(table: &OccupationTable, gap: f64, most_splits: usize, budget: &Budget) -> Swept {
    let mut search = Search::new(table, vec![true; table.edge_count()], trees_for_prices(&table.demand));
    search.sweep(budget);
    for _ in 0..most_splits {
        if search.bound().0 * search.busiest() <= 1.0 + gap || budget.is_spent() {
            break;
        }
        search.split();
        search.sweep(budget);
    }
    let rounds = search.trees.chunks(search.roots()).map(<[Vec<u32>]>::concat).collect();
    Swept { rounds, prices: BOUND_POWERS.iter().map(|&power| normed(prices(&search.load, power))).collect() }
}

fn block_trees(
    collective: Collective,
    platform: &Platform,
    root: NodeId,
    segment_bytes: u64,
    weights: Option<&[f64]>,
    count: usize,
    budget: &Budget,
) -> Result<BlockTrees, OptimumError> {
    let table = segment_table(collective, platform, root, segment_bytes, weights)?;
    let may_use = match table.demand {
        Demand::Allgather(_) => gateways(platform, &table),
        Demand::Broadcast | Demand::Scatter(_) => vec![true; table.edge_count()],
    };
    let mut search = Search::new(&table, may_use, count);
    search.sweep(budget);
    let (bound, prices) = search.bound();
    let bytes_per_s = |rate: f64| rate / table.unit_s * segment_bytes as f64;
    let share = 1.0 / count as f64;
    let tree = |at: usize| {
        (table.hosts[search.root_of(at)], WeightedTree::of(platform, &table, share, &search.trees[at]))
    };
    let mut order: Vec<usize> = (0..search.trees.len()).collect();
    // Sets of one tree a root, hosts by id.
    order.sort_by_key(|&at| (at / search.roots(), table.hosts[search.root_of(at)]));
    let priced = table.resources.iter().copied().zip(prices).filter(|&(_, price)| price > 0.0);
    Ok(BlockTrees {
        trees: order.into_iter().map(tree).collect(),
        throughput_bytes_per_s: bytes_per_s(1.0 / search.busiest()),
        upper_bound_bytes_per_s: bytes_per_s(bound),
        prices: priced.collect(),
    })
}

struct Search<'a> {
    table: &'a OccupationTable,
    /// By edge.
    may_use: Vec<bool>,
    share: f64,
    /// Roots that choose a tree each under the same prices.
    at_once: usize,
    /// Of a load in its price.
    power: i32,
    /// The entering edge of each vertex; `NONE` for the root, and for all of a tree that is not chosen yet.
    trees: Vec<Vec<u32>>,
    /// By resource, for all blocks.
    load: Vec<f64>,
    cheapest: Cheapest,
}

impl<'a> Search<'a> {
    fn new(table: &'a OccupationTable, may_use: Vec<bool>, count: usize) -> Search<'a> {
        let vertices = table.hosts.len();
        Search {
            table,
            may_use,
            share: 1.0 / count as f64,
            at_once: (table.demand.trees(vertices) / STEPS).max(1),
            power: POWER,
            trees: vec![vec![NONE; vertices]; count * table.demand.trees(vertices)],
            load: vec![0.0; table.resources.len()],
            cheapest: Cheapest::new(&table.graph),
        }
    }

    fn roots(&self) -> usize {
        self.table.demand.trees(self.table.hosts.len())
    }

    /// The vertex of a tree's root.
    fn root_of(&self, tree: usize) -> usize {
        tree % self.roots()
    }

    /// Twice as many trees of half the share, as many steps of a sweep; smaller shares allow steeper prices.
    fn split(&mut self) {
        self.trees.extend_from_within(..);
        self.share /= 2.0;
        self.at_once *= 2;
        self.power *= 2;
    }

    fn busiest(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }

    /// Chooses every tree, then each again under the loads of the others; the best of the sweeps is kept.
    fn sweep(&mut self, budget: &Budget) {
        let mut best: Option<(f64, Vec<Vec<u32>>, Vec<f64>)> = None;
        let units = (self.table.edge_count() / EDGES_PER_UNIT) as u64;
        let (roots, at_once) = (self.roots(), self.at_once);
        for _ in 0..SWEEPS {
            for first in (0..self.trees.len()).step_by(roots) {
                for root in (0..roots).step_by(at_once) {
                    budget.spend(units);
                    self.choose(first, root..roots.min(root + at_once));
                }
            }
            let busiest = self.busiest();
            if best.as_ref().is_none_or(|(least, ..)| busiest < *least) {
                best = Some((busiest, self.trees.clone(), self.load.clone()));
            }
            if budget.is_spent() {
                break;
            }
        }
        (_, self.trees, self.load) = best.expect("there is a sweep");
    }

    /// Chooses the trees from `first` on of these roots under the loads of all others.
    fn choose(&mut self, first: usize, roots: Range<usize>) {
        roots.clone().for_each(|root| self.add(first + root, -self.share));
        let prices = prices(&self.load, self.power);
        let barred = |edge: usize| if self.may_use[edge] { 0.0 } else { BARRED };
        let weight = |edge: usize| self.table.weight(edge, &prices) + barred(edge);
        let weights: Vec<f64> = (0..self.table.edge_count()).map(weight).collect();
        for (root, (tree, _)) in roots.clone().zip(self.cheapest(roots, &weights)) {
            self.trees[first + root] = tree;
            self.add(first + root, self.share);
        }
    }

    /// The cheapest trees of these roots under the weights of edges, and the costs of their blocks, weighted.
    fn cheapest(&mut self, roots: Range<usize>, weights: &[f64]) -> Vec<(Vec<u32>, f64)> {
        self.table.demand.cheapest_from(&mut self.cheapest, &self.table.graph, roots, weights)
    }

    /// Adds `share` of a tree's blocks to the loads; a tree that is not chosen yet has none.
    fn add(&mut self, tree: usize, share: f64) {
        self.table.add_from(tree % self.roots(), &self.trees[tree], share, &mut self.load);
    }

    /// The best bound on 1 / τ, and its prices, summing to 1.
    fn bound(&mut self) -> (f64, Vec<f64>) {
        let mut best = (f64::INFINITY, vec![0.0; self.load.len()]);
        for power in BOUND_POWERS {
            let prices = normed(prices(&self.load, power));
            let edges = self.table.edge_count();
            let weights: Vec<f64> = (0..edges).map(|edge| self.table.weight(edge, &prices)).collect();
            let cost: f64 = self.cheapest(0..self.roots(), &weights).iter().map(|(_, cost)| cost).sum();
            if cost > 0.0 && 1.0 / cost < best.0 {
                best = (1.0 / cost, prices);
            }
        }
        best
    }
}

/// Prices that rise with the loads, the busiest resource's about 1.
fn prices(load: &[f64], power: i32) -> Vec<f64> {
    let most = load.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    load.iter().map(|load| (load.max(0.0) / most).powi(power) + IDLE).collect()
}

/// The same, summing to 1.
fn normed(mut prices: Vec<f64>) -> Vec<f64> {
    let sum: f64 = prices.iter().sum();
    prices.iter_mut().for_each(|price| *price /= sum);
    prices
}
