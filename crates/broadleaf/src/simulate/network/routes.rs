//! The hops of every message between two hosts, over its tree's switches.

use super::reservations::{HopTiming, Reservations};
use crate::execute::NodeExecutor;
use crate::plan::{PlanError, Programs};
use crate::platform::{Hop, NodeId, Platform};
use crate::simulate::hops::explicit_hops;
use std::collections::HashMap;

/// The size of a rendezvous control message, bytes.
pub const CONTROL_BYTES: u64 = 1;

struct MessageRoute {
    hops: Vec<Hop>,
    /// Each hop's timing for a full segment; made on first use.
    full: Vec<HopTiming>,
}

/// The routes of all messages.
pub struct Routes<'a> {
    platform: &'a Platform,
    routes: Vec<MessageRoute>,
    /// By node and output.
    of_output: Vec<Vec<u32>>,
    /// Of control messages, by ordered pair.
    back: HashMap<(NodeId, NodeId), u32>,
}

impl<'a> Routes<'a> {
    pub fn new(
        platform: &'a Platform,
        programs: &Programs,
        executors: &[NodeExecutor],
    ) -> Result<Self, PlanError> {
        let mut routes = Routes { platform, routes: Vec::new(), of_output: Vec::new(), back: HashMap::new() };
        let mut known = HashMap::new();
        for (node, executor) in platform.nodes().zip(executors) {
            let mut of_node = Vec::new();
            for output in &executor.program().outputs {
                let switches = programs.switches(node, output);
                let key = (node, output.to, switches);
                let route = match known.get(&key) {
                    Some(&route) => route,
                    None => {
                        let route = routes.add(explicit_hops(platform, node, output.to, &key.2)?);
                        known.insert(key, route);
                        route
                    }
                };
                of_node.push(route);
            }
            routes.of_output.push(of_node);
        }
        Ok(routes)
    }

    fn add(&mut self, hops: Vec<Hop>) -> u32 {
        self.routes.push(MessageRoute { hops, full: Vec::new() });
        self.routes.len() as u32 - 1
    }

    pub fn hops(&self, route: u32) -> &[Hop] {
        &self.routes[route as usize].hops
    }

    pub fn of_output(&self, node: NodeId, output: u32) -> u32 {
        self.of_output[node.index()][output as usize]
    }

    /// The route of a `ready` answer: the link back, or the quickest path.
    pub fn back(&mut self, from: NodeId, to: NodeId) -> Result<u32, PlanError> {
        if let Some(&route) = self.back.get(&(from, to)) {
            return Ok(route);
        }
        let id = |node: NodeId| self.platform.node(node).id.clone();
        let path = self.platform.route(from, to, CONTROL_BYTES);
        let hops = path.ok_or_else(|| PlanError::NoPath { from: id(from), to: id(to) })?.hops;
        let route = self.add(hops);
        self.back.insert((from, to), route);
        Ok(route)
    }

    /// The timing of one hop for a full segment of `bytes`.
    pub fn full_timing(
        &mut self,
        route: u32,
        hop: usize,
        bytes: u64,
        reservations: &mut Reservations,
    ) -> &HopTiming {
        let MessageRoute { hops, full } = &mut self.routes[route as usize];
        if full.is_empty() {
            *full = hops.iter().map(|&hop| reservations.timing(hop, bytes)).collect();
        }
        &full[hop]
    }
}
