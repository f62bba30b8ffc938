//! The optimal all-gather of long blocks: trees from every host, and the order in which all ports serve them.
//!
//! [`allgather_trees`] finds trees of equal share from every host under the common port capacities, and the bound. A
//! period moves one segment along each tree ([`in_turn`]). Where ports serve several transfers at a time, the trees
//! share them without an order.
//!
//! Cost: Σ of the blocks' loads on the busiest resource, and the last segment's way.

use super::candidate::Candidate;
use super::in_turn::in_turn;
use super::period_layout::Layout;
use super::settings::blocks::{
    ALLGATHER_TREES, COUNTS, LEAST_PERIODS, MOST_LISTED, MOST_SEGMENTED, MOST_TIMETABLED,
};
use super::{quickest, refused};
use crate::budget::Budget;
use crate::optimum::{allgather_trees, BlockTrees, WeightedTree};
use crate::plan::{throughput, Period, Plan, PlanError, Predicted, Tree};
use crate::planners::Instance;
use crate::platform::{NodeId, PortModel};

/// Pairs of hosts whose trees are found and put in order in a second. Measured: 10 µs each on `grid5000-88`
/// (`benches/time_limits.py grid5000-88 --collective allgather`).
const PAIRS_PER_S: f64 = 1e5;

pub(super) fn plan(instance: &Instance, planner: &str, budget: &Budget) -> Result<Plan, PlanError> {
    let platform = instance.platform;
    let (found, count) = trees(instance, budget)?;
    let period = listed(instance, &found, count, budget).map(|(_, period)| period);
    let plan_tree = |(root, tree): &(NodeId, WeightedTree)| {
        let mut tree = tree.plan_tree();
        tree.root = Some(*root);
        tree
    };
    let trees: Vec<Tree> = found.trees.iter().map(plan_tree).collect();
    let plan = Plan { collective: instance.collective, period, ..super::tree_plan(instance, planner, trees) };
    let finite = |rate: f64| Some(rate).filter(|rate| rate.is_finite());
    let predicted = Predicted {
        throughput_bytes_per_s: finite(throughput(platform, &plan)?),
        bound_bytes_per_s: finite(found.upper_bound_bytes_per_s),
        ..Predicted::default()
    };
    Ok(Plan { predicted, ..plan })
}

/// The number of segments, up to `most`, with which the listed transfers end first; `None` without a period.
pub(super) fn segments(instance: &Instance, most: u64, budget: &Budget) -> Option<u64> {
    let time_s = |count: u64| -> Option<f64> {
        let sized = instance.segmented(instance.message_bytes.div_ceil(count));
        let (found, trees) = trees(&sized, budget).ok()?;
        listed(&sized, &found, trees, budget).map(|(done_s, _)| done_s)
    };
    let hosts = instance.platform.hosts().count() as u64;
    let is_short = |count: u64| count == 1 || count * hosts * hosts <= MOST_SEGMENTED;
    let mut counts = COUNTS.into_iter().filter(|&count| count <= most && is_short(count));
    // The plan's trees are found again.
    if budget.is_too_short_for(2.0 * (hosts * hosts) as f64 / PAIRS_PER_S) {
        return counts.next();
    }
    quickest(counts, budget, time_s)
}

/// The trees, and how many each host has.
fn trees(instance: &Instance, budget: &Budget) -> Result<(BlockTrees, usize), PlanError> {
    let Instance { platform, segment_bytes, weights, .. } = *instance;
    let hosts = platform.hosts().count();
    let segments = instance.message_bytes.div_ceil(segment_bytes);
    let count = (MOST_LISTED / (hosts * hosts)).clamp(1, ALLGATHER_TREES).min(segments as usize);
    Ok((allgather_trees(platform, segment_bytes, weights, count, budget).map_err(refused)?, count))
}

/// When all transfers are done, seconds, and their order; `None` where ports serve several transfers at a time.
///
/// Few segments go tree by tree without a wait for a later period; many keep all ports busy in a timetable.
fn listed(instance: &Instance, found: &BlockTrees, count: usize, budget: &Budget) -> Option<(f64, Period)> {
    if matches!(instance.platform.port_model(), PortModel::MultiPort | PortModel::LinkCapacity) {
        return None;
    }
    let layout = || Layout::of_blocks(instance, &found.trees);
    let periods = instance.message_bytes.div_ceil(instance.segment_bytes).div_ceil(count as u64);
    let trees: Vec<WeightedTree> = found.trees.iter().map(|(_, tree)| tree.clone()).collect();
    let listed = in_turn(layout(), periods, budget);
    let transfers = found.trees.len() * found.trees.len() / count;
    if periods < LEAST_PERIODS || transfers > MOST_TIMETABLED {
        return Some(listed);
    }
    let timetabled = Candidate::new(trees, layout(), periods * found.trees.len() as u64, budget);
    match timetabled.period() {
        Some(period) if timetabled.done_s < listed.0 => Some((timetabled.done_s, period)),
        _ => Some(listed),
    }
}
