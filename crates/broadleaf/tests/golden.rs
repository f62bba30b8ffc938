//! Traces whose times were computed by hand, from the text of the platform and plan formats.

use broadleaf::execute::threads;
use broadleaf::plan::{check, Collective, Plan, Programs};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::simulate::{simulate, Trace};
use serde_json::{json, Value};

fn platform(document: Value) -> Platform {
    Platform::from_json(&document.to_string()).unwrap()
}

/// Hosts `ids` in a mesh of 1 s per 100 bytes and the given latency.
fn mesh(port_model: &str, ids: &[&str], latency_s: f64) -> Platform {
    let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    platform(
        json!({"format": "broadleaf-platform/1", "name": "mesh", "port_model": port_model, "nodes": nodes,
        "meshes": [{"nodes": ids, "link": {"latency_s": latency_s, "bandwidth_bytes_per_s": 100.0}}]}),
    )
}

fn plan(root: &str, message_bytes: u64, segment_bytes: u64, more: Value) -> Plan {
    let mut document = json!({"format": "broadleaf-plan/1", "root": root, "message_bytes": message_bytes,
        "segment_bytes": segment_bytes});
    for (name, value) in more.as_object().unwrap() {
        document[name] = value.clone();
    }
    Plan::from_json(&document.to_string()).unwrap()
}

/// Simulates, and moves real bytes through threads on the way: the plan must deliver them everywhere.
fn traced(platform: &Platform, plan: &Plan) -> Trace {
    assert_eq!(check::faults(platform, plan), Vec::<String>::new());
    let programs = Programs::for_platform(plan, platform).unwrap();
    let message: Vec<u8> = (0..programs.total_bytes()).map(|byte| (byte * 31 % 251) as u8).collect();
    let buffers = threads::run(&programs, &message).unwrap();
    for (index, host) in platform.hosts().enumerate() {
        let needed = match plan.collective {
            Collective::Scatter => {
                let block = plan.message_bytes as usize;
                index * block..(index + 1) * block
            }
            _ => 0..message.len(),
        };
        let got = &buffers[host.index()][needed.clone()];
        assert!(*got == message[needed], "{} got other bytes", platform.node(host).id);
    }
    simulate(platform, plan, true).unwrap()
}

#[track_caller]
fn assert_times(found: &[f64], wanted: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0) || a.is_nan() && b.is_nan();
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(close), "{found:?}, not {wanted:?}");
}

#[track_caller]
fn assert_finish(platform: &Platform, plan: &Plan, wanted: &[f64]) -> Trace {
    let trace = traced(platform, plan);
    assert_times(&trace.finish_s, wanted);
    trace
}

#[test]
fn chain_of_segments() {
    // Segments of 1 s: node b has segment i at i + 1.5, c one hop (1 + 0.5 s) later.
    let platform = mesh("one-port", &["a", "b", "c"], 0.5);
    let plan = plan("a", 400, 100, json!({"trees": [{"share": 1.0, "children": {"a": ["b"], "b": ["c"]}}]}));
    let trace = assert_finish(&platform, &plan, &[0.0, 4.5, 6.0]);
    assert_eq!(trace.transfer_count, 8);
    // A last segment of half a second: b has it at 4, sends it on when segment 2 is out, at 4.5.
    assert_finish(&platform, &plan.resized(350), &[0.0, 4.0, 5.5]);
    // No data: no node waits.
    assert_finish(&platform, &plan.resized(0), &[0.0, 0.0, 0.0]);
}

#[test]
fn lowest_segment_first_then_child_order() {
    // a serves b, c with segment 0, then with segment 1; b forwards to d as soon as it holds a segment.
    let platform = mesh("one-port", &["a", "b", "c", "d"], 0.0);
    let children = json!({"a": ["c", "b"], "b": ["d"]});
    let plan = plan("a", 200, 100, json!({"trees": [{"share": 1.0, "children": children}]}));
    let trace = assert_finish(&platform, &plan, &[0.0, 4.0, 3.0, 5.0]);
    let order: Vec<(NodeId, NodeId, u64)> =
        trace.transfers.iter().map(|t| (t.from, t.to, t.segment)).collect();
    let [a, b, c, d] = [NodeId(0), NodeId(1), NodeId(2), NodeId(3)];
    assert_eq!(order, [(a, c, 0), (a, b, 0), (a, c, 1), (b, d, 0), (a, b, 1), (b, d, 1)]);
}

#[test]
fn a_sender_waits_for_a_busy_receiver_and_ties_go_to_the_smaller_sender() {
    // Tree 0: a→b→d, tree 1: a→c→d. b holds segment 0 at 1, c segment 1 at 2; d takes them in turn.
    let platform = mesh("one-port", &["a", "b", "c", "d"], 0.0);
    let trees = json!([
        {"share": 0.5, "children": {"a": ["b"], "b": ["d", "c"]}},
        {"share": 0.5, "children": {"a": ["c"], "c": ["d", "b"]}}]);
    let two_trees = plan("a", 400, 100, json!({"trees": trees}));
    // a: s0→b [0,1], s1→c [1,2], s2→b [2,3], s3→c [3,4].
    // t=1 b: s0→d [1,2]. t=2 b: s0→c, c's in-port is free: [2,3]. c: s1→d [2,3].
    // t=3 b: s2→d [3,4]; c: s1→b: b's in-port was taken by a until 3: [3,4].
    // t=4 b: s2→c [4,5] (a's s3 came in until 4); c: s3→d [4,5]. t=5 c: s3→b [5,6].
    assert_finish(&platform, &two_trees, &[0.0, 6.0, 5.0, 5.0]);
    // A tie: b and c both hold their half at the same time over free links and both want d.
    let links = json!([{"from": "a", "to": "b", "bandwidth_bytes_per_s": 100.0},
        {"from": "a", "to": "c", "bandwidth_bytes_per_s": 100.0},
        {"from": "b", "to": "d", "both_ways": true, "bandwidth_bytes_per_s": 50.0},
        {"from": "c", "to": "d", "both_ways": true, "bandwidth_bytes_per_s": 50.0},
        {"from": "b", "to": "c", "both_ways": true, "bandwidth_bytes_per_s": 100.0}]);
    let capacity = self::platform(json!({"format": "broadleaf-platform/1", "name": "tie", "port_model":
        "one-port", "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}], "links": links}));
    let tied = plan(
        "a",
        200,
        100,
        json!({"trees": [
        {"share": 0.5, "children": {"a": ["b"], "b": ["d", "c"]}},
        {"share": 0.5, "children": {"a": ["c"], "c": ["b", "d"]}}]}),
    );
    // s0→b [0,1], s1→c [1,2]; b: s0→d [1,3], then s0→c [3,4]; c: s1→b [2,3], s1→d: d busy until 3: [3,5].
    assert_finish(&capacity, &tied, &[0.0, 3.0, 4.0, 5.0]);
}

#[test]
fn port_models_differ_only_in_what_they_hold() {
    let children = json!({"a": ["b", "c"], "b": ["d"]});
    let tree = plan("a", 200, 100, json!({"trees": [{"share": 1.0, "children": children}]}));
    let ids = ["a", "b", "c", "d"];
    // One port for both directions: a [0,4]; b receives s0 [0,1], and a is at b again with s1 at [2,3]
    // (requested at 2 by a, tied with nobody). b's s0→d is requested at 1 and takes [1,2]; s1→d [3,4].
    assert_finish(&mesh("one-port-unidirectional", &ids, 0.0), &tree, &[0.0, 3.0, 4.0, 4.0]);
    // Links only: a serves b and c at once.
    assert_finish(&mesh("link-capacity", &ids, 0.0), &tree, &[0.0, 2.0, 2.0, 3.0]);
    // NICs twice as fast as the links: sends of 0.5 s, links in parallel, receives of 0.5 s at the end.
    let nodes: Vec<Value> =
        ids.iter().map(|id| json!({"id": id, "out_bytes_per_s": 200.0, "in_bytes_per_s": 200.0})).collect();
    let nic = platform(json!({"format": "broadleaf-platform/1", "name": "nic", "port_model": "multi-port",
        "nodes": nodes, "meshes": [{"nodes": ids, "link": {"latency_s": 0.25, "bandwidth_bytes_per_s": 100.0}}]}));
    // a→b s0 starts 0, a→c s0 0.5, a→b s1 at 1 (link busy till 1, port free at 1), a→c s1 1.5.
    // b has s0 at 1.25, sends [1.25, 2.25], d has it at 2.5; s1 is at b at 2.25, d at 3.5.
    assert_finish(&nic, &tree, &[0.0, 2.25, 2.75, 3.5]);
    // The same with the parts given per link: send 0.1 + s/400, recv s/500.
    let part = json!({"latency_s": 0.0, "bandwidth_bytes_per_s": 100.0, "send_startup_s": 0.1,
        "send_s_per_byte": 0.0025, "recv_s_per_byte": 0.002});
    let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    let parts =
        platform(json!({"format": "broadleaf-platform/1", "name": "parts", "port_model": "multi-port",
        "nodes": nodes, "meshes": [{"nodes": ids, "link": part}]}));
    // Sends take 0.35: b s0 0→1, c s0 0.35→1.35, b s1: port free 0.7, link at 1→2, c s1: port free at 1.35,
    // link free at 1.35→2.35. d: s0 1→2, s1 2→3.
    assert_finish(&parts, &tree, &[0.0, 2.0, 2.35, 3.0]);
}

/// a→b and c→d through a pipe of half their rate, the first as often as `crossed` names it, and a→c beside it; a
/// message of one segment from a to c, then to b, and from c to d.
fn over_a_pipe(crossed: Value) -> (Platform, Plan) {
    let links = json!([{"from": "a", "to": "b", "bandwidth_bytes_per_s": 100.0, "uses": crossed},
        {"from": "c", "to": "d", "bandwidth_bytes_per_s": 100.0, "uses": ["wan"]},
        {"from": "a", "to": "c", "bandwidth_bytes_per_s": 100.0}]);
    let nodes = json!([{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]);
    let shared = json!([{"id": "wan", "bandwidth_bytes_per_s": 50.0}]);
    let platform =
        platform(json!({"format": "broadleaf-platform/1", "name": "wan", "port_model": "one-port",
        "nodes": nodes, "shared": shared, "links": links}));
    let children = json!({"a": ["c", "b"], "c": ["d"]});
    (platform, plan("a", 100, 100, json!({"trees": [{"share": 1.0, "children": children}]})))
}

#[test]
fn shared_pipes_are_held_from_the_start() {
    let (platform, plan) = over_a_pipe(json!(["wan"]));
    // 2 s a segment, though the ports are free after 1 s.
    // a→c [0,1]; at t=1 both a→b and c→d want the pipe: a first, [1,2] on ports, pipe [1,3]; c→d at 3.
    assert_finish(&platform, &plan, &[0.0, 2.0, 1.0, 4.0]);
}

#[test]
fn a_pipe_that_is_crossed_twice_is_held_for_twice_as_long() {
    let (platform, plan) = over_a_pipe(json!(["wan", "wan"]));
    // As above, but a→b goes through the pipe and back: it holds that for 4 s, and c→d begins at 5.
    assert_finish(&platform, &plan, &[0.0, 2.0, 1.0, 6.0]);
}

#[test]
fn later_requests_fill_gaps_in_a_port() {
    // b→d is far (3 s latency), c→d is near: d's in-port is reserved for b at [4,5], and c fits before.
    let links = json!([{"from": "a", "to": "b", "bandwidth_bytes_per_s": 100.0},
        {"from": "b", "to": "c", "bandwidth_bytes_per_s": 100.0},
        {"from": "c", "to": "b", "bandwidth_bytes_per_s": 100.0},
        {"from": "a", "to": "c", "bandwidth_bytes_per_s": 100.0},
        {"from": "b", "to": "d", "latency_s": 3.0, "bandwidth_bytes_per_s": 100.0},
        {"from": "c", "to": "d", "bandwidth_bytes_per_s": 100.0}]);
    let platform =
        platform(json!({"format": "broadleaf-platform/1", "name": "gap", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}], "links": links}));
    let plan = plan(
        "a",
        200,
        100,
        json!({"trees": [
        {"share": 0.5, "children": {"a": ["b"], "b": ["d", "c"]}},
        {"share": 0.5, "children": {"a": ["c"], "c": ["d", "b"]}}]}),
    );
    // s0→b [0,1]; b→d [1,2] out, [4,5] in, there at 5. s1→c [1,2]; c→d [2,3], there at 3.
    // b: s0→c [2,3]; c: s1→b [3,4].
    assert_finish(&platform, &plan, &[0.0, 4.0, 3.0, 5.0]);
}

#[test]
fn switches_and_hosts_relay_hop_by_hop() {
    // a - sw - b, and c behind host b: nothing links a to b or c directly.
    let links = json!([{"from": "a", "to": "sw", "latency_s": 0.25, "bandwidth_bytes_per_s": 100.0},
        {"from": "sw", "to": "b", "latency_s": 0.25, "bandwidth_bytes_per_s": 50.0},
        {"from": "b", "to": "c", "bandwidth_bytes_per_s": 100.0}]);
    let platform =
        platform(json!({"format": "broadleaf-platform/1", "name": "relay", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "sw", "kind": "switch"}], "links": links}));
    let flat = plan("a", 100, 100, json!({"trees": [{"share": 1.0, "children": {"a": ["b", "c"]}}]}));
    // To b: out [0,1], at sw 1.25, in of b [1.5,3.5]. To c, over sw and b: out [1,2], at sw 2.25;
    // b's in-port is free at 3.5, so the second hop starts at 3.25 and ends at 5.5; b→c [5.5,6.5].
    let trace = assert_finish(&platform, &flat, &[0.0, 3.5, 6.5, f64::NAN]);
    assert_eq!(trace.transfer_count, 5);
    // The same way, said by the plan.
    let via = json!([{"share": 1.0, "children": {"a": ["b", "c"]}, "via": {"b": ["sw"], "c": ["sw", "b"]}}]);
    assert_finish(&platform, &plan("a", 100, 100, json!({"trees": via})), &[0.0, 3.5, 6.5, f64::NAN]);
}

#[test]
fn a_period_says_who_sends_what_to_whom() {
    let platform = mesh("one-port", &["r", "x", "y"], 0.0);
    let trees = json!([{"share": 0.5, "children": {"r": ["x"], "x": ["y"]}},
        {"share": 0.5, "children": {"r": ["y"], "y": ["x"]}}]);
    let slots = json!([[0, "r", "x", 0], [1, "r", "y", 0], [0, "x", "y", 1], [1, "y", "x", 1]]);
    let ordered = plan("r", 400, 100, json!({"trees": trees, "period": {"segments": 2, "slots": slots}}));
    // r: s0→x [0,1], s1→y [1,2], s2→x [2,3], s3→y [3,4]. y takes s3 before s0, as its order says:
    // s0 from x [4,5], s2 [5,6]. x takes s2 [2,3], then s1 from y [3,4], then s3 [4,5].
    assert_finish(&platform, &ordered, &[0.0, 5.0, 6.0]);
    // Without the period, requests are served in the order of arrival: x→y s0 is requested at 1, tied with r→y s1, and
    // r is the smaller id: [1,2] for s1, [2,3] for s0; r→y s3 [3,4]; x→y s2 [4,5]; y→x s1 [3,4], s3 [4,5].
    let free = plan("r", 400, 100, json!({"trees": trees}));
    assert_finish(&platform, &free, &[0.0, 5.0, 5.0]);
    // x wants s1 from y before s0 from r: r waits for it until 2.
    let slots = json!([[1, "r", "y", 0], [1, "y", "x", 0], [0, "r", "x", 0], [0, "x", "y", 0]]);
    let twisted = json!([[1, "y", "x", 0], [0, "x", "y", 0], [0, "r", "x", 0], [1, "r", "y", 0]]);
    let with = |slots: Value| {
        plan("r", 200, 100, json!({"trees": trees, "period": {"segments": 2, "slots": slots}}))
    };
    assert_finish(&platform, &with(slots), &[0.0, 3.0, 4.0]);
    // x and y each want the other's segment first: refused, and not simulated.
    let faults = check::faults(&platform, &with(twisted));
    assert!(faults.iter().any(|fault| fault.contains("waits for ever")), "{faults:?}");
    assert!(simulate(&platform, &with(json!([[0, "r", "x", 0]])), false).is_err());
}

#[test]
fn ready_items_travel_together() {
    // A binomial scatter's halves and their exchange: two trees, one period, combined.
    let platform = mesh("one-port", &["r", "x", "y"], 0.5);
    let trees = json!([{"share": 0.5, "children": {"r": ["x"], "x": ["y"]}},
        {"share": 0.5, "children": {"r": ["x"], "x": ["y"]}}]);
    let together = plan("r", 200, 100, json!({"trees": trees, "combine": true}));
    // r holds both: one transfer of 200 bytes [0,2], there at 2.5; x likewise [2.5,4.5], there at 5.
    let trace = assert_finish(&platform, &together, &[0.0, 2.5, 5.0]);
    assert_eq!(trace.transfers.iter().map(|t| t.segments).collect::<Vec<_>>(), [2, 2]);
    let apart = plan("r", 200, 100, json!({"trees": trees}));
    assert_finish(&platform, &apart, &[0.0, 2.5, 4.0]);
    // With a period: consecutive slots to the same receiver, as far as the sender holds them.
    let split = json!([{"share": 0.5, "children": {"r": ["x"], "x": ["y"]}},
        {"share": 0.5, "children": {"r": ["y"], "y": ["x"]}}]);
    let slots = json!([
        [0, "r", "x", 0],
        [2, "r", "x", 0],
        [1, "r", "y", 0],
        [3, "r", "y", 0],
        [0, "x", "y", 0],
        [2, "x", "y", 0],
        [1, "y", "x", 0],
        [3, "y", "x", 0]
    ]);
    let exchange = plan(
        "r",
        400,
        100,
        json!({"trees": split, "combine": true, "period": {"segments": 4, "slots": slots}}),
    );
    // r→x both [0,2] there 2.5; r→y both [2,4] there 4.5; x→y both: y takes r's first, whose window ends
    // at 4.5, so it starts at 4 and is there at 6.5; y→x both from 4.5, there at 7.
    let trace = assert_finish(&platform, &exchange, &[0.0, 7.0, 6.5]);
    assert_eq!(trace.transfers.iter().map(|t| t.segments).collect::<Vec<_>>(), [2, 2, 2, 2]);
}

#[test]
fn rendezvous_costs_what_paper_4_says() {
    // g(1) = 0.01, g(m) = 1, L = 0.1: chain (P−1)(g(m) + 2g(1) + 3L), flat (P−1)g(m) + 2g(1) + 3L.
    let platform = mesh("one-port", &["a", "b", "c"], 0.1);
    let chain = json!([{"share": 1.0, "children": {"a": ["b"], "b": ["c"]}}]);
    let chain = plan("a", 100, 100, json!({"trees": chain, "protocol": "rendezvous"}));
    assert_finish(&platform, &chain, &[0.0, 1.32, 2.64]);
    let flat = json!([{"share": 1.0, "children": {"a": ["b", "c"]}}]);
    let flat = plan("a", 100, 100, json!({"trees": flat, "protocol": "rendezvous"}));
    let trace = assert_finish(&platform, &flat, &[0.0, 1.32, 2.32]);
    assert_eq!(trace.transfers.iter().filter(|t| t.segments == 0).count(), 4);
}

#[test]
fn clusters_broadcast_inside_after_or_while_they_send() {
    let nodes = json!([{"id": "a", "local_broadcast_s": 2.0}, {"id": "b", "local_broadcast_s": 5.0},
        {"id": "c", "local_broadcast_s": 0.5}]);
    let mut document = json!({"format": "broadleaf-platform/1", "name": "grid", "port_model": "one-port",
        "nodes": nodes, "meshes": [{"nodes": ["a", "b", "c"],
            "link": {"latency_s": 0.25, "gap": [[1, 1.0]]}}]});
    let plan = plan("a", 100, 100, json!({"trees": [{"share": 1.0, "children": {"a": ["b"], "b": ["c"]}}]}));
    // b has it at 1.25, sends until 2.25; c has it at 2.5.
    assert_times(&simulate(&platform(document.clone()), &plan, false).unwrap().finish_s, &[3.0, 7.25, 3.0]);
    document["local_start"] = json!("on-arrival");
    let trace = simulate(&platform(document), &plan, false).unwrap();
    assert_times(&trace.finish_s, &[2.0, 6.25, 3.0]);
    assert_eq!(trace.makespan_s, 6.25);
}

#[test]
fn a_scatter_gives_each_node_its_own() {
    let platform = mesh("one-port", &["a", "b", "c", "d"], 0.5);
    let scatter = |bytes: u64, more: Value| {
        let mut fields = json!({"collective": "scatter"});
        for (name, value) in more.as_object().unwrap() {
            fields[name] = value.clone();
        }
        plan("a", bytes, 100, fields)
    };
    // Flat: one block after the other.
    let flat = json!([{"share": 1.0, "children": {"a": ["d", "b", "c"]}}]);
    let one_by_one = scatter(100, json!({"trees": flat}));
    assert_finish(&platform, &one_by_one, &[0.0, 2.5, 3.5, 1.5]);
    // Segment by segment to everyone: b's second segment leaves at 4 and is there at 5.5.
    assert_finish(&platform, &scatter(200, json!({"trees": flat})), &[0.0, 5.5, 6.5, 4.5]);
    // Binomial: c's two blocks in one transfer [0,2], there at 2.5, d's half on [2.5,3.5]; b's [2,3].
    let binomial = json!([{"share": 1.0, "children": {"a": ["c", "b"], "c": ["d"]}}]);
    let together = scatter(100, json!({"trees": binomial, "combine": true}));
    let trace = assert_finish(&platform, &together, &[0.0, 3.5, 2.5, 4.0]);
    assert_eq!(trace.transfer_count, 3);
    // Apart: c's own block [0,1], then d's on its way over c [1,2], all of the first child before b [2,3].
    let apart = scatter(100, json!({"trees": binomial}));
    let trace = assert_finish(&platform, &apart, &[0.0, 3.5, 1.5, 4.0]);
    assert_eq!(trace.transfer_count, 4);
    // Two trees with a half of every block each.
    let halves = json!([{"share": 0.5, "children": {"a": ["b"], "b": ["c", "d"]}},
        {"share": 0.5, "children": {"a": ["d"], "d": ["c", "b"]}}]);
    traced(&platform, &scatter(400, json!({"trees": halves})));
    // Relayed over a host that does not need it.
    let line =
        self::platform(json!({"format": "broadleaf-platform/1", "name": "line", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
        "links": [{"from": "a", "to": "b", "bandwidth_bytes_per_s": 100.0},
            {"from": "b", "to": "c", "bandwidth_bytes_per_s": 100.0}]}));
    let star = scatter(100, json!({"trees": [{"share": 1.0, "children": {"a": ["b", "c"]}}]}));
    assert_finish(&line, &star, &[0.0, 1.0, 3.0]);
}

#[test]
fn an_allgather_has_a_tree_for_each_host() {
    let ring = |ids: &[&str]| -> Value {
        let trees = (0..ids.len()).map(|start| {
            let next = |step: usize| ids[(start + step) % ids.len()];
            let children: serde_json::Map<String, Value> =
                (0..ids.len() - 1).map(|step| (next(step).to_string(), json!([next(step + 1)]))).collect();
            json!({"share": 1.0, "root": ids[start], "children": children})
        });
        trees.collect()
    };
    let ids = ["a", "b", "c"];
    let platform = mesh("one-port", &ids, 0.0);
    let gather = |bytes: u64, more: Value| {
        let mut fields = more;
        fields["collective"] = json!("allgather");
        fields["trees"] = ring(&ids);
        plan("a", bytes, 100, fields)
    };
    // Every node sends to the right: its own [0,1], its left neighbour's [1,2].
    assert_finish(&platform, &gather(100, json!({})), &[2.0, 2.0, 2.0]);
    // Two segments each. Lowest segment first, so the neighbour's first one goes before the own second.
    assert_finish(&platform, &gather(200, json!({})), &[4.0, 4.0, 4.0]);
    // With a period: three positions, one a contribution; sends and receives in the ring's order.
    let slots = json!([
        [0, "a", "b", 0],
        [1, "b", "c", 0],
        [2, "c", "a", 0],
        [2, "a", "b", 0],
        [0, "b", "c", 0],
        [1, "c", "a", 0]
    ]);
    let period = json!({"period": {"segments": 3, "slots": slots}});
    assert_finish(&platform, &gather(200, period), &[4.0, 4.0, 4.0]);
    // Without "root" in the document it is the first tree's.
    let mut document = gather(100, json!({})).to_json();
    document.as_object_mut().unwrap().remove("root");
    assert_eq!(Plan::from_json(&document.to_string()).unwrap().root, NodeId(0));
}
