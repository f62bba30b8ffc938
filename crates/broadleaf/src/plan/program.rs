//! The programs of all nodes, made from the plan on demand, in time proportional to a node's own edges; they are never
//! expanded over segments.

use super::cluster_trees::channels_over_clusters;
use super::node_program::{InChannel, NodeProgram, OutChannel, SlotReceive, SlotSend, Source};
use super::positions::tree_of_positions;
use super::relays::{relays_of, Relay};
use super::subtrees::Subtrees;
use super::tags::{number_tags, number_tags_at};
use super::{
    Blocks, ClusterTrees, Collective, Direction, Flow, Plan, PlanError, Segments, Slot, Transfers, Tree,
};
use crate::platform::{NodeId, Platform};
use std::collections::HashMap;
use std::sync::Arc;

/// The programs of all nodes of a plan, made one at a time.
#[derive(Clone, Debug)]
pub struct Programs {
    transfers: Arc<Transfers>,
    segments: Arc<Segments>,
    blocks: Blocks,
    /// By flow ([`Transfers::flows`]); `None` where a node's edges follow from the construction of the trees.
    parents: Option<Vec<Vec<Option<NodeId>>>>,
    /// Hosts that relay, in the order of flows and children.
    relays: HashMap<NodeId, Vec<Relay>>,
    /// Slot indices in which a node sends or receives.
    slots_of: Vec<(Vec<u32>, Vec<u32>)>,
    is_host: Vec<bool>,
    /// A host's index among the hosts, by id: its block.
    host_index: Vec<u32>,
    /// By tree, for a scatter or a gather.
    subtrees: Vec<Subtrees>,
    has_ways_apart: bool,
}

impl Programs {
    /// Programs of a valid plan that is bound to `platform`; edges without a link are routed.
    ///
    /// # Errors
    /// An edge of the plan that no path of the platform leads along.
    pub fn for_platform(plan: &Plan, platform: &Platform) -> Result<Programs, PlanError> {
        let plan = plan.bind(platform)?.routed(platform)?;
        let is_host = platform.nodes().map(|node| platform.node(node).is_host()).collect();
        // Those of all nodes are faster to make from listed trees.
        Ok(Programs::new(Arc::new(plan.into()), is_host, None))
    }

    /// Programs of a valid plan's transfers whose nodes are all hosts that can talk directly, e.g. MPI ranks.
    pub fn for_ranks(transfers: Arc<Transfers>) -> Programs {
        let hosts = vec![true; transfers.node_count()];
        let plan = Arc::clone(&transfers);
        // A construction has no channels of other collectives.
        let clusters = plan.trees.clusters().filter(|_| plan.collective == Collective::Bcast);
        Programs::new(transfers, hosts, clusters)
    }

    /// With `clusters`, the construction of the trees, they are not listed.
    fn new(transfers: Arc<Transfers>, is_host: Vec<bool>, clusters: Option<&ClusterTrees>) -> Programs {
        let mut host_index = vec![0; is_host.len()];
        let hosts: Vec<usize> = (0..is_host.len()).filter(|&node| is_host[node]).collect();
        hosts.iter().zip(0..).for_each(|(&node, at)| host_index[node] = at);
        let plan = &*transfers;
        let blocks = plan.collective.blocks(hosts.len()) as u32;
        let count = plan.message_bytes.div_ceil(plan.segment_bytes.max(1));
        let shares = plan.trees.shares();
        let lengths = match &plan.weights {
            None => Blocks::alike(plan.message_bytes, plan.segment_bytes, u64::from(blocks)),
            Some(weights) => {
                let of_hosts =
                    weights.iter().zip(&is_host).filter(|(_, &is_host)| is_host).map(|(&weight, _)| weight);
                Blocks::weighted(plan.message_bytes, plan.segment_bytes, plan.element_bytes, of_hosts)
            }
        };
        let is_empty = |block: u32| lengths.is_empty(block);
        let segments = match (&plan.period, plan.collective) {
            (Some(period), _) => {
                let tree_of = tree_of_positions(period, plan.collective, &plan.trees, &plan.inward);
                Segments::periodic(count, blocks, tree_of, plan.trees.len(), is_empty)
            }
            (None, collective) if !collective.is_rooted() && blocks > 1 => {
                let owner = |tree: &Tree| host_index[tree.root.unwrap_or(plan.root).index()];
                let owners = plan.trees.iter().map(owner).collect();
                Segments::deal_by_block(count, blocks, &shares, owners, is_empty)
            }
            (None, _) => Segments::deal(count, blocks, &shares),
        };
        let subtrees = match plan.collective.is_personalised() {
            true => plan.trees.iter().map(|tree| Subtrees::new(tree, plan.root)).collect(),
            false => Vec::new(),
        };
        let parents = clusters
            .is_none()
            .then(|| plan.flows().iter().map(|flow| flow.tree.parents()).collect::<Vec<_>>());
        let relays =
            parents.as_ref().map_or_else(HashMap::new, |parents| relays_of(&plan.flows(), parents, &is_host));
        let mut slots_of = Vec::new();
        if let Some(period) = &plan.period {
            slots_of = vec![(Vec::new(), Vec::new()); is_host.len()];
            let is_sent = |slot: &Slot| !is_empty(slot.segment % blocks);
            for (index, slot) in period.slots.iter().enumerate().filter(|(_, slot)| is_sent(slot)) {
                slots_of[slot.from.index()].0.push(index as u32);
                slots_of[slot.to.index()].1.push(index as u32);
            }
        }
        // A relay passes contributions on late, behind results that their receiver does not take before them.
        let has_ways_apart = plan.is_direct_both_ways() && relays.is_empty();
        Programs {
            transfers,
            segments: Arc::new(segments),
            blocks: lengths,
            parents,
            relays,
            slots_of,
            is_host,
            host_index,
            subtrees,
            has_ways_apart,
        }
    }

    /// The transfers that the programs carry out.
    pub fn transfers(&self) -> &Arc<Transfers> {
        &self.transfers
    }

    /// The number of nodes, switches included.
    pub fn node_count(&self) -> usize {
        self.is_host.len()
    }

    /// Whether a node takes part, and has a block where the collective has them.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.is_host[node.index()]
    }

    /// Whether every node receives in the order of its slots.
    ///
    /// Without a period there is no such order. Where hosts relay, it could deadlock: a relayed segment has no slot,
    /// and waits for a port whose own message waits for its turn at a receiver that, in turn, waits for the relayed
    /// segment. Receivers then take messages in the order of arrival; sends keep their order.
    pub fn receives_in_order(&self) -> bool {
        self.transfers.period.is_some() && self.relays.is_empty()
    }

    /// Whether a host takes results only when it has taken all contributions: in an all-reduce in which no host passes
    /// anything on.
    ///
    /// Hosts end the way in at different times. Results on their way to a host that still waits for contributions would
    /// share its port with them, so the last host would begin its way out later.
    pub fn has_ways_apart(&self) -> bool {
        self.has_ways_apart
    }

    /// The segments of the plan's trees.
    pub fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// `(offset, length)` of a segment in all blocks, consecutive in the order of the hosts, bytes.
    pub fn place(&self, id: u64) -> (u64, u64) {
        let (block, segment) = self.segments.split(id);
        self.blocks.place(block, segment)
    }

    /// The length of each block.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The sum of all blocks, bytes.
    pub fn total_bytes(&self) -> u64 {
        self.blocks.total_bytes()
    }

    /// The switches that a transfer on one of its channels passes on its hop from the host `from`, as the plan gives
    /// them; empty for a direct link.
    pub fn switches(&self, from: NodeId, channel: &OutChannel) -> Vec<NodeId> {
        let Transfers { collective, trees, inward, .. } = &*self.transfers;
        let besides = channel.is_inward && collective.direction() == Direction::Both;
        let tree = if besides { &inward[channel.tree as usize] } else { &trees[channel.tree as usize] };
        let Some(via) = tree.via.get(&channel.child) else { return Vec::new() };
        let mut via = via.clone();
        if channel.is_inward {
            via.reverse();
        }
        let after = via.iter().position(|&relay| relay == from).map_or(0, |at| at + 1);
        via[after..].iter().copied().take_while(|relay| !self.is_host[relay.index()]).collect()
    }

    /// The program of one node.
    pub fn node(&self, node: NodeId) -> NodeProgram {
        let plan = &self.transfers;
        let (inputs, outputs) = self.channels(node);
        let (sends, receives) = self.slots(node, &inputs, &outputs);
        let (mut input_blocks, mut output_blocks) = (Vec::new(), Vec::new());
        if plan.collective.is_personalised() {
            input_blocks = inputs.iter().map(|input| self.blocks_below(input.tree, input.child)).collect();
            output_blocks =
                outputs.iter().map(|output| self.blocks_below(output.tree, output.child)).collect();
        }
        let is_host = self.is_host[node.index()];
        let is_root = if plan.collective.is_rooted() { node == plan.root } else { is_host };
        let block = if self.segments.blocks() == 1 { 0 } else { self.host_index[node.index()] };
        NodeProgram {
            node,
            is_root,
            is_inward: plan.collective.direction() != Direction::Outward,
            block,
            inputs,
            outputs,
            input_blocks,
            output_blocks,
            sends,
            receives,
        }
    }

    /// A node's receiving and sending channels, in the order of [`NodeProgram`].
    fn channels(&self, node: NodeId) -> (Vec<InChannel>, Vec<OutChannel>) {
        let (mut inputs, mut outputs) = match (&self.parents, self.transfers.trees.clusters()) {
            (None, Some(clusters)) => channels_over_clusters(clusters, node),
            (parents, _) => self.listed_channels(parents.as_deref().unwrap_or_default(), node),
        };
        let edge = |input: &InChannel| (input.tree, input.is_inward, input.child);
        inputs.sort_unstable_by_key(|input| (input.from, edge(input)));
        number_tags(inputs.iter_mut().map(|input| (input.from, &mut input.tag)));
        let mut by_pair: Vec<usize> = (0..outputs.len()).collect();
        by_pair.sort_unstable_by_key(|&at| {
            let output: &OutChannel = &outputs[at];
            (output.to, output.tree, output.is_inward, output.child)
        });
        let mut tags = vec![0; outputs.len()];
        number_tags_at(&by_pair, &outputs, &mut tags);
        for (output, tag) in outputs.iter_mut().zip(tags) {
            output.tag = tag;
            if let Source::Relay(input) = &mut output.source {
                let key = (output.tree, output.is_inward, output.child);
                let found = inputs.iter().position(|input| edge(input) == key);
                *input = found.expect("a relay receives what it sends") as u32;
            }
        }
        (inputs, outputs)
    }

    /// The channels of listed trees, their tags not numbered yet.
    fn listed_channels(
        &self,
        parents: &[Vec<Option<NodeId>>],
        node: NodeId,
    ) -> (Vec<InChannel>, Vec<OutChannel>) {
        let plan = &self.transfers;
        let relays = self.relays.get(&node).map_or(&[][..], Vec::as_slice);
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        let mut relayed = relays.iter().peekable();
        for (index, flow) in plan.flows().into_iter().enumerate() {
            let Flow { index: tree, tree: edges, is_inward, .. } = flow;
            let (tag, combines) = (0, is_inward && plan.collective.combines());
            let root = edges.root.unwrap_or(plan.root);
            let is_head = flow.is_head(root, node);
            let is_exchanged = |child| is_head && flow.is_head(root, child);
            let mut receive = |from, child, target| {
                let is_exchanged = is_exchanged(child);
                inputs.push(InChannel { from, tag, tree, target, child, is_inward, is_exchanged, combines });
            };
            let mut send = |to, child, target, source| {
                let is_exchanged = is_exchanged(child);
                outputs.push(OutChannel {
                    to,
                    tag,
                    tree,
                    target,
                    child,
                    is_inward,
                    is_exchanged,
                    combines,
                    source,
                });
            };
            for other in flow.other_heads(root, node).filter(|_| is_inward) {
                receive(other, other, node);
                send(other, node, other, Source::Held);
            }
            for &child in edges.children(node) {
                if is_exchanged(child) {
                    continue;
                }
                let beside = self.first_host(edges, child);
                if is_inward {
                    receive(beside, child, node);
                } else {
                    send(beside, child, child, Source::Held);
                }
            }
            if let Some(parent) = parents[index][node.index()].filter(|_| !is_head) {
                let beside = self.last_host(edges, node).unwrap_or(parent);
                if is_inward {
                    send(beside, node, parent, Source::Held);
                } else {
                    receive(beside, node, node);
                }
            }
            while let Some(relay) = relayed.next_if(|relay| relay.flow == index as u32) {
                receive(relay.from, relay.child, relay.target);
                send(relay.to, relay.child, relay.target, Source::Relay(0));
            }
        }
        (inputs, outputs)
    }

    /// The blocks of a node and of all nodes below it.
    fn blocks_below(&self, tree: u32, node: NodeId) -> Arc<[u32]> {
        let below = self.subtrees[tree as usize].below(node);
        let blocks = below.iter().map(|node| self.host_index[node.index()]);
        let mut blocks: Vec<u32> = blocks.filter(|&block| !self.blocks.is_empty(block)).collect();
        blocks.sort_unstable();
        blocks.into()
    }

    fn slots(
        &self,
        node: NodeId,
        inputs: &[InChannel],
        outputs: &[OutChannel],
    ) -> (Vec<SlotSend>, Vec<SlotReceive>) {
        let Some(period) = &self.transfers.period else { return (Vec::new(), Vec::new()) };
        let (sending, receiving) = &self.slots_of[node.index()];
        let collective = self.transfers.collective;
        let outputs = outputs.iter().map(|output| (output.tree, output.is_inward, output.child));
        let out_of: HashMap<(u32, bool, NodeId), u32> = outputs.zip(0..).collect();
        let inputs = inputs.iter().map(|input| (input.tree, input.is_inward, input.child));
        let in_of: HashMap<(u32, bool, NodeId), u32> = inputs.zip(0..).collect();
        // A slot's position, and its edge by tree, direction and lower end.
        let edge = |slot: &Slot| {
            let (segment, is_inward) = (slot.segment % period.segments, period.goes_inward(slot, collective));
            let tree = self.segments.tree_of(u64::from(segment)) as u32;
            (segment, (tree, is_inward, if is_inward { slot.from } else { slot.to }))
        };
        let joins = |at: usize| {
            let pair = |at: usize| (period.slots[at].from, period.slots[at].to);
            let is_sent =
                |&at: &usize| !self.blocks.is_empty(period.slots[at].segment % self.segments.blocks());
            (0..at).rev().find(is_sent).is_some_and(|before| pair(before) == pair(at))
        };
        let sends = sending
            .iter()
            .map(|&at| (&period.slots[at as usize], joins(at as usize)))
            .map(|(slot, joins)| {
                let (segment, edge) = edge(slot);
                SlotSend { segment, lag: slot.lag, out: out_of[&edge], joins }
            })
            .collect();
        let receives = receiving
            .iter()
            .map(|&at| &period.slots[at as usize])
            .map(|slot| {
                let (segment, edge) = edge(slot);
                SlotReceive { segment, lag: slot.lag, input: in_of[&edge] }
            })
            .collect();
        (sends, receives)
    }

    /// The first host on the way into `child`.
    fn first_host(&self, tree: &Tree, child: NodeId) -> NodeId {
        let relays = tree.via.get(&child).map_or(&[][..], Vec::as_slice);
        relays.iter().copied().find(|relay| self.is_host[relay.index()]).unwrap_or(child)
    }

    /// The last relaying host on the way into `node`.
    fn last_host(&self, tree: &Tree, node: NodeId) -> Option<NodeId> {
        tree.via.get(&node)?.iter().copied().rev().find(|relay| self.is_host[relay.index()])
    }
}
