//! A limit to the stream's rate.

use std::time::{Duration, Instant};

/// Keeps the stream below a rate.
pub struct Pace {
    limit_bytes_per_s: Option<f64>,
    started: Instant,
    sent_bytes: f64,
}

impl Pace {
    pub fn new(limit_bytes_per_s: Option<f64>) -> Pace {
        Pace { limit_bytes_per_s, started: Instant::now(), sent_bytes: 0.0 }
    }

    /// Waits until `bytes` more bytes may be sent.
    pub fn wait_for(&mut self, bytes: usize) {
        self.sent_bytes += bytes as f64;
        if let Some(limit) = self.limit_bytes_per_s {
            let due = Duration::try_from_secs_f64(self.sent_bytes / limit).unwrap_or_default();
            std::thread::sleep(due.saturating_sub(self.started.elapsed()));
        }
    }
}
