//! One broadcast to plan for.

use super::adjust::{fastest_as_run, in_larger_segments, or_flat, worth_relaying};
use super::as_run::predicted_s;
use super::choice::{fastest_on_shared_ports, shared_or_predicted_s, Others};
use super::shared_ports::SharedPorts;
use crate::rank_plan::{expand, RankPlan};
use crate::settings::BEST;
use crate::smpi;
use crate::tags::{channels, CHANNEL_TAGS};
use crate::topology::hosts::Hosts;
use crate::topology::placement::Placement;
use broadleaf::budget::Budget;
use broadleaf::plan::{check, Plan, PlanError};
use broadleaf::planners::{find, supports, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Coarsening, Effort, SegmentChoice};
use std::sync::Arc;
use std::time::Duration;

/// A planner finishes the step in which its time ends, so it gets this part of the requested time.
const BEFORE_LIMIT: f64 = 0.7;

/// Characters of a platform's digest in file names.
const KEY_CHARACTERS: usize = 16;

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Units of work: on a busy node the search takes longer and finds the same plan.
    Work(u64),
    /// The most time, as requested.
    Time(Duration),
}

impl Limit {
    pub fn budget(self) -> Budget {
        match self {
            Limit::Work(units) => Budget::of_work(units),
            Limit::Time(whole) => Budget::within(whole.mul_f64(BEFORE_LIMIT)),
        }
    }
}

/// One broadcast to plan for.
#[derive(Clone)]
pub struct Job {
    pub(super) placement: Arc<Placement>,
    pub(super) hosts: Arc<Hosts>,
    /// One rank takes part for each host whose ranks share memory.
    pub(super) led: bool,
    pub(super) root: u32,
    pub(super) bytes: u64,
}

impl Job {
    pub(super) fn root_node(&self) -> NodeId {
        self.placement.node_of_rank[self.root as usize]
    }

    /// The platform that plans are made for.
    pub fn handled(&self) -> &Platform {
        &self.placement.handled
    }

    /// Whether the planner of that name always ends within the wait of a first broadcast. The error is one line
    /// for the user: the planner does not exist, or does not plan such broadcasts.
    pub fn is_quick(&self, name: &str) -> Result<bool, String> {
        let planner = find(name).map_err(|error| error.to_string())?;
        let instance = Instance::new(&self.placement.handled, self.root_node(), self.bytes);
        let instance = instance.map_err(|error| error.to_string())?;
        supports(planner, &instance).map_err(|unsupported| {
            PlanError::Unsupported { planner: name.to_string(), reason: unsupported.to_string() }.to_string()
        })?;
        Ok(planner.card().profile.is_quick(&instance))
    }

    pub fn plan(&self, name: &str, effort: Effort, limit: Limit) -> Result<Plan, String> {
        let instance = Instance::new(&self.placement.handled, self.root_node(), self.bytes);
        let budget = limit.budget();
        let made = instance.and_then(|instance| {
            let size = SegmentChoice::AtLeast(Coarsening::BUSY.least_bytes);
            let best = make(&instance, name, size, effort, &budget)?;
            // It takes no account of time limits, and too long for a first broadcast. Outside simulated time nothing is gained: among
            // namespaces, 1 MiB took 1.2 times as long in its shorter segments, and as long as before without those.
            let is_by_shared_ports =
                name == BEST && matches!(effort, Effort::Thorough) && !budget.is_timed() && smpi::is_on();
            let others = is_by_shared_ports.then(|| Others::of(&best));
            // Without turns it runs as it is ranked, but for larger segments.
            let plan = match best.plan.period {
                None => in_larger_segments(instance.platform, best.plan)?,
                Some(_) => fastest_as_run(&instance, &self.placement, best, (size, effort), &budget)?,
            };
            if name != BEST {
                return Ok(plan);
            }
            let worth = worth_relaying(&plan);
            let plan = or_flat(&instance, &self.placement, plan, worth)?;
            let Some(others) = others else { return Ok(plan) };
            let ports = SharedPorts::new(&self.placement);
            Ok(fastest_on_shared_ports(&instance, &ports, (plan, others), &|plan| plan))
        });
        made.map_err(|error| error.to_string())
    }

    /// The times of two plans, s, by the prediction that chooses between them.
    pub fn seconds(&self, plans: [&Plan; 2]) -> [f64; 2] {
        match smpi::is_on() {
            true => shared_or_predicted_s(&self.placement, plans),
            false => plans.map(|plan| predicted_s(self.handled(), plan).unwrap_or(f64::INFINITY)),
        }
    }

    /// The platform's name in an advisor's state directory.
    pub(super) fn platform_key(&self) -> String {
        let digest = self.placement.platform.digest();
        digest.trim_start_matches("sha256:").chars().take(KEY_CHARACTERS).collect()
    }

    /// A plan made for the advisor's estimate of this platform, checked for faults.
    pub fn fitting(&self, plan: Plan) -> Result<Plan, String> {
        let platform = &self.placement.handled;
        let plan = plan.bind(platform).map_err(|error| error.to_string())?;
        let plan = Plan { platform_digest: platform.digest().to_string(), ..plan };
        if plan.root != self.root_node() {
            return Err("the plan has another root".to_string());
        }
        match check::faults(platform, &plan).first() {
            None => Ok(plan),
            Some(fault) => Err(format!("the plan is not valid: {fault}")),
        }
    }

    pub fn ranked(&self, plan: &Plan) -> Result<RankPlan, String> {
        // Windows follow the real time of a message.
        let Placement { handled, ranks, .. } = &*self.placement;
        let served = |rank: u32| self.led && self.hosts.shares(self.hosts.of_rank()[rank as usize] as usize);
        let mut ranked =
            expand(plan, handled, ranks, self.root, &served).map_err(|error| error.to_string())?;
        ranked.led = self.led;
        if channels(&ranked.transfers) > u64::from(CHANNEL_TAGS) {
            let trees = ranked.transfers.trees.len();
            return Err(format!("a plan of {trees} trees needs more message tags than MPI has"));
        }
        Ok(ranked)
    }
}
