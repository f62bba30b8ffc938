//! The in-process transport: a thread per host, real bytes moved between their buffers.

use super::{drive, Completion, FlowWindow, Item, Kind, Message, NodeExecutor, Receive, Transport};
use crate::plan::{Collective, NodeProgram, Programs};
use crate::platform::NodeId;
use std::collections::HashMap;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

/// Without a message for this long, the plan is deadlocked.
const STALL: Duration = Duration::from_secs(60);

/// The reason why a run in threads stopped early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum ThreadsError {
    #[error("node {0} has waited {secs} s for a message; the plan blocks itself", secs = STALL.as_secs())]
    Stalled(NodeId),
    #[error("node {0} stopped before its peers were done")]
    PeerGone(NodeId),
}

struct Parcel {
    from: NodeId,
    kind: Kind,
    /// (tag, segment) of each item.
    items: Vec<(u32, u64)>,
    bytes: Vec<u8>,
}

struct Threads<'a> {
    node: NodeId,
    programs: &'a Programs,
    program: Arc<NodeProgram>,
    buffer: &'a mut [u8],
    /// Segments that this node only relays, by tree, edge and segment.
    scratch: HashMap<(u32, NodeId, u64), Vec<u8>>,
    /// By segment, the sum of what other heads of an exchange have sent; the buffer keeps this one's own to the end.
    exchanged: HashMap<u64, Vec<u8>>,
    inbox: Receiver<Parcel>,
    peers: &'a HashMap<NodeId, Sender<Parcel>>,
    sent: Vec<NodeId>,
}

impl Threads<'_> {
    fn range(&self, segment: u64) -> std::ops::Range<usize> {
        let (start, length) = self.programs.place(segment);
        start as usize..(start + length) as usize
    }

    /// Stores an arrived segment in the message buffer, or in scratch if it is only relayed. A reduction adds bytes one
    /// by one, wrapping.
    fn store(&mut self, from: NodeId, tag: u32, segment: u64, bytes: &[u8]) {
        let input = self.program.input(from, tag);
        let input = self.program.inputs[input];
        if input.target != self.node {
            self.scratch.insert((input.tree, input.child, segment), bytes.to_vec());
            return;
        }
        let range = self.range(segment);
        if input.is_exchanged {
            add(self.exchanged.entry(segment).or_insert_with(|| vec![0; range.len()]), bytes);
        } else if input.combines {
            add(&mut self.buffer[range], bytes);
        } else {
            self.buffer[range].copy_from_slice(bytes);
        }
    }

    /// Adds the sums of other heads to this one's own, once all sends are over.
    fn end_exchange(&mut self) {
        for (segment, sum) in std::mem::take(&mut self.exchanged) {
            let range = self.range(segment);
            add(&mut self.buffer[range], &sum);
        }
    }
}

/// Byte by byte, wrapping.
fn add(held: &mut [u8], bytes: &[u8]) {
    held.iter_mut().zip(bytes).for_each(|(held, byte)| *held = held.wrapping_add(*byte));
}

impl Threads<'_> {
    /// The bytes to send of a segment that this node holds: of an exchange, its own sum, and to others the whole one.
    fn held(&self, item: Item) -> Vec<u8> {
        let mut bytes = self.buffer[self.range(item.segment)].to_vec();
        if let Some(sum) = self.exchanged.get(&item.segment).filter(|_| !item.exchanged) {
            add(&mut bytes, sum);
        }
        bytes
    }
}

impl Transport for Threads<'_> {
    type Error = ThreadsError;

    fn send(&mut self, message: &Message) -> Result<(), ThreadsError> {
        let mut bytes = Vec::new();
        if message.kind == Kind::Data {
            for item in message.items() {
                if item.relayed {
                    let relayed = self.scratch.remove(&(item.tree, item.child, item.segment));
                    bytes.extend(relayed.expect("a relay sends what it received"));
                } else {
                    bytes.extend(self.held(item));
                }
            }
        }
        let items = message.items().map(|item| (item.tag, item.segment)).collect();
        let parcel = Parcel { from: self.node, kind: message.kind, items, bytes };
        self.peers[&message.to].send(parcel).map_err(|_| ThreadsError::PeerGone(message.to))?;
        self.sent.push(message.to);
        Ok(())
    }

    fn post_receive(&mut self, _: &Receive) -> Result<(), ThreadsError> {
        Ok(())
    }

    fn wait(&mut self, done: &mut Vec<Completion>) -> Result<(), ThreadsError> {
        if !self.sent.is_empty() {
            done.extend(self.sent.drain(..).map(|to| Completion::Sent { to }));
            return Ok(());
        }
        let parcel = self.inbox.recv_timeout(STALL).map_err(|error| match error {
            RecvTimeoutError::Timeout => ThreadsError::Stalled(self.node),
            RecvTimeoutError::Disconnected => ThreadsError::PeerGone(self.node),
        })?;
        let Parcel { from, kind, items, bytes } = parcel;
        let mut at = 0;
        for (tag, segment) in items {
            if kind == Kind::Data {
                let length = self.range(segment).len();
                self.store(from, tag, segment, &bytes[at..at + length]);
                at += length;
            }
            done.push(Completion::Received { from, kind, tag, segment });
        }
        Ok(())
    }
}

/// Runs a plan with one thread per host and returns every node's buffer (switches': empty).
///
/// `message` holds all blocks, in the order of the hosts: one for a broadcast. A node starts with its own contribution,
/// and for the rest with bytes that all differ from `message`; in a reduction every host contributes `message`.
///
/// # Errors
/// As [`run_on`].
pub fn run(programs: &Programs, message: &[u8]) -> Result<Vec<Vec<u8>>, ThreadsError> {
    run_on(programs, |node| initial(programs, node, message))
}

/// Runs a plan with one thread per host, each with its buffer from `initial`, and returns the buffers after the plan
/// (switches': empty). Reductions add bytes, wrapping.
///
/// # Errors
/// A node that waits for a minute without a message, or that stopped before its peers.
pub fn run_on(
    programs: &Programs,
    initial: impl Fn(NodeId) -> Vec<u8>,
) -> Result<Vec<Vec<u8>>, ThreadsError> {
    let count = programs.node_count() as u32;
    let takes_part = |node: &NodeId| {
        let program = programs.node(*node);
        program.is_root || !program.inputs.is_empty() || !program.outputs.is_empty()
    };
    let nodes: Vec<NodeId> = (0..count).map(NodeId).filter(takes_part).collect();
    let mut senders = HashMap::new();
    let mut inboxes = HashMap::new();
    for &node in &nodes {
        let (sender, inbox) = channel();
        senders.insert(node, sender);
        inboxes.insert(node, inbox);
    }
    let mut buffers: Vec<Vec<u8>> = vec![Vec::new(); count as usize];
    let senders = &senders;
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let node = NodeId(index as u32);
            let Some(inbox) = inboxes.remove(&node) else { continue };
            *buffer = initial(node);
            let bytes = programs.total_bytes();
            assert_eq!(bytes, buffer.len() as u64, "the plan is for a message of another size");
            running.push(scope.spawn(move || {
                let mut executor = NodeExecutor::new(programs, node, |_| FlowWindow::PORT);
                let mut transport = Threads {
                    node,
                    programs,
                    program: executor.program().clone(),
                    buffer,
                    scratch: HashMap::new(),
                    exchanged: HashMap::new(),
                    inbox,
                    peers: senders,
                    sent: Vec::new(),
                };
                drive(&mut executor, &mut transport)?;
                transport.end_exchange();
                Ok(())
            }));
        }
        running.into_iter().try_for_each(|thread| thread.join().expect("a node's thread panicked"))
    })?;
    Ok(buffers)
}

fn initial(programs: &Programs, node: NodeId, message: &[u8]) -> Vec<u8> {
    let program = programs.node(node);
    let mut buffer: Vec<u8> = message.iter().map(|byte| !byte).collect();
    let own = match programs.transfers().collective {
        Collective::Reduce | Collective::ReduceScatter | Collective::Allreduce => 0..message.len(),
        Collective::Bcast | Collective::Scatter if program.is_root => 0..message.len(),
        Collective::Bcast | Collective::Scatter => 0..0,
        Collective::Allgather | Collective::Gather => {
            let (start, bytes) = programs.blocks().range(program.block);
            start as usize..(start + bytes) as usize
        }
    };
    buffer[own.clone()].copy_from_slice(&message[own]);
    buffer
}
