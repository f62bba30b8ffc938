//! The plans that a communicator's ranks have in use, and how many messages a plan keeps in flight.

use crate::rank_plan::carried::Carried;
use broadleaf::adapt::switch;
use broadleaf::execute::{FlowWindow, NodeExecutor};
use broadleaf::platform::NodeId;

pub type PlanVersions = switch::PlanVersions<Carried>;
pub type Current = switch::Current<Carried>;

/// The widest window of any edge between this rank and a peer.
fn window(current: &Current, peer: NodeId) -> FlowWindow {
    let out = current.program.outputs.iter().filter(|output| output.to == peer);
    let edges = out.map(|output| current.carried.edges[output.tree as usize][output.target.index()]);
    let (messages, feeds, paced) = edges.fold((1, 1, false), |(messages, feeds, paced), edge| {
        (messages.max(edge.window), feeds.max(edge.feeds), paced || edge.turn_s > 0.0)
    });
    // Where two keep the link busy, one at a time leaves it idle for less than half of the time.
    let last_alone = !current.program.is_root && messages == 2 && !paced;
    FlowWindow { messages: messages.into(), shares_port: true, feeds: feeds.into(), last_alone }
}

/// Receives to have posted on a channel: as many as its sender may have in flight, and one more where it makes
/// one ready meanwhile ([`crate::rank_plan::window`]).
fn ahead(current: &Current) -> u32 {
    let edges = &current.carried.edges;
    let inputs = current.program.inputs.iter();
    let widest =
        inputs.map(|input| edges[input.tree as usize][input.target.index()].window).max().unwrap_or(1);
    u32::from(widest) + u32::from(current.carried.plan.period.is_none())
}

/// This rank's part in one broadcast, ready to post its receives where they are announced.
pub fn executor(current: &Current) -> NodeExecutor {
    let node = current.program.node;
    let mut executor = NodeExecutor::new(&current.programs, node, |peer| window(current, peer));
    executor.post_ahead(ahead(current));
    executor
}
