//! The hosts' progress, as reported to the root.

use crate::ranks::Ranks;
use serde_json::{json, Value};
use std::time::Instant;

/// Seconds between two lines of progress.
const PROGRESS_S: f64 = 0.1;

/// The hosts' progress in a round, on the root.
pub struct Progress<'a> {
    pub ranks: &'a dyn Ranks,
    /// By rank: bytes of the windows that it takes part in, those processed, and its host.
    pub needed: Vec<u64>,
    pub kept: Vec<u64>,
    pub hosts: &'a [String],
    /// Other ranks that are not done.
    pub working: usize,
    pub started: Instant,
    pub said_s: f64,
    pub say: &'a mut dyn FnMut(Value),
}

/// A rank's report to the root: the bytes processed, and whether it is done.
pub fn word(kept_bytes: u64, is_last: bool) -> u64 {
    kept_bytes << 1 | u64::from(is_last)
}

impl Progress<'_> {
    /// Takes the pending reports; with `until_last`, waits until all others are done.
    pub fn hear(&mut self, until_last: bool) {
        while self.working > 0 {
            let Some((rank, word)) = self.ranks.hear(until_last) else { break };
            self.kept[rank] = word >> 1;
            self.working -= (word & 1) as usize;
            self.line();
        }
        self.line();
    }

    fn line(&mut self) {
        let seconds = self.started.elapsed().as_secs_f64();
        if seconds < self.said_s + PROGRESS_S {
            return;
        }
        self.said_s = seconds;
        let left = |rank: &usize| self.needed[*rank].saturating_sub(self.kept[*rank]);
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
