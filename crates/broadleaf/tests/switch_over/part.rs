//! One rank's part in one call: its posted receives, and its bytes.

use broadleaf::adapt::switch::{Current, Directive, Header, Listening};
use broadleaf::execute::{FlowWindow, Item, Kind, Message, NodeExecutor};
use broadleaf::plan::Transfers;
use broadleaf::platform::NodeId;
use broadleaf::random::Random;
use std::collections::HashMap;
use std::sync::Arc;

/// Byte `at` of the message of a call.
pub fn content(call: u64, at: u64) -> u8 {
    ((call * 131 + at * 7) % 251) as u8
}

#[derive(Clone)]
pub enum Body {
    Header(Header),
    Plan(Arc<Transfers>),
    Data(Vec<(Item, Vec<u8>)>),
}

pub struct Run {
    pub header: Header,
    pub executor: NodeExecutor,
    /// Segments yet to come on each input, and headers and plans beside them.
    open: HashMap<(u32, u32), u64>,
    headers: Vec<u32>,
    plan_from: Option<u32>,
    pub arrived_plan: Option<Arc<Transfers>>,
    pub plan_children: Vec<u32>,
    pub buffer: Vec<u8>,
    segment_bytes: u64,
}

impl Run {
    pub fn start(
        current: &Current<Arc<Transfers>>,
        header: Header,
        heard: Option<&Listening>,
        random: &mut Random,
    ) -> Run {
        let node = current.program.node;
        let is_root = header.root == node.0;
        let messages = 1 + random.below(4) as u32;
        let executor =
            NodeExecutor::new(&current.programs, node, |_| FlowWindow { messages, ..FlowWindow::PORT });
        let segments = current.programs.segments();
        let inputs = current.program.inputs.iter();
        let open =
            inputs.map(|input| ((input.from.0, input.tag), segments.in_tree(input.tree as usize))).collect();
        let follows = header.order == Directive::RunThenSwitch && !is_root;
        let bytes = (0..header.message_bytes).map(|at| content(header.call, at));
        Run {
            header,
            executor,
            open,
            headers: heard.map_or_else(Vec::new, |heard| heard.missing(current).collect()),
            plan_from: follows.then(|| current.plan_parent.unwrap()),
            arrived_plan: None,
            plan_children: current.plan_children.clone(),
            buffer: if is_root { bytes.collect() } else { vec![255; header.message_bytes as usize] },
            segment_bytes: current.programs.transfers().segment_bytes,
        }
    }

    /// Whether a receive for this message has been posted: MPI matches by sender and tag, in order. The tag of
    /// data does not name the call, so only the count of segments keeps calls apart.
    pub fn wants(&self, from: u32, body: &Body) -> bool {
        match body {
            Body::Header(header) => header.call == self.header.call && self.headers.contains(&from),
            Body::Plan(_) => self.plan_from == Some(from),
            Body::Data(items) => {
                items.iter().all(|(item, _)| self.open.get(&(from, item.tag)).is_some_and(|&left| left > 0))
            }
        }
    }

    /// Gives a plan to pass on.
    pub fn receive(&mut self, from: u32, body: Body) -> Option<Arc<Transfers>> {
        match body {
            Body::Header(_) => self.headers.retain(|&other| other != from),
            Body::Plan(plan) => {
                self.plan_from = None;
                self.arrived_plan = Some(Arc::clone(&plan));
                return Some(plan);
            }
            Body::Data(items) => {
                for (item, bytes) in items {
                    *self.open.get_mut(&(from, item.tag)).unwrap() -= 1;
                    let start = (item.segment * self.segment_bytes) as usize;
                    self.buffer[start..start + bytes.len()].copy_from_slice(&bytes);
                    self.executor.handle_received(NodeId(from), Kind::Data, item.tag, item.segment);
                }
            }
        }
        None
    }

    pub fn data(&self, message: &Message) -> Body {
        let bytes = |item: &Item| {
            let start = item.segment * self.segment_bytes;
            let end = (start + self.segment_bytes).min(self.header.message_bytes);
            self.buffer[start as usize..end as usize].to_vec()
        };
        Body::Data(message.items().map(|item| (item, bytes(&item))).collect())
    }

    pub fn is_done(&self) -> bool {
        self.executor.is_finished() && self.headers.is_empty() && self.plan_from.is_none()
    }
}
