//! The trace for the core's writer: one process per rank, with rows for its calls, sends and receives; arrows from
//! each send to its receive and on to the sends that forward the segment; the load of each link.

use super::moves::{CallId, Move, Side};
use crate::observe::destination::{destination, Output};
use crate::whole_file::replace;
use broadleaf::plan::Collective;
use broadleaf::trace_events::{nanoseconds, Document, Slice};
use serde_json::{json, Value};
use std::collections::HashMap;

/// A segment on one hop of its way: call, sender, receiver, tree, segment.
type Hop = (CallId, u32, u32, u32, u64);

/// One rank's moves.
#[derive(Debug)]
struct RankMoves {
    rank: u64,
    host: String,
    moves: Vec<Move>,
}

/// Writes the file from all processes' lines; the error is one line for the user.
pub fn write(lines: &str, is_spawned: bool) -> Result<(), String> {
    let Some(path) = destination(Output::Trace, is_spawned) else { return Ok(()) };
    replace(&path, document(read(lines)).as_bytes()).map_err(|error| {
        let shown = path.display();
        format!("BROADLEAF_TRACE={shown}: cannot be written ({error}); name a file in a writable directory")
    })
}

fn read(lines: &str) -> Vec<RankMoves> {
    let mut found: Vec<RankMoves> = Vec::new();
    for value in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if let Some(rank) = value["rank"].as_u64() {
            let host = value["host"].as_str().unwrap_or("").to_string();
            found.push(RankMoves { rank, host, moves: Vec::new() });
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

const LANES: [&str; 3] = ["collectives", "sends", "receives"];

fn document(mut processes: Vec<RankMoves>) -> String {
    settle_clocks(&mut processes);
    let names = processes.iter().map(|process| format!("rank {} on {}", process.rank, process.host));
    let mut document = Document::new(names.collect(), &LANES);
    // Where the slices of each hop's send and receive are.
    let (mut sent, mut received) = (HashMap::new(), HashMap::new());
    for (place, process) in processes.iter().enumerate() {
        for one in &process.moves {
            if let Some(hop) = hop(one) {
                let ends = if one.side == Side::Send { &mut sent } else { &mut received };
                ends.insert(hop, document.slices.len());
            }
            if let (Side::Send, Some(peer)) = (one.side, one.peer) {
                let counter = format!("{}: {} → {peer}", one.label, one.own);
                let (begin_ns, end_ns) = (nanoseconds(one.begin_s), nanoseconds(one.end_s));
                document.add_load(&counter, begin_ns, end_ns, one.bytes as f64);
            }
            document.slices.push(slice(place, one));
        }
    }
    document.arrows = arrows(&sent, &received);
    let all = || processes.iter().flat_map(|process| &process.moves).filter(|one| one.side == Side::Send);
    let (transfers, slices) = (all().map(|one| one.count).sum::<u64>(), all().count() as u64);
    let mut about = json!({"ranks": processes.len(), "transfers": transfers});
    if slices < transfers {
        about["merged"] =
            json!(format!("{transfers} transfers were merged into {slices} bars; each is a run of several"));
    }
    document.text(&about)
}

/// The shortest slice: viewers attach no arrow to one of zero length.
const SHORTEST_S: f64 = 1e-9;

/// Time begins with the first move. No receive begins before its send: it waited until then.
fn settle_clocks(processes: &mut [RankMoves]) {
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

fn slice(process: usize, one: &Move) -> Slice {
    let peer = one.peer.map_or_else(|| json!("several"), |peer| json!(peer));
    let collective = if one.collective == Collective::Bcast { "broadcast" } else { one.collective.name() };
    let (name, args) = match one.side {
        Side::Call => {
            let name = match one.count {
                1 => format!("{collective} {}", one.call.number),
                count => format!("{count} calls from {collective} {} on", one.call.number),
            };
            (name, json!({"ran": one.label, "root": peer, "bytes": one.bytes, "calls": one.count}))
        }
        side => {
            let name = match one.count {
                1 => format!("segment {}", one.segment),
                count => format!("{count} transfers from segment {}", one.segment),
            };
            let other = if side == Side::Send { "to_rank" } else { "from_rank" };
            let args = json!({other: peer, "tree": one.tree, "segment": one.segment, "transfers": one.count,
                              "bytes": one.bytes, "call": one.call.number, "communicator": one.label});
            (name, args)
        }
    };
    Slice {
        process,
        lane: one.side as usize,
        name,
        category: if one.side == Side::Call { collective } else { "transfer" },
        begin_ns: nanoseconds(one.begin_s),
        end_ns: nanoseconds(one.end_s),
        args: args.to_string(),
    }
}

/// From each send to its receive, and from there to the sends that forward it.
fn arrows(sent: &HashMap<Hop, usize>, received: &HashMap<Hop, usize>) -> Vec<(&'static str, usize, usize)> {
    let mut hops: Vec<Hop> = sent.keys().filter(|hop| received.contains_key(hop)).copied().collect();
    hops.sort_unstable();
    let arrived: HashMap<(CallId, u32, u32, u64), usize> = received
        .iter()
        .map(|(&(call, _, to, tree, segment), &place)| ((call, to, tree, segment), place))
        .collect();
    let mut found = Vec::new();
    for hop in hops {
        found.push(("transfer", sent[&hop], received[&hop]));
        let (call, from, _, tree, segment) = hop;
        if let Some(&source) = arrived.get(&(call, from, tree, segment)) {
            found.push(("forward", source, sent[&hop]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::moves::tests::sent;
    use super::*;

    /// Rank 0 sends a segment to 1, which hands it on to 2; the clock of 1 is a little behind.
    fn relayed() -> Vec<RankMoves> {
        let to_1 = sent(1, 4, 100.0);
        let at_1 = Move { side: Side::Receive, own: 1, peer: Some(0), begin_s: 99.0, ..to_1.clone() };
        let on = Move { own: 1, ..sent(2, 4, 100.6) };
        let at_2 = Move { side: Side::Receive, own: 2, peer: Some(1), end_s: 100.5, ..on.clone() };
        let process = |rank: u64, moves| RankMoves { rank, host: "here".to_string(), moves };
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
    fn nothing_seen_is_a_file_all_the_same() {
        assert!(events(&document(read("{\"rank\": 0, \"host\": \"a\"}\nnonsense\n"))).len() == 4);
    }
}
