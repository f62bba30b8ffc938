//! Plans over ranks: how many messages an edge keeps in flight, and that each node is entered once a tree.

use super::edge::{on_the_wire, window, Edges, Ends, MAX_WINDOW};
use super::encode::{decode_plan, encode_plan};
use super::expand;
use crate::smpi::Turn;
use crate::test_platforms::equal_hosts;
use crate::topology::placement::Placement;
use broadleaf::budget::Budget;
use broadleaf::execute::threads;
use broadleaf::plan::{Collective, Period, Plan, Programs, Slot, TreeBuilder};
use broadleaf::planners::{find, plan_with, supports, Instance, PLANNERS};
use broadleaf::platform::{LinkClass, NodeId, Platform, PortModel};
use std::collections::HashSet;

/// Four nodes with 3, 1, 2 and 4 ranks, dealt so that no node's ranks stand together.
const NODE_OF_RANK: [u32; 10] = [3, 0, 2, 3, 1, 0, 3, 2, 0, 3];

fn four_nodes() -> Platform {
    equal_hosts(4, PortModel::OnePort, LinkClass::affine(50e-6, 125e6))
}

#[test]
fn every_plan_enters_each_node_once_a_tree() {
    let platform = four_nodes();
    let node_of_rank = NODE_OF_RANK.map(NodeId);
    let Placement { handled, ranks, .. } = Placement::on(&platform, &node_of_rank).unwrap();
    let message: Vec<u8> = (0..60_000u32).map(|at| (at * 7 + at / 256) as u8).collect();
    let mut plans = 0;
    for root in [0u32, 4, 9] {
        let bytes = message.len() as u64;
        let instance = Instance::new(&handled, node_of_rank[root as usize], bytes).unwrap().segmented(5000);
        for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
            // A search may give up.
            let Ok(plan) = planner.plan(&instance, &Budget::UNLIMITED) else { continue };
            let ranked = expand(&plan, &handled, &ranks, root, &|_| false).unwrap();
            let name = planner.card().name;
            for tree in &ranked.transfers.trees {
                let node = |rank: NodeId| node_of_rank[rank.index()];
                let across = tree.edges().filter(|&(from, to)| node(from) != node(to));
                let entered: Vec<NodeId> = across.map(|(_, to)| node(to)).collect();
                let distinct: HashSet<NodeId> = entered.iter().copied().collect();
                assert_eq!((entered.len(), distinct.len()), (3, 3), "{name} from rank {root}: {entered:?}");
            }
            let received = threads::run(&Programs::for_ranks(ranked.transfers), &message).unwrap();
            assert!(received.iter().all(|buffer| *buffer == message), "{name} from rank {root}");
            plans += 1;
        }
    }
    assert!(plans > 60, "{plans} plans");
}

/// Also after encoding and decoding, with several ranks on a node and with one.
#[test]
fn every_all_reduce_combines_each_rank_once() {
    let platform = four_nodes();
    let contribution = |rank: u32| (0..20_000u32).map(move |at| (at * 7 + at / 256 + rank * rank * 31) as u8);
    let (mut plans, mut with_leads) = (0, 0);
    for node_of_rank in [&NODE_OF_RANK[..], &[2, 0, 3, 1]] {
        let node_of_rank: Vec<NodeId> = node_of_rank.iter().copied().map(NodeId).collect();
        let count = node_of_rank.len() as u32;
        let mut sums = vec![0u8; 20_000];
        for rank in 0..count {
            sums.iter_mut().zip(contribution(rank)).for_each(|(sum, byte)| *sum = sum.wrapping_add(byte));
        }
        let Placement { handled, ranks, .. } = Placement::on(&platform, &node_of_rank).unwrap();
        let instance = Instance::new(&handled, node_of_rank[0], 20_000).unwrap().segmented(1500);
        let instance = Instance { collective: Collective::Allreduce, ..instance };
        for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
            let Ok(plan) = plan_with(*planner, &instance, &Budget::UNLIMITED) else { continue };
            let name = planner.card().name;
            let ranked = expand(&plan, &handled, &ranks, 0, &|_| false).unwrap();
            with_leads += usize::from(ranked.edges.iter().flatten().any(|edge| edge.lead > 0));
            let decoded = decode_plan(&encode_plan(&ranked)).unwrap();
            assert!(decoded.edges == ranked.edges && decoded.between == ranked.between, "{name}");
            let programs = Programs::for_ranks(decoded.transfers);
            let results = threads::run_on(&programs, |rank| contribution(rank.0).collect()).unwrap();
            assert!(results.iter().all(|result| *result == sums), "{name} on {count} ranks");
            plans += 1;
        }
    }
    assert!(plans > 20 && with_leads > 10, "{plans} plans, {with_leads} with leads");
}

#[test]
fn a_window_covers_what_is_on_its_way() {
    // 1 KiB takes 82 µs, 2 KiB twice as long, and 80 µs pass until the next one follows.
    let ethernet = LinkClass::affine(60e-6, 12.5e6);
    let messages = |class: &LinkClass, bytes: u64| {
        let message_s = class.time.seconds(bytes);
        (on_the_wire(class, message_s), window(class, message_s))
    };
    assert_eq!(messages(&ethernet, 1 << 10), (1, 3));
    assert_eq!(messages(&ethernet, 2 << 10), (1, 2));
    // 16 KiB take 131 µs, 12 ms away: 92 are on their way, and 1 + 92/8 more keep it so.
    let far = LinkClass::affine(12e-3, 125e6);
    assert_eq!(messages(&far, 16 << 10), (92, 105));
    // 4 MiB take longer than that: whole, they go one by one.
    assert_eq!(messages(&far, 4 << 20).0, 1);
}

/// How many links like the one into each rank the sender's port feeds; `send` is more of each link.
fn feeds(edges: &[(u32, u32)], port_model: &str, send: &str) -> Vec<u16> {
    let text = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "three", "port_model": "{port_model}",
        "nodes": [{{"id": "a", "out_bytes_per_s": 1e8}}, {{"id": "b", "out_bytes_per_s": 1e8}}, {{"id": "c"}}],
        "meshes": [{{"nodes": ["a", "b", "c"], "link": {{"bandwidth_bytes_per_s": 4e7{send}}}}}]}}"#
    );
    let platform = Platform::from_json(&text).unwrap();
    let mut tree = TreeBuilder::new(3);
    for &(from, to) in edges {
        tree.add(NodeId(from), NodeId(to));
    }
    let plan = Plan::bcast(&platform, "hand", NodeId(0), 1 << 20, 1 << 14, vec![tree.build()]);
    let ranks = [vec![0], vec![1], vec![2]];
    let ranked = expand(&plan, &platform, &ranks, 0, &|_| false).unwrap();
    ranked.edges[0].iter().map(|edge| edge.feeds).collect()
}

#[test]
fn ports_feed_several_slower_links_where_they_serve_several() {
    let tree: &[_] = &[(0, 1), (1, 2)];
    assert_eq!(feeds(tree, "multi-port", ""), [1, 2, 2], "100 MB/s feed two of 40");
    assert_eq!(feeds(tree, "one-port", ""), [1, 1, 1]);
    let whole = r#", "send_s_per_byte": 2.5e-8"#;
    assert_eq!(feeds(tree, "multi-port", whole), [1, 1, 1], "each link holds the port all the time");
}

/// Whole messages wait for the sender's port and for nothing else: each child gets one.
#[test]
fn whole_messages_of_a_simulated_port_are_kept_apart_by_their_turns_alone() {
    let platform = equal_hosts(4, PortModel::OnePort, LinkClass::affine(19e-6, 125e6)).handled();
    let edge_below = |fourth: NodeId, segment_bytes: u64, simulated: bool| {
        let mut tree = TreeBuilder::new(4);
        tree.add(NodeId(0), NodeId(1));
        tree.add(NodeId(0), NodeId(2));
        tree.add(fourth, NodeId(3));
        let plan = Plan::bcast(&platform, "hand", NodeId(0), 1000, segment_bytes, vec![tree.build()]);
        let ends = Ends { parent: NodeId(0), child: NodeId(1), is_inward: false };
        Edges::of(&plan, &platform, simulated).edge(&plan.trees[0], ends)
    };
    let edge_of = |segment_bytes, simulated| edge_below(NodeId(1), segment_bytes, simulated);
    // 1000 bytes take 8 µs of the wire; the host's 5 µs cost no simulated time.
    let whole = edge_of(1000, true);
    assert!((f64::from(whole.turn.port_s) - 8e-6).abs() < 1e-12);
    assert_eq!(f64::from(whole.window), MAX_WINDOW);
    // 500 bytes every 4 µs, 39 µs until the next one follows: 10 on the wire, 3 more keep it busy; a real host sends
    // one every 9 µs.
    assert_eq!(edge_of(500, true).window, 10 + 1 + 2);
    assert_eq!(edge_of(500, false).window, 5 + 1 + 1);
    assert_eq!(edge_of(500, false).turn, Turn::default());
    // Three children that pass nothing on: the last has its message at the same time without turns.
    assert_eq!(edge_below(NodeId(0), 1000, true).turn, Turn::default());
    assert_ne!(edge_below(NodeId(0), 500, true).turn, Turn::default());
}

/// With one message in flight, the only link of a sender would be idle for its latency after each message, and so would
/// the port of a sender of several where the way is long.
#[test]
fn a_simulated_port_keeps_the_links_of_a_timetable_busy() {
    let hosts_apart =
        |latency_s: f64| equal_hosts(3, PortModel::OnePort, LinkClass::affine(latency_s, 1.5e6));
    let (near, far) = (hosts_apart(0.0018), hosts_apart(0.012));
    let mut tree = TreeBuilder::new(3);
    tree.add(NodeId(0), NodeId(1));
    tree.add(NodeId(0), NodeId(2));
    // 36 ms each: a twentieth of one is in flight when the next may leave, or a third on a longer way.
    let mut plan = Plan::bcast(&near, "hand", NodeId(0), 540_000, 54_000, vec![tree.build()]);
    let slot = |to| Slot { segment: 0, from: NodeId(0), to: NodeId(to), lag: 0 };
    let mut window_on = |platform: &Platform, slots: &[u32], simulated: bool| {
        plan.period = Some(Period { segments: 1, slots: slots.iter().copied().map(slot).collect() });
        let ends = Ends { parent: NodeId(0), child: NodeId(1), is_inward: false };
        Edges::of(&plan, platform, simulated).edge(&plan.trees[0], ends).window
    };
    assert_eq!(window_on(&far, &[1, 2], true), 2);
    // All of the sender's time, five sevenths, half: 1.05, 0.75 and 0.53 messages.
    let mut window = |slots: &[u32], simulated: bool| window_on(&near, slots, simulated);
    assert_eq!(window(&[1], true), 2);
    assert_eq!(window(&[1, 1, 1, 1, 1, 2, 2], true), 1);
    assert_eq!(window(&[1, 2], true), 1);
    // A real wire is shared with what the next slot sends.
    assert_eq!(window(&[1], false), 1);
}

/// Segments of 500 µs, little of one in flight when the next may leave. The ring's blocks come in one way and go out the
/// other way: one after the other with two segments a block, at the same time with twenty.
#[test]
fn an_all_reduces_way_in_has_the_ports_until_its_way_out_begins() {
    let platform = equal_hosts(5, PortModel::OnePort, LinkClass::affine(1e-5, 1e8));
    let windows = |segments: u64| {
        let instance = Instance::new(&platform, NodeId(0), 5 * segments * 50_000).unwrap().segmented(50_000);
        let instance = Instance { collective: Collective::Allreduce, ..instance };
        let plan = plan_with(find("ring").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
        assert_eq!(plan.segment_bytes, 50_000);
        [false, true].map(|is_inward| {
            let tree = if is_inward { &plan.inward[0] } else { &plan.trees[0] };
            let ends = Ends { parent: NodeId(0), child: NodeId(1), is_inward };
            Edges::of(&plan, &platform, true).edge(tree, ends).window
        })
    };
    assert_eq!((windows(2), windows(20)), ([2, 2], [1, 1]));
}

/// Every host sends its own block to all others, and the other way round in a reduce-scatter.
#[test]
fn blocks_that_are_not_passed_on_take_no_turns() {
    let platform = equal_hosts(4, PortModel::MultiPort, LinkClass::affine(1e-5, 1e8));
    for collective in [Collective::Allgather, Collective::ReduceScatter] {
        let instance = Instance::new(&platform, NodeId(0), 1000).unwrap();
        let instance = Instance { collective, ..instance };
        for (planner, takes_turns) in [("flat", false), ("ring", true)] {
            let plan = plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap();
            let is_inward = collective.is_inward();
            let ends = Ends { parent: NodeId(0), child: NodeId(1), is_inward };
            let turn = Edges::of(&plan, &platform, true).edge(&plan.trees[0], ends).turn;
            assert_eq!(turn != Turn::default(), takes_turns, "{planner} {collective}");
        }
    }
}

/// Eight hosts of a site share the pipe to the root's site.
#[test]
fn a_gathers_senders_share_what_a_pipe_has_in_flight() {
    let of_a: String = (1..9).map(|host| format!(r#", {{"id": "a{host}", "cluster": "A"}}"#)).collect();
    let text = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "two sites", "port_model": "one-port",
        "nodes": [{{"id": "root", "cluster": "B"}}{of_a}], "shared": [{{"id": "pipe", "bandwidth_bytes_per_s": 1e7}}],
        "bridges": [{{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
            "link": {{"latency_s": 0.01597, "bandwidth_bytes_per_s": 1e7, "uses": ["pipe"]}}}}]}}"#
    );
    let platform = Platform::from_json(&text).unwrap().handled();
    let mut tree = TreeBuilder::new(9);
    for host in 1..9 {
        tree.add(NodeId(0), NodeId(host));
    }
    let tree = tree.build();
    let window = |collective, message_bytes| {
        let plan = Plan::bcast(&platform, "hand", NodeId(0), message_bytes, 10_000, vec![tree.clone()]);
        let plan = Plan { collective, ..plan };
        let ends = Ends { parent: NodeId(0), child: NodeId(1), is_inward: collective == Collective::Gather };
        Edges::of(&plan, &platform, true).edge(&plan.trees[0], ends).window
    };
    // 1 ms a message, and almost 16 ms until the next one follows: 16 of one sender, or two of each of eight.
    assert_eq!(window(Collective::Scatter, 80_000), 16 + 1 + 1 + 2);
    assert_eq!(window(Collective::Gather, 80_000), 2 + 1 + 1);
    // A quarter of 40 segments; all that the link holds of 400.
    assert_eq!(window(Collective::Gather, 400_000), 10);
    assert_eq!(window(Collective::Gather, 4_000_000), 16 + 1 + 1 + 2);
}
