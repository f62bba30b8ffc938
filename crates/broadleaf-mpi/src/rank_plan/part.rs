//! One rank's part of a plan over ranks, for messages of one length.

use super::lead::has_leads;
use super::{Between, Edge, RankPlan};
use crate::smpi;
use broadleaf::execute::{FlowWindow, NodeExecutor};
use broadleaf::plan::{Direction, InChannel, NodeProgram, OutChannel, Programs, Transfers};
use broadleaf::platform::NodeId;
use std::sync::Arc;

/// Receives of a timetable in simulated time beyond those in flight; chosen.
const EARLY_RECEIVES: u32 = 4;

/// Where a sender passes over busy receivers and messages have leads, as many times what fills its port is in flight at most: in
/// simulated time it waits for its port in the send, and a lead gets a message ahead only of those that are not yet sent. Chosen.
const PASSING_OVER: u32 = 3;

/// One rank's part in a plan; cheap to clone.
#[derive(Clone, Debug)]
pub struct Part {
    programs: Arc<Programs>,
    program: Arc<NodeProgram>,
    edges: Arc<Vec<Vec<Edge>>>,
    between: Arc<Vec<Between>>,
}

impl Part {
    /// `program` is one of `programs`, which are those of `plan`.
    pub fn new(plan: &RankPlan, programs: Arc<Programs>, program: Arc<NodeProgram>) -> Part {
        let (edges, between) = (Arc::clone(&plan.edges), Arc::clone(&plan.between));
        Part { programs, program, edges, between }
    }

    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    pub fn program(&self) -> &Arc<NodeProgram> {
        &self.program
    }

    pub fn transfers(&self) -> &Transfers {
        self.programs.transfers()
    }

    /// The edge that an output's segments are on their way over.
    pub fn edge(&self, output: &OutChannel) -> Edge {
        match output.is_exchanged {
            true => self.between[output.tree as usize][&(output.child, output.to)],
            false => self.over(output.tree, output.is_inward, output.child),
        }
    }

    /// The same of an input.
    fn edge_in(&self, input: &InChannel) -> Edge {
        match input.is_exchanged {
            true => self.between[input.tree as usize][&(input.child, self.program.node)],
            false => self.over(input.tree, input.is_inward, input.child),
        }
    }

    /// By the edge's lower end.
    fn over(&self, tree: u32, is_inward: bool, child: NodeId) -> Edge {
        let transfers = self.transfers();
        let besides = is_inward && transfers.collective.direction() == Direction::Both;
        let before = if besides { transfers.trees.len() } else { 0 };
        self.edges[before + tree as usize][child.index()]
    }

    /// The executor, with announced receives where the plan allows them.
    pub fn executor(&self) -> NodeExecutor {
        let program = Arc::clone(&self.program);
        let mut executor = NodeExecutor::of(&self.programs, program, |peer| self.window(peer));
        executor.lead(|output| self.edge(output).lead);
        executor.post_ahead(self.ahead());
        executor
    }

    /// The widest window of any edge between this rank and a peer.
    fn window(&self, peer: NodeId) -> FlowWindow {
        let out = self.program.outputs.iter().filter(|output| output.to == peer);
        let (messages, feeds) = out
            .map(|output| self.edge(output))
            .fold((1, 1), |(messages, feeds), edge| (edge.window.max(messages), edge.feeds.max(feeds)));
        // Where two messages keep the link busy, one at a time leaves it idle for less than half of the time.
        let last_alone = !self.program.is_root && messages == 2 && !smpi::is_on();
        // The port's reservations space them already.
        let shares_port = !(self.has_simulated_turns() && messages > 1);
        let window = FlowWindow { messages: messages.into(), shares_port, feeds: feeds.into(), last_alone };
        match self.transfers().skips_busy() {
            true if smpi::is_on() && has_leads(self.transfers().collective) => {
                window.oversubscribed(PASSING_OVER)
            }
            true => window.apart(),
            false => window,
        }
    }

    /// Receives to have posted on a channel: as many as its sender may have in flight, and one more where it makes
    /// one ready meanwhile. A simulated message starts when its receive is posted, and those of a timetable are posted in
    /// its order: with a few more, early messages do not wait for a late one.
    fn ahead(&self) -> u32 {
        let inputs = self.program.inputs.iter();
        let widest = inputs.map(|input| self.edge_in(input).window).max().unwrap_or(1);
        let more = match self.has_simulated_turns() {
            true if widest > 1 => EARLY_RECEIVES,
            _ => u32::from(self.transfers().period.is_none()),
        };
        u32::from(widest) + more
    }

    /// Whether the messages of a timetable wait for reservations of a simulated port.
    fn has_simulated_turns(&self) -> bool {
        smpi::is_on() && self.transfers().period.is_some()
    }
}
