//! The file: the Trace Event Format, as `python/broadleaf/formats/perfetto.py` writes it for simulated transfers.
//!
//! One process a rank, with rows for its calls, its sends and its receives; flows from each send to its receive
//! and on to the sends that hand the segment on; one more process with a counter for each link in use.

use super::moves::{CallId, Move, Side};
use crate::observe::stats::{destination, replace};
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A segment on one hop of its way: call, sender, receiver, tree, segment.
type Hop = (CallId, u32, u32, u32, u64);

/// What one process saw.
#[derive(Debug)]
struct Process {
    rank: u64,
    host: String,
    moves: Vec<Move>,
}

/// Writes the file from all processes' lines; the error is one line for the user.
pub fn write(lines: &str, is_spawned: bool) -> Result<(), String> {
    let Some(path) = destination("BROADLEAF_TRACE", is_spawned) else { return Ok(()) };
    replace(&path, document(read(lines)).as_bytes()).map_err(|error| {
        let shown = path.display();
        format!("BROADLEAF_TRACE={shown}: cannot be written ({error}); name a file in a writable directory")
    })
}

fn read(lines: &str) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    for value in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if let Some(rank) = value["rank"].as_u64() {
            let host = value["host"].as_str().unwrap_or("").to_string();
            found.push(Process { rank, host, moves: Vec::new() });
        } else if let (Some(process), Some(one)) = (found.last_mut(), Move::from_json(&value)) {
            process.moves.push(one);
        }
    }
    found
}

fn hop(one: &Move) -> Option<Hop> {
    let peer = one.peer.filter(|_| one.count == 1)?;
    let (from, to) = match one.side {
        Side::Send => (one.own, peer),
        Side::Receive => (peer, one.own),
        Side::Call => return None,
    };
    Some((one.call, from, to, one.tree, one.segment))
}

fn document(mut processes: Vec<Process>) -> String {
    settle_clocks(&mut processes);
    let mut events: Vec<String> = Vec::new();
    let mut put = |event: Value| events.push(event.to_string());
    let counters = processes.iter().map(|process| process.rank + 1).max().unwrap_or(0);
    for process in &processes {
        let name = format!("rank {} on {}", process.rank, process.host);
        name_process(process.rank, &name, &mut put);
    }
    name_process(counters, "load of links", &mut put);
    // Where the slice of each hop's send and receive is: process, thread, time stamp.
    let (mut sent, mut received) = (HashMap::new(), HashMap::new());
    for process in &processes {
        let threads = threads(&process.moves);
        let used: BTreeSet<(u64, Side)> =
            threads.iter().zip(&process.moves).map(|(&thread, one)| (thread, one.side)).collect();
        for (thread, side) in used {
            let kind = ["broadcasts", "sends", "receives"][side as usize];
            let row = (thread - FIRST_THREAD) / 3;
            let row = if row > 0 { format!(" {}", row + 1) } else { String::new() };
            put(json!({"ph": "M", "name": "thread_name", "pid": process.rank, "tid": thread,
                       "args": {"name": format!("{kind}{row}")}}));
        }
        for (one, thread) in process.moves.iter().zip(threads) {
            put(slice(process.rank, thread, one));
            let place = (process.rank, thread, nanoseconds(one.begin_s));
            if let Some(hop) = hop(one) {
                let ends = if one.side == Side::Send { &mut sent } else { &mut received };
                ends.insert(hop, place);
            }
        }
    }
    flows(&sent, &received, &mut put);
    loads(&processes, counters, &mut put);
    let all = || processes.iter().flat_map(|process| &process.moves).filter(|one| one.side == Side::Send);
    let (transfers, slices) = (all().map(|one| one.count).sum::<u64>(), all().count() as u64);
    let mut about = json!({"ranks": processes.len(), "transfers": transfers});
    if slices < transfers {
        about["merged"] =
            json!(format!("{transfers} transfers were merged into {slices} bars; each is a run of several"));
    }
    // chrome://tracing compares slices in thousandths of the unit: in "ms" a short one lies inside the one before.
    let head = json!({"displayTimeUnit": "ns", "otherData": about}).to_string();
    let text = format!("{},\"traceEvents\":[\n{}\n]}}\n", &head[..head.len() - 1], events.join(",\n"));
    // To Perfetto a string that ends in `\\` has no end.
    text.replace(r"\\", r"\u005c")
}

/// A slice's length at least: an arrow to one without length would lead nowhere.
const SHORTEST_S: f64 = 1e-9;

/// Time begins with the first move. No receive begins before its send: it waited until then.
fn settle_clocks(processes: &mut [Process]) {
    let moves = || processes.iter().flat_map(|process| &process.moves);
    let first_s = moves().map(|one| one.begin_s).fold(f64::INFINITY, f64::min);
    let sends = moves().filter(|one| one.side == Side::Send);
    let begun: HashMap<Hop, f64> = sends.filter_map(|one| Some((hop(one)?, one.begin_s))).collect();
    for one in processes.iter_mut().flat_map(|process| &mut process.moves) {
        if one.side == Side::Receive {
            let sent_s = hop(one).and_then(|hop| begun.get(&hop).copied()).unwrap_or(one.begin_s);
            // Clocks of two machines agree to within the time of a message only.
            one.end_s = one.end_s.max(sent_s);
            one.begin_s = one.begin_s.max(sent_s);
        }
        one.begin_s -= first_s;
        one.end_s = (one.end_s - first_s).max(one.begin_s + SHORTEST_S);
    }
}

/// Thread 0 is another word for a process's main thread to Perfetto, which would put one row into another.
const FIRST_THREAD: u64 = 1;

/// The row of each move: what overlaps on a side lies in further rows.
fn threads(moves: &[Move]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..moves.len()).collect();
    order.sort_by(|&a, &b| moves[a].begin_s.total_cmp(&moves[b].begin_s).then(a.cmp(&b)));
    let mut ends: [Vec<f64>; 3] = Default::default();
    let mut rows = vec![0; moves.len()];
    for at in order {
        let one = &moves[at];
        let side = &mut ends[one.side as usize];
        let free = side.iter().position(|&end_s| end_s <= one.begin_s);
        let row = free.unwrap_or(side.len());
        if row == side.len() {
            side.push(one.end_s);
        } else {
            side[row] = one.end_s;
        }
        rows[at] = FIRST_THREAD + 3 * row as u64 + one.side as u64;
    }
    rows
}

fn name_process(place: u64, name: &str, put: &mut impl FnMut(Value)) {
    put(json!({"ph": "M", "name": "process_name", "pid": place, "args": {"name": name}}));
    put(json!({"ph": "M", "name": "process_sort_index", "pid": place, "args": {"sort_index": place}}));
}

fn slice(rank: u64, thread: u64, one: &Move) -> Value {
    let peer = one.peer.map_or_else(|| json!("several"), |peer| json!(peer));
    let (name, args) = match one.side {
        Side::Call => {
            let name = match one.count {
                1 => format!("broadcast {}", one.call.number),
                count => format!("{count} broadcasts from {} on", one.call.number),
            };
            (name, json!({"ran": one.label, "root": peer, "bytes": one.bytes, "broadcasts": one.count}))
        }
        side => {
            let name = match one.count {
                1 => format!("segment {}", one.segment),
                count => format!("{count} transfers from segment {}", one.segment),
            };
            let other = if side == Side::Send { "to_rank" } else { "from_rank" };
            let args = json!({other: peer, "tree": one.tree, "segment": one.segment, "transfers": one.count,
                              "bytes": one.bytes, "broadcast": one.call.number, "communicator": one.label});
            (name, args)
        }
    };
    let category = if one.side == Side::Call { "broadcast" } else { "transfer" };
    let (begin, end) = (nanoseconds(one.begin_s), nanoseconds(one.end_s));
    json!({"ph": "X", "name": name, "cat": category, "pid": rank, "tid": thread, "ts": microseconds(begin),
           "dur": microseconds(end - begin), "args": args})
}

/// Process, thread, nanoseconds.
type Place = (u64, u64, i64);

/// Instants are whole nanoseconds, the step of the viewers: what ends when the next begins still does as text.
fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// As the format wants times.
fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// Arrows from each send to its receive, and from there to the sends that hand on what came in.
fn flows(sent: &HashMap<Hop, Place>, received: &HashMap<Hop, Place>, put: &mut impl FnMut(Value)) {
    let mut number = 0u64;
    let mut arrow = |name: &str, start: Place, finish: Place| {
        for ((pid, tid, ts), phase) in [(start, "s"), (finish, "f")] {
            put(
                json!({"ph": phase, "name": name, "cat": name, "id": number, "bp": "e", "pid": pid, "tid": tid,
                       "ts": microseconds(ts)}),
            );
        }
        number += 1;
    };
    let mut hops: Vec<Hop> = sent.keys().filter(|hop| received.contains_key(hop)).copied().collect();
    hops.sort_unstable();
    let arrived: HashMap<(CallId, u32, u32, u64), Place> = received
        .iter()
        .map(|(&(call, _, to, tree, segment), &place)| ((call, to, tree, segment), place))
        .collect();
    for hop in hops {
        arrow("transfer", sent[&hop], received[&hop]);
        let (call, from, _, tree, segment) = hop;
        if let Some(&source) = arrived.get(&(call, from, tree, segment)) {
            if source.2 <= sent[&hop].2 {
                arrow("forward", source, sent[&hop]);
            }
        }
    }
}

/// A counter for each link, MB/s: a transfer's bytes over the time that its send took.
fn loads(processes: &[Process], place: u64, put: &mut impl FnMut(Value)) {
    let mut changes: BTreeMap<String, BTreeMap<i64, f64>> = BTreeMap::new();
    for one in processes.iter().flat_map(|process| &process.moves) {
        let (Side::Send, Some(peer)) = (one.side, one.peer) else { continue };
        let (begin, end) = (nanoseconds(one.begin_s), nanoseconds(one.end_s));
        if end > begin {
            // Bytes a nanosecond are thousands of megabytes a second.
            let rate = one.bytes as f64 / (end - begin) as f64 * 1e3;
            let steps = changes.entry(format!("{}: {} → {peer}", one.label, one.own)).or_default();
            *steps.entry(begin).or_default() += rate;
            *steps.entry(end).or_default() -= rate;
        }
    }
    for (name, steps) in changes {
        let largest = steps.values().map(|step| step.abs()).fold(0.0, f64::max);
        let mut load = 0.0;
        for (instant, step) in steps {
            load += step;
            // What is left of equal rates added and taken off again is rounding.
            load = if f64::abs(load) < 1e-9 * largest { 0.0 } else { load };
            put(json!({"ph": "C", "name": name, "cat": "load", "pid": place, "ts": microseconds(instant),
                       "args": {"MB/s": load}}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::tests::sent;
    use super::*;

    /// Rank 0 sends a segment to 1, which hands it on to 2; the clock of 1 is a little behind.
    fn relayed() -> Vec<Process> {
        let to_1 = sent(1, 4, 100.0);
        let at_1 = Move { side: Side::Receive, own: 1, peer: Some(0), begin_s: 99.0, ..to_1.clone() };
        let on = Move { own: 1, ..sent(2, 4, 100.6) };
        let at_2 = Move { side: Side::Receive, own: 2, peer: Some(1), end_s: 100.5, ..on.clone() };
        let process = |rank: u64, moves| Process { rank, host: "here".to_string(), moves };
        vec![process(0, vec![to_1]), process(1, vec![at_1, on]), process(2, vec![at_2])]
    }

    fn events(document: &str) -> Vec<Value> {
        let value: Value = serde_json::from_str(document).expect("JSON");
        value["traceEvents"].as_array().expect("a list").clone()
    }

    #[test]
    fn a_segment_is_followed_from_rank_to_rank() {
        let events = events(&document(relayed()));
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        assert_eq!(of("X").len(), 4);
        assert!(of("X")
            .iter()
            .all(|event| event["dur"].as_f64().unwrap() >= 0.0 && event["name"] == "segment 4"));
        let arrows: Vec<&str> = of("s").iter().map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(arrows, ["transfer", "transfer", "forward"]);
        for (start, finish) in of("s").iter().zip(of("f")) {
            assert_eq!(start["id"], finish["id"]);
            assert!(start["ts"].as_f64() <= finish["ts"].as_f64(), "no arrow leads back in time");
        }
        // 100 bytes in half a second, on each of two links.
        let loads: Vec<f64> = of("C").iter().map(|event| event["args"]["MB/s"].as_f64().unwrap()).collect();
        assert!(loads.len() == 4 && (loads[0] - 2e-4).abs() < 1e-9 && loads[1] == 0.0, "{loads:?}");
        let names: Vec<&Value> = of("M").iter().map(|event| &event["args"]["name"]).collect();
        assert!(
            names.contains(&&json!("rank 1 on here")) && names.contains(&&json!("receives")),
            "{names:?}"
        );
    }

    #[test]
    fn what_overlaps_lies_in_rows_of_its_own() {
        let moves = [sent(1, 0, 0.0), sent(2, 0, 0.25), sent(1, 1, 0.5)];
        assert_eq!(threads(&moves), [2, 5, 2]);
    }

    #[test]
    fn nothing_seen_is_a_file_all_the_same() {
        assert!(events(&document(read("{\"rank\": 0, \"host\": \"a\"}\nnonsense\n"))).len() == 4);
    }
}
