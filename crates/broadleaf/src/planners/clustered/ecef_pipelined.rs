//! ECEF for pipelines: the host that can have the first segment earliest is next, and no host is busier than a
//! budget.
//!
//! In a pipeline every segment follows the first at the pace P of the busiest sender or pipe, so the broadcast ends
//! (k − 1)·P after the last first segment. ECEF of a single segment makes the first arrivals early; without a limit a
//! few senders would send to all others, at a slow pace. So a sender takes no receiver, and a pipe no send, that
//! makes it busy for longer than a budget per segment. Small budgets give a quick pace and deep trees, large ones the
//! reverse. The best budget and number of segments by the pipeline's formula are taken. There is no further search,
//! so thousands of hosts take a fraction of a second, where `makespan` has no time to anneal.
//!
//! Reference: own; after ECEF of Barchet-Steffenel and Mounié, section 3.3.
//! Cost: a + (k − 1)·P, a = the latest first arrival. Complexity: O(budgets · n · kinds), kinds = hosts that differ.
//! Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, NodeId, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let hosts: Vec<NodeId> = ["r", "x", "y", "z"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 1.0));
//! builder.add_mesh(Mesh { nodes: hosts.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let depth = |segments: u64| {
//!     let instance = Instance::new(&platform, hosts[0], 100).unwrap().segmented(100 / segments);
//!     find("ecef-pipelined").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap().trees[0].depth(hosts[0])
//! };
//! // Whole, ECEF's binomial tree: every holder sends. In many segments, a chain: every node sends once.
//! assert_eq!((depth(1), depth(100)), (2, 3));
//! ```

use super::frontier::Frontier;
use super::heuristic::{least_s, supports};
use super::modelled_segments::SegmentCounts;
use super::pipeline_time::Pipeline;
use super::segmented_tree::{budgets, TRIED_PAIRS};
use super::units::Units;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError, Predicted};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported, LARGE_NODES};

pub(crate) struct EcefPipelined;

static CARD: Card = Card {
    name: "ecef-pipelined",
    summary: "ECEF of one segment at a time, where no sender and no pipe is busier than a budget",
    reference: "own; after ECEF in Barchet-Steffenel and Mounié, section 3.3",
    objective: "makespan of one message in segments, over thousands of hosts in clusters",
    guarantee: "none",
    complexity: "O(budgets · n · kinds of hosts)",
    profile: Profile {
        pace,
        least_s,
        segments: Segmentation::Guided { whole: |_, count| count, modelled: modelled_count },
        ..Profile::QUICK
    },
};

impl Planner for EcefPipelined {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        supports(instance)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let hosts = Units::of_hosts(instance);
        let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
        let (makespan_s, parents) = tree(&hosts, segments, &of_trees(&hosts, budget));
        let mut pipeline = Pipeline::new(&hosts.grid, segments);
        pipeline.makespan_s(&parents);
        let plan = instance.tree_plan(CARD.name, hosts.graft(instance, &pipeline.sends()));
        let predicted = Predicted { makespan_s: Some(makespan_s), ..Predicted::default() };
        Ok(Plan { predicted, ..plan })
    }
}

/// Nodes times kinds of hosts above which it takes many seconds: 3 s of one core for 36 million, from
/// `benches/many_nodes.py --nodes 30000 --sizes 64KiB --planner ecef-pipelined`.
const MOST_PAIRS: usize = 50_000_000;

/// First where other planners take far longer; late where it takes many seconds itself.
fn pace(instance: &Instance) -> Pace {
    let nodes = instance.platform.node_count();
    // A cluster's coordinator is of one kind, its other hosts of another.
    let kinds = 2 * instance.platform.clusters().len();
    if nodes > LARGE_NODES && nodes * kinds <= MOST_PAIRS {
        Pace::First
    } else {
        Pace::Slow
    }
}

/// The model is as accurate as a simulation, and faster. It makes at least one tree beside the plan's.
fn modelled_count(instance: &Instance, most: u64, budget: &Budget) -> Option<u64> {
    if budget.is_too_short_for(2.0 * least_s(instance)) {
        return None;
    }
    let budget = &of_trees(&Units::of_hosts(instance), budget);
    let modelled_s = |sized: &Instance, count| tree(&Units::of_hosts(sized), count, budget).0;
    Some(COUNTS.best(instance, most, budget, modelled_s))
}

/// The budget of a search of trees. Those of some thousand hosts in clusters are examined in any case, since `best` has no
/// other pipeline for them in a program's first broadcast.
fn of_trees(hosts: &Units, budget: &Budget) -> Budget {
    let (count, kinds) = (hosts.grid.len(), hosts.grid.kinds());
    match count * kinds <= FEW_PAIRS && kinds * HOSTS_A_KIND <= count {
        true => Budget::UNLIMITED,
        false => budget.clone(),
    }
}

/// Pairs that a tree may examine: fewer within a short time limit, as all trees of a search share it.
fn tried_pairs(budget: &Budget) -> usize {
    let within = |units: u64| usize::try_from(units).unwrap_or(usize::MAX).saturating_mul(PAIRS_PER_UNIT);
    budget.asked().map_or(TRIED_PAIRS, |units| (within(units) / TREES).clamp(LEAST_PAIRS, TRIED_PAIRS))
}

/// Where ranks share processors, or one process simulates them all, each message takes time that no platform states: so
/// many messages must gain more.
const COUNTS: SegmentCounts =
    SegmentCounts { start: 64, worth_twice: 1.03, worth_many: 1.15, many_messages: 150_000 };

/// Pairs examined in a unit of work, measured by `benches/time_limits.py random-1000`.
const PAIRS_PER_UNIT: usize = 75;

/// Trees that a search of the segment size usually makes.
const TREES: usize = 6;

const LEAST_PAIRS: usize = 4_000_000;

/// Hosts of a kind at least, on average, where hosts are in clusters. Chosen.
const HOSTS_A_KIND: usize = 2;

/// Pairs of hosts and kinds up to which a search takes a fraction of a second. Chosen.
const FEW_PAIRS: usize = 100_000;

/// The makespan by the formula, seconds, and each host's parent; the root is its own parent. After a time limit, the best so
/// far.
fn tree(hosts: &Units, segments: u64, budget: &Budget) -> (f64, Vec<u32>) {
    let grid = &hosts.grid;
    let of_segment = grid.divided(segments as f64);
    let mut pipeline = Pipeline::new(grid, segments);
    let mut best: Option<(f64, Vec<u32>)> = None;
    for budget_s in budgets(&of_segment, tried_pairs(budget)) {
        if best.is_some() && budget.is_timed() && budget.is_spent() {
            break;
        }
        let Some(parents) = parents(Frontier::within_budget(&of_segment, budget_s)) else { continue };
        let makespan_s = pipeline.makespan_s(&parents);
        if best.as_ref().is_none_or(|best| makespan_s < best.0) {
            best = Some((makespan_s, parents));
        }
    }
    best.expect("without a budget everyone is reached")
}

/// The tree that a frontier grows; `None` where a host is out of reach.
fn parents(mut frontier: Frontier) -> Option<Vec<u32>> {
    while frontier.send_to_least(|arrival_s, _| arrival_s).is_some() {}
    frontier.into_parents()
}
