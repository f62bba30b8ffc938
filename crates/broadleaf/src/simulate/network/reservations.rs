//! The start of a transfer: the earliest time at which all of its resources are free for their windows.

use crate::model::{occupation, Occupation, Resource};
use crate::platform::{Hop, NodeId, Platform, PortModel};
use crate::simulate::calendar::{same_until, Calendar};
use crate::simulate::partners::Partners;
use crate::simulate::varying::Varying;
use std::collections::HashMap;

/// An [`Occupation`] with dense resource indices.
#[derive(Clone, Debug, Default)]
pub struct HopTiming {
    /// Resource, offset from the start, duration.
    windows: Vec<(u32, f64, f64)>,
    /// Node, partner, offset from the start, duration; empty for port models without partners.
    partners: Vec<(NodeId, NodeId, f64, f64)>,
    pub release_s: f64,
    pub arrival_s: f64,
}

/// The times at which a transfer starts, frees its sender, and arrives, seconds.
pub struct Grant {
    pub start_s: f64,
    pub release_s: f64,
    pub arrival_s: f64,
}

impl Grant {
    fn from(start_s: f64, timing: &HopTiming) -> Grant {
        Grant { start_s, release_s: start_s + timing.release_s, arrival_s: start_s + timing.arrival_s }
    }
}

/// The windows granted on every resource.
pub struct Reservations<'a> {
    platform: &'a Platform,
    calendars: Vec<Calendar>,
    resources: Vec<Resource>,
    resource_index: HashMap<Resource, u32>,
    busy_s: Vec<f64>,
    partners: Partners,
    /// With a period, the end of each receiver's latest window: receives keep their order.
    receive_floor_s: Vec<f64>,
    /// Windows may begin before the request (multi-port receive parts longer than the link's).
    looks_back: bool,
}

impl<'a> Reservations<'a> {
    pub fn new(platform: &'a Platform) -> Self {
        let nodes = platform.node_count();
        Reservations {
            platform,
            calendars: Vec::new(),
            resources: Vec::new(),
            resource_index: HashMap::new(),
            busy_s: Vec::new(),
            partners: Partners::new(nodes),
            receive_floor_s: vec![0.0; nodes],
            looks_back: platform.port_model() == PortModel::MultiPort,
        }
    }

    /// The time for which each used resource was held, seconds.
    pub fn busy_s(self) -> Vec<(Resource, f64)> {
        self.resources.into_iter().zip(self.busy_s).collect()
    }

    /// Grants the earliest windows that are free from `now_s` on.
    pub fn reserve(&mut self, now_s: f64, timing: &HopTiming, ordered_receiver: Option<NodeId>) -> Grant {
        let in_port = self.in_port(ordered_receiver);
        let mut start_s = now_s;
        // Each window may delay the start; the loop ends at the first time that fits all windows.
        loop {
            let before = start_s;
            for &(resource, offset_s, duration_s) in &timing.windows {
                let mut from_s = start_s + offset_s;
                if Some(resource) == in_port {
                    let floor = ordered_receiver.map_or(0.0, |node| self.receive_floor_s[node.index()]);
                    from_s = from_s.max(floor);
                }
                let found = self.calendars[resource as usize].earliest(from_s, duration_s);
                start_s = start_s.max(found - offset_s);
            }
            for &(node, partner, offset_s, duration_s) in &timing.partners {
                let found = self.partners.earliest(node, partner, start_s + offset_s, duration_s);
                start_s = start_s.max(found - offset_s);
            }
            if start_s <= same_until(before) {
                break;
            }
        }
        self.take(now_s, start_s, timing, ordered_receiver);
        Grant::from(start_s, timing)
    }

    /// The time for which a transfer over `hop` holds each resource.
    pub fn timing(&mut self, hop: Hop, bytes: u64) -> HopTiming {
        let occupation = occupation(self.platform, hop, bytes);
        self.dense(hop, occupation)
    }

    /// The occupation with dense resource indices, and the partners where they matter.
    fn dense(&mut self, hop: Hop, occupation: Occupation) -> HopTiming {
        let Occupation { windows, release_s, arrival_s } = occupation;
        let mut partners = Vec::new();
        if self.platform.port_model() == PortModel::OnePortSamePartner && release_s > 0.0 {
            let there = (hop.to, hop.from, arrival_s - release_s, release_s);
            partners.extend([(hop.from, hop.to, 0.0, release_s), there]);
            partners.retain(|&(node, ..)| self.platform.node(node).is_host());
        }
        let windows = windows
            .into_iter()
            .map(|window| (self.resource(window.resource), window.offset_s, window.duration_s))
            .collect();
        HopTiming { windows, partners, release_s, arrival_s }
    }

    fn resource(&mut self, resource: Resource) -> u32 {
        if let Some(&index) = self.resource_index.get(&resource) {
            return index;
        }
        let index = self.resources.len() as u32;
        self.resources.push(resource);
        self.calendars.push(Calendar::default());
        self.busy_s.push(0.0);
        self.resource_index.insert(resource, index);
        index
    }

    /// Takes the windows of a transfer that starts at `start_s`.
    fn take(&mut self, now_s: f64, start_s: f64, timing: &HopTiming, ordered_receiver: Option<NodeId>) {
        let in_port = self.in_port(ordered_receiver);
        for &(node, partner, offset_s, duration_s) in &timing.partners {
            self.partners.take(node, partner, now_s, start_s + offset_s, duration_s);
        }
        for &(resource, offset_s, duration_s) in &timing.windows {
            let calendar = &mut self.calendars[resource as usize];
            if !self.looks_back {
                calendar.forget_before(now_s);
            }
            calendar.take(start_s + offset_s, duration_s);
            self.busy_s[resource as usize] += duration_s;
            if let (true, Some(node)) = (Some(resource) == in_port, ordered_receiver) {
                self.receive_floor_s[node.index()] = start_s + offset_s + duration_s;
            }
        }
    }

    /// The port of a receiver with an order, if it has been used.
    fn in_port(&self, ordered_receiver: Option<NodeId>) -> Option<u32> {
        let receiving = |node| match self.platform.port_model() {
            PortModel::OnePortUnidirectional => Resource::Out(node),
            _ => Resource::In(node),
        };
        ordered_receiver.and_then(|node| self.resource_index.get(&receiving(node)).copied())
    }

    /// The same where rates vary.
    ///
    /// A later start gives a later end, since all bytes on a link move at the same rate at any time; so only the
    /// beginning of each gap between other windows is tried.
    pub fn reserve_varying(
        &mut self,
        now_s: f64,
        rates: &dyn Varying,
        hop: Hop,
        bytes: u64,
        ordered_receiver: Option<NodeId>,
    ) -> Grant {
        let mut start_s = now_s;
        let timing = loop {
            let timing = self.dense(hop, rates.occupation(self.platform, hop, bytes, start_s));
            let in_port = self.in_port(ordered_receiver);
            let mut next_s = start_s;
            for &(resource, offset_s, duration_s) in &timing.windows {
                let begin_s = start_s + offset_s;
                let mut from_s = begin_s;
                if Some(resource) == in_port {
                    from_s =
                        from_s.max(ordered_receiver.map_or(0.0, |node| self.receive_floor_s[node.index()]));
                }
                let free_s = self.calendars[resource as usize].next_try(from_s, duration_s);
                if free_s > same_until(begin_s) {
                    let of_window = self.resources[resource as usize];
                    next_s =
                        next_s.max(rates.start_of(self.platform, hop, bytes, of_window, offset_s, free_s));
                }
            }
            for &(node, partner, offset_s, duration_s) in &timing.partners {
                let found = self.partners.earliest(node, partner, start_s + offset_s, duration_s);
                next_s = next_s.max(found - offset_s);
            }
            if next_s <= same_until(start_s) {
                break timing;
            }
            start_s = next_s;
        };
        self.take(now_s, start_s, &timing, ordered_receiver);
        Grant::from(start_s, &timing)
    }
}
