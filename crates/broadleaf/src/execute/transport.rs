//! The interface of transports, and the loop that runs a node over one.

use super::{Kind, Message, NodeExecutor, Receive};
use crate::platform::NodeId;

/// An event of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's text explains its fields")]
pub enum Completion {
    /// A message to `to` no longer needs its buffer or its place in the window.
    Sent { to: NodeId },
    /// One item of a message from `from` has arrived.
    Received { from: NodeId, kind: Kind, tag: u32, segment: u64 },
}

/// Carries messages between nodes; in-process threads and MPI implement it.
pub trait Transport {
    /// The reason why a message cannot be moved.
    type Error;

    /// Starts a send and returns at once; [`Completion::Sent`] follows.
    ///
    /// # Errors
    /// The transport cannot move it.
    fn send(&mut self, message: &Message) -> Result<(), Self::Error>;

    /// Announces a receive (only for plans whose executor [`is_announced`](NodeExecutor::is_announced)).
    ///
    /// # Errors
    /// The transport cannot receive.
    fn post_receive(&mut self, receive: &Receive) -> Result<(), Self::Error>;

    /// Waits for events and appends them to `done`. Data of one channel is reported in the order of sending: the
    /// executor counts it.
    ///
    /// # Errors
    /// The transport cannot continue.
    fn wait(&mut self, done: &mut Vec<Completion>) -> Result<(), Self::Error>;
}

/// Runs one node's part of a plan to its end.
///
/// # Errors
/// The transport's.
pub fn drive<T: Transport>(executor: &mut NodeExecutor, transport: &mut T) -> Result<(), T::Error> {
    let mut done = Vec::new();
    loop {
        while let Some(receive) = executor.poll_receive() {
            transport.post_receive(&receive)?;
        }
        while let Some(message) = executor.poll_send() {
            transport.send(&message)?;
        }
        if executor.is_finished() {
            return Ok(());
        }
        transport.wait(&mut done)?;
        for completion in done.drain(..) {
            match completion {
                Completion::Sent { to } => executor.handle_sent(to),
                Completion::Received { from, kind, tag, segment } => {
                    executor.handle_received(from, kind, tag, segment);
                }
            }
        }
    }
}
