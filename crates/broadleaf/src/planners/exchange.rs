//! The hosts of an all-reduce that exchange what has come in to them.
//!
//! Through a tree's root, a contribution takes the way to the root and the way out. If the root and one of its children send
//! their sums to each other instead, both have the whole when the other's sum has come, with as many messages as before: the
//! link between them is crossed both ways at once, not in turn. More than two such *heads* send each other more messages than
//! a root does.

use crate::budget::Budget;
use crate::model::occupation;
use crate::plan::{throughput, Plan, Tree};
use crate::platform::{Hop, NodeId, Platform};

/// Plans of more edges stay as they are: to look at them would take about a second.
const MOST_EDGES: usize = 1 << 20;
/// To look at an edge of each share, s. Measured: `benches/time_limits.py clusters-2000 --collective allreduce`, where those of
/// 64 trees took 0.13 s.
const EDGE_S: f64 = 1e-6;
/// The least part of the time that an exchange has to save; chosen. In a long message, heads hold each other's ports while
/// their sites contribute, which may cost more than the shorter way saves.
const LEAST_GAIN: f64 = 0.1;

/// Whether an exchange is expected to save enough, by the times through roots and with it, seconds.
pub(super) fn is_worth_exchanging(through_roots_s: f64, exchanged_s: f64) -> bool {
    through_roots_s - exchanged_s > LEAST_GAIN * through_roots_s
}

/// The same all-reduce, in which each tree's root exchanges with the child that has the farthest hosts below it, where that
/// saves a good part of the whole time. Plans with a period, those that exchange already, and those of blocks that no host
/// passes on, whose ways are apart in time, stay as they are, as do all where a time limit leaves no time to look.
pub(super) fn with_farthest(platform: &Platform, mut plan: Plan, budget: &Budget) -> Plan {
    let exchanges = plan.inward.iter().any(|tree| !tree.exchange.is_empty());
    let are_apart = plan.trees.len() > 1 && plan.is_direct();
    let edges = plan.inward.len() * platform.node_count();
    let is_large = edges > MOST_EDGES || !budget.has_time_for(edges as f64 * EDGE_S);
    if plan.inward.is_empty() || plan.period.is_some() || exchanges || are_apart || is_large {
        return plan;
    }
    let pairs = plan.inward.iter().zip(plan.trees.iter());
    let far: Option<Vec<Far>> =
        pairs.map(|(inward, outward)| farthest(platform, plan.root_of(inward), [inward, outward])).collect();
    let (Some(far), Ok(rate)) = (far, throughput(platform, &plan)) else { return plan };
    // The same for every segment size, which is searched afterwards.
    let steady_s = plan.message_bytes as f64 / rate;
    let longest_s =
        |of: fn(&Far) -> f64| far.iter().map(of).fold(steady_s, |most_s, way_s| most_s.max(steady_s + way_s));
    if is_worth_exchanging(longest_s(|far| far.through_root_s), longest_s(|far| far.exchanged_s)) {
        plan.inward.iter_mut().zip(&far).for_each(|(tree, far)| tree.exchange.extend(far.head));
    }
    plan
}

/// The longest way of one byte along a share's trees.
struct Far {
    /// The child that has the farthest hosts below it, if to exchange with it shortens the way.
    head: Option<NodeId>,
    through_root_s: f64,
    exchanged_s: f64,
}

fn farthest(platform: &Platform, root: NodeId, ways: [&Tree; 2]) -> Option<Far> {
    let [inward, outward] = ways;
    let heads: Vec<NodeId> = [root].iter().chain(inward.children(root)).copied().collect();
    let in_s = depths_s(platform, 1, &heads, inward, true)?;
    let out_s = depths_s(platform, 1, &heads, outward, false)?;
    let mut far: Option<(f64, NodeId)> = None;
    for (at, &child) in heads.iter().enumerate().skip(1) {
        let hops_s = hop_s(platform, 1, child, root)? + hop_s(platform, 1, root, child)?;
        let both_s = hops_s + in_s[at] + out_s[at];
        if far.is_none_or(|(longest_s, _)| both_s > longest_s) {
            far = Some((both_s, child));
        }
    }
    let (_, head) = far?;
    let is_direct = |tree: &Tree| tree.children(root).contains(&head) && !tree.via.contains_key(&head);
    let longest_s =
        |exchange: &[NodeId]| longest_way_s(platform, 1, root, [Some(inward), Some(outward)], exchange);
    let through_root_s = longest_s(&[])?;
    let exchanged_s =
        if is_direct(inward) && is_direct(outward) { longest_s(&[head])? } else { through_root_s };
    let head = Some(head).filter(|_| exchanged_s < through_root_s);
    Some(Far { head, through_root_s, exchanged_s: exchanged_s.min(through_root_s) })
}

/// The time of a segment by the longest way in and out of an all-reduce's tree, or by one of these ways, where the root and
/// the hosts in `exchange` are heads, seconds. `None` where an edge has no link.
pub(crate) fn longest_way_s(
    platform: &Platform,
    bytes: u64,
    root: NodeId,
    [inward, outward]: [Option<&Tree>; 2],
    exchange: &[NodeId],
) -> Option<f64> {
    let heads = [&[root], exchange].concat();
    let of_way = |tree: Option<&Tree>, is_inward: bool| match tree {
        Some(tree) => depths_s(platform, bytes, &heads, tree, is_inward),
        None => Some(vec![0.0; heads.len()]),
    };
    let (in_s, out_s) = (of_way(inward, true)?, of_way(outward, false)?);
    let mut longest_s = 0.0f64;
    for (&to, out_s) in heads.iter().zip(&out_s) {
        for (&from, in_s) in heads.iter().zip(&in_s) {
            let between_s = if from == to { 0.0 } else { hop_s(platform, bytes, from, to)? };
            longest_s = longest_s.max(in_s + between_s + out_s);
        }
    }
    Some(longest_s)
}

/// By head, the first of which is the tree's root, the longest way between it and a host below it that is below no other
/// head, seconds.
fn depths_s(
    platform: &Platform,
    bytes: u64,
    heads: &[NodeId],
    tree: &Tree,
    is_inward: bool,
) -> Option<Vec<f64>> {
    let mut place = vec![0; platform.node_count()];
    heads.iter().enumerate().for_each(|(at, head)| place[head.index()] = at);
    let mut at_s = vec![0.0; platform.node_count()];
    let mut depths_s = vec![0.0f64; heads.len()];
    for parent in tree.breadth_first(heads[0]) {
        for &child in tree.children(parent) {
            if place[child.index()] > 0 {
                continue;
            }
            let (from, to) = if is_inward { (child, parent) } else { (parent, child) };
            let head = place[parent.index()];
            place[child.index()] = head;
            at_s[child.index()] = at_s[parent.index()] + hop_s(platform, bytes, from, to)?;
            depths_s[head] = depths_s[head].max(at_s[child.index()]);
        }
    }
    Some(depths_s)
}

/// Of a transfer that waits for nothing, seconds.
fn hop_s(platform: &Platform, bytes: u64, from: NodeId, to: NodeId) -> Option<f64> {
    let class = platform.link(from, to)?;
    Some(occupation(platform, Hop { from, to, class }, bytes).arrival_s)
}
