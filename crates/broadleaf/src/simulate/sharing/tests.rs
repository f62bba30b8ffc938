//! By hand, and against another computation of direct plans.

use super::*;
use crate::execute::FlowWindow;
use crate::plan::{Collective, Plan};
use crate::planners::{find, plan_with, Instance};
use crate::random::Random;
use crate::simulate::direct_at_once_s;
use serde_json::json;

/// Messages start at once.
#[derive(Clone, Copy)]
struct Plain {
    in_order: bool,
}

impl Sending for Plain {
    fn starts_s(&mut self, _: NodeId, _: &Message, _: u64, now_s: f64) -> f64 {
        now_s
    }

    fn is_announced_apart(&self, bytes: u64) -> bool {
        bytes > 100
    }

    fn goes_in_order(&self) -> bool {
        self.in_order
    }
}

const APART: Plain = Plain { in_order: false };
const IN_ORDER: Plain = Plain { in_order: true };

/// Hosts a, b, c, 1 s and 100 B/s apart.
fn three() -> Platform {
    with(json!({}), json!({}))
}

fn with(node: serde_json::Value, more: serde_json::Value) -> Platform {
    let nodes = ["a", "b", "c"].map(|id| {
        let mut one = node.clone();
        one["id"] = json!(id);
        one
    });
    let mut document = json!({
        "format": "broadleaf-platform/1", "name": "three", "port_model": "one-port", "nodes": nodes,
        "meshes": [{"nodes": ["a", "b", "c"], "link": {"latency_s": 1.0, "bandwidth_bytes_per_s": 100.0}}],
    });
    more.as_object().unwrap().iter().for_each(|(key, value)| document[key] = value.clone());
    Platform::from_json(&document.to_string()).unwrap()
}

fn planned(platform: &Platform, planner: &str, collective: Collective, sizes: (u64, u64)) -> Plan {
    let (bytes, segment_bytes) = sizes;
    let instance = Instance::new(platform, NodeId(0), bytes).unwrap();
    let instance = Instance { collective, ..instance }.segmented(segment_bytes);
    plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap()
}

/// With that number of messages in flight to a receiver.
fn run(
    platform: &Platform,
    plan: &Plan,
    (mut sending, messages): (impl Sending, u32),
    within: (f64, &Budget),
) -> Result<f64, PlanError> {
    let programs = Programs::for_platform(plan, platform).unwrap();
    let window = FlowWindow { messages, shares_port: false, ..FlowWindow::PORT };
    let executor = |node| {
        let mut executor = NodeExecutor::new(&programs, node, |_| window);
        executor.post_ahead(64);
        executor
    };
    let executors = platform.nodes().map(executor).collect();
    simulate_shared(platform, &programs, executors, &mut sending, within).map(|run| run.makespan_s)
}

fn seconds(platform: &Platform, plan: &Plan, sending: (impl Sending, u32)) -> f64 {
    run(platform, plan, sending, (f64::INFINITY, &Budget::UNLIMITED)).unwrap()
}

fn is_near(found: f64, by_hand: f64) {
    assert!((found - by_hand).abs() < 1e-9, "{found}, by hand {by_hand}");
}

/// Two segments of 100 B from a over b to c. One in flight: b has them at 2 and 4 s, c at 4 and 6 s. Two in flight share the way:
/// b has both at 3 s, c at 6 s. In order, b has them at 2 and 3 s, c at 4 and 5 s.
#[test]
fn segments_wait_for_their_window_or_share_the_way() {
    let platform = three();
    let plan = planned(&platform, "chain", Collective::Bcast, (200, 100));
    is_near(seconds(&platform, &plan, (APART, 1)), 6.0);
    is_near(seconds(&platform, &plan, (APART, 2)), 6.0);
    is_near(seconds(&platform, &plan, (IN_ORDER, 2)), 5.0);
}

/// a sends 100 B to b and to c over a port of 100 B/s: both have them at 3 s. Where b and c send to a, its port for receiving is
/// shared. In an all-gather every port has two messages, too.
#[test]
fn messages_share_the_ports_at_both_ends() {
    let platform = three();
    for collective in [Collective::Bcast, Collective::Reduce, Collective::Gather, Collective::Allgather] {
        is_near(seconds(&platform, &planned(&platform, "flat", collective, (100, 100)), (APART, 1)), 3.0);
    }
}

/// To c, behind a pipe of 20 B/s, 100 B take 5 s after the latency. The rest of a's port is b's.
#[test]
fn a_message_that_waits_for_a_pipe_leaves_the_port_to_others() {
    let link =
        json!({"from": "a", "to": "c", "latency_s": 1.0, "bandwidth_bytes_per_s": 100.0, "uses": ["slow"]});
    let shared = json!([{"id": "slow", "bandwidth_bytes_per_s": 20.0}]);
    let platform = with(json!({}), json!({"shared": shared, "links": [link]})).handled_at_once(0.0);
    is_near(seconds(&platform, &planned(&platform, "flat", Collective::Bcast, (100, 100)), (APART, 1)), 6.0);
    // Two segments of 50 B: to b, at 80 B/s each, until 1.625 and, sent then, 3.25 s; to c until 3.5, then 7 s.
    is_near(seconds(&platform, &planned(&platform, "flat", Collective::Bcast, (100, 50)), (APART, 1)), 7.0);
}

/// The chain of [`segments_wait_for_their_window_or_share_the_way`] takes 6 s. Where only one of two messages goes on to the end,
/// the other's end, at the rate that they share first, would be later than the last one.
#[test]
fn a_plan_that_takes_longer_than_asked_is_given_up() {
    let platform = three();
    let plan = planned(&platform, "chain", Collective::Bcast, (200, 100));
    let within = |longest_s| run(&platform, &plan, (APART, 1), (longest_s, &Budget::UNLIMITED)).unwrap();
    assert_eq!(within(5.9), f64::INFINITY);
    is_near(within(6.1), 6.0);
    let flat = planned(&platform, "flat", Collective::Bcast, (100, 50));
    let within = |longest_s| run(&platform, &flat, (APART, 2), (longest_s, &Budget::UNLIMITED)).unwrap();
    let taken_s = within(f64::INFINITY);
    is_near(within(taken_s + 1e-6), taken_s);
    // The work counts as long as it is simulated.
    let short = Budget::of_work(10_000);
    run(&platform, &plan, (APART, 1), (0.0, &short)).unwrap();
    let long = Budget::of_work(10_000);
    run(&platform, &plan, (APART, 1), (f64::INFINITY, &long)).unwrap();
    assert!(short.left() > long.left());
}

/// c's 100 B come to b at 2 s, and are combined at 50 B/s until 4 s; b's sum comes to a at 6 s, and is combined until 8 s.
#[test]
fn hosts_take_their_time_to_combine() {
    let platform = with(json!({"combine_bytes_per_s": 50.0}), json!({}));
    is_near(
        seconds(&platform, &planned(&platform, "chain", Collective::Reduce, (100, 100)), (APART, 1)),
        8.0,
    );
}

/// The sender may start one message every 3 s: both segments come to b 2 s after that, at 2 and 5 s, and to c at 4 and 7 s.
#[test]
fn a_sender_waits_for_the_start_of_its_message() {
    struct Paced(Vec<f64>);
    impl Sending for Paced {
        fn starts_s(&mut self, from: NodeId, _: &Message, _: u64, now_s: f64) -> f64 {
            let next_s = &mut self.0[from.index()];
            let start_s = now_s.max(*next_s);
            *next_s = start_s + 3.0;
            start_s
        }

        fn is_announced_apart(&self, _: u64) -> bool {
            false
        }

        fn goes_in_order(&self) -> bool {
            false
        }
    }
    let platform = three();
    let plan = planned(&platform, "chain", Collective::Bcast, (200, 100));
    is_near(seconds(&platform, &plan, (Paced(vec![0.0; 3]), 2)), 7.0);
}

/// Combined blocks have no posted receives. In Bruck's all-gather of three hosts, each sends its block to both others at once:
/// 80 B by its port after the latency. Blocks of 200 B are announced, which takes a latency more.
#[test]
fn combined_blocks_are_announced() {
    let platform = three();
    for (bytes, by_hand) in [(40, 1.8), (200, 6.0)] {
        let plan = planned(&platform, "bruck", Collective::Allgather, (bytes, bytes));
        assert!(plan.combine);
        is_near(seconds(&platform, &plan, (APART, 1)), by_hand);
    }
}

/// Where no host passes anything on, as [`direct_at_once_s`] has it.
#[test]
fn direct_plans_take_as_long_as_all_at_once() {
    let mut random = Random::new(7);
    for draw in 0..40 {
        let names: Vec<String> = (0..2 + draw % 7).map(|at| format!("n{at}")).collect();
        let mut links = Vec::new();
        for from in &names {
            for to in names.iter().filter(|&to| to != from) {
                let rate = 10.0 * (1 + random.below(5)) as f64;
                let uses: &[&str] = if random.below(3) == 0 { &["pipe"] } else { &[] };
                links.push(json!({"from": from, "to": to, "latency_s": 0.1 * (1 + random.below(9)) as f64, "bandwidth_bytes_per_s": rate, "uses": uses}));
            }
        }
        let nodes: Vec<_> = names.iter().map(|id| json!({"id": id})).collect();
        let document = json!({
            "format": "broadleaf-platform/1", "name": "drawn", "port_model": "one-port", "nodes": nodes,
            "shared": [{"id": "pipe", "bandwidth_bytes_per_s": 25.0}], "links": links,
        });
        let platform = Platform::from_json(&document.to_string()).unwrap().handled_at_once(0.0);
        for collective in
            [Collective::Bcast, Collective::Gather, Collective::Allgather, Collective::ReduceScatter]
        {
            let plan = planned(&platform, "flat", collective, (100, 100));
            let at_once_s = direct_at_once_s(&platform, &plan).unwrap();
            let found = seconds(&platform, &plan, (APART, 1));
            assert!((found / at_once_s - 1.0).abs() < 1e-6, "{draw} {collective}: {found}, {at_once_s}");
        }
    }
}

#[test]
fn a_spent_budget_and_rendezvous_are_errors() {
    let platform = three();
    let plan = planned(&platform, "chain", Collective::Bcast, (20_000, 1));
    assert!(matches!(
        run(&platform, &plan, (APART, 1), (f64::INFINITY, &Budget::of_work(10))),
        Err(PlanError::OutOfTime)
    ));
    let asking = Plan { protocol: Protocol::Rendezvous, ..plan };
    assert!(matches!(
        run(&platform, &asking, (APART, 1), (f64::INFINITY, &Budget::UNLIMITED)),
        Err(PlanError::BadRequest(_))
    ));
}
