//! The independent checker of plans: shares no code with any planner, nor with the executor.
//!
//! A plan is valid if every host gets every byte exactly once, from a node that already has it, over links that exist,
//! and if its orders never block each other.

mod deadlock;
mod exchange;

use super::{Collective, Period, Plan, Tree};
use crate::platform::{NodeId, Platform};
use deadlock::order_fault;
use exchange::exchange_faults;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Tolerance of the shares' sum around 1.
const SHARES_SUM: f64 = 1e-9;
/// Of all blocks together, as MPI counts them.
const MOST_BYTES: u64 = i64::MAX as u64;
/// Each takes 8 bytes while the plan runs.
const MOST_DEALT: u64 = 1 << 26;
/// The list of faults ends here.
const MOST_FAULTS: usize = 100;

/// The faults of `plan` on `platform`, one line each; empty for a valid plan.
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
    weights_faults(platform, &plan, &mut faults);
    size_faults(platform, &plan, &mut faults);
    shares_faults(platform, &plan, &mut faults);
    pairs_faults(&plan, &mut faults);
    for (index, tree) in plan.trees.iter().enumerate() {
        if !(tree.share > 0.0 && tree.share <= 1.0 + SHARES_SUM) {
            faults.push(format!("tree {index} has share {}, not above 0 and at most 1", tree.share));
        }
        let is_inward = goes_inward(plan.collective);
        tree_faults(platform, &plan, &Judged { index: index.to_string(), tree, is_inward }, &mut faults);
        if let Some(tree) = plan.inward.get(index) {
            let index = format!("{index}, inward");
            tree_faults(platform, &plan, &Judged { index, tree, is_inward: true }, &mut faults);
        }
        if faults.len() >= MOST_FAULTS {
            break;
        }
    }
    exchange_faults(platform, &plan, &mut faults);
    if faults.is_empty() {
        if let Some(period) = &plan.period {
            period_faults(platform, &plan, period, &mut faults);
        }
    }
    faults.truncate(MOST_FAULTS);
    faults
}

/// Only hosts' blocks have weights, and at least one block has bytes.
fn weights_faults(platform: &Platform, plan: &Plan, faults: &mut Vec<String>) {
    let Some(weights) = &plan.weights else { return };
    if !plan.collective.has_blocks() {
        faults.push(format!("weights in a plan for {}, which has no block for each host", plan.collective));
    }
    for (node, &weight) in platform.nodes().zip(&weights[..]) {
        let name = &platform.node(node).id;
        if !(weight >= 0.0 && weight.is_finite()) {
            faults.push(format!("\"{name}\" has the weight {weight}, not a number from 0 on"));
        } else if !platform.node(node).is_host() && weight != 1.0 {
            faults.push(format!("\"{name}\" is a switch and has no block, but a weight"));
        }
    }
    if platform.hosts().all(|host| weights[host.index()] == 0.0) {
        faults.push("all weights are 0".to_string());
    }
}

/// Runners of the plan count its bytes, and keep each segment's tree where shares deal them.
fn size_faults(platform: &Platform, plan: &Plan, faults: &mut Vec<String>) {
    let blocks = plan.collective.blocks(platform.hosts().count()) as u64;
    let bytes = plan.message_bytes;
    let weighted: Option<f64> = plan
        .weights
        .as_ref()
        .map(|weights| platform.hosts().map(|host| bytes as f64 * weights[host.index()]).sum());
    if let Some(all) = weighted.filter(|&all| all > MOST_BYTES as f64) {
        faults.push(format!("blocks of {all:.3e} bytes are more than the 2^63 - 1 that a message can have"));
    } else if bytes.checked_mul(blocks).is_none_or(|all| all > MOST_BYTES) {
        faults.push(format!("{blocks} x {bytes} bytes are more than the 2^63 - 1 that a message can have"));
    }
    let dealt =
        plan.segment_count().saturating_mul(if plan.trees.len() > blocks as usize { blocks } else { 1 });
    if plan.period.is_none() && plan.trees.len() > 1 && dealt > MOST_DEALT {
        faults.push(format!(
            "{dealt} segments of {} bytes are more than the {MOST_DEALT} that are dealt to several trees; use \
             larger segments",
            plan.segment_bytes
        ));
    }
}

/// The shares of the trees of each root sum to 1; where every host is a root, none may be missing.
fn shares_faults(platform: &Platform, plan: &Plan, faults: &mut Vec<String>) {
    let mut sums: BTreeMap<NodeId, f64> = BTreeMap::new();
    let is_rooted = has_one_root(plan.collective);
    // The shares of an all-reduce are of one message, wherever they are combined.
    let is_shared = is_rooted || plan.collective == Collective::Allreduce;
    if !is_shared {
        sums.extend(platform.hosts().map(|host| (host, 0.0)));
    }
    for (index, tree) in plan.trees.iter().enumerate() {
        let root = plan.root_of(tree);
        if is_rooted && root != plan.root {
            let (id, collective) = (&platform.node(root).id, plan.collective);
            faults.push(format!(
                "tree {index} has the root \"{id}\", and a {collective} has one root, the plan's"
            ));
        }
        *sums.entry(if is_shared { plan.root } else { root }).or_default() += tree.share;
    }
    for (root, sum) in sums.into_iter().filter(|(_, sum)| (sum - 1.0).abs() > SHARES_SUM) {
        let of = match is_shared {
            false => format!(" of the trees of \"{}\"", platform.node(root).id),
            true => " of the trees".to_string(),
        };
        faults.push(format!("the shares{of} sum to {sum}, not to 1"));
    }
}

fn short(digest: &str) -> &str {
    digest.get(..15).unwrap_or(digest)
}

/// Whether all trees hang from the plan's root; else every host has trees of its own.
fn has_one_root(collective: Collective) -> bool {
    !matches!(collective, Collective::Allgather | Collective::ReduceScatter | Collective::Allreduce)
}

/// Whether data take an edge of the plan's trees from the child to the parent.
fn goes_inward(collective: Collective) -> bool {
    matches!(collective, Collective::Gather | Collective::Reduce | Collective::ReduceScatter)
}

/// Each share of an all-reduce has a way in and a way out that meet: there, all contributions are combined.
fn pairs_faults(plan: &Plan, faults: &mut Vec<String>) {
    let wanted = if plan.collective == Collective::Allreduce { plan.trees.len() } else { 0 };
    if plan.inward.len() != wanted {
        let (count, collective) = (plan.inward.len(), plan.collective);
        faults.push(format!("{count} inward trees beside {wanted} outward ones in an {collective}"));
    }
    for (index, (inward, outward)) in plan.inward.iter().zip(&plan.trees).enumerate() {
        if (inward.share - outward.share).abs() > SHARES_SUM {
            let (inward, outward) = (inward.share, outward.share);
            faults.push(format!("tree {index} has share {outward}, but {inward} inward"));
        }
        if plan.root_of(inward) != plan.root_of(outward) {
            faults.push(format!("tree {index} comes in to another root than it goes out from"));
        }
    }
}

/// A tree in the direction under check.
struct Judged<'a> {
    /// For people.
    index: String,
    tree: &'a Tree,
    is_inward: bool,
}

/// Every host but the root has one parent, is below the root, and can be reached from its parent. Inward, it can reach
/// its parent: so its contribution takes one path and arrives once.
fn tree_faults(platform: &Platform, plan: &Plan, judged: &Judged, faults: &mut Vec<String>) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    let root = plan.root_of(judged.tree);
    let Judged { index, tree, is_inward } = judged;
    let is_inward = *is_inward;
    let mut parent_of: Vec<Option<NodeId>> = vec![None; platform.node_count()];
    for (parent, child) in tree.edges() {
        if !platform.node(parent).is_host() || !platform.node(child).is_host() {
            let switch = if platform.node(parent).is_host() { child } else { parent };
            faults
                .push(format!("tree {index}: \"{}\" is a switch and cannot hold the message", name(switch)));
        }
        if child == root {
            faults.push(format!("tree {index}: the root is a child of \"{}\"", name(parent)));
        } else if let Some(before) = parent_of[child.index()].replace(parent) {
            let fact = if is_inward { "gives every byte twice, to" } else { "gets every byte twice, from" };
            faults.push(format!(
                "tree {index}: \"{}\" {fact} \"{}\" and \"{}\"",
                name(child),
                name(before),
                name(parent)
            ));
        }
        if faults.len() >= MOST_FAULTS {
            return;
        }
    }
    let mut is_reached = vec![false; platform.node_count()];
    is_reached[root.index()] = true;
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let children = tree.children(node).iter().copied();
        open.extend(children.filter(|child| !std::mem::replace(&mut is_reached[child.index()], true)));
    }
    for host in platform.hosts().filter(|host| !is_reached[host.index()]).take(MOST_FAULTS) {
        let fact = match parent_of[host.index()] {
            Some(_) => "hangs on a cycle, not below the root",
            None if is_inward => "never gives its contribution",
            None => "never gets the message",
        };
        faults.push(format!("tree {index}: \"{}\" {fact}", name(host)));
    }
    via_faults(platform, judged, &parent_of, faults);
    // One search from each sender without a direct link; edges come parent by parent.
    let mut searched: Option<(NodeId, Vec<NodeId>)> = None;
    for (parent, child) in tree.edges() {
        if faults.len() >= MOST_FAULTS {
            return;
        }
        let (from, to) = if is_inward { (child, parent) } else { (parent, child) };
        if platform.link(from, to).is_some() || tree.via.contains_key(&child) {
            continue;
        }
        if searched.as_ref().is_none_or(|(node, _)| *node != from) {
            searched = Some((from, platform.unreachable_from(from)));
        }
        if searched.as_ref().is_some_and(|(_, cut_off)| cut_off.binary_search(&to).is_ok()) {
            faults.push(format!("tree {index}: no path for edge ({:?}, {:?})", name(from), name(to)));
        }
    }
}

/// The path between a child and its parent passes no node twice, and uses only links that exist.
fn via_faults(platform: &Platform, judged: &Judged, parent_of: &[Option<NodeId>], faults: &mut Vec<String>) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    let Judged { index, tree, is_inward } = judged;
    for (&child, relays) in &tree.via {
        let Some(parent) = parent_of[child.index()] else {
            faults.push(format!("tree {index}: via for \"{}\", which has no parent there", name(child)));
            continue;
        };
        let mut path = vec![parent];
        path.extend_from_slice(relays);
        path.push(child);
        if *is_inward {
            path.reverse();
        }
        if path.iter().collect::<HashSet<_>>().len() != path.len() {
            let way = if *is_inward { "out of" } else { "into" };
            faults.push(format!("tree {index}: the way {way} \"{}\" passes a node twice", name(child)));
        }
        for pair in path.windows(2).filter(|pair| platform.link(pair[0], pair[1]).is_none()) {
            faults.push(format!("tree {index}: no link for edge ({:?}, {:?})", name(pair[0]), name(pair[1])));
        }
    }
}

/// A tree's edges from parent to child, and those of its way in where an all-reduce has one.
type Edges = [Vec<(NodeId, NodeId)>; 2];

/// Each position of the period is one of the trees, the trees have their shares of positions, and the
/// static orders never wait for each other in a circle.
fn period_faults(platform: &Platform, plan: &Plan, period: &Period, faults: &mut Vec<String>) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    let positions = period.segments as usize;
    let blocks = match plan.collective {
        Collective::Bcast | Collective::Reduce | Collective::Allreduce => 1,
        Collective::Scatter | Collective::Gather => {
            let name = plan.collective;
            faults.push(format!("period: a {name} cannot have one, since its edges carry different blocks"));
            return;
        }
        Collective::Allgather | Collective::ReduceScatter => platform.hosts().count(),
    };
    if let Some(excess) = period.excess() {
        faults.push(format!("period: {excess}"));
        return;
    }
    if !positions.is_multiple_of(blocks) {
        faults.push(format!("period: {positions} positions, not a multiple of the {blocks} contributions"));
        return;
    }
    let edges = edges_by_position(period, plan.collective, faults);
    let sorted = |mut list: Vec<(NodeId, NodeId)>| {
        list.sort_unstable();
        list
    };
    // By the edges of the tree, and of its way in where an all-reduce has one.
    let mut trees: HashMap<Edges, Vec<usize>> = HashMap::new();
    for (index, tree) in plan.trees.iter().enumerate() {
        let inward = plan.inward.get(index).map_or(Vec::new(), |tree| tree.edges().collect());
        trees.entry([sorted(tree.edges().collect()), sorted(inward)]).or_default().push(index);
    }
    let mut carried: HashMap<usize, usize> = HashMap::new();
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let mut owners = Vec::with_capacity(positions);
    for (position, list) in edges.into_iter().enumerate() {
        match trees.get(&list.map(sorted)) {
            Some(same) if blocks > 1 && plan.root_of(&plan.trees[same[0]]) != hosts[position % blocks] => {
                let owner = name(hosts[position % blocks]);
                faults.push(format!(
                    "period: position {position} carries \"{owner}\"'s part along the trees of another root"
                ));
            }
            Some(same) => {
                owners.push(plan.root_of(&plan.trees[same[0]]));
                *carried.entry(same[0]).or_default() += 1;
            }
            None => faults.push(format!("period: the slots of position {position} are none of the trees")),
        }
        if faults.len() >= MOST_FAULTS {
            return;
        }
    }
    faults.extend(shares_of_positions(plan, &trees, &carried, blocks as f64 / positions as f64));
    if faults.is_empty() {
        faults.extend(order_fault(platform, plan, period, &owners));
    }
}

/// Faults of trees, grouped by their edges, whose part of the positions differs from their share.
fn shares_of_positions(
    plan: &Plan,
    trees: &HashMap<Edges, Vec<usize>>,
    carried: &HashMap<usize, usize>,
    position: f64,
) -> Vec<String> {
    let wrong = |same: &Vec<usize>| {
        let share: f64 = same.iter().map(|&tree| plan.trees[tree].share).sum();
        let got = carried.get(&same[0]).copied().unwrap_or(0) as f64 * position;
        let is_wrong = (share - got).abs() > SHARES_SUM;
        is_wrong.then(|| format!("period: tree {} has share {share} but {got} of the positions", same[0]))
    };
    trees.values().filter_map(wrong).collect()
}

/// The transfers of each position's segment, as edges from parent to child; an all-reduce's ways in apart.
fn edges_by_position(period: &Period, collective: Collective, faults: &mut Vec<String>) -> Vec<Edges> {
    let mut edges = vec![[Vec::new(), Vec::new()]; period.segments as usize];
    let is_both = collective == Collective::Allreduce;
    for slot in &period.slots {
        let goes_out = is_both && slot.segment >= period.segments;
        let position = slot.segment - if goes_out { period.segments } else { 0 };
        let Some([tree, inward]) = edges.get_mut(position as usize) else {
            faults.push(format!("period: position {} of {}", slot.segment, period.segments));
            continue;
        };
        match (is_both && !goes_out, goes_inward(collective)) {
            (true, _) => inward.push((slot.to, slot.from)),
            (_, true) => tree.push((slot.to, slot.from)),
            _ => tree.push((slot.from, slot.to)),
        }
    }
    edges
}
