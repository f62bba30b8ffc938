//! From a plan over the platform's nodes to a plan over the ranks of a communicator.
//!
//! Nodes with several ranks make it a two-level plan: one rank of each node, its *leader*, takes the node's
//! place in every tree, and the others hang below it in an inner tree. The root's own rank leads its node,
//! elsewhere the lowest rank does. Leaders serve other nodes first, since those links are the slower ones.

pub mod allgather;
pub mod carried;
mod edge;
mod encode;
mod lead;
pub mod part;
#[cfg(test)]
mod tests;

use crate::smpi;
use crate::topology::placement::{memory, memory_link};
use broadleaf::plan::{Collective, Direction, Period, Plan, PlanError, Slot, Transfers, Tree, TreeBuilder};
use broadleaf::planners::clustered::quickest_tree;
use broadleaf::planners::Instance;
use broadleaf::platform::{NodeId, Platform};
use edge::{Edges, Ends};
use lead::Leads;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use edge::{goes_whole, on_the_wire, slots_by_way, Edge};

/// A plan over MPI ranks; every rank's program is made from it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankPlan {
    /// Who made it, for the statistics.
    pub planner: String,
    /// Their nodes are the communicator's ranks.
    pub transfers: Arc<Transfers>,
    /// `edges[tree][rank]`: the one between `rank` and its parent; behind the trees of an all-reduce, its inward ones.
    pub edges: Arc<Vec<Vec<Edge>>>,
    /// By inward tree of an all-reduce, those between the heads of its exchange.
    pub between: Arc<Vec<Between>>,
    /// Only one rank of each host that shares memory takes part; it passes the message on inside.
    pub led: bool,
}

/// By sender and receiver.
pub type Between = BTreeMap<(NodeId, NodeId), Edge>;

/// `plan`, over the nodes of `platform`, as a plan over ranks. `ranks[node]` are the ranks that sit on a node,
/// ascending; `is_served`: whether the ranks of that rank's node get the message by other means than the plan's.
pub fn expand(
    plan: &Plan,
    platform: &Platform,
    ranks: &[Vec<u32>],
    root: u32,
    is_served: &dyn Fn(u32) -> bool,
) -> Result<RankPlan, PlanError> {
    let plan = plan.bind(platform)?.routed(platform)?;
    let sites: Vec<Vec<NodeId>> = ranks.iter().map(|ranks| led_by(ranks, root)).collect();
    let mut inner_edges = Vec::new();
    for site in sites.iter().filter(|site| site.len() > 1 && !is_served(site[0].0)) {
        let inside = memory(site.len() as u32)?;
        let instance = Instance::new(&inside, NodeId(0), plan.message_bytes)?.segmented(plan.segment_bytes);
        let edges = quickest_tree(&instance).into_iter();
        inner_edges.extend(edges.map(|(from, to)| (site[from.index()], site[to.index()])));
    }
    let count = ranks.iter().map(Vec::len).sum();
    let leader = |node: NodeId| sites[node.index()][0];
    let local = Edge::local(&memory_link(), plan.segment_bytes);
    let of_plan = Edges::of(&plan, platform, smpi::is_on());
    let (mut trees, mut edges) = (Vec::new(), Vec::new());
    let leads = Leads::of(&plan, platform);
    let outward = plan.trees.iter().enumerate().map(|(at, tree)| (at, tree, plan.collective.is_inward()));
    let inward = plan.inward.iter().enumerate().map(|(at, tree)| (at, tree, true));
    for (at, tree, is_inward) in outward.chain(inward) {
        let leads = leads.as_ref().map(|leads| leads.of_tree(at, is_inward));
        trees.push(expand_tree(tree, platform, &leader, &inner_edges, count));
        let mut into = vec![local; count];
        for (from, to) in tree.edges() {
            let ends = Ends { parent: from, child: to, is_inward };
            let lead = leads.as_ref().map_or(0, |leads| leads[to.index()]);
            into[leader(to).index()] = Edge { lead, ..of_plan.edge(tree, ends) };
        }
        edges.push(into);
    }
    let inward = trees.split_off(plan.trees.len());
    let between = plan.inward.iter().enumerate().map(|(at, tree)| {
        let pairs = of_plan.between_heads(tree, plan.root_of(tree)).into_iter();
        let lead = leads.as_ref().map(|leads| leads.between_heads(at));
        let lead = |from, to| lead.as_ref().map_or(0, |lead| lead(from, to));
        pairs
            .map(|(from, to, edge)| ((leader(from), leader(to)), Edge { lead: lead(from, to), ..edge }))
            .collect()
    });
    let between = Arc::new(between.collect());
    let period = plan
        .period
        .as_ref()
        .map(|period| expand_period(period, plan.collective, &leader, &inner_edges, count));
    let planner = plan.planner.clone();
    let weights = plan.weights.as_ref().map(|of_node| {
        let mut of_rank = vec![1.0; count];
        for (ranks, &weight) in ranks.iter().zip(&of_node[..]) {
            ranks.iter().for_each(|&rank| of_rank[rank as usize] = weight);
        }
        of_rank.into()
    });
    let transfers = Transfers {
        root: NodeId(root),
        weights,
        trees: trees.into(),
        inward: inward.into(),
        period,
        ..plan.into()
    };
    Ok(RankPlan { planner, transfers: Arc::new(transfers), edges: Arc::new(edges), between, led: false })
}

/// A node's ranks, its leader first.
fn led_by(ranks: &[u32], root: u32) -> Vec<NodeId> {
    let mut site: Vec<NodeId> = ranks.iter().map(|&rank| NodeId(rank)).collect();
    site.sort_by_key(|&rank| (rank.0 != root, rank));
    site
}

fn expand_tree(
    tree: &Tree,
    platform: &Platform,
    leader: &dyn Fn(NodeId) -> NodeId,
    inner: &[(NodeId, NodeId)],
    count: usize,
) -> Tree {
    let heads = tree.exchange.iter().map(|&head| leader(head)).collect();
    let mut builder = TreeBuilder::new(count).share(tree.share).exchange(heads);
    if let Some(root) = tree.root {
        builder = builder.root(leader(root));
    }
    for (parent, child) in tree.edges() {
        builder.add(leader(parent), leader(child));
        let relays = tree.via.get(&child).map_or(&[][..], Vec::as_slice);
        // The network does the forwarding of switches.
        let hosts = relays.iter().filter(|&&relay| platform.node(relay).is_host());
        builder.via(leader(child), hosts.map(|&relay| leader(relay)).collect());
    }
    for &(parent, child) in inner {
        builder.add(parent, child);
    }
    builder.build()
}

/// Outward, every node passes a segment on inside in the same period in which it got it, after all other transfers of
/// that period; inward, its ranks come together in the same period in which it sends, before all others. So if the
/// outer period runs slot by slot, the whole one does.
fn expand_period(
    period: &Period,
    collective: Collective,
    leader: &dyn Fn(NodeId) -> NodeId,
    inner: &[(NodeId, NodeId)],
    count: usize,
) -> Period {
    let between: Vec<Slot> = period
        .slots
        .iter()
        .map(|slot| Slot { from: leader(slot.from), to: leader(slot.to), ..*slot })
        .collect();
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let ways = if collective.direction() == Direction::Both { 2 } else { 1 };
    for segment in 0..if inner.is_empty() { 0 } else { ways * period.segments } {
        let goes_in = match collective.direction() {
            Direction::Both => segment < period.segments,
            direction => direction == Direction::Inward,
        };
        // A node's only transfer with its parent. The root of a tree has none, and takes its last incoming or first
        // outgoing transfer.
        let mut lag = vec![None; count];
        let of_segment = || between.iter().filter(|slot| slot.segment == segment);
        for slot in of_segment() {
            let child = if goes_in { slot.from } else { slot.to };
            lag[child.index()] = Some(slot.lag);
        }
        let with_children = of_segment().map(|slot| slot.lag);
        let of_root = if goes_in { with_children.max() } else { with_children.min() }.unwrap_or(0);
        for &(from, to) in inner {
            let lag_of = *lag[from.index()].get_or_insert(of_root);
            lag[to.index()] = Some(lag_of);
            if goes_in {
                before.push(Slot { segment, from: to, to: from, lag: lag_of });
            } else {
                behind.push(Slot { segment, from, to, lag: lag_of });
            }
        }
    }
    // Inner edges are listed from the leader down.
    before.reverse();
    Period { segments: period.segments, slots: [before, between, behind].concat() }
}
