//! The time of transfers that all start at once, as where no host passes a block on: of a scatter, the root's; of an
//! all-gather, those of all hosts.
//!
//! The model's port serves one transfer after the other. Transfers under way together share ports and pipes instead, and
//! end later than in the best order.

use super::max_min::{weight, MaxMin, Way, LEAST_ALONE_S};
use crate::model::{occupation, Resource};
use crate::plan::{Collective, Direction, Plan, Tree};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Equal transfers that hold the same resources.
struct Flow {
    count: f64,
    way: Way,
    /// The part that is to be sent.
    left: f64,
}

/// The most looks at a flow or at its use of a resource. With 24 hosts whose links all differ, an all-gather takes fewer.
const MOST_LOOKS: u64 = 50_000_000;

/// Bytes from one host to another.
type Sent = (NodeId, NodeId, u64);

/// The makespan of a plan in which no host passes anything on and none waits for a turn, seconds, if all messages start at
/// time 0, an all-reduce's way out when all have come in. `None` for another plan, for a message in several segments,
/// where a sender has no link to its receiver, and where links of too many kinds take too long to compute.
pub fn direct_at_once_s(platform: &Platform, plan: &Plan) -> Option<f64> {
    let has_blocks = matches!(plan.collective.outward(), Collective::Scatter | Collective::Allgather);
    if !plan.is_direct() || !(has_blocks || plan.trees.iter().all(|tree| is_one_segment(plan, tree))) {
        return None;
    }
    let one_way_s = |platform: &Platform, trees: &[Tree]| {
        let sent = trees.iter().flat_map(|tree| {
            let root = plan.root_of(tree);
            tree.children(root).iter().map(move |&child| (root, child, bytes_of(plan, tree, child)))
        });
        at_once_s(platform, sent)
    };
    match plan.collective.direction() {
        Direction::Outward => one_way_s(platform, &plan.trees),
        Direction::Inward => one_way_s(platform.reversed(), &plan.trees),
        Direction::Both => {
            Some(one_way_s(platform.reversed(), &plan.inward)? + one_way_s(platform, &plan.trees)?)
        }
    }
}

fn is_one_segment(plan: &Plan, tree: &Tree) -> bool {
    plan.segment_bytes as f64 >= tree.share * plan.message_bytes as f64
}

/// Between the root of a tree and a child.
fn bytes_of(plan: &Plan, tree: &Tree, child: NodeId) -> u64 {
    let owner = if plan.collective.outward() == Collective::Scatter { child } else { plan.root_of(tree) };
    let weight = plan.weights.as_ref().map_or(1.0, |weights| weights[owner.index()]);
    (plan.message_bytes as f64 * tree.share * weight).round() as u64
}

/// When the last transfer arrives, seconds, if all start at time 0.
fn at_once_s(platform: &Platform, sent: impl Iterator<Item = Sent>) -> Option<f64> {
    let mut flows = flows(platform, sent)?;
    let (mut now_s, mut end_s) = (0.0f64, 0.0f64);
    let mut max_min = MaxMin::default();
    while flows.iter().any(|flow| flow.left > 0.0) {
        let is_under_way = |flow: &&Flow| flow.left > 0.0 && flow.way.latency_s <= now_s;
        let under_way: Vec<(f64, &Way)> =
            flows.iter().filter(is_under_way).map(|flow| (flow.count, &flow.way)).collect();
        let mut of_those = max_min.rates(&under_way).into_iter();
        let rates: Vec<f64> = flows
            .iter()
            .map(|flow| if is_under_way(&flow) { of_those.next().unwrap_or(0.0) } else { 0.0 })
            .collect();
        max_min.looks += flows.len() as u64;
        if max_min.looks > MOST_LOOKS {
            return None;
        }
        let ends = flows.iter().zip(&rates).filter(|(_, &rate)| rate > 0.0);
        let ends = ends.map(|(flow, rate)| now_s + flow.left / rate);
        let begins = flows.iter().map(|flow| flow.way.latency_s).filter(|&latency_s| latency_s > now_s);
        let next_s = ends.chain(begins).fold(f64::INFINITY, f64::min);
        for (flow, rate) in flows.iter_mut().zip(&rates).filter(|(_, &rate)| rate > 0.0) {
            let is_over = now_s + flow.left / rate <= next_s;
            flow.left = if is_over { 0.0 } else { flow.left - rate * (next_s - now_s) };
            end_s = if is_over { end_s.max(next_s) } else { end_s };
        }
        now_s = next_s;
    }
    Some(end_s)
}

fn flows(platform: &Platform, sent: impl Iterator<Item = Sent>) -> Option<Vec<Flow>> {
    let mut transfers = Vec::new();
    let mut users: HashMap<Resource, u32> = HashMap::new();
    for (from, to, bytes) in sent.filter(|&(_, _, bytes)| bytes > 0) {
        let class = platform.link(from, to)?;
        let taken = occupation(platform, Hop { from, to, class }, bytes);
        taken.windows.iter().for_each(|window| *users.entry(window.resource).or_default() += 1);
        transfers.push((taken, platform.class(class).latency_s, bytes));
    }
    let mut flows: Vec<Flow> = Vec::new();
    let mut known = HashMap::new();
    let mut numbers: HashMap<Resource, usize> = HashMap::new();
    for (taken, latency_s, bytes) in transfers {
        let mut held_s = Vec::new();
        let mut alone_s = (taken.arrival_s - latency_s).max(LEAST_ALONE_S);
        for window in &taken.windows {
            if users[&window.resource] == 1 {
                alone_s = alone_s.max(window.duration_s);
                continue;
            }
            let next = numbers.len();
            held_s.push((*numbers.entry(window.resource).or_insert(next), window.duration_s));
        }
        let key: Vec<u64> = held_s.iter().flat_map(|&(of, held_s)| [of as u64, held_s.to_bits()]).collect();
        let at = *known.entry((key, latency_s.to_bits(), alone_s.to_bits(), bytes)).or_insert(flows.len());
        match flows.get_mut(at) {
            Some(flow) => flow.count += 1.0,
            None => {
                let way = Way { latency_s, held_s, alone_s, weight: weight(latency_s, bytes) };
                flows.push(Flow { count: 1.0, way, left: 1.0 });
            }
        }
    }
    Some(flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::planners::{find, plan_with, Instance};

    /// By hand: from a to b and c at 100 B/s, 1 s and 3 s away, and d behind a pipe of 10 B/s, 1 s away.
    #[test]
    fn transfers_share_the_port_by_their_latencies() {
        let link = |to: &str, latency_s: f64, uses: &[&str]| serde_json::json!({"from": "a", "to": to, "latency_s": latency_s, "bandwidth_bytes_per_s": 100.0, "uses": uses});
        let seconds = |links: Vec<serde_json::Value>| {
            let document = serde_json::json!({
                "format": "broadleaf-platform/1", "name": "few", "port_model": "one-port",
                "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
                "shared": [{"id": "wan", "bandwidth_bytes_per_s": 10.0}], "links": links,
            });
            let platform = Platform::from_json(&document.to_string()).unwrap();
            let has_link = |host: NodeId| platform.link(NodeId(0), host).is_some();
            let receivers = platform.hosts().filter(|&host| has_link(host));
            at_once_s(&platform, receivers.map(|host| (NodeId(0), host, 400))).unwrap()
        };
        assert_eq!(seconds(vec![link("b", 1.0, &[])]), 5.0);
        // b alone until 3 s, then 200 B more of it at 75 B/s beside c's 25; c has 333.3 B left at 17/3 s.
        let both = seconds(vec![link("b", 1.0, &[]), link("c", 3.0, &[])]);
        assert!((both - (3.0 + 200.0 / 75.0 + (400.0 - 200.0 / 3.0) / 100.0)).abs() < 1e-9, "{both}");
        // The pipe gives d 10 B/s, and leaves the rest of the port to b.
        let behind_pipe = seconds(vec![link("b", 1.0, &[]), link("d", 1.0, &["wan"])]);
        assert!((behind_pipe - 41.0).abs() < 1e-9, "{behind_pipe}");
    }

    /// By hand: a and b at 100 B/s, c at 10 B/s, a second apart. Two blocks of 100 B leave and enter c in 20 s each, at the
    /// same time; of an all-reduce of 300 B they come in, then go out.
    #[test]
    fn all_hosts_send_at_once() {
        let link = |from: &str, to: &str, rate: f64| serde_json::json!({"from": from, "to": to, "both_ways": true, "latency_s": 1.0, "bandwidth_bytes_per_s": rate});
        let document = serde_json::json!({
            "format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "links": [link("a", "b", 100.0), link("a", "c", 10.0), link("b", "c", 10.0)],
        });
        let platform = Platform::from_json(&document.to_string()).unwrap().handled_at_once(0.0);
        let seconds = |planner: &str, collective: Collective, bytes: u64| {
            let instance = Instance::new(&platform, NodeId(0), bytes).unwrap();
            let instance = Instance { collective, ..instance };
            direct_at_once_s(
                &platform,
                &plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap(),
            )
        };
        let is_near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(is_near(seconds("flat", Collective::Allgather, 100), 21.0));
        assert!(is_near(seconds("flat", Collective::ReduceScatter, 100), 21.0));
        assert!(is_near(seconds("flat", Collective::Allreduce, 300), 42.0));
        // The root's port gives each half of its rate, and c its own.
        assert!(is_near(seconds("flat", Collective::Bcast, 100), 11.0));
        assert_eq!(seconds("chain", Collective::Bcast, 100), None);
        assert_eq!(seconds("ring", Collective::Allgather, 100), None);
    }
}
