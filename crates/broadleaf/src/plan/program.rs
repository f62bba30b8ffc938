//! The programs of all nodes, made from the plan when asked for, in time proportional to a node's own edges; they are
//! never expanded over segments.

use super::node_program::{InChannel, NodeProgram, OutChannel, SlotReceive, SlotSend, Source};
use super::subtrees::Subtrees;
use super::{Collective, Period, Plan, PlanError, Segments, Transfers, Tree};
use crate::platform::{NodeId, Platform};
use std::collections::HashMap;
use std::sync::Arc;

/// The programs of all nodes of a plan, made one at a time.
#[derive(Clone, Debug)]
pub struct Programs {
    transfers: Arc<Transfers>,
    segments: Arc<Segments>,
    parents: Vec<Vec<Option<NodeId>>>,
    /// Hosts that relay: (tree, previous host, next host, target) in tree and target order.
    relays: HashMap<NodeId, Vec<Relay>>,
    /// Slot indices in which a node sends or receives.
    slots_of: Vec<(Vec<u32>, Vec<u32>)>,
    is_host: Vec<bool>,
    /// A host's place among the hosts, by id: its block.
    host_index: Vec<u32>,
    /// Of a scatter's trees.
    subtrees: Vec<Subtrees>,
}

#[derive(Clone, Copy, Debug)]
struct Relay {
    tree: u32,
    from: NodeId,
    to: NodeId,
    target: NodeId,
}

impl Programs {
    /// Programs of a valid plan that is bound to `platform`; edges without a link are routed.
    ///
    /// # Errors
    /// An edge of the plan that no path of the platform leads along.
    pub fn for_platform(plan: &Plan, platform: &Platform) -> Result<Programs, PlanError> {
        let plan = plan.bind(platform)?.routed(platform)?;
        let is_host = platform.nodes().map(|node| platform.node(node).is_host()).collect();
        Ok(Programs::new(Arc::new(plan.into()), is_host))
    }

    /// Programs of a valid plan's transfers whose nodes are all hosts that can talk directly, e.g. MPI ranks.
    pub fn for_ranks(transfers: Arc<Transfers>) -> Programs {
        let hosts = vec![true; transfers.node_count()];
        Programs::new(transfers, hosts)
    }

    fn new(transfers: Arc<Transfers>, is_host: Vec<bool>) -> Programs {
        let mut host_index = vec![0; is_host.len()];
        let hosts = is_host.iter().enumerate().filter(|(_, &is_host)| is_host);
        let mut host_count = 0;
        for (node, _) in hosts {
            host_index[node] = host_count;
            host_count += 1;
        }
        let plan = &*transfers;
        let blocks = if plan.collective == Collective::Bcast { 1 } else { host_count };
        let count = plan.message_bytes.div_ceil(plan.segment_bytes.max(1));
        let shares: Vec<f64> = plan.trees.iter().map(|tree| tree.share).collect();
        let segments = match (&plan.period, plan.collective) {
            (Some(period), _) => {
                Segments::periodic(count, blocks, tree_of_positions(period, &plan.trees), plan.trees.len())
            }
            (None, Collective::Allgather) => {
                let owner = |tree: &Tree| host_index[tree.root.unwrap_or(plan.root).index()];
                Segments::deal_by_block(count, blocks, &shares, plan.trees.iter().map(owner).collect())
            }
            (None, _) => Segments::deal(count, blocks, &shares),
        };
        let subtrees = match plan.collective {
            Collective::Scatter => plan.trees.iter().map(|tree| Subtrees::new(tree, plan.root)).collect(),
            _ => Vec::new(),
        };
        let mut relays: HashMap<NodeId, Vec<Relay>> = HashMap::new();
        let parents: Vec<_> = plan.trees.iter().map(Tree::parents).collect();
        for (index, tree) in plan.trees.iter().enumerate() {
            for (&target, via) in &tree.via {
                let Some(parent) = parents[index][target.index()] else { continue };
                let mut path = vec![parent];
                path.extend(via.iter().filter(|relay| is_host[relay.index()]));
                path.push(target);
                for hop in path.windows(3) {
                    let relay = Relay { tree: index as u32, from: hop[0], to: hop[2], target };
                    relays.entry(hop[1]).or_default().push(relay);
                }
            }
        }
        let mut slots_of = Vec::new();
        if let Some(period) = &plan.period {
            slots_of = vec![(Vec::new(), Vec::new()); is_host.len()];
            for (index, slot) in period.slots.iter().enumerate() {
                slots_of[slot.from.index()].0.push(index as u32);
                slots_of[slot.to.index()].1.push(index as u32);
            }
        }
        Programs {
            transfers,
            segments: Arc::new(segments),
            parents,
            relays,
            slots_of,
            is_host,
            host_index,
            subtrees,
        }
    }

    /// What the programs carry out.
    pub fn transfers(&self) -> &Arc<Transfers> {
        &self.transfers
    }

    /// The number of nodes, switches included.
    pub fn node_count(&self) -> usize {
        self.is_host.len()
    }

    /// Whether every node receives in the order of its slots.
    ///
    /// Without a period there is no such order. Where hosts relay it would not be safe: what is only relayed
    /// has no slot, and waits for a port whose own message waits for its turn at a receiver that, in turn,
    /// waits for what is relayed. Receivers then take what comes first; sends keep their order.
    pub fn receives_in_order(&self) -> bool {
        self.transfers.period.is_some() && self.relays.is_empty()
    }

    /// The segments of its trees.
    pub fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// `(offset, length)` of a segment among all blocks, one behind the other in the order of the hosts, bytes.
    pub fn place(&self, id: u64) -> (u64, u64) {
        let (block, segment) = self.segments.split(id);
        let Transfers { message_bytes, segment_bytes, .. } = *self.transfers;
        let start = segment * segment_bytes;
        (u64::from(block) * message_bytes + start, segment_bytes.min(message_bytes - start))
    }

    /// The size of all blocks together, bytes.
    pub fn total_bytes(&self) -> u64 {
        u64::from(self.segments.blocks()) * self.transfers.message_bytes
    }

    /// The switches that a transfer into `target` passes between the hosts `from` and `to`, as the plan
    /// gives them; empty for a direct link.
    pub fn switches(&self, tree: u32, from: NodeId, target: NodeId) -> Vec<NodeId> {
        let Some(via) = self.transfers.trees[tree as usize].via.get(&target) else { return Vec::new() };
        let after = via.iter().position(|&relay| relay == from).map_or(0, |at| at + 1);
        via[after..].iter().copied().take_while(|relay| !self.is_host[relay.index()]).collect()
    }

    /// The program of one node.
    pub fn node(&self, node: NodeId) -> NodeProgram {
        let plan = &self.transfers;
        let relays = self.relays.get(&node).map_or(&[][..], Vec::as_slice);
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        let mut relayed = relays.iter().peekable();
        for (index, tree) in plan.trees.iter().enumerate() {
            let tree_index = index as u32;
            for &child in tree.children(node) {
                let to = self.first_host(tree, child);
                let source = Source::Held;
                outputs.push(OutChannel { to, tag: 0, tree: tree_index, target: child, source });
            }
            if let Some(parent) = self.parents[index][node.index()] {
                let from = self.last_host(tree, node).unwrap_or(parent);
                inputs.push(InChannel { from, tag: 0, tree: tree_index, target: node });
            }
            while let Some(relay) = relayed.next_if(|relay| relay.tree == tree_index) {
                let Relay { tree, from, to, target } = *relay;
                inputs.push(InChannel { from, tag: 0, tree, target });
                outputs.push(OutChannel { to, tag: 0, tree, target, source: Source::Relay(0) });
            }
        }
        inputs.sort_unstable_by_key(|input| (input.from, input.tree, input.target));
        number_tags(inputs.iter_mut().map(|input| (input.from, &mut input.tag)));
        let mut by_pair: Vec<usize> = (0..outputs.len()).collect();
        by_pair.sort_unstable_by_key(|&at| {
            let output: &OutChannel = &outputs[at];
            (output.to, output.tree, output.target)
        });
        let mut tags = vec![0; outputs.len()];
        number_tags_at(&by_pair, &outputs, &mut tags);
        for (output, tag) in outputs.iter_mut().zip(tags) {
            output.tag = tag;
            if let Source::Relay(input) = &mut output.source {
                let key = (output.tree, output.target);
                let found = inputs.iter().position(|input| (input.tree, input.target) == key);
                *input = found.expect("a relay receives what it sends") as u32;
            }
        }
        let (sends, receives) = self.slots(node, &inputs, &outputs);
        let (mut input_blocks, mut output_blocks) = (Vec::new(), Vec::new());
        if plan.collective == Collective::Scatter {
            input_blocks = inputs.iter().map(|input| self.blocks_below(input.tree, input.target)).collect();
            output_blocks =
                outputs.iter().map(|output| self.blocks_below(output.tree, output.target)).collect();
        }
        let is_root = match plan.collective {
            Collective::Allgather => self.is_host[node.index()],
            _ => node == plan.root,
        };
        let block = if plan.collective == Collective::Bcast { 0 } else { self.host_index[node.index()] };
        NodeProgram { node, is_root, block, inputs, outputs, input_blocks, output_blocks, sends, receives }
    }

    /// The blocks of a scatter that go to a node and to everyone below it.
    fn blocks_below(&self, tree: u32, node: NodeId) -> Arc<[u32]> {
        let below = self.subtrees[tree as usize].below(node);
        let mut blocks: Vec<u32> = below.iter().map(|node| self.host_index[node.index()]).collect();
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
        let out_of: HashMap<(u32, NodeId), u32> =
            outputs.iter().enumerate().map(|(at, out)| ((out.tree, out.target), at as u32)).collect();
        let in_of: HashMap<u32, u32> = inputs
            .iter()
            .enumerate()
            .filter(|(_, input)| input.target == node)
            .map(|(at, input)| (input.tree, at as u32))
            .collect();
        let tree_of = |segment: u32| self.segments.tree_of(u64::from(segment)) as u32;
        let joins = |at: usize| {
            let pair = |at: usize| (period.slots[at].from, period.slots[at].to);
            at > 0 && pair(at - 1) == pair(at)
        };
        let sends = sending
            .iter()
            .map(|&at| (period.slots[at as usize], joins(at as usize)))
            .map(|(slot, joins)| SlotSend {
                segment: slot.segment,
                lag: slot.lag,
                out: out_of[&(tree_of(slot.segment), slot.to)],
                joins,
            })
            .collect();
        let receives = receiving
            .iter()
            .map(|&at| period.slots[at as usize])
            .map(|slot| SlotReceive {
                segment: slot.segment,
                lag: slot.lag,
                input: in_of[&tree_of(slot.segment)],
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

/// Numbers runs of equal peers 0, 1, 2 …
fn number_tags<'a>(sorted: impl Iterator<Item = (NodeId, &'a mut u32)>) {
    let mut before = None;
    let mut next = 0;
    for (peer, tag) in sorted {
        next = if before == Some(peer) { next + 1 } else { 0 };
        before = Some(peer);
        *tag = next;
    }
}

fn number_tags_at(order: &[usize], outputs: &[OutChannel], tags: &mut [u32]) {
    let mut before = None;
    let mut next = 0;
    for &at in order {
        next = if before == Some(outputs[at].to) { next + 1 } else { 0 };
        before = Some(outputs[at].to);
        tags[at] = next;
    }
}

/// The tree whose edges are exactly those of the slots of each position; the first tree where none is
/// (the checker refuses such a plan). Trees of the same edges, which only switches tell apart, take their positions in
/// turn, by their shares.
pub(crate) fn tree_of_positions(period: &Period, trees: &[Tree]) -> Vec<u32> {
    // A sum of well-mixed edge marks (splitmix64) does not depend on the edges' order.
    let mark = |from: NodeId, to: NodeId| {
        let mut mixed = (u64::from(from.0) << 32 | u64::from(to.0)).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    // With what each tree still has to get, in positions.
    let mut alike: HashMap<u64, Vec<(f64, u32)>> = HashMap::new();
    for (index, tree) in trees.iter().enumerate() {
        let sum = tree.edges().fold(0u64, |sum, (from, to)| sum.wrapping_add(mark(from, to)));
        alike.entry(sum).or_default().push((0.0, index as u32));
    }
    let mut sums = vec![0u64; period.segments as usize];
    for slot in &period.slots {
        if let Some(sum) = sums.get_mut(slot.segment as usize) {
            *sum = sum.wrapping_add(mark(slot.from, slot.to));
        }
    }
    let next_of = |sum: &u64| {
        let Some(owed) = alike.get_mut(sum) else { return 0 };
        let share = |tree: u32| trees[tree as usize].share;
        let total: f64 = owed.iter().map(|&(_, tree)| share(tree)).sum();
        owed.iter_mut().for_each(|(owed, tree)| *owed += share(*tree) / total);
        // The first of those that are owed most.
        let mut most = 0;
        for at in 1..owed.len() {
            if owed[at].0 > owed[most].0 {
                most = at;
            }
        }
        owed[most].0 -= 1.0;
        owed[most].1
    };
    sums.iter().map(next_of).collect()
}

impl Plan {
    /// The plan with every edge that has no link and no `via` routed along the quickest path.
    ///
    /// # Errors
    /// As [`Programs::for_platform`].
    pub fn routed(&self, platform: &Platform) -> Result<Plan, PlanError> {
        let mut plan = self.clone();
        let mut missing: Vec<(NodeId, usize, NodeId)> = Vec::new();
        for (at, tree) in plan.trees.iter().enumerate() {
            let is_missing = |&(from, to): &(NodeId, NodeId)| {
                platform.link(from, to).is_none() && !tree.via.contains_key(&to)
            };
            missing.extend(tree.edges().filter(is_missing).map(|(from, to)| (from, at, to)));
        }
        // One search of paths for each sender.
        missing.sort_unstable();
        for of_sender in missing.chunk_by(|a, b| a.0 == b.0) {
            let targets: Vec<NodeId> = of_sender.iter().map(|&(_, _, to)| to).collect();
            let routes = platform.routes(of_sender[0].0, &targets, self.segment_bytes);
            for (&(from, tree, to), route) in of_sender.iter().zip(routes) {
                let route = route.ok_or_else(|| PlanError::NoPath {
                    from: platform.node(from).id.clone(),
                    to: platform.node(to).id.clone(),
                })?;
                let relays = route.hops[1..].iter().map(|hop| hop.from).collect();
                plan.trees[tree].via.insert(to, relays);
            }
        }
        Ok(plan)
    }
}
