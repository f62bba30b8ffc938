//! Trees for messages so short that many are under way at once.
//!
//! A planner's model sends one message after the other, so that the first child of many has it early. Of messages
//! that are mostly latency a rank sends all it has at once, and a network that shares its ports ([`Sharing`]) brings
//! them together, late. The planner's tree is then not the quickest, and sometimes slower than a plain k-nomial tree.
//! So both are timed as they are sent, and annealed: subtrees move, ranks change places.

use crate::rank_plan::sending;
use broadleaf::plan::{Plan, TreeBuilder};
use broadleaf::planners::Instance;
use broadleaf::platform::NodeId;
use broadleaf::random::Random;
use broadleaf::simulate::Sharing;
use std::time::Instant;

/// Moves at most: some seconds for a hundred ranks.
const MOST_MOVES: u64 = 50_000;
/// Above that many hosts one timing of a tree takes milliseconds.
const MOST_HOSTS: usize = 256;
/// Children of a rank on every level of the k-nomial trees to start from.
const RADICES: [usize; 5] = [2, 3, 4, 6, 8];
/// Temperatures at the ends, as parts of the first makespan.
const HOT: f64 = 0.01;
const COLD: f64 = 0.0003;
/// How often what moves lies on the way to the last rank.
const CRITICAL: f64 = 0.7;
const EXCHANGE: f64 = 0.3;
/// A tree must promise this much to be taken for the planner's, relative.
const WORTH: f64 = 0.01;

type Children = Vec<Vec<NodeId>>;

/// The plan, or one with a quicker tree where ranks send a message as a whole.
/// `paced`: as for [`crate::rank_plan::expand`].
pub fn shortened(instance: &Instance, plan: Plan, paced: bool, deadline: Instant) -> Plan {
    let hosts = instance.hosts_from_root();
    let is_one_message = plan.segment_bytes >= plan.message_bytes && plan.trees.len() == 1;
    let is_plain = plan.period.is_none() && plan.pattern.is_none() && plan.trees[0].via.is_empty();
    if !is_one_message || !is_plain || !(3..=MOST_HOSTS).contains(&hosts.len()) {
        return plan;
    }
    let platform = instance.platform;
    let bytes = instance.message_bytes;
    let sending = |from, class| sending(platform, from, platform.class(class), bytes, paced);
    let mut sharing = Sharing::new(platform, bytes, &sending);
    let own: Children = platform.nodes().map(|node| plan.trees[0].children(node).to_vec()).collect();
    let own_s = sharing.makespan_s(plan.root, &own);
    let starts = RADICES.iter().map(|&radix| k_nomial(&hosts, radix, platform.node_count()));
    let mut start = (own_s, own);
    for tree in starts {
        let makespan_s = sharing.makespan_s(plan.root, &tree);
        if makespan_s < start.0 {
            start = (makespan_s, tree);
        }
    }
    let (best_s, best) = anneal(&mut sharing, &hosts, start, instance.seed, deadline);
    if best_s > own_s * (1.0 - WORTH) {
        return plan;
    }
    let mut tree = TreeBuilder::new(platform.node_count());
    for (parent, children) in platform.nodes().zip(&best) {
        children.iter().for_each(|&child| {
            tree.add(parent, child);
        });
    }
    Plan { planner: "short-message".to_string(), trees: vec![tree.build()], ..plan }
}

/// Every rank serves k − 1 others at each distance k^i below its own, the farthest first.
fn k_nomial(hosts: &[NodeId], radix: usize, nodes: usize) -> Children {
    let mut children = vec![Vec::new(); nodes];
    for place in 0..hosts.len() {
        let mut distances = Vec::new();
        let mut distance = 1;
        while distance < hosts.len() && place % (distance * radix) == 0 {
            distances.push(distance);
            distance *= radix;
        }
        for distance in distances.into_iter().rev() {
            let served = (1..radix).map(|step| place + step * distance);
            children[hosts[place].index()].extend(served.filter_map(|place| hosts.get(place)));
        }
    }
    children
}

fn anneal(
    sharing: &mut Sharing,
    hosts: &[NodeId],
    start: (f64, Children),
    seed: u64,
    deadline: Instant,
) -> (f64, Children) {
    let root = hosts[0];
    let mut random = Random::new(seed);
    let (mut now_s, mut now) = start;
    let (mut best_s, mut best) = (now_s, now.clone());
    let mut next = now.clone();
    let mut parents = vec![root; now.len()];
    let mut path = Vec::new();
    let begin = Instant::now();
    let mut is_new = true;
    for step in 0..MOST_MOVES {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        if is_new {
            find_parents(&now, &mut parents);
            sharing.makespan_s(root, &now);
            find_path(sharing, hosts, &parents, &mut path);
            is_new = false;
        }
        // Where not all moves can be made in time, it still cools down to the end.
        let time_part = 1.0 - left.as_secs_f64() / (deadline - begin).as_secs_f64();
        let done = (step as f64 / MOST_MOVES as f64).max(time_part);
        let temperature_s = best_s * HOT * (COLD / HOT).powf(done);
        next.clone_from(&now);
        if !propose(&mut next, hosts, &parents, &path, &mut random) {
            continue;
        }
        let next_s = sharing.makespan_s(root, &next);
        let worse_s = next_s - now_s;
        if worse_s > 0.0 && random.unit() >= (-worse_s / temperature_s).exp() {
            continue;
        }
        std::mem::swap(&mut now, &mut next);
        (now_s, is_new) = (next_s, true);
        if now_s < best_s {
            (best_s, best) = (now_s, now.clone());
        }
    }
    (best_s, best)
}

fn find_parents(children: &Children, parents: &mut [NodeId]) {
    for (parent, children) in children.iter().enumerate() {
        children.iter().for_each(|child| parents[child.index()] = NodeId(parent as u32));
    }
}

/// The way to the host that was reached last in the last run, without the root.
fn find_path(sharing: &Sharing, hosts: &[NodeId], parents: &[NodeId], path: &mut Vec<NodeId>) {
    let arrival_s = |node: NodeId| sharing.arrivals_s()[node.index()];
    let last = hosts.iter().copied().max_by(|&a, &b| arrival_s(a).total_cmp(&arrival_s(b)));
    path.clear();
    let mut node = last.unwrap_or(hosts[0]);
    while node != hosts[0] {
        path.push(node);
        node = parents[node.index()];
    }
}

/// Makes a random move; whether it was one.
fn propose(
    children: &mut Children,
    hosts: &[NodeId],
    parents: &[NodeId],
    path: &[NodeId],
    random: &mut Random,
) -> bool {
    let anyone = |random: &mut Random| hosts[1 + random.below(hosts.len() - 1)];
    let mut moved = anyone(random);
    if random.chance(CRITICAL) && !path.is_empty() {
        // Someone on the way, or who is served beside it.
        let beside = &children[parents[path[random.below(path.len())].index()].index()];
        moved = beside[random.below(beside.len())];
    }
    if random.chance(EXCHANGE) {
        let other = anyone(random);
        exchange(children, moved, other);
        return moved != other;
    }
    let parent = hosts[random.below(hosts.len())];
    let mut above = parent;
    while above != hosts[0] {
        if above == moved {
            return false;
        }
        above = parents[above.index()];
    }
    children[parents[moved.index()].index()].retain(|&child| child != moved);
    let at = random.below(children[parent.index()].len() + 1);
    children[parent.index()].insert(at, moved);
    true
}

/// Two ranks take each other's place, with what is below it.
fn exchange(children: &mut Children, one: NodeId, other: NodeId) {
    for child in children.iter_mut().flatten() {
        if *child == one {
            *child = other;
        } else if *child == other {
            *child = one;
        }
    }
    children.swap(one.index(), other.index());
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::budget::Budget;
    use broadleaf::plan::check;
    use broadleaf::platform::Platform;
    use broadleaf::portfolio::{make, Effort, SegmentChoice};
    use std::time::Duration;

    /// `count` hosts on one switch: 60 µs of latency, 1 KiB takes 8 µs.
    fn cluster(count: usize) -> Platform {
        let ids: Vec<String> = (0..count).map(|at| format!("\"n{at}\"")).collect();
        let nodes: Vec<String> = ids.iter().map(|id| format!(r#"{{"id": {id}}}"#)).collect();
        let text = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "cluster", "port_model": "one-port", "nodes": [{}],
            "meshes": [{{"nodes": [{}], "link": {{"latency_s": 60e-6, "bandwidth_bytes_per_s": 128e6}}}}]}}"#,
            nodes.join(", "),
            ids.join(", ")
        );
        Platform::from_json(&text).unwrap()
    }

    #[test]
    fn a_k_nomial_tree_reaches_everyone_once() {
        for count in [2, 5, 16, 27, 64, 100] {
            let hosts: Vec<NodeId> = (0..count).map(NodeId).collect();
            for radix in RADICES {
                let children = k_nomial(&hosts, radix, count as usize);
                let mut reached: Vec<NodeId> = children.into_iter().flatten().collect();
                reached.sort_unstable();
                assert_eq!(reached, hosts[1..], "{count} hosts, radix {radix}");
            }
        }
    }

    #[test]
    fn moves_keep_the_tree_whole() {
        let hosts: Vec<NodeId> = (0..20).map(NodeId).collect();
        let mut children = k_nomial(&hosts, 3, 20);
        let mut random = Random::new(3);
        for _ in 0..2000 {
            let mut parents = vec![hosts[0]; 20];
            find_parents(&children, &mut parents);
            let path = [hosts[1 + random.below(19)]];
            propose(&mut children, &hosts, &parents, &path, &mut random);
            let mut reached = vec![hosts[0]];
            let mut at = 0;
            while at < reached.len() {
                reached.extend(&children[reached[at].index()]);
                at += 1;
            }
            reached.sort_unstable();
            assert_eq!(reached, hosts);
        }
    }

    /// All eight messages of a flat tree are over after 60 + 8 · 8 µs; what has two levels takes two latencies.
    #[test]
    fn a_few_short_messages_go_straight_from_the_root() {
        let platform = cluster(9);
        let instance = Instance::new(&platform, NodeId(0), 1024).unwrap();
        let chain = make(&instance, "chain", SegmentChoice::Bytes(1024), Effort::Quick, &Budget::UNLIMITED)
            .unwrap()
            .plan;
        let found = shortened(&instance, chain, false, Instant::now() + Duration::from_millis(200));
        assert_eq!(found.trees[0].children(NodeId(0)).len(), 8);
        assert!(check::faults(&platform, &found).is_empty());
    }

    #[test]
    fn a_plan_in_segments_stays_what_it_is() {
        let platform = cluster(9);
        let instance = Instance::new(&platform, NodeId(0), 1 << 20).unwrap();
        let chain = make(&instance, "chain", SegmentChoice::Bytes(8192), Effort::Quick, &Budget::UNLIMITED)
            .unwrap()
            .plan;
        assert_eq!(
            shortened(&instance, chain.clone(), false, Instant::now() + Duration::from_millis(200)),
            chain
        );
    }
}
