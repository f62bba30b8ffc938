//! The independent judge of plans: shares no code with any planner, nor with the executor.
//!
//! A plan is right when every host gets every byte exactly once, only from a node that has it by then, over
//! links that exist, and when its orders never block each other.

use super::{Collective, Period, Plan, Slot, Tree};
use crate::platform::{NodeId, Platform};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How far the shares' sum may be from 1.
const SHARES_SUM: f64 = 1e-9;
/// Transfers of a period that are played through in search of a deadlock.
const PLAYED_TRANSFERS: u64 = 4_000_000;
/// More faults than this are not worth listing.
const MOST_FAULTS: usize = 100;

/// Everything that is wrong with `plan` on `platform`, one line a fault; empty for a valid plan.
pub fn faults(platform: &Platform, plan: &Plan) -> Vec<String> {
    let mut faults = Vec::new();
    if !plan.platform_digest.is_empty() && plan.platform_digest != platform.digest() {
        faults.push(format!(
            "the plan was made for platform \"{}\" ({}), this one is \"{}\" ({}); plan again",
            plan.platform,
            short(&plan.platform_digest),
            platform.name(),
            short(platform.digest())
        ));
    }
    let unknown: Vec<&String> = plan.nodes.iter().filter(|id| platform.find(id).is_none()).collect();
    if !unknown.is_empty() {
        faults.extend(unknown.iter().take(MOST_FAULTS).map(|id| format!("unknown node \"{id}\"")));
        return faults;
    }
    let plan = match plan.bind(platform) {
        Ok(plan) => plan,
        Err(error) => return vec![error.to_string()],
    };
    if !platform.node(plan.root).is_host() {
        faults.push(format!("the root \"{}\" is a switch", platform.node(plan.root).id));
        return faults;
    }
    if plan.segment_bytes == 0 {
        faults.push("segments of 0 bytes".to_string());
    }
    if plan.trees.is_empty() {
        faults.push("no trees".to_string());
        return faults;
    }
    shares_faults(platform, &plan, &mut faults);
    for (index, tree) in plan.trees.iter().enumerate() {
        if !(tree.share > 0.0 && tree.share <= 1.0 + SHARES_SUM) {
            faults.push(format!("tree {index} has share {}, not above 0 and at most 1", tree.share));
        }
        tree_faults(platform, &plan, index, tree, &mut faults);
        if faults.len() >= MOST_FAULTS {
            break;
        }
    }
    if faults.is_empty() {
        if let Some(period) = &plan.period {
            period_faults(platform, &plan, period, &mut faults);
        }
    }
    faults.truncate(MOST_FAULTS);
    faults
}

/// The shares of the trees of each root sum to 1; only an all-gather has several roots, and needs all hosts.
fn shares_faults(platform: &Platform, plan: &Plan, faults: &mut Vec<String>) {
    let mut sums: BTreeMap<NodeId, f64> = BTreeMap::new();
    if plan.collective == Collective::Allgather {
        sums.extend(platform.hosts().map(|host| (host, 0.0)));
    }
    for (index, tree) in plan.trees.iter().enumerate() {
        let root = plan.root_of(tree);
        if plan.collective != Collective::Allgather && root != plan.root {
            let id = &platform.node(root).id;
            faults
                .push(format!("tree {index} has the root \"{id}\", but only an allgather has several roots"));
        }
        *sums.entry(root).or_default() += tree.share;
    }
    for (root, sum) in sums.into_iter().filter(|(_, sum)| (sum - 1.0).abs() > SHARES_SUM) {
        let of = match plan.collective {
            Collective::Allgather => format!(" of the trees from \"{}\"", platform.node(root).id),
            _ => " of the trees".to_string(),
        };
        faults.push(format!("the shares{of} sum to {sum}, not to 1"));
    }
}

fn short(digest: &str) -> &str {
    digest.get(..15).unwrap_or(digest)
}

/// Every host but the root has one parent, hangs below the root, and can be reached from its parent.
#[allow(clippy::too_many_lines, reason = "one check after the other, in the order of their dependence")]
fn tree_faults(platform: &Platform, plan: &Plan, index: usize, tree: &Tree, faults: &mut Vec<String>) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    let root = plan.root_of(tree);
    let mut parent_of: HashMap<NodeId, NodeId> = HashMap::new();
    for (parent, child) in tree.edges() {
        if !platform.node(parent).is_host() || !platform.node(child).is_host() {
            let switch = if platform.node(parent).is_host() { child } else { parent };
            faults
                .push(format!("tree {index}: \"{}\" is a switch and cannot hold the message", name(switch)));
        }
        if child == root {
            faults.push(format!("tree {index}: the root is a child of \"{}\"", name(parent)));
        } else if let Some(before) = parent_of.insert(child, parent) {
            faults.push(format!(
                "tree {index}: \"{}\" gets every byte twice, from \"{}\" and \"{}\"",
                name(child),
                name(before),
                name(parent)
            ));
        }
        if faults.len() >= MOST_FAULTS {
            return;
        }
    }
    let mut reached: HashSet<NodeId> = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        open.extend(tree.children(node).iter().copied().filter(|&child| reached.insert(child)));
    }
    for host in platform.hosts().filter(|host| !reached.contains(host)).take(MOST_FAULTS) {
        let fact = match parent_of.get(&host) {
            Some(_) => "hangs on a cycle, not below the root",
            None => "never gets the message",
        };
        faults.push(format!("tree {index}: \"{}\" {fact}", name(host)));
    }
    for (&child, relays) in &tree.via {
        let Some(&parent) = parent_of.get(&child) else {
            faults.push(format!("tree {index}: via for \"{}\", which has no parent there", name(child)));
            continue;
        };
        let mut path = vec![parent];
        path.extend_from_slice(relays);
        path.push(child);
        if path.iter().collect::<HashSet<_>>().len() != path.len() {
            faults.push(format!("tree {index}: the way into \"{}\" passes a node twice", name(child)));
        }
        for pair in path.windows(2).filter(|pair| platform.link(pair[0], pair[1]).is_none()) {
            faults.push(format!("tree {index}: no link from \"{}\" to \"{}\"", name(pair[0]), name(pair[1])));
        }
    }
    // One search from each parent that has a child without a direct link.
    let mut reachable: HashMap<NodeId, HashSet<NodeId>> = HashMap::new();
    for (parent, child) in tree.edges() {
        if faults.len() >= MOST_FAULTS {
            return;
        }
        if platform.link(parent, child).is_some() || tree.via.contains_key(&child) {
            continue;
        }
        let cut_off = reachable
            .entry(parent)
            .or_insert_with(|| platform.unreachable_from(parent).into_iter().collect());
        if cut_off.contains(&child) {
            faults.push(format!("tree {index}: no path from \"{}\" to \"{}\"", name(parent), name(child)));
        }
    }
}

/// Each position of the period is one of the trees, the trees have their shares of positions, and the
/// static orders never wait for each other in a circle.
fn period_faults(platform: &Platform, plan: &Plan, period: &Period, faults: &mut Vec<String>) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    let positions = period.segments as usize;
    let blocks = match plan.collective {
        Collective::Bcast => 1,
        Collective::Scatter => {
            faults.push(
                "period: a scatter cannot have one, since its edges carry different blocks".to_string(),
            );
            return;
        }
        Collective::Allgather => platform.hosts().count(),
    };
    if !positions.is_multiple_of(blocks) {
        faults.push(format!("period: {positions} positions, not a multiple of the {blocks} contributions"));
        return;
    }
    let mut edges: Vec<Vec<(NodeId, NodeId)>> = vec![Vec::new(); positions];
    for slot in &period.slots {
        match edges.get_mut(slot.segment as usize) {
            Some(list) => list.push((slot.from, slot.to)),
            None => faults.push(format!("period: position {} of {positions}", slot.segment)),
        }
    }
    let sorted = |mut list: Vec<(NodeId, NodeId)>| {
        list.sort_unstable();
        list
    };
    let mut trees: HashMap<Vec<(NodeId, NodeId)>, Vec<usize>> = HashMap::new();
    for (index, tree) in plan.trees.iter().enumerate() {
        trees.entry(sorted(tree.edges().collect())).or_default().push(index);
    }
    let mut carried: HashMap<usize, usize> = HashMap::new();
    let hosts: Vec<NodeId> = platform.hosts().collect();
    for (position, list) in edges.into_iter().enumerate() {
        match trees.get(&sorted(list)) {
            Some(same) if blocks > 1 && plan.root_of(&plan.trees[same[0]]) != hosts[position % blocks] => {
                let owner = name(hosts[position % blocks]);
                faults.push(format!(
                    "period: position {position} carries \"{owner}\"'s part from another root"
                ));
            }
            Some(same) => *carried.entry(same[0]).or_default() += 1,
            None => faults.push(format!("period: the slots of position {position} are none of the trees")),
        }
        if faults.len() >= MOST_FAULTS {
            return;
        }
    }
    for same in trees.values() {
        let share: f64 = same.iter().map(|&tree| plan.trees[tree].share).sum();
        let got = carried.get(&same[0]).copied().unwrap_or(0) as f64 * blocks as f64 / positions as f64;
        if (share - got).abs() > SHARES_SUM {
            faults.push(format!("period: tree {} has share {share} but {got} of the positions", same[0]));
        }
    }
    if faults.is_empty() {
        if let Some((node, segment)) = blocked(plan, period, &hosts, blocks as u64) {
            faults.push(format!("period: \"{}\" waits for ever to send segment {segment}", name(node)));
        }
    }
}

/// Plays the period without time: a slot is done when it is next at its sender and at its receiver and the
/// sender has the segment. The first sender and segment that never come to be done, if any.
fn blocked(plan: &Plan, period: &Period, hosts: &[NodeId], blocks: u64) -> Option<(NodeId, u64)> {
    let each = period.slots.len() as u64;
    let most = PLAYED_TRANSFERS / each.max(1) + 3 + u64::from(period.longest_lag());
    let count = (plan.segment_count() * blocks).min(most * u64::from(period.segments));
    let periods = period.periods(count);
    let nodes = plan.nodes.len();
    let mut sends: Vec<Vec<&Slot>> = vec![Vec::new(); nodes];
    let mut receives: Vec<Vec<&Slot>> = vec![Vec::new(); nodes];
    for slot in &period.slots {
        sends[slot.from.index()].push(slot);
        receives[slot.to.index()].push(slot);
    }
    let next = |slots: &[&Slot], at: &mut (u64, usize)| -> Option<(NodeId, NodeId, u64)> {
        while !slots.is_empty() && at.0 < periods {
            let slot = slots[at.1];
            if let Some(segment) = period.segment(slot, at.0, count) {
                return Some((slot.from, slot.to, segment));
            }
            *at = if at.1 + 1 == slots.len() { (at.0 + 1, 0) } else { (at.0, at.1 + 1) };
        }
        None
    };
    let step = |slots: &[&Slot], at: &mut (u64, usize)| {
        *at = if at.1 + 1 == slots.len() { (at.0 + 1, 0) } else { (at.0, at.1 + 1) };
    };
    let mut send_at = vec![(0u64, 0usize); nodes];
    let mut receive_at = vec![(0u64, 0usize); nodes];
    let mut holds: Vec<HashSet<u64>> = vec![HashSet::new(); nodes];
    let mut open: Vec<NodeId> = (0..nodes as u32).map(NodeId).collect();
    while let Some(node) = open.pop() {
        let sender = node.index();
        while let Some((_, to, segment)) = next(&sends[sender], &mut send_at[sender]) {
            let owner = if blocks == 1 { plan.root } else { hosts[(segment % blocks) as usize] };
            let has_it = node == owner || holds[sender].contains(&segment);
            let receiver = to.index();
            let turn = next(&receives[receiver], &mut receive_at[receiver]) == Some((node, to, segment));
            if !has_it || !turn {
                break;
            }
            step(&sends[sender], &mut send_at[sender]);
            step(&receives[receiver], &mut receive_at[receiver]);
            if !sends[receiver].is_empty() {
                holds[receiver].insert(segment);
            }
            // The receiver may forward now, and whoever is next in its order may send.
            open.push(to);
            if let Some((from, _, _)) = next(&receives[receiver], &mut receive_at[receiver]) {
                open.push(from);
            }
        }
    }
    (0..nodes).find_map(|node| {
        next(&sends[node], &mut send_at[node]).map(|(_, _, segment)| (NodeId(node as u32), segment))
    })
}
