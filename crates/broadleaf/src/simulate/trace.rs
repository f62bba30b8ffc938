//! What a simulation saw.

use crate::model::Resource;
use crate::platform::NodeId;

/// One transfer over one hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The hop's sender.
    pub from: NodeId,
    /// The hop's receiver.
    pub to: NodeId,
    /// The tree of its first segment.
    pub tree: u32,
    /// The first segment it carries.
    pub segment: u64,
    /// Segments it carries: more than one where combined, none for a control message.
    pub segments: u32,
    /// Length of the message.
    pub bytes: u64,
    /// When it begins to leave the sender, seconds.
    pub start_s: f64,
    /// The sender's port is free again.
    pub release_s: f64,
    /// When its last byte is there, seconds.
    pub arrival_s: f64,
}

/// The outcome of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The latest finish, local broadcasts included, seconds.
    pub makespan_s: f64,
    /// When each node has its message (and has broadcast it locally); 0 for the root, not a number for
    /// switches, seconds.
    pub finish_s: Vec<f64>,
    /// How many transfers there were, control messages and relayed hops included.
    pub transfer_count: u64,
    /// Every transfer in the order of request, if they were recorded.
    pub transfers: Vec<Transfer>,
    /// How long each resource that was used was held in all, seconds.
    pub busy_s: Vec<(Resource, f64)>,
}
