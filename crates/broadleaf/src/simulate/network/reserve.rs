//! When a transfer may start: the earliest time at which everything it needs is free for its window.

use super::{Network, Timing};
use crate::model::{occupation, Occupation, Resource};
use crate::platform::{Hop, NodeId, PortModel};
use crate::simulate::calendar::{same_until, Calendar};
use crate::simulate::varying::Rates;

impl Network<'_> {
    pub(super) fn reserve(&mut self, now_s: f64, timing: &Timing, ordered_receiver: Option<NodeId>) -> f64 {
        let in_port = self.in_port(ordered_receiver);
        let mut start_s = now_s;
        // Each window may push the start; the start only grows, and stops at the first time that suits all.
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
            for &(node, partner, offset_s, duration_s) in &timing.talks {
                let found = self.talks.earliest(node, partner, start_s + offset_s, duration_s);
                start_s = start_s.max(found - offset_s);
            }
            if start_s <= same_until(before) {
                break;
            }
        }
        self.take(now_s, start_s, timing, ordered_receiver);
        start_s
    }

    pub(super) fn timing(&mut self, hop: Hop, bytes: u64) -> Timing {
        let occupation = occupation(self.platform, hop, bytes);
        self.dense(hop, occupation)
    }

    /// The occupation with dense resource indices, and who talks to whom where that matters.
    fn dense(&mut self, hop: Hop, occupation: Occupation) -> Timing {
        let Occupation { windows, release_s, arrival_s } = occupation;
        let mut talks = Vec::new();
        if self.platform.port_model() == PortModel::OnePortSamePartner && release_s > 0.0 {
            let there = (hop.to, hop.from, arrival_s - release_s, release_s);
            talks.extend([(hop.from, hop.to, 0.0, release_s), there]);
            talks.retain(|&(node, ..)| self.platform.node(node).is_host());
        }
        let windows = windows
            .into_iter()
            .map(|window| (self.resource(window.resource), window.offset_s, window.duration_s))
            .collect();
        Timing { windows, talks, release_s, arrival_s }
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

    /// Takes everything that a transfer from `start_s` holds.
    fn take(&mut self, now_s: f64, start_s: f64, timing: &Timing, ordered_receiver: Option<NodeId>) {
        let in_port = self.in_port(ordered_receiver);
        for &(node, partner, offset_s, duration_s) in &timing.talks {
            self.talks.take(node, partner, now_s, start_s + offset_s, duration_s);
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

    /// The port of a receiver that keeps its order, once it was used.
    fn in_port(&self, ordered_receiver: Option<NodeId>) -> Option<u32> {
        let receiving = |node| match self.platform.port_model() {
            PortModel::OnePortUnidirectional => Resource::Out(node),
            _ => Resource::In(node),
        };
        ordered_receiver.and_then(|node| self.resource_index.get(&receiving(node)).copied())
    }

    /// The same where rates vary, and how long everything is held from that start on.
    ///
    /// What starts later ends later, since all bytes of a link move at the same rate at the same time; so of each gap
    /// between other windows only its beginning needs to be tried.
    pub(super) fn reserve_varying(
        &mut self,
        now_s: f64,
        rates: &Rates,
        hop: Hop,
        bytes: u64,
        ordered_receiver: Option<NodeId>,
    ) -> (f64, Timing) {
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
            for &(node, partner, offset_s, duration_s) in &timing.talks {
                let found = self.talks.earliest(node, partner, start_s + offset_s, duration_s);
                next_s = next_s.max(found - offset_s);
            }
            if next_s <= same_until(start_s) {
                break timing;
            }
            start_s = next_s;
        };
        self.take(now_s, start_s, &timing, ordered_receiver);
        (start_s, timing)
    }
}
