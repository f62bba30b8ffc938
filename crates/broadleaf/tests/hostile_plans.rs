//! Plans of a few hundred bytes that would cost their reader gigabytes or unlimited time.

mod limits;

use broadleaf::plan::{check, Plan};
use broadleaf::platform::Platform;
use broadleaf::simulate::simulate;
use limits::{alone, peak_of, MIB};
use serde_json::{json, Value};

fn mesh(hosts: usize) -> Platform {
    let ids: Vec<String> = (0..hosts).map(|host| format!("n{host}")).collect();
    let nodes: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
    let document = json!({"format": "broadleaf-platform/1", "name": "mesh", "port_model": "one-port",
        "nodes": nodes, "meshes": [{"nodes": ids, "link": {"bandwidth_bytes_per_s": 1e6}}]});
    Platform::from_json(&document.to_string()).unwrap()
}

/// A chain through all hosts with a period of `segments` whose slot into host `at` has the lag `lag(at)`.
fn chain(hosts: usize, segments: u64, lag: impl Fn(usize) -> u64, message_bytes: u64) -> String {
    let children: serde_json::Map<String, Value> =
        (1..hosts).map(|at| (format!("n{}", at - 1), json!([format!("n{at}")]))).collect();
    let slots: Vec<Value> =
        (1..hosts).map(|at| json!([0, format!("n{}", at - 1), format!("n{at}"), lag(at)])).collect();
    json!({"format": "broadleaf-plan/1", "root": "n0", "message_bytes": message_bytes, "segment_bytes": 1,
        "trees": [{"share": 1, "children": children}], "period": {"segments": segments, "slots": slots}})
    .to_string()
}

#[test]
fn periods_and_lags_that_nothing_needs_are_refused() {
    let _alone = alone();
    for (text, fact) in [
        (chain(3, u64::from(u32::MAX), |_| 0, 8), "a period of 4294967295 segments and 2 slots"),
        (chain(3, 1, |_| u64::from(u32::MAX), 8), "a lag of 4294967295 periods of 2 slots"),
        (chain(2000, 1, |_| 100_000, 8), "a lag of 100000 periods of 1999 slots"),
    ] {
        let (fault, peak) = peak_of(|| Plan::from_json(&text).unwrap_err());
        assert!(fault.place.contains("$.period") && fault.fact.contains(fact), "{fault}");
        assert!(peak < 64 * MIB, "{peak} bytes for {} of text", text.len());
    }
    // The same in memory, where no reader has looked.
    let mut plan = Plan::from_json(&chain(3, 1, |_| 0, 8)).unwrap();
    plan.period.as_mut().unwrap().segments = u32::MAX;
    let (faults, peak) = peak_of(|| check::faults(&mesh(3), &plan));
    assert!(faults.len() == 1 && faults[0].contains("a period of 4294967295 segments"), "{faults:?}");
    assert!(peak < MIB, "{peak}");
}

/// Also where the message has 2⁶² segments, and slots stand in the order that makes the checker play them.
#[test]
fn memory_of_a_check_is_linear_in_the_plan() {
    let _alone = alone();
    for message_bytes in [8, 1 << 62] {
        for backwards in [false, true] {
            let held = |hosts: usize| {
                let platform = mesh(hosts);
                let text = chain(hosts, 1, |at| at as u64 / 2, message_bytes);
                let mut plan = Plan::from_json(&text).unwrap();
                if backwards {
                    plan.period.as_mut().unwrap().slots.reverse();
                }
                let (faults, peak) = peak_of(|| check::faults(&platform, &plan));
                assert_eq!(faults, Vec::<String>::new());
                peak
            };
            let (few, many) = (held(100), held(1000));
            assert!(many < 16 * few, "{few} bytes for 100 hosts, {many} for 1000");
            assert!(many < MIB, "{many}");
        }
    }
}

/// A pattern stands for as many slots as fit into 256 MiB with what makes them.
#[test]
fn patterns_stay_within_their_memory() {
    let _alone = alone();
    let hosts: Vec<String> = (0..2048).map(|host| format!("n{host}")).collect();
    for (hosts, name, field, value) in [
        (&hosts[..2], "circulant", "segments", 1 << 22),
        (&hosts[..], "round-robin", "lookahead", 1),
        (&hosts[..], "van-de-geijn", "unused", 0),
    ] {
        let text = json!({"format": "broadleaf-plan/1", "root": "n0", "message_bytes": 1 << 30,
            "segment_bytes": 1, "pattern": {"name": name, field: value, "hosts": hosts}});
        let (plan, peak) = peak_of(|| Plan::from_json(&text.to_string()));
        assert!(peak < 256 * MIB, "{name}: {} MiB", peak / MIB);
        assert!(plan.unwrap().period.unwrap().slots.len() > 4_000_000, "{name}");
        let text = text.to_string().replace("4194304", "4194305");
        assert!(name != "circulant" || Plan::from_json(&text).unwrap_err().fact.contains("4194305 slots"));
    }
}

/// n1 sends segment k on before n0 has sent it there: with 3 hosts it needs a lag, without one it is stuck.
#[test]
fn orders_that_block_each_other_are_found_however_they_are_listed() {
    let _alone = alone();
    let platform = mesh(4);
    let plan = |slots: Value| {
        let text = json!({"format": "broadleaf-plan/1", "root": "n0", "message_bytes": 1u64 << 40,
            "segment_bytes": 1, "period": {"segments": 2, "slots": slots}, "trees": [
                {"share": 0.5, "children": {"n0": ["n1"], "n1": ["n2"], "n2": ["n3"]}},
                {"share": 0.5, "children": {"n0": ["n2"], "n2": ["n1"], "n1": ["n3"]}}]});
        Plan::from_json(&text.to_string()).unwrap()
    };
    // n1 waits for n2's second part before it gives n2 the first, and n2 for n1's first part before its second.
    let circle = json!([
        [1, "n2", "n1", 0],
        [0, "n1", "n2", 0],
        [0, "n0", "n1", 0],
        [1, "n0", "n2", 0],
        [0, "n2", "n3", 0],
        [1, "n1", "n3", 0]
    ]);
    let faults = check::faults(&platform, &plan(circle));
    assert!(faults.len() == 1 && faults[0].contains("waits for ever"), "{faults:?}");
    let good = json!([
        [0, "n0", "n1", 0],
        [1, "n0", "n2", 0],
        [0, "n1", "n2", 0],
        [1, "n2", "n1", 0],
        [0, "n2", "n3", 0],
        [1, "n1", "n3", 0]
    ]);
    assert_eq!(check::faults(&platform, &plan(good)), Vec::<String>::new());
}

#[test]
fn more_transfers_than_can_be_simulated_are_refused() {
    let _alone = alone();
    let text = |trees: Value| {
        json!({"format": "broadleaf-plan/1", "root": "n0", "message_bytes": 8u64 << 30, "segment_bytes": 1,
            "trees": trees})
        .to_string()
    };
    let platform = mesh(3);
    let one = json!([{"share": 1, "children": {"n0": ["n1", "n2"]}}]);
    let plan = Plan::from_json(&text(one)).unwrap();
    let (refusal, peak) = peak_of(|| simulate(&platform, &plan, true).unwrap_err().to_string());
    assert!(refusal.contains("17179869184 transfers") && refusal.contains("larger segments"), "{refusal}");
    assert!(peak < MIB, "{peak}");
    // Shares deal each segment to a tree, which the executor must keep.
    let two = json!([{"share": 0.5, "children": {"n0": ["n1", "n2"]}}, {"share": 0.5,
        "children": {"n0": ["n2"], "n2": ["n1"]}}]);
    let (faults, peak) = peak_of(|| check::faults(&platform, &Plan::from_json(&text(two)).unwrap()));
    assert!(faults.len() == 1 && faults[0].contains("8589934592 segments of 1 bytes"), "{faults:?}");
    assert!(peak < MIB, "{peak}");
}

#[test]
fn blocks_that_cannot_be_counted_are_refused() {
    let _alone = alone();
    let trees: Vec<Value> = (0..3)
        .map(|root| {
            let others: Vec<String> = (0..3).filter(|&at| at != root).map(|at| format!("n{at}")).collect();
            json!({"share": 1, "root": format!("n{root}"), "children": {format!("n{root}"): others}})
        })
        .collect();
    let text = json!({"format": "broadleaf-plan/1", "collective": "allgather", "message_bytes": 1u64 << 63,
        "segment_bytes": 1u64 << 62, "trees": trees});
    let faults = check::faults(&mesh(3), &Plan::from_json(&text.to_string()).unwrap());
    assert!(faults.len() == 1 && faults[0].contains("3 x 9223372036854775808 bytes"), "{faults:?}");
}
