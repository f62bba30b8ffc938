//! How many segments may be tried, and of what: of the message, of each host's block, or of each block of the all-gather
//! that an all-reduce is made of.

use super::settings::MOST_SEGMENTS;
use crate::budget::Budget;
use crate::plan::Collective;
use crate::planners::{all_gather_of, has_time_to_plan, Instance, Planner};
use crate::platform::{TransferTime, HANDLING_S};

/// The start-up over the transfer time of the shortest segment that is tried; chosen.
const LEAST_STARTED: f64 = 4.0;

/// What a planner's segments are counted by.
pub(super) struct SegmentCounts<'a> {
    planner: &'a dyn Planner,
    /// What is segmented: the instance, or the all-gather that an all-reduce is made of.
    whole: Instance<'a>,
    /// How many of these the message has.
    blocks: u64,
    message_bytes: u64,
    least_bytes: u64,
}

impl<'a> SegmentCounts<'a> {
    /// Of segments of at least `least_bytes`.
    pub fn new(instance: &Instance<'a>, planner: &'a dyn Planner, least_bytes: u64) -> SegmentCounts<'a> {
        let (whole, blocks) = match all_gather_of(planner, instance) {
            Some(blocks) => (blocks, instance.platform.hosts().count() as u64),
            None => (*instance, 1),
        };
        SegmentCounts { planner, whole, blocks, message_bytes: instance.message_bytes, least_bytes }
    }

    /// The length of a segment, bytes.
    pub fn segment_bytes(&self, count: u64) -> u64 {
        self.message_bytes.div_ceil(count.saturating_mul(self.blocks))
    }

    /// The number of segments of that length.
    pub fn of_bytes(&self, segment_bytes: u64) -> u64 {
        self.whole.message_bytes.div_ceil(segment_bytes.max(1))
    }

    /// The nearest number of segments that suits the planner.
    pub fn nearest(&self, count: u64) -> u64 {
        self.planner.card().profile.segments.whole(&self.whole, count)
    }

    /// The number of segments, where no search is needed.
    pub fn known(&self, budget: &Budget) -> Option<u64> {
        let timed = Instance { platform: self.whole.timing(), ..self.whole };
        let is_both_ways = self.blocks > 1 || self.whole.collective == Collective::Allreduce;
        let plans = if is_both_ways { 2 } else { 1 };
        // Models may make plans.
        let modelled = match has_time_to_plan(self.planner, plans, &self.whole, budget) {
            Ok(()) => self.planner.card().profile.segments.modelled(&timed, self.most(), budget),
            Err(_) => None,
        };
        // All segments that are ready for the same receiver travel as one transfer, at any segment size.
        modelled.or(self.whole.collective.is_personalised().then_some(1))
    }

    /// The counts worth trying: 1, `factor`, `factor`² … and the most.
    pub fn bracket(&self, factor: u64) -> Vec<u64> {
        let most = self.most();
        let mut counts: Vec<u64> = std::iter::successors(Some(1u64), |count| count.checked_mul(factor))
            .take_while(|&count| count < most)
            .collect();
        counts.push(most);
        counts
    }

    /// The most segments worth trying: no shorter ones than hosts usually handle in the time of their transfer, or, where
    /// all links have a start-up, than take a quarter of it.
    pub fn most(&self) -> u64 {
        let affine = |time: &TransferTime| match *time {
            TransferTime::Affine { startup_s, bandwidth_bytes_per_s } => {
                Some((startup_s, bandwidth_bytes_per_s?))
            }
            TransferTime::Gap(_) => None,
        };
        let classes = self.whole.platform.classes();
        let links = || classes.iter().filter_map(|class| affine(&class.time));
        let silent = links().filter(|&(startup_s, _)| startup_s == 0.0);
        let handled = silent.map(|(_, rate)| rate * HANDLING_S).reduce(f64::max);
        let started = || links().map(|(startup_s, rate)| rate * startup_s / LEAST_STARTED).reduce(f64::min);
        let smallest = handled.or_else(started).unwrap_or(0.0).max(self.least_bytes as f64);
        ((self.whole.message_bytes as f64 / smallest) as u64).clamp(1, MOST_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planners::find;
    use crate::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};

    fn two_hosts(startup_s: f64) -> Platform {
        let mut builder = PlatformBuilder::new("two", PortModel::OnePort);
        let nodes: Vec<NodeId> = ["a", "b"].map(|id| builder.add_host(id).unwrap()).to_vec();
        let time = TransferTime::Affine { startup_s, bandwidth_bytes_per_s: Some(1e8) };
        let class = builder.add_class(LinkClass { time, ..LinkClass::default() });
        builder.add_mesh(Mesh { nodes, class }).unwrap();
        builder.build().unwrap()
    }

    /// 500 bytes take 5 µs, and 100 a quarter of 4 µs.
    #[test]
    fn segments_of_a_few_bytes_are_not_tried() {
        for (startup_s, most) in [(0.0, 2_000), (4e-6, 10_002), (1e-9, MOST_SEGMENTS)] {
            let platform = two_hosts(startup_s);
            let instance = Instance::new(&platform, NodeId(0), 1_000_250).unwrap();
            assert_eq!(SegmentCounts::new(&instance, find("chain").unwrap(), 1).most(), most, "{startup_s}");
        }
    }
}
