//! The makespan bound that the throughput optimum's prices prove.
//!
//! Let p_r ≥ 0 be prices of the resources that sum to 1, and C the least that a spanning tree for the whole message
//! costs when holding resource r for a second costs p_r, every hop at its best size. Each byte reaches the hosts over
//! some spanning tree, so together the m bytes hold the resources for Σ p_r · held_r ≥ C. The windows of r are
//! disjoint. They lie between the earliest time of a first byte there, begin_r, and the makespan plus the time by which
//! they may outlast an arrival, after_r (mostly negative: a window at a sender ends a latency before). So held_r ≤
//! max(0, makespan − ready_r) with ready_r = begin_r − after_r, and the makespan is at least the t at which Σ p_r ·
//! max(0, t − ready_r) = C.
//!
//! That holds for any prices. Those of the optimum make it tight for long messages: then every resource has the whole time.
//! For shorter ones a resource that is ready late counts less. So the optimum is solved again with each resource slower
//! by what the known bound t leaves of it, t / (t − ready_r): its prices for that network, as prices of seconds there, are
//! the best for this one where t is the makespan (Dinkelbach's method, On nonlinear fractional programming, Management
//! Science 1967).

use super::crossing::Crossings;
use super::imprint::Role;
use super::lanes::{Held, Lanes};
use crate::budget::Budget;
use crate::model::Resource;
use crate::optimum::block_trees::{allgather_prices, scatter_prices, Priced};
use crate::optimum::enclose::{enclose, Limits};
use crate::optimum::occupation_table::{link_count, OccupationTable};
use crate::platform::{Hop, NodeId, Platform, PortModel};
use std::collections::HashMap;

/// Beyond this many links the prices take longer than a first plan may.
const MOST_LINKS: usize = 20_000;
/// The same for an all-gather, whose prices take a cheapest tree for each host.
const MOST_TREE_LINKS: usize = 1_000_000;
/// Links of cheapest trees that the first prices pass in a second. Measured: 60 ms for 88 trees of 7,656 links
/// (`benches/time_limits.py grid5000-88`).
const TREE_LINKS_PER_S: f64 = 1e7;
/// The relative gap of the prices to the best ones, and the limit of their work.
const GAP: f64 = 1e-3;
const LIMITS: Limits = Limits { rounds: 200 };
/// How often the prices are recomputed for a higher bound, and the gain below which that ends.
const ROUNDS: usize = 4;
const LEAST_GAIN: f64 = 1e-3;
/// The least part of the known bound that a resource counts as ready for, also where its first byte comes later.
const LEAST_PART: f64 = 1e-3;

/// Argument 5 for nodes that have their first byte at `first_s`, without local broadcasts, seconds; 0 where it gives
/// no bound. `known_s` is a bound by other arguments.
pub(super) fn priced_s(
    platform: &Platform,
    root: NodeId,
    message_bytes: u64,
    first_s: &[f64],
    crossings: &Crossings,
    known_s: f64,
    budget: &Budget,
) -> f64 {
    if link_count(platform) > MOST_LINKS {
        return 0.0;
    }
    let mut held = HeldResources::new(platform, first_s, crossings);
    // Hosts out of reach are left out of the bound, but the optimum is not defined with them.
    let of_hop = |hop: Hop| held.of_hop(hop, message_bytes as f64);
    let Ok(mut table) = OccupationTable::of(platform, root, of_hop) else { return 0.0 };
    let bound = enclose(&mut table, GAP, LIMITS, budget).0.bound;
    let mut priced_s = held.carried_s(&table, &bound.prices, bound.rate);
    for _ in 0..ROUNDS {
        let until_s = known_s.max(priced_s);
        if until_s <= 0.0 || budget.is_spent() {
            break;
        }
        let ready_s: HashMap<Resource, f64> =
            held.all.iter().map(|(&resource, held)| (resource, held.ready_s())).collect();
        let part = |resource: &Resource| ((until_s - ready_s[resource]) / until_s).max(LEAST_PART);
        let of_hop = |hop: Hop| {
            let holds = held.of_hop(hop, message_bytes as f64).into_iter();
            holds.map(|(resource, seconds)| (resource, seconds / part(&resource))).collect()
        };
        let Ok(mut table) = OccupationTable::of(platform, root, of_hop) else { break };
        let bound = enclose(&mut table, GAP, LIMITS, budget).0.bound;
        let prices =
            table.resources.iter().zip(&bound.prices).map(|(resource, price)| price / part(resource));
        let again_s = held.carried_s(&table, &prices.collect::<Vec<f64>>(), bound.rate);
        if again_s <= priced_s.max(known_s) * (1.0 + LEAST_GAIN) {
            return priced_s.max(again_s);
        }
        priced_s = again_s;
    }
    priced_s
}

/// The same for blocks of `block_bytes` by node: C is the sum of what each block costs by itself, over a cheapest path
/// from a scatter's root, or, without one, over a cheapest tree from its host.
pub(super) fn priced_blocks_s(
    platform: &Platform,
    scatter_root: Option<NodeId>,
    block_bytes: &[u64],
    crossings: &Crossings,
    budget: &Budget,
) -> f64 {
    let hosts = platform.hosts().count();
    let has_switches = hosts < platform.node_count();
    let trees = if scatter_root.is_some() { 1 } else { hosts };
    let links = link_count(platform);
    if has_switches || links > MOST_LINKS || links * trees > MOST_TREE_LINKS || budget.is_spent() {
        return 0.0;
    }
    // The trees of the first prices cannot be stopped.
    if !budget.has_time_for((links * trees) as f64 / TREE_LINKS_PER_S) {
        return 0.0;
    }
    let from_the_start = vec![0.0; platform.node_count()];
    let mut held = HeldResources::new(platform, &from_the_start, crossings);
    let of_hop = |hop: Hop| held.of_hop(hop, 1.0);
    let weights: Vec<f64> = block_bytes.iter().map(|&bytes| bytes as f64).collect();
    let found = match scatter_root {
        Some(root) => scatter_prices(platform, root, of_hop, &weights, budget),
        None => allgather_prices(platform, of_hop, &weights, budget),
    };
    let Ok(Priced { table, prices, rate }) = found else { return 0.0 };
    held.carried_s(&table, &prices, rate)
}

/// How each resource is held by the platform's links.
struct HeldResources<'a> {
    platform: &'a Platform,
    first_s: &'a [f64],
    crossings: &'a Crossings<'a>,
    all: HashMap<Resource, Held>,
}

impl<'a> HeldResources<'a> {
    fn new(platform: &'a Platform, first_s: &'a [f64], crossings: &'a Crossings<'a>) -> HeldResources<'a> {
        HeldResources { platform, first_s, crossings, all: HashMap::new() }
    }

    /// The least time for which `bytes` bytes hold the resources of a hop, seconds.
    fn of_hop(&mut self, hop: Hop, bytes: f64) -> Vec<(Resource, f64)> {
        let ready_s = self.first_s[hop.from.index()];
        let imprints = self.crossings.imprints(hop);
        let held = imprints.on.iter().map(|imprint| {
            let resource = held_resource(self.platform, imprint.role, hop);
            let held = Held::of(imprint, ready_s);
            self.all.entry(resource).and_modify(|known| *known = known.and(held)).or_insert(held);
            (resource, imprint.s_per_byte * bytes)
        });
        held.collect()
    }

    /// The least time in which the resources can be held for what the prices prove, seconds: C is 1 / rate in the table's
    /// unit of time.
    fn carried_s(&self, table: &OccupationTable, prices: &[f64], rate: f64) -> f64 {
        if !rate.is_finite() {
            return 0.0;
        }
        let mut lanes = Lanes::default();
        for (resource, &price) in table.resources.iter().zip(prices) {
            lanes.rated(self.all[resource].ready_s(), price);
        }
        lanes.carried_s(table.unit_s / rate)
    }
}

fn held_resource(platform: &Platform, role: Role, hop: Hop) -> Resource {
    match role {
        Role::Out => Resource::Out(hop.from),
        Role::In if platform.port_model() == PortModel::OnePortUnidirectional => Resource::Out(hop.to),
        Role::In => Resource::In(hop.to),
        Role::Link => Resource::Link(hop.from, hop.to),
        Role::Shared(shared) => Resource::Shared(shared),
    }
}
