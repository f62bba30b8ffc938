//! Plans for other collectives than broadcasts.

use super::job::Limit;
use super::threads::on_threads;
use crate::rank_plan::allgather::{blocks_over_ranks, ring_by_node, Block};
use crate::rank_plan::{expand, RankPlan};
use crate::settings::{PlanSettings, PlanTime, BEST};
use crate::tags::{channels, CHANNEL_TAGS};
use crate::topology::placement::Placement;
use broadleaf::budget::UNITS_PER_S;
use broadleaf::plan::{Collective, Plan};
use broadleaf::planners::{find, supports, Instance};
use broadleaf::portfolio::{make, Effort, SegmentChoice};

/// The least work of the plan that the first call of a kind waits for where no time was set, units: all its later calls
/// run the same plan.
const FIRST_WORK: u64 = UNITS_PER_S;

/// One collective to plan for, on a block of `bytes` for every rank.
pub struct ExchangeJob<'a> {
    pub placement: &'a Placement,
    pub collective: Collective,
    pub root: u32,
    pub bytes: u64,
    /// Segments end between elements of so many bytes, which divide `bytes`.
    pub element_bytes: u64,
}

impl ExchangeJob<'_> {
    /// By the planner that was asked for, if it plans this collective, else by the best. The error is one line for the
    /// user.
    pub fn plan(&self, settings: &PlanSettings) -> Result<RankPlan, String> {
        let Placement { handled, ranks, node_of_rank, .. } = self.placement;
        let shares_nodes = ranks.iter().any(|ranks| ranks.len() > 1);
        let has_blocks_of_all = matches!(self.collective, Collective::Allgather | Collective::ReduceScatter);
        if has_blocks_of_all && shares_nodes {
            // It goes around the nodes, and so enters each just once.
            let block = Block { bytes: self.bytes, segment_bytes: self.bytes };
            return checked(ring_by_node(self.collective, node_of_rank, block));
        }
        let root = node_of_rank[self.root as usize];
        let instance = Instance::new(handled, root, self.bytes).map_err(|error| error.to_string())?;
        let instance = Instance { collective: self.collective, ..instance };
        let plans_it = |name: &&str| find(name).is_ok_and(|planner| supports(planner, &instance).is_ok());
        let name = Some(settings.planner.as_str()).filter(plans_it).unwrap_or(BEST);
        let effort = match settings.plan_time {
            PlanTime::Beside => Effort::Quick,
            PlanTime::Before => Effort::Thorough,
        };
        let work = settings.plan_time.first_work().max(FIRST_WORK);
        let limit = settings.first_budget.map_or(Limit::Work(work), Limit::Time);
        let made = on_threads(|| make(&instance, name, SegmentChoice::Auto, effort, &limit.budget()));
        let plan = made.map_err(|error| error.to_string())?.plan;
        let segment_bytes = plan.segment_bytes.next_multiple_of(self.element_bytes);
        let plan = Plan { segment_bytes, ..plan };
        let ranked =
            expand(&plan, handled, ranks, self.root, &|_| false).map_err(|error| error.to_string())?;
        checked(if has_blocks_of_all { blocks_over_ranks(&plan, ranked, handled, ranks) } else { ranked })
    }
}

fn checked(ranked: RankPlan) -> Result<RankPlan, String> {
    if channels(&ranked.transfers) <= u64::from(CHANNEL_TAGS) {
        return Ok(ranked);
    }
    let trees = ranked.transfers.trees.len();
    Err(format!("a plan of {trees} trees needs more message tags than MPI has"))
}
