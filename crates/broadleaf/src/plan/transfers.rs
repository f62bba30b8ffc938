//! The part of a plan that is carried out: the edge and the order of each segment, without the platform's names.

use super::{are_direct, flows, Collective, Direction, Flow, Period, Plan, Protocol, Trees};
use crate::platform::NodeId;
use std::sync::Arc;

/// The transfers of a plan between nodes that only have numbers: the platform's nodes, or MPI ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// The collective.
    pub collective: Collective,
    /// As [`Plan::root`].
    pub root: NodeId,
    /// As [`Plan::message_bytes`].
    pub message_bytes: u64,
    /// As [`Plan::segment_bytes`].
    pub segment_bytes: u64,
    /// As [`Plan::weights`].
    pub weights: Option<Arc<[f64]>>,
    /// Segments of weighted blocks end between elements of `element_bytes` bytes.
    pub element_bytes: u64,
    /// At least one; all over the same nodes.
    pub trees: Trees,
    /// As [`Plan::inward`].
    pub inward: Trees,
    /// As [`Plan::period`].
    pub period: Option<Period>,
    /// Ready items for the same receiver travel as one transfer.
    pub combine: bool,
    /// As [`Plan::skip_busy`].
    pub skip_busy: bool,
    /// How a message is announced to its receiver.
    pub protocol: Protocol,
}

impl From<Plan> for Transfers {
    fn from(plan: Plan) -> Transfers {
        let Plan { collective, root, message_bytes, segment_bytes, weights, trees, inward, .. } = plan;
        let Plan { period, combine, skip_busy, protocol, .. } = plan;
        Transfers {
            collective,
            root,
            message_bytes,
            segment_bytes,
            weights,
            element_bytes: 1,
            trees,
            inward,
            period,
            combine,
            skip_busy,
            protocol,
        }
    }
}

impl Transfers {
    /// The trees, each with the direction of its data.
    pub(crate) fn flows(&self) -> Vec<Flow<'_>> {
        flows(self.collective, &self.trees, &self.inward)
    }

    /// Whether this is an all-reduce in which no host passes on what it receives, and none waits for a turn.
    pub(super) fn is_direct_both_ways(&self) -> bool {
        self.collective.direction() == Direction::Both
            && self.period.is_none()
            && are_direct(self.root, &self.trees, &self.inward)
    }

    /// Whether each link has a queue of its own: a period fixes the order, so it leaves none to pass over.
    pub fn skips_busy(&self) -> bool {
        self.skip_busy && self.period.is_none()
    }

    /// The number of nodes, switches included.
    pub fn node_count(&self) -> usize {
        self.trees.node_count()
    }

    /// The same transfers for another message size.
    pub fn resized(&self, message_bytes: u64) -> Transfers {
        Transfers { message_bytes, ..self.clone() }
    }
}
