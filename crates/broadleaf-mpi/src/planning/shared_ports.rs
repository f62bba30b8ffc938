//! The predicted time of a plan whose messages share ports, as ranks run it.

use crate::rank_plan::expand;
use crate::rank_plan::part::Part;
use crate::smpi::{self, Port};
use crate::topology::placement::Placement;
use crate::transport::IN_FRAME_BYTES;
use broadleaf::budget::Budget;
use broadleaf::execute::Message;
use broadleaf::plan::{Plan, PlanError, Programs};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::simulate::{simulate_shared, transfers_of, Sending, SharedRun, UNITS_PER_TRANSFER};
use std::sync::Arc;

/// More nodes are not simulated: each has its executor.
const MOST_NODES: usize = 1000;

/// The ranks of a placement, on ports that their messages share.
pub struct SharedPorts<'a> {
    placement: &'a Placement,
    platform: Platform,
}

impl<'a> SharedPorts<'a> {
    pub fn new(placement: &'a Placement) -> SharedPorts<'a> {
        SharedPorts { placement, platform: placement.at_once() }
    }

    /// Its ports serve all messages at once.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The makespan of a plan with one rank a node, seconds, as [`SharedPorts::simulated`].
    pub fn seconds(&self, plan: &Plan, longest_s: f64, budget: &Budget) -> Result<f64, PlanError> {
        self.simulated(plan, longest_s, budget).map(|run| run.makespan_s)
    }

    /// A plan with one rank a node; stopped if it takes longer than `longest_s`. Fails at once where the budget is too small for
    /// any simulation.
    pub fn simulated(&self, plan: &Plan, longest_s: f64, budget: &Budget) -> Result<SharedRun, PlanError> {
        let handled = &self.placement.handled;
        let nodes = handled.node_count();
        let edges = (plan.trees.len() + plan.inward.len()).saturating_mul(nodes) as u64;
        let least = transfers_of(handled, plan).saturating_add(edges);
        if nodes > MOST_NODES || least.saturating_mul(UNITS_PER_TRANSFER) > budget.left() {
            return Err(PlanError::OutOfTime);
        }
        if handled.hosts().count() < nodes {
            return Err(PlanError::BadRequest("it has switches".to_string()));
        }
        let ranks: Vec<Vec<u32>> = (0..handled.node_count() as u32).map(|rank| vec![rank]).collect();
        let ranked = expand(plan, handled, &ranks, plan.root.0, &|_| false)?;
        let programs = Arc::new(Programs::for_ranks(Arc::clone(&ranked.transfers)));
        let part = |node| Part::new(&ranked, Arc::clone(&programs), Arc::new(programs.node(node)));
        let parts: Vec<Part> = handled.nodes().map(part).collect();
        let executors = parts.iter().map(Part::executor).collect();
        let ports = parts.iter().map(|_| Port::default()).collect();
        let mut sending = Ranks { parts, ports, segment_bytes: plan.segment_bytes };
        simulate_shared(&self.platform, &programs, executors, &mut sending, (longest_s, budget))
    }
}

/// As [`crate::transport::MpiTransport`] sends.
struct Ranks {
    parts: Vec<Part>,
    ports: Vec<Port>,
    segment_bytes: u64,
}

impl Sending for Ranks {
    fn starts_s(&mut self, from: NodeId, message: &Message, bytes: u64, now_s: f64) -> f64 {
        let Some(output) = message.output.filter(|_| smpi::is_on()) else { return now_s };
        let part = &self.parts[from.index()];
        let turn = part.edge(&part.program().outputs[output as usize]).turn;
        self.ports[from.index()].start_s(now_s, turn, bytes as f64 / self.segment_bytes as f64)
    }

    fn is_announced_apart(&self, bytes: u64) -> bool {
        bytes > IN_FRAME_BYTES
    }

    fn goes_in_order(&self) -> bool {
        !smpi::is_on()
    }
}
