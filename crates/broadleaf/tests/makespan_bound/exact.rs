//! `exact` beside every ordered tree.

use super::{ordered_trees, platform};
use broadleaf::budget::Budget;
use broadleaf::plan::Plan;
use broadleaf::planners::{find, supports, Instance};
use broadleaf::platform::{NodeId, PortModel};
use broadleaf::simulate::simulate;
use serde_json::{json, Value};
use std::ops::RangeInclusive;

/// Under every port model, with pipes, clusters, local broadcasts, slow NICs and missing links, in turn.
#[test]
fn exact_is_exact_wherever_it_is_offered() {
    let (offered, refused) = exact_beside_every_tree(240, 29, 2..=5);
    assert!(offered > 100 && refused > 50, "offered {offered}, refused {refused}");
}

/// Over b, whose NIC is busy until 31 s, c has the message at 6 s, and from the root at 18 s: the search, for which a
/// sender ends after its last send, would take the latter.
#[test]
fn exact_is_not_offered_where_a_sender_is_busy_after_its_message_has_arrived() {
    let more = json!({
        "nodes": [{"id": "a"}, {"id": "b", "out_bytes_per_s": 0.1}, {"id": "c"}],
        "links": [{"from": "a", "to": "b", "bandwidth_bytes_per_s": 1}, {"from": "b", "to": "c",
            "bandwidth_bytes_per_s": 1}, {"from": "a", "to": "c", "bandwidth_bytes_per_s": 0.2}]});
    let platform = platform(PortModel::MultiPort.name(), more);
    let instance = Instance::new(&platform, NodeId(0), 3).unwrap();
    let refused = supports(find("exact").unwrap(), &instance).unwrap_err().to_string();
    assert!(refused.contains("busy after its message has arrived; use makespan"), "{refused}");
}

/// A few networks, more of them with `SOAK_CASES`: every tree over seven hosts takes seconds.
#[test]
fn exact_is_exact_on_six_and_seven_hosts() {
    let soaked = std::env::var("SOAK_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let (offered, _) = exact_beside_every_tree(soaked.map_or(30, |cases| cases / 50), 31, 6..=6);
    assert!(offered > 10, "offered {offered}");
    let (offered, _) = exact_beside_every_tree(soaked.map_or(5, |cases| cases / 200), 37, 7..=7);
    assert!(offered > 1, "offered {offered}");
}

/// In some rounds with a local broadcast, a cluster or a slow NIC.
fn drawn_host(id: &str, round: u64, draw: &mut impl FnMut(u64) -> u64) -> Value {
    let mut node = json!({"id": id});
    if !round.is_multiple_of(4) {
        node["local_broadcast_s"] = json!(draw(3) as f64);
    }
    if round.is_multiple_of(3) {
        node["cluster"] = json!(format!("C{}", draw(2)));
    }
    if draw(4) == 0 {
        // Often slower than the links: only multi-port has ports of their own rate.
        node["out_bytes_per_s"] = json!(1.0 / (1 + draw(4)) as f64);
    }
    node
}

/// On how many of the drawn networks `exact` was offered, and refused; where offered it is as short as any tree.
fn exact_beside_every_tree(rounds: u64, seed: u64, counts: RangeInclusive<u64>) -> (usize, usize) {
    let mut state = seed;
    let mut draw = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    let exact = find("exact").unwrap();
    let (mut offered, mut refused) = (0, 0);
    for round in 0..rounds {
        let model = PortModel::ALL[round as usize % PortModel::ALL.len()];
        let count = (counts.start() + draw(counts.end() - counts.start() + 1)) as usize;
        let ids: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
        let nodes: Vec<Value> = ids.iter().map(|id| drawn_host(id, round, &mut draw)).collect();
        let mut links = Vec::new();
        for from in 0..count {
            for to in (0..count).filter(|&to| to != from) {
                if to == from + 1 || draw(5) > 0 {
                    let uses = if round % 5 == 0 && draw(3) == 0 { vec!["pipe"] } else { vec![] };
                    links.push(json!({"from": ids[from], "to": ids[to], "latency_s": draw(4) as f64,
                        "startup_s": draw(2) as f64, "bandwidth_bytes_per_s": 1.0 / (1 + draw(3)) as f64,
                        "uses": uses}));
                }
            }
        }
        let shared = json!([{"id": "pipe", "bandwidth_bytes_per_s": 0.5}]);
        let local_start = ["after-last-send", "on-arrival"][round as usize % 2];
        let more = json!({"nodes": nodes, "links": links, "shared": shared, "local_start": local_start});
        let platform = platform(model.name(), more);
        let instance = Instance::new(&platform, NodeId(0), 3).unwrap();
        if supports(exact, &instance).is_err() {
            refused += 1;
            continue;
        }
        let plan = exact.plan(&instance, &Budget::UNLIMITED).unwrap();
        let found_s = simulate(&platform, &plan, false).unwrap().makespan_s;
        let least_s = ordered_trees(&platform)
            .into_iter()
            .filter(|tree| tree.edges().all(|(from, to)| platform.route(from, to, 1).is_some()))
            .map(|tree| Plan::bcast(&platform, "brute", NodeId(0), 3, 3, vec![tree]))
            .map(|plan| simulate(&platform, &plan, false).unwrap().makespan_s)
            .fold(f64::INFINITY, f64::min);
        assert!(
            (found_s - least_s).abs() <= 1e-9 * least_s,
            "round {round}, {model:?}: {found_s}, not {least_s}"
        );
        offered += 1;
    }
    (offered, refused)
}
