//! The sends, receives and calls of each process, merged to a bounded number.

use crate::mpi::Process;
use broadleaf::plan::Collective;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::sync::Mutex;

/// Moves that a process keeps while the program runs; more are merged.
const MOST_KEPT: usize = 32_768;
/// The most moves in a file, of all processes: viewers load more of them slowly.
const MOST_IN_FILE: usize = 60_000;
/// The least of each process, for any number of processes.
const LEAST_OF_EACH: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// A call of the program, from its begin to its end.
    Call = 0,
    Send = 1,
    Receive = 2,
}

/// A call of all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    pub communicator: u64,
    pub number: u64,
}

/// Something that took a time. Ranks are those of the communicator.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    pub side: Side,
    pub call: CallId,
    pub own: u32,
    /// The other side; none: several, in a merged one.
    pub peer: Option<u32>,
    pub tree: u32,
    /// The first segment, or of a call nothing.
    pub segment: u64,
    /// How many were merged into this one.
    pub count: u64,
    pub bytes: u64,
    pub begin_s: f64,
    pub end_s: f64,
    /// The communicator's name, and for a call what it ran.
    pub label: String,
    pub collective: Collective,
}

impl Move {
    fn absorb(&mut self, other: Move) {
        self.peer = self.peer.filter(|_| self.peer == other.peer);
        self.count += other.count;
        self.bytes += other.bytes;
        self.begin_s = self.begin_s.min(other.begin_s);
        self.end_s = self.end_s.max(other.end_s);
    }

    fn to_json(&self, behind_s: f64) -> Value {
        let (begin_s, end_s) = (self.begin_s - behind_s, self.end_s - behind_s);
        let CallId { communicator, number } = self.call;
        json!([
            self.side as u8,
            communicator,
            number,
            self.own,
            self.peer,
            self.tree,
            self.segment,
            self.count,
            self.bytes,
            begin_s,
            end_s,
            self.label,
            self.collective.name()
        ])
    }

    pub fn from_json(value: &Value) -> Option<Move> {
        let number = |at: usize| value[at].as_u64();
        Some(Move {
            side: [Side::Call, Side::Send, Side::Receive].into_iter().nth(number(0)? as usize)?,
            call: CallId { communicator: number(1)?, number: number(2)? },
            own: number(3)? as u32,
            peer: number(4).map(|peer| peer as u32),
            tree: number(5)? as u32,
            segment: number(6)?,
            count: number(7)?,
            bytes: number(8)?,
            begin_s: value[9].as_f64()?,
            end_s: value[10].as_f64()?,
            label: value[11].as_str()?.to_string(),
            collective: Collective::from_name(value[12].as_str()?)?,
        })
    }
}

/// At most that many: neighbours on one side, with one peer where that is enough, become one.
pub fn shortened(mut moves: Vec<Move>, most: usize) -> Vec<Move> {
    let mut by_peer = true;
    while moves.len() > most.max(Side::Receive as usize + 1) {
        let before = moves.len();
        let mut kept: Vec<Move> = Vec::with_capacity(before / 2 + 1);
        let mut waiting: HashMap<(Side, Option<u32>), usize> = HashMap::new();
        for one in moves {
            let key = (one.side, one.peer.filter(|_| by_peer));
            match waiting.remove(&key) {
                Some(at) => kept[at].absorb(one),
                None => {
                    waiting.insert(key, kept.len());
                    kept.push(one);
                }
            }
        }
        // With more peers than moves each, merging by peer gains too little.
        by_peer = by_peer && kept.len() < before * 3 / 4;
        moves = kept;
    }
    moves
}

static LOGS: Mutex<Option<HashMap<Process, Vec<Move>>>> = Mutex::new(None);
static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub fn keep(process: Process, moves: impl IntoIterator<Item = Move>) {
    let mut logs = LOGS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let log = logs.get_or_insert_default().entry(process).or_default();
    log.extend(moves);
    if log.len() > MOST_KEPT {
        *log = shortened(std::mem::take(log), MOST_KEPT / 2);
    }
}

/// A process's moves, one JSON document a line, the first of them the process itself: address and bytes, valid to the
/// end of the program. `behind_s` is taken off all times.
pub fn collected_text(
    process: Process,
    (rank, ranks): (u32, u32),
    host: &str,
    behind_s: f64,
) -> (*const u8, usize) {
    let mut logs = LOGS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let log = logs.as_mut().and_then(|logs| logs.remove(&process)).unwrap_or_default();
    drop(logs);
    let moves = shortened(log, (MOST_IN_FILE / ranks.max(1) as usize).max(LEAST_OF_EACH));
    let mut lines = json!({"rank": rank, "host": host}).to_string() + "\n";
    for one in &moves {
        lines += &one.to_json(behind_s).to_string();
        lines.push('\n');
    }
    let mut texts = TEXTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = (lines.as_ptr(), lines.len());
    texts.push(lines);
    text
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn sent(peer: u32, segment: u64, begin_s: f64) -> Move {
        Move {
            side: Side::Send,
            call: CallId { communicator: u64::MAX, number: 0 },
            own: 0,
            peer: Some(peer),
            tree: 0,
            segment,
            count: 1,
            bytes: 100,
            begin_s,
            end_s: begin_s + 0.5,
            label: "MPI_COMM_WORLD".to_string(),
            collective: Collective::Bcast,
        }
    }

    #[test]
    fn nothing_is_lost_when_moves_are_merged() {
        let many: Vec<Move> = (0..1000).map(|at| sent(at % 3, at.into(), f64::from(at))).collect();
        let short = shortened(many.clone(), 40);
        assert!(short.len() <= 40, "{}", short.len());
        assert_eq!(short.iter().map(|one| one.count).sum::<u64>(), 1000);
        assert_eq!(short.iter().map(|one| one.bytes).sum::<u64>(), 100_000);
        assert!(short.iter().all(|one| one.peer.is_some()), "merged by peer where that is enough");
        let first = &short[0];
        assert!(first.segment == 0 && first.end_s > first.begin_s + 1.0, "{first:?}");
        assert_eq!(shortened(many.clone(), 1000), many);
    }

    #[test]
    fn a_peer_for_each_move_does_not_keep_them_apart() {
        let many: Vec<Move> = (0..1000).map(|at| sent(at, 0, f64::from(at))).collect();
        let short = shortened(many, 40);
        assert!(short.len() <= 40 && short.iter().any(|one| one.peer.is_none()), "{}", short.len());
    }

    #[test]
    fn a_move_is_read_as_it_was_written() {
        let one = sent(7, 3, 1.25);
        let read = Move::from_json(&one.to_json(0.25)).unwrap();
        assert_eq!(read, Move { begin_s: 1.0, end_s: 1.5, ..one });
    }
}
