//! How many segments may be tried, and of what: of the message, of each host's block, or of each block of the all-gather
//! that an all-reduce is made of.

use super::settings::MOST_SEGMENTS;
use crate::planners::{all_gather_of, Instance, Planner};
use crate::platform::{TransferTime, HANDLING_S};

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
    pub fn known(&self) -> Option<u64> {
        let modelled = self.planner.card().profile.segments.modelled(&self.whole, self.most());
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

    /// The most segments worth trying. On a link without a start-up, a host's handling time limits them; a given or
    /// measured start-up describes it better.
    pub fn most(&self) -> u64 {
        let silent = |time: &TransferTime| match *time {
            TransferTime::Affine { startup_s: 0.0, bandwidth_bytes_per_s } => bandwidth_bytes_per_s,
            _ => None,
        };
        let classes = self.whole.platform.classes();
        let fastest = classes.iter().filter_map(|class| silent(&class.time)).fold(0.0, f64::max);
        let smallest = (fastest * HANDLING_S).max(self.least_bytes as f64);
        ((self.whole.message_bytes as f64 / smallest) as u64).clamp(1, MOST_SEGMENTS)
    }
}
