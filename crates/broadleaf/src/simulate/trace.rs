//! The record of a simulation.

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
    /// Number of its segments: above 1 if combined, 0 for a control message.
    pub segments: u32,
    /// Length of the message.
    pub bytes: u64,
    /// The time at which it begins to leave the sender, seconds.
    pub start_s: f64,
    /// The time at which the sender's port is free again.
    pub release_s: f64,
    /// The time at which its last byte has arrived, seconds.
    pub arrival_s: f64,
}

/// The outcome of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The latest finish, local broadcasts included, seconds.
    pub makespan_s: f64,
    /// The time at which each node has its message (and has broadcast it locally), seconds; 0 for the root, NaN for
    /// switches.
    pub finish_s: Vec<f64>,
    /// The number of transfers, control messages and relayed hops included.
    pub transfer_count: u64,
    /// Every transfer in the order of request, if they were recorded.
    pub transfers: Vec<Transfer>,
    /// The total time for which each used resource was held, seconds.
    pub busy_s: Vec<(Resource, f64)>,
}
