//! The resources that a transfer occupies: the table on which throughput, bounds and simulation are based.
//!
//! A transfer u→v of s bytes that starts at t holds some resources, each for a window relative to t, and
//! arrives a latency later. Port models differ only in which resources:
//!
//! | port model | windows |
//! | --- | --- |
//! | one-port | out(u) `[0, T]`, in(v) `[latency, latency + T]` |
//! | one-port-unidirectional | port(u) `[0, T]`, port(v) `[latency, latency + T]` |
//! | one-port-same-partner | as one-port; besides, u has no other partner than v in `[0, T]`, v none than u in
//! `[latency, latency + T]` |
//! | multi-port | out(u) `[0, send]`, link `[0, T]`, in(v) `[latency + T − recv, latency + T]` |
//! | link-capacity | link `[0, T]` |
//!
//! (Who talks to whom is no resource that adds up: an exchange counts once. The simulator keeps to it; throughput
//! and bounds are those of one-port, and no more than bounds there.)
//!
//! and each shared resource r that the link uses, `[0, s / bandwidth of r]`, under every model. The
//! transfer arrives at latency + T. A switch has no ports: give a trunk between switches a shared resource
//! to limit it (under multi-port and link-capacity the link itself does).

use crate::platform::{Hop, NodeId, Platform, PortModel, SharedId};

/// Something that one transfer at a time can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// The sending side of a node; under unidirectional one-port the node's only port.
    Out(NodeId),
    /// The receiving side of a node.
    In(NodeId),
    /// The link from one node to another.
    Link(NodeId, NodeId),
    /// A resource that several links use.
    Shared(SharedId),
}

/// A resource held for `[start + offset_s, start + offset_s + duration_s]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// What is occupied.
    pub resource: Resource,
    /// From the transfer's start, seconds; negative where it is occupied earlier.
    pub offset_s: f64,
    /// For how long, seconds.
    pub duration_s: f64,
}

/// All windows of one transfer, relative to its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupation {
    /// One for each resource that the transfer occupies.
    pub windows: Vec<Window>,
    /// When the sender may start its next transfer (under link-capacity: on this link), seconds.
    pub release_s: f64,
    /// When the receiver holds the data, seconds.
    pub arrival_s: f64,
}

/// The windows of a transfer of `bytes` over one hop. Windows of no duration are left out.
pub fn occupation(platform: &Platform, hop: Hop, bytes: u64) -> Occupation {
    let busy_s = platform.transfer_s(hop.class, bytes);
    let shared_s = |shared: SharedId, bytes| bytes / platform.shared()[shared.index()].bandwidth_bytes_per_s;
    occupation_of(platform, hop, bytes, busy_s, shared_s)
}

/// The same where T(s) is `busy_s`, and a shared resource is held for `shared_s` of the bytes through it.
pub fn occupation_of(
    platform: &Platform,
    hop: Hop,
    bytes: u64,
    busy_s: f64,
    shared_s: impl Fn(SharedId, f64) -> f64,
) -> Occupation {
    let class = platform.class(hop.class);
    let latency_s = class.latency_s;
    let link = Resource::Link(hop.from, hop.to);
    let mut windows = Vec::with_capacity(3 + class.uses.len());
    let mut hold = |resource, offset_s, duration_s| {
        if duration_s > 0.0 {
            windows.push(Window { resource, offset_s, duration_s });
        }
    };
    let (from_port, to_port) = (platform.node(hop.from).is_host(), platform.node(hop.to).is_host());
    let mut release_s = busy_s;
    match platform.port_model() {
        PortModel::OnePort | PortModel::OnePortSamePartner => {
            if from_port {
                hold(Resource::Out(hop.from), 0.0, busy_s);
            }
            if to_port {
                hold(Resource::In(hop.to), latency_s, busy_s);
            }
        }
        PortModel::OnePortUnidirectional => {
            if from_port {
                hold(Resource::Out(hop.from), 0.0, busy_s);
            }
            if to_port {
                hold(Resource::Out(hop.to), latency_s, busy_s);
            }
        }
        PortModel::MultiPort => {
            if from_port {
                release_s = send_s(platform, hop, bytes, busy_s);
                hold(Resource::Out(hop.from), 0.0, release_s);
            }
            hold(link, 0.0, busy_s);
            if to_port {
                let recv_s = recv_s(platform, hop, bytes, busy_s);
                hold(Resource::In(hop.to), latency_s + busy_s - recv_s, recv_s);
            }
        }
        PortModel::LinkCapacity => hold(link, 0.0, busy_s),
    }
    for (shared, times) in class.shared_uses() {
        hold(Resource::Shared(shared), 0.0, shared_s(shared, f64::from(times) * bytes as f64));
    }
    Occupation { windows, release_s, arrival_s: latency_s + busy_s }
}

/// The sender's part under multi-port: the link's own, else the node's NIC, else T.
fn send_s(platform: &Platform, hop: Hop, bytes: u64, busy_s: f64) -> f64 {
    let class = platform.class(hop.class);
    match (class.send, platform.node(hop.from).out_bytes_per_s) {
        (Some(send), _) => send.seconds(bytes),
        (None, Some(rate)) => bytes as f64 / rate,
        (None, None) => busy_s,
    }
}

/// The receiver's part under multi-port: the link's own, else the node's NIC, else T.
fn recv_s(platform: &Platform, hop: Hop, bytes: u64, busy_s: f64) -> f64 {
    let class = platform.class(hop.class);
    match (class.recv, platform.node(hop.to).in_bytes_per_s) {
        (Some(recv), _) => recv.seconds(bytes),
        (None, Some(rate)) => bytes as f64 / rate,
        (None, None) => busy_s,
    }
}
