//! A plan: weighted trees from the root, a segment size, and the order in which each node serves its
//! children, or one period of slots that fixes all transfers and their order.
//!
//! Every broadcast algorithm is such a plan; there is one checker ([`check`]), one executor and one file
//! format for all of them.

mod blocks;
pub mod check;
mod cluster_trees;
mod collective;
mod error;
mod flow;
mod mirror;
mod node_program;
pub(crate) mod pattern;
mod positions;
mod program;
mod read;
mod rehearsed;
mod relays;
mod routed;
mod segments;
mod subtrees;
mod tags;
mod throughput;
mod transfers;
mod tree;
mod trees;
mod write;

pub use blocks::Blocks;
pub(crate) use blocks::{block_bytes, segment_bytes_of};
pub use cluster_trees::{Cluster, ClusterTrees, Entry, Inside};
pub use collective::{Collective, Direction};
pub use error::PlanError;
pub(crate) use flow::{are_direct, flows, Flow};
pub use node_program::{InChannel, NodeProgram, OutChannel, SlotReceive, SlotSend, Source};
pub(crate) use pattern::MOST_FOLLOWING;
pub use pattern::{Expanded, Pattern, Regular, MOST_AHEAD};
pub(crate) use positions::tree_of_positions;
pub use program::Programs;
pub use rehearsed::Rehearsed;
pub use segments::Segments;
pub use throughput::throughput;
pub use transfers::Transfers;
pub use tree::{Tree, TreeBuilder};
pub use trees::Trees;

use crate::platform::{NodeId, Platform};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a transfer is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The sender sends as soon as it may.
    #[default]
    Eager,
    /// The sender asks, the receiver answers `ready`, then the transfer starts (paper 4's rendezvous:
    /// two messages of one byte).
    Rendezvous,
}

impl Protocol {
    /// In the order of the documentation.
    pub const ALL: [Protocol; 2] = [Protocol::Eager, Protocol::Rendezvous];

    /// The name in plan files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Eager => "eager",
            Protocol::Rendezvous => "rendezvous",
        }
    }

    /// The inverse of [`Protocol::name`].
    pub fn from_name(name: &str) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == name)
    }
}

/// One transfer of the period: segment `segments·(period − lag) + segment` goes `from` → `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Position of the segment in its period, from 0; of an all-reduce, from [`Period::segments`] on it is on its way out.
    pub segment: u32,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Periods by which the segment is behind the one that runs.
    pub lag: u32,
}

/// One period: each node makes its sends in slot order and its receives in slot order, as soon as it can.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Period {
    /// Segments moved by one period.
    pub segments: u32,
    /// In the order in which each node serves its sends and its receives.
    pub slots: Vec<Slot>,
}

/// The checker lists positions without a slot; more than this many are refused, to bound memory.
const MOST_EMPTY_POSITIONS: u64 = 1024;
/// Limit of slots times periods from the first segment's first transfer to its last; a thousand nodes with forty trees
/// need a third of it.
const MOST_WAITED_SLOTS: u64 = 1 << 27;

impl Period {
    /// The reason to refuse a period as larger than any plan needs, if it is: readers of a plan hold a word for each
    /// position, and visit every slot in each period of the longest lag.
    pub fn excess(&self) -> Option<String> {
        let (slots, lag) = (self.slots.len() as u64, u64::from(self.longest_lag()));
        let positions = u64::from(self.segments);
        if positions > slots.max(MOST_EMPTY_POSITIONS) {
            return Some(format!(
                "a period of {positions} segments and {slots} slots; each segment has at least one slot"
            ));
        }
        if lag * slots > MOST_WAITED_SLOTS {
            return Some(format!(
                "a lag of {lag} periods of {slots} slots; write lags of at most {}",
                MOST_WAITED_SLOTS / slots
            ));
        }
        None
    }

    /// The largest [`Slot::lag`], 0 without slots.
    pub fn longest_lag(&self) -> u32 {
        self.slots.iter().map(|slot| slot.lag).max().unwrap_or(0)
    }

    /// The number of periods that move `count` segments, with the lags of the last ones.
    pub fn periods(&self, count: u64) -> u64 {
        count.div_ceil(u64::from(self.segments.max(1))) + u64::from(self.longest_lag())
    }

    /// The periods in which some slot moves one of `count` segments, in turn: each slot's segments are consecutive.
    pub(crate) fn busy_periods(&self, count: u64) -> impl Iterator<Item = u64> {
        let rounds = count.div_ceil(u64::from(self.segments.max(1)));
        let lags: BTreeSet<u64> = self.slots.iter().map(|slot| u64::from(slot.lag)).collect();
        let mut end = 0;
        lags.into_iter().flat_map(move |lag| {
            let begin = lag.max(end);
            end = lag + rounds;
            begin..end
        })
    }

    /// The segment that `slot` moves in `period`, if it exists.
    pub fn segment(&self, slot: &Slot, period: u64, count: u64) -> Option<u64> {
        self.segment_of(slot.segment % self.segments.max(1), slot.lag, period, count)
    }

    pub(crate) fn segment_of(&self, segment: u32, lag: u32, period: u64, count: u64) -> Option<u64> {
        let round = period.checked_sub(u64::from(lag))?;
        let segment = round * u64::from(self.segments) + u64::from(segment);
        (segment < count).then_some(segment)
    }
}

/// The range of the times that rehearsed broadcasts took, for this prediction, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// As the fastest rehearsed broadcast.
    pub low_s: f64,
    /// As the slowest rehearsed broadcast.
    pub high_s: f64,
}

/// A planner's predictions for its plan; absent where nothing predicted them.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Predicted {
    /// Simulated or modelled time until the last host has the message, seconds.
    pub makespan_s: Option<f64>,
    /// The makespan with the hosts' time to handle each message, by which plans are compared; under multi-port, that of a
    /// reduce-scatter is its mirror's. Absent where that is `makespan_s`.
    pub handled_s: Option<f64>,
    /// The range of the makespan from rehearsed broadcasts; absent where none were.
    pub interval: Option<Interval>,
    /// Rate in steady state.
    pub throughput_bytes_per_s: Option<f64>,
    /// No plan of any segment size is faster, seconds.
    pub bound_s: Option<f64>,
    /// Limit of that rate, over all plans.
    pub bound_bytes_per_s: Option<f64>,
}

/// A way to broadcast a message. Node ids index [`Plan::nodes`], which is the platform's own list for a
/// plan that was made for it or [`bind`](Plan::bind)ed to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the platform.
    pub platform: String,
    /// [`crate::platform::Platform::digest`] of the platform.
    pub platform_digest: String,
    /// The platform's node ids; [`NodeId`]s are indices into them.
    pub nodes: Arc<Vec<String>>,
    /// The collective.
    pub collective: Collective,
    /// For an all-gather or a reduce-scatter, whose trees have their own roots, the first tree's.
    pub root: NodeId,
    /// Of the whole message (bcast, reduce), or of one node's block (scatter, gather, allgather, reduce-scatter).
    pub message_bytes: u64,
    /// ≥ 1; the message's size in an unsegmented plan.
    pub segment_bytes: u64,
    /// By node, if the blocks differ, ≥ 0: the bytes of a host's block and of its segments are multiplied by its
    /// weight.
    pub weights: Option<Arc<[f64]>>,
    /// Name of the planner, as in the registry.
    pub planner: String,
    /// Of the planner's random draws.
    pub seed: u64,
    /// Spanning trees from the root with their shares of the message; inward, data take them towards the root.
    pub trees: Trees,
    /// For an all-reduce, the tree along which each share comes in to the root of its tree in `trees`; else empty.
    pub inward: Trees,
    /// The order of transfers across trees; with `None`, the trees' child order alone.
    pub period: Option<Period>,
    /// The construction that `trees` and `period` came from, if any; a plan runs from those two alone.
    pub pattern: Option<Pattern>,
    /// Ready items for the same receiver travel as one transfer.
    pub combine: bool,
    /// Without a period: a node passes over busy receivers and links, and serves its others meanwhile.
    pub skip_busy: bool,
    /// How a message is announced to its receiver.
    pub protocol: Protocol,
    /// The planner's predictions.
    pub predicted: Predicted,
}

impl Plan {
    /// A broadcast plan for `platform` with the given trees, nothing predicted yet.
    pub fn bcast(
        platform: &Platform,
        planner: &str,
        root: NodeId,
        message_bytes: u64,
        segment_bytes: u64,
        trees: impl Into<Trees>,
    ) -> Plan {
        Plan {
            platform: platform.name().to_string(),
            platform_digest: platform.digest().to_string(),
            nodes: Arc::clone(platform.ids()),
            collective: Collective::Bcast,
            root,
            message_bytes,
            segment_bytes,
            weights: None,
            planner: planner.to_string(),
            seed: 0,
            trees: trees.into(),
            inward: Trees::default(),
            period: None,
            pattern: None,
            combine: false,
            skip_busy: false,
            protocol: Protocol::Eager,
            predicted: Predicted::default(),
        }
    }

    /// A regular plan for `platform`, nothing predicted yet. An all-gather's root is its first host.
    ///
    /// Panics where the construction does not support this number of hosts ([`Regular::slots`]).
    pub fn regular(
        platform: &Platform,
        planner: &str,
        pattern: Pattern,
        message_bytes: u64,
        segment_bytes: u64,
    ) -> Plan {
        let Expanded { trees, period } = pattern.expand(platform.node_count());
        let (root, collective) = (pattern.hosts[0], pattern.regular.collective());
        let plan = Plan::bcast(platform, planner, root, message_bytes, segment_bytes, trees);
        let combine = pattern.regular.combines();
        Plan { collective, combine, period: Some(period), pattern: Some(pattern), ..plan }
    }

    /// Its trees, each with the direction of its data.
    pub(crate) fn flows(&self) -> Vec<Flow<'_>> {
        flows(self.collective, &self.trees, &self.inward)
    }

    /// The root of a tree.
    pub fn root_of(&self, tree: &Tree) -> NodeId {
        tree.root.unwrap_or(self.root)
    }

    /// Whether no host passes on what it receives, in any tree, and none waits for a turn.
    pub fn is_direct(&self) -> bool {
        self.period.is_none() && are_direct(self.root, &self.trees, &self.inward)
    }

    /// The length of a block of each host, bytes: an all-gather's or reduce-scatter's, and the part of an all-reduce that one
    /// host combines and gives out. `None` where the blocks or the message have one root.
    pub fn block_bytes(&self) -> Option<u64> {
        match self.collective.outward() {
            Collective::Allgather => Some(self.message_bytes),
            Collective::Allreduce if self.trees.iter().all(|tree| tree.root.is_some()) => {
                Some(self.message_bytes.div_ceil(self.trees.len().max(1) as u64))
            }
            _ => None,
        }
    }

    /// k = ⌈m/s⌉, of one block if there are several; a message of no bytes has no segments.
    pub fn segment_count(&self) -> u64 {
        self.message_bytes.div_ceil(self.segment_bytes.max(1))
    }

    /// `(offset, length)` of a segment in the message, bytes.
    pub fn segment_range(&self, segment: u64) -> (u64, u64) {
        let start = segment * self.segment_bytes;
        (start, self.segment_bytes.min(self.message_bytes - start))
    }

    /// The same plan for another message size, without its predictions.
    pub fn resized(&self, message_bytes: u64) -> Plan {
        Plan { message_bytes, predicted: Predicted::default(), ..self.clone() }
    }

    /// Re-indexes the plan to the platform's nodes.
    ///
    /// Fails where the plan names a node the platform does not have; the digest is not compared here, so
    /// that a plan can be tried on a re-measured platform ([`check`] compares it).
    ///
    /// # Errors
    /// A node of the plan that the platform does not have.
    pub fn bind(&self, platform: &Platform) -> Result<Plan, PlanError> {
        if Arc::ptr_eq(&self.nodes, platform.ids()) || self.nodes == *platform.ids() {
            return Ok(Plan { nodes: Arc::clone(platform.ids()), ..self.clone() });
        }
        let map: Vec<NodeId> = self
            .nodes
            .iter()
            .map(|id| platform.find(id).ok_or_else(|| PlanError::UnknownNode { id: id.clone() }))
            .collect::<Result<_, _>>()?;
        let moved = |node: NodeId| map[node.index()];
        let period = self.period.as_ref().map(|period| Period {
            segments: period.segments,
            slots: period
                .slots
                .iter()
                .map(|slot| Slot { from: moved(slot.from), to: moved(slot.to), ..*slot })
                .collect(),
        });
        let weights = self.weights.as_ref().map(|weights| {
            let mut moved_weights = vec![1.0; platform.node_count()];
            weights.iter().zip(&map).for_each(|(&weight, node)| moved_weights[node.index()] = weight);
            moved_weights.into()
        });
        Ok(Plan {
            nodes: Arc::clone(platform.ids()),
            root: moved(self.root),
            weights,
            trees: self.trees.renamed(platform.node_count(), &moved),
            inward: self.inward.renamed(platform.node_count(), &moved),
            pattern: self.pattern.as_ref().map(|pattern| pattern.renamed(&moved)),
            period,
            ..self.clone()
        })
    }
}
