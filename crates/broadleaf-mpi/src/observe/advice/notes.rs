//! What a process reports to the advisor: calls it led, plans it put into use, and links it timed.

use crate::topology::placement::Placement;
use broadleaf::plan::Plan;
use serde_json::{json, Value};
use std::sync::Arc;
use std::time::Instant;

/// A broadcast that this process led.
#[derive(Clone, Debug)]
pub struct CallNote {
    pub at: Instant,
    pub platform: Arc<str>,
    pub communicator: u64,
    pub call: u64,
    /// The root's node in the platform.
    pub root: u32,
    pub bytes: u64,
    pub version: u32,
    /// The plan that came into use with this call.
    pub brought: Option<InUse>,
}

/// A plan that is put into use.
#[derive(Clone, Debug)]
pub struct InUse {
    pub version: u32,
    /// Over nodes.
    pub plan: Arc<Plan>,
    /// The node of every rank.
    pub nodes: Arc<[u32]>,
}

/// Times of the two halves of one sender's messages in one call.
#[derive(Clone, Debug)]
pub struct SampleNote {
    pub at: Instant,
    pub communicator: u64,
    pub call: u64,
    /// A rank, as `from` and `to`.
    pub root: u32,
    pub message_bytes: u64,
    pub version: u32,
    pub from: u32,
    pub to: u32,
    /// Bytes that came after the first message of the half, and the time they took, seconds.
    pub halves: [(u64, f64); 2],
}

/// Everything not yet written.
#[derive(Default)]
pub struct Pending {
    /// Platforms that the other notes refer to, by their names.
    pub platforms: Vec<(Arc<str>, Arc<Placement>)>,
    pub calls: Vec<CallNote>,
    pub samples: Vec<SampleNote>,
}

/// Beyond this many, the oldest samples are dropped: the newest matter most, and memory is the program's.
const MOST_SAMPLES: usize = 1024;

/// The most calls in one file: beyond them the advisor learns nothing new from a call.
const MOST_CALLS: usize = 16;

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.platforms.is_empty() && self.calls.is_empty() && self.samples.is_empty()
    }

    pub fn add_call(&mut self, note: CallNote) {
        if self.calls.len() < MOST_CALLS || note.brought.is_some() {
            self.calls.push(note);
        }
    }

    pub fn add_sample(&mut self, note: SampleNote) {
        if self.samples.len() >= MOST_SAMPLES {
            self.samples.drain(..MOST_SAMPLES / 2);
        }
        self.samples.push(note);
    }

    /// The document. Times are ages: clocks of two machines need not agree, and a machine's clock may jump.
    pub fn document(&self, process: &str) -> Value {
        let age_s = |at: &Instant| at.elapsed().as_secs_f64();
        let calls: Vec<Value> = self
            .calls
            .iter()
            .map(|note| {
                let mut call = json!({
                    "age_s": age_s(&note.at), "platform": &*note.platform,
                    "communicator": name(note.communicator), "call": note.call, "root": note.root,
                    "bytes": note.bytes, "version": note.version,
                });
                if let Some(InUse { version, plan, nodes }) = &note.brought {
                    call["brought"] =
                        json!({"version": version, "plan": plan.to_file_json(), "nodes": nodes[..]});
                }
                call
            })
            .collect();
        let samples: Vec<Value> = self
            .samples
            .iter()
            .map(|note| {
                json!({
                    "age_s": age_s(&note.at), "communicator": name(note.communicator), "call": note.call,
                    "root": note.root, "message_bytes": note.message_bytes, "version": note.version,
                    "from": note.from, "to": note.to,
                    "bytes": note.halves.map(|half| half.0), "seconds": note.halves.map(|half| half.1),
                })
            })
            .collect();
        json!({"format": "broadleaf-notes/1", "process": process, "calls": calls, "samples": samples})
    }
}

/// A communicator in files: 64 bits are more than every reader of JSON takes as a number.
pub fn name(communicator: u64) -> String {
    format!("{communicator:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: u64) -> CallNote {
        let platform = Arc::from("0123456789abcdef");
        CallNote {
            at: Instant::now(),
            platform,
            communicator: 7,
            call,
            root: 1,
            bytes: 5,
            version: 0,
            brought: None,
        }
    }

    fn sample() -> SampleNote {
        let halves = [(10, 0.5), (20, 0.25)];
        let (communicator, call, root, version, from, to) = (7, 3, 0, 1, 0, 2);
        let (at, message_bytes) = (Instant::now(), 30);
        SampleNote { at, communicator, call, root, message_bytes, version, from, to, halves }
    }

    #[test]
    fn what_is_never_written_does_not_fill_the_memory() {
        let mut pending = Pending::default();
        (0..10_000).for_each(|number| pending.add_call(call(number)));
        assert_eq!(pending.calls.len(), MOST_CALLS);
        (0..10_000).for_each(|_| pending.add_sample(sample()));
        assert!(pending.samples.len() <= MOST_SAMPLES);
    }

    #[test]
    fn a_document_names_ages_and_no_time_of_day() {
        let mut pending = Pending::default();
        pending.add_call(call(3));
        pending.add_sample(sample());
        let document = pending.document("host-1");
        assert_eq!(document["calls"][0]["communicator"], "0000000000000007");
        assert!(document["calls"][0]["age_s"].as_f64().unwrap() < 60.0);
        assert_eq!(document["samples"][0]["bytes"], json!([10, 20]));
        assert_eq!(document["samples"][0]["seconds"], json!([0.5, 0.25]));
    }
}
