//! The hosts' progress, as reported to the root.

use crate::ranks::Ranks;
use serde_json::{json, Value};
use std::time::Instant;

/// Seconds between two lines of progress.
const PROGRESS_S: f64 = 0.1;

/// The hosts' progress in a round, on the root.
pub struct Progress<'a> {
    pub ranks: &'a dyn Ranks,
    /// By rank: bytes of the windows that it takes part in, those received, and its host.
    pub needed: Vec<u64>,
    pub received: Vec<u64>,
    pub hosts: &'a [String],
    /// By rank: bytes of the windows that the root has begun to send, and of the latest of them.
    pub sent: Vec<u64>,
    pub latest: Vec<u64>,
    /// Other ranks that are not done.
    pub working: usize,
    pub started: Instant,
    pub said_s: f64,
    pub say: &'a mut dyn FnMut(Value),
}

/// A rank's report to the root at the start of a window: the bytes received before it, and whether it is done.
pub fn word(received_bytes: u64, is_last: bool) -> u64 {
    received_bytes << 1 | u64::from(is_last)
}

impl Progress<'_> {
    /// Waits until every host that is to receive a window of `bytes` has begun its previous one. A broadcast ends at
    /// the root when the MPI has taken its last segment; without this wait, the windows that a slow host has not
    /// begun would pile up in the MPI's memory there.
    pub fn admit(&mut self, bytes: usize, takes_part: impl Fn(usize) -> bool) {
        while self.hear(false) {}
        let is_behind = |progress: &Self, rank: usize| {
            takes_part(rank) && progress.received[rank] < progress.sent[rank] - progress.latest[rank]
        };
        while (1..self.sent.len()).any(|rank| is_behind(self, rank)) && self.hear(true) {}
        self.received[0] = self.sent[0];
        for rank in (0..self.sent.len()).filter(|&rank| rank == 0 || takes_part(rank)) {
            self.sent[rank] += bytes as u64;
            self.latest[rank] = bytes as u64;
        }
        self.line();
    }

    /// Waits until all other ranks are done.
    pub fn finish(&mut self) {
        self.received[0] = self.needed[0];
        while self.hear(true) {}
        self.line();
    }

    /// Takes the next report; false if none has arrived and `waits` is false, or if none will come.
    fn hear(&mut self, waits: bool) -> bool {
        if self.working == 0 {
            return false;
        }
        let Some((rank, word)) = self.ranks.hear(waits) else { return false };
        self.received[rank] = word >> 1;
        self.working -= (word & 1) as usize;
        self.line();
        true
    }

    fn line(&mut self) {
        let seconds = self.started.elapsed().as_secs_f64();
        if seconds < self.said_s + PROGRESS_S {
            return;
        }
        self.said_s = seconds;
        let left = |rank: &usize| self.needed[*rank].saturating_sub(self.received[*rank]);
        let slowest = (0..self.needed.len()).max_by_key(left).unwrap_or(0);
        let total = self.needed.iter().max().copied().unwrap_or(0);
        (self.say)(json!({
            "event": "progress",
            "done_bytes": total - left(&slowest),
            "total_bytes": total,
            "seconds": seconds,
            "slowest": self.hosts[slowest],
        }));
    }
}
