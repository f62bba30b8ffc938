//! The cost of a message between two hosts: the pLogP gap and latency of whole messages, from the occupation table.

use crate::model::occupation;
use crate::planners::Instance;
use crate::platform::{Hop, NodeId, Platform, PortModel, Route};

/// Gap and latency of the whole message, which may travel in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::planners) struct SendTimes {
    /// How long the sender is occupied, seconds.
    pub gap_s: f64,
    /// From then until the receiver has the message, seconds.
    pub latency_s: f64,
}

impl SendTimes {
    pub const NONE: SendTimes = SendTimes { gap_s: f64::INFINITY, latency_s: f64::INFINITY };
}

/// The costs between hosts of one instance.
pub(in crate::planners) struct HostTimes<'a> {
    platform: &'a Platform,
    full_segments: u64,
    segment_bytes: u64,
    tail_bytes: u64,
    /// Whether latencies are those of each segment rather than of the whole message.
    by_segment: bool,
    /// By link class, where the cost does not depend on hosts.
    known: Vec<Option<SendTimes>>,
}

impl<'a> HostTimes<'a> {
    pub fn new(instance: &Instance<'a>) -> Self {
        let full_segments = instance.message_bytes.div_ceil(instance.segment_bytes) - 1;
        HostTimes {
            platform: instance.platform,
            full_segments,
            segment_bytes: instance.segment_bytes,
            tail_bytes: instance.message_bytes - full_segments * instance.segment_bytes,
            by_segment: false,
            known: vec![None; instance.platform.classes().len()],
        }
    }

    /// With the latency from the end of a segment's gap to its arrival; the caller adds the effect of shared
    /// resources on the whole message.
    pub fn by_segment(instance: &Instance<'a>) -> Self {
        HostTimes { by_segment: true, ..HostTimes::new(instance) }
    }

    /// Over the direct link, if there is one.
    pub fn direct(&mut self, from: NodeId, to: NodeId) -> Option<SendTimes> {
        let class = self.platform.link(from, to)?;
        // Only under multi-port do the hosts' own rates matter.
        if self.platform.port_model() == PortModel::MultiPort {
            return Some(self.over(&[Hop { from, to, class }]));
        }
        if let Some(cost) = self.known[class.index()] {
            return Some(cost);
        }
        let cost = self.over(&[Hop { from, to, class }]);
        self.known[class.index()] = Some(cost);
        Some(cost)
    }

    /// From one host to many, over the quickest paths where there is no link.
    pub fn routed(&mut self, from: NodeId, targets: &[NodeId]) -> Vec<SendTimes> {
        let platform = self.platform;
        let routes = platform.routes(from, targets, self.segment_bytes);
        let cost = |(&to, route): (&NodeId, Option<Route>)| match route {
            _ if to == from => SendTimes::NONE,
            None => SendTimes::NONE,
            Some(route) => self.direct(from, to).unwrap_or_else(|| self.over(&route.hops)),
        };
        targets.iter().zip(routes).map(cost).collect()
    }

    /// Segments follow each other through the hops at the pace of the slowest; the first sender is occupied by its
    /// own part of each segment.
    fn over(&self, hops: &[Hop]) -> SendTimes {
        let parts = |bytes: u64| hops.iter().map(move |&hop| occupation(self.platform, hop, bytes));
        let release_s = |bytes: u64| parts(bytes).next().map_or(0.0, |first| first.release_s);
        // A held resource delays the next segment.
        let pace_s = |bytes: u64| {
            parts(bytes)
                .flat_map(|part| part.windows)
                .map(|window| window.duration_s)
                .fold(release_s(bytes), f64::max)
        };
        let travel_s: f64 = parts(self.tail_bytes).map(|part| part.arrival_s).sum();
        if self.full_segments == 0 {
            let gap_s = release_s(self.tail_bytes);
            // Computed exactly by port model, so that equal latencies stay equal.
            let latency_s = match (hops, self.platform.port_model()) {
                (&[hop], PortModel::OnePort | PortModel::OnePortUnidirectional) => {
                    self.platform.class(hop.class).latency_s
                }
                _ => travel_s - gap_s,
            };
            return SendTimes { gap_s, latency_s };
        }
        let full = self.full_segments as f64;
        if self.by_segment {
            let travel_s: f64 = parts(self.segment_bytes).map(|part| part.arrival_s).sum();
            let latency_s = (travel_s - release_s(self.segment_bytes)).max(0.0);
            return SendTimes {
                gap_s: full * release_s(self.segment_bytes) + release_s(self.tail_bytes),
                latency_s,
            };
        }
        let gap_s = full * release_s(self.segment_bytes) + release_s(self.tail_bytes);
        SendTimes { gap_s, latency_s: full * pace_s(self.segment_bytes) + travel_s - gap_s }
    }
}
