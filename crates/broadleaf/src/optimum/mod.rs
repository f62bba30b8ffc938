//! What no plan can beat: the steady-state throughput optimum over any number of trees, with its proof.
//!
//! A long message in equal segments goes over spanning trees, each carrying a share. A segment over an edge
//! occupies resources for the windows of [`crate::model::occupation`]; no resource may be busy for more
//! than a second a second. The most that trees can carry together is
//!
//! max Σ x_t with Σ_t x_t · load_t(r) ≤ 1 for every resource r,
//!
//! which is the value of program (2) of Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous
//! platforms* (by Edmonds' theorem on disjoint branchings). The proof is a price p_r ≥ 0 for each resource:
//! every tree costs at least the cheapest arborescence under these prices, so no packing carries more than
//! Σ p / cheapest. [`certificate::check`] verifies both sides and shares no code with the solver.
//!
//! ```
//! use broadleaf::optimum::{solve, Limits};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! // The chain keeps every in-port busy all the time, and nothing receives faster.
//! let optimum = solve(&platform, nodes[0], 10, 1e-6, Limits::default()).unwrap();
//! assert!((optimum.throughput_bytes_per_s - 100.0).abs() < 1e-3);
//! assert!(optimum.upper_bound_bytes_per_s < 100.001);
//! ```

mod arborescence;
mod balance_loads;
pub mod certificate;
mod column_generation;
mod cut_relaxation;
mod drawn_trees;
mod equal_trees;
mod error;
mod makespan_bound;
mod occupation_table;
mod simplex;
mod switch_paths;

pub use equal_trees::{equal_trees, rates_by_trees};
pub use error::OptimumError;
pub use makespan_bound::{allgather_bound_s, makespan_bound_s};
pub use occupation_table::{link_count, MOST_LINKS};

use crate::model::Resource;
use crate::plan::{Tree, TreeBuilder};
use crate::platform::{NodeId, Platform, PortModel};
use balance_loads::balance;
use column_generation::{generate, Master, Packing, Pricing};
use drawn_trees::Draw;
use occupation_table::OccupationTable;
use std::collections::{BTreeMap, HashMap};

/// How much work a search may do; the same limits give the same result on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Cheapest trees asked for at most.
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { rounds: 4_000 }
    }
}

/// A spanning tree and the part of the segments it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedTree {
    /// > 0; the shares of all trees sum to 1.
    pub share: f64,
    /// By node; `None` for the root and for switches.
    pub parent: Vec<Option<NodeId>>,
    /// The switches that relay the transfer into a node, in order from its parent.
    pub via: BTreeMap<NodeId, Vec<NodeId>>,
}

/// Why the value may be out of reach, although nothing can exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundOnly {
    /// One port for both directions: on three nodes with unit links the program says 0.75, the truth is 0.5.
    UnidirectionalOnePort,
    /// Both directions at once only with the same partner; the program lets them differ.
    SamePartner,
    /// A transfer needs several resources at once, whose free times need not meet.
    MultiPort,
    /// As for multi-port: ports and an exclusive shared resource must be free together.
    SharedResources,
}

impl std::fmt::Display for BoundOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BoundOnly::UnidirectionalOnePort => {
                "bound: under unidirectional one-port, conflicts of three nodes can keep any plan below it"
            }
            BoundOnly::SamePartner => {
                "bound: under one-port-same-partner, sending and receiving wait for each other where partners differ"
            }
            BoundOnly::MultiPort => {
                "bound: under multi-port, the windows of one transfer need not fit together"
            }
            BoundOnly::SharedResources => {
                "bound: with exclusive shared resources, the windows of one transfer need not fit together"
            }
        })
    }
}

/// The throughput optimum, enclosed from both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    pub root: NodeId,
    pub segment_bytes: u64,
    /// What `trees` carry when their busiest resource is always busy; infinite where nothing limits.
    pub throughput_bytes_per_s: f64,
    /// Σ prices / cheapest tree under them: no packing of trees carries more.
    pub upper_bound_bytes_per_s: f64,
    /// Largest share first.
    pub trees: Vec<WeightedTree>,
    /// n_uv, the segments a second over each link at that throughput, by (from, to); links of 0 left out.
    pub link_load: Vec<(NodeId, NodeId, f64)>,
    /// The certificate above: a price for each resource, summing to 1, zeros left out.
    pub prices: Vec<(Resource, f64)>,
    /// Cheapest trees asked for.
    pub rounds: usize,
    /// Set where the value is a bound that schedules need not reach.
    pub bound_only: Option<BoundOnly>,
}

impl Optimum {
    /// (upper bound − throughput) / upper bound; 0 where both are infinite.
    pub fn gap(&self) -> f64 {
        if self.throughput_bytes_per_s == self.upper_bound_bytes_per_s {
            return 0.0;
        }
        1.0 - self.throughput_bytes_per_s / self.upper_bound_bytes_per_s
    }

    /// The trees for a plan, children by id.
    pub fn plan_trees(&self) -> Vec<Tree> {
        self.trees.iter().map(WeightedTree::plan_tree).collect()
    }
}

impl WeightedTree {
    /// The links the tree uses, those through switches included, by receiver.
    pub fn hops(&self) -> Vec<(NodeId, NodeId)> {
        let mut hops = Vec::new();
        for (to, parent) in self.parent.iter().enumerate() {
            let (Some(parent), to) = (*parent, NodeId(to as u32)) else { continue };
            let mut from = parent;
            for &next in self.via.get(&to).into_iter().flatten().chain([&to]) {
                hops.push((from, next));
                from = next;
            }
        }
        hops
    }

    /// The tree for a plan, children by id.
    pub fn plan_tree(&self) -> Tree {
        let mut builder = TreeBuilder::new(self.parent.len()).share(self.share);
        for (child, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                let child = NodeId(child as u32);
                builder.add(*parent, child);
                if let Some(relays) = self.via.get(&child) {
                    builder.via(child, relays.clone());
                }
            }
        }
        builder.build()
    }
}

/// The optimum for segments of `segment_bytes` from `root`, to a relative `gap` between the throughput of
/// the returned trees and the proved upper bound.
///
/// Where the limits end the search first, the result is as valid, and [`Optimum::gap`] says how far apart
/// the two still are. Deterministic; ties go to the lower node id.
///
/// # Errors
/// A gap that is not positive, an empty segment, a root that is a switch, hosts out of reach, and more than
/// [`MOST_LINKS`] links.
pub fn solve(
    platform: &Platform,
    root: NodeId,
    segment_bytes: u64,
    gap: f64,
    limits: Limits,
) -> Result<Optimum, OptimumError> {
    if gap.is_nan() || gap <= 0.0 {
        return Err(OptimumError::Gap(gap));
    }
    let mut table = OccupationTable::new(platform, root, segment_bytes)?;
    let (pricing, packing) = enclose(&mut table, gap, limits);
    Ok(report(platform, &table, &pricing, &packing, segment_bytes))
}

/// Prices that bound the rate, and trees that come within the gap of it.
fn enclose(table: &mut OccupationTable, gap: f64, limits: Limits) -> (Pricing, Packing) {
    let mut pricing = Pricing::new(table);
    let even = vec![1.0 / table.resources.len().max(1) as f64; table.resources.len()];
    let (first, _) = pricing.tree(table, &even);
    let packing = if pricing.bound.rate.is_finite() {
        pack(table, &mut pricing, first, gap, limits)
    } else {
        // A tree that occupies nothing, or no node to send to.
        Packing { trees: vec![(1.0, first)] }
    };
    (pricing, packing)
}

/// Up to this many vertices, generating trees from the first one on is quicker than a cover.
const FEW_VERTICES: usize = 70;
/// Up to this many, the cover need only be rough, because generating trees finishes it quickly.
const SOME_VERTICES: usize = 300;
const ROUGH_SWEEPS: usize = 240;
const SWEEPS: usize = 20_000;
/// Numbers of equal-share trees drawn before trees are generated one by one.
const DRAWN: [usize; 5] = [4, 8, 16, 32, 64];
/// Drawing goes on while it gains this factor.
const DRAWING_HELPS: f64 = 1.001;
/// The part of the gap that the cover may leave open.
const COVER_PART: f64 = 0.3;

fn pack(
    table: &mut OccupationTable,
    pricing: &mut Pricing,
    first: Vec<u32>,
    gap: f64,
    limits: Limits,
) -> Packing {
    let mut centre = pricing.bound.clone();
    let mut master = Master::new(table.resources.len());
    master.add(table, first, true);
    // A cover is over direct links; which paths lead through switches is only known as trees ask for them.
    if table.hops.is_empty() && table.graph.vertices > FEW_VERTICES {
        let rough = table.graph.vertices <= SOME_VERTICES;
        let sweeps = if rough { ROUGH_SWEEPS } else { SWEEPS };
        let fraction = cut_relaxation::solve(table, pricing, gap * COVER_PART, sweeps);
        let draw = Draw::new(table, fraction, &pricing.bound);
        let mut reached = 0.0;
        for count in DRAWN {
            let mut slots = draw.slots(table, count, 0);
            balance(table, &mut slots, &draw.into, count as f64 / pricing.bound.rate);
            for slot in 0..count {
                master.add(table, slots.tree(slot), true);
            }
            master.start_rows();
            let packing = generate(table, pricing, &mut master, &mut centre, gap, 0);
            let rate = packing.rate(table);
            if rate >= pricing.bound.rate * (1.0 - gap) {
                return packing;
            }
            // More of the same no longer helps: what is missing is a better bound, or trees made to measure.
            if rate < reached * DRAWING_HELPS {
                break;
            }
            reached = rate;
        }
    }
    master.start_rows();
    generate(table, pricing, &mut master, &mut centre, gap, limits.rounds)
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
        let tree = weighted(platform, table, rate / total, entering);
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

/// The tree in terms of the platform's nodes.
fn weighted(platform: &Platform, table: &OccupationTable, share: f64, entering: &[u32]) -> WeightedTree {
    let mut tree = WeightedTree { share, parent: vec![None; platform.node_count()], via: BTreeMap::new() };
    for (vertex, &edge) in entering.iter().enumerate().skip(1) {
        let to = table.hosts[vertex];
        tree.parent[to.index()] = Some(table.hosts[table.graph.from[edge as usize] as usize]);
        let relays = table.relays_of(edge as usize);
        if !relays.is_empty() {
            tree.via.insert(to, relays.to_vec());
        }
    }
    tree
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
