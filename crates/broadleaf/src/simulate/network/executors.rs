//! The executors of all nodes, with the port model's limits of messages under way.

use crate::budget::Budget;
use crate::execute::{FlowWindow, NodeExecutor};
use crate::plan::{NodeProgram, PlanError, Programs};
use crate::platform::{NodeId, Platform, PortModel};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One for each node. Fails with [`PlanError::OutOfTime`] if the time is up first.
pub(super) fn executors(
    platform: &Platform,
    programs: &Programs,
    budget: &Budget,
) -> Result<Vec<NodeExecutor>, PlanError> {
    let of_port = if programs.transfers().skips_busy() { FlowWindow::PORT.apart() } else { FlowWindow::PORT };
    let mut executors = Vec::with_capacity(platform.node_count());
    for node in platform.nodes() {
        if budget.is_timed() && budget.is_spent() {
            return Err(PlanError::OutOfTime);
        }
        if platform.port_model() != PortModel::LinkCapacity {
            executors.push(NodeExecutor::new(programs, node, |_| of_port));
            continue;
        }
        let program = Arc::new(programs.node(node));
        let links = links_to_peers(programs, &program);
        let window = |to| FlowWindow { messages: links.get(&to).copied().unwrap_or(1), ..FlowWindow::LINK };
        executors.push(NodeExecutor::of(programs, program, window));
    }
    Ok(executors)
}

/// By peer, the number of a node's links by which messages to that peer leave: ways over switches may begin with
/// several.
fn links_to_peers(programs: &Programs, program: &NodeProgram) -> HashMap<NodeId, u32> {
    let mut links = HashMap::new();
    let mut known = HashSet::new();
    for output in &program.outputs {
        let next = programs.switches(program.node, output).first().copied();
        if known.insert((output.to, next)) {
            *links.entry(output.to).or_default() += 1;
        }
    }
    links
}
