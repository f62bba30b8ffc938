//! Passive link timing: by the messages of a broadcast, at no extra traffic.
//!
//! For every sender, the times of its first, middle and last message are kept: three readings of the clock per
//! broadcast, for any number of segments. The differences are the times for which each half kept the link busy. Two
//! halves are two samples, so one broadcast is enough to distinguish a drift from an outlier.

use super::notes::SampleNote;
use super::Mailbox;
use broadleaf::plan::{NodeProgram, Programs};
use broadleaf::platform::NodeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// With fewer messages no rate is estimated.
const LEAST_MESSAGES: u64 = 4;

/// A rate that differs from the last reported one by this much is reported.
const DRIFT: f64 = 0.15;

/// Other rates are reported at this interval.
const REMINDER: Duration = Duration::from_secs(5);

/// One sender's messages in one call.
#[derive(Clone, Debug)]
struct Stream {
    from: NodeId,
    expected: u64,
    come: u64,
    bytes: u64,
    first: Option<Instant>,
    /// When the middle message came, and the bytes that had come by then after the first.
    middle: Option<(Instant, u64)>,
    last: Option<Instant>,
    first_bytes: u64,
}

impl Stream {
    /// A stream of `expected` messages, none of which has come.
    fn of(from: NodeId, expected: u64) -> Stream {
        Stream { from, expected, come: 0, bytes: 0, first: None, middle: None, last: None, first_bytes: 0 }
    }
}

/// The clockwork of one call.
#[derive(Clone, Debug, Default)]
pub struct Timing(Vec<Stream>);

impl Timing {
    pub fn new(programs: &Programs, program: &NodeProgram) -> Timing {
        let mut streams: Vec<Stream> = Vec::new();
        for input in &program.inputs {
            let segments = programs.segments().in_tree(input.tree as usize);
            // Inputs are sorted by sender.
            match streams.last_mut().filter(|stream| stream.from == input.from) {
                Some(stream) => stream.expected += segments,
                None => streams.push(Stream::of(input.from, segments)),
            }
        }
        streams.retain(|stream| stream.expected >= LEAST_MESSAGES);
        Timing(streams)
    }

    /// A message has come.
    pub fn came(&mut self, from: NodeId, bytes: u64) {
        let Ok(at) = self.0.binary_search_by_key(&from, |stream| stream.from) else { return };
        let stream = &mut self.0[at];
        stream.come += 1;
        stream.bytes += bytes;
        if stream.come == 1 {
            stream.first = Some(Instant::now());
            stream.first_bytes = bytes;
        } else if stream.come == stream.expected {
            stream.last = Some(Instant::now());
        } else if stream.come == stream.expected / 2 {
            stream.middle = Some((Instant::now(), stream.bytes - stream.first_bytes));
        }
    }

    /// For every sender the (bytes, seconds) of both halves.
    fn halves(&self) -> impl Iterator<Item = (NodeId, [(u64, f64); 2])> + '_ {
        self.0.iter().filter_map(|stream| {
            let (first, (middle, before), last) = (stream.first?, stream.middle?, stream.last?);
            let seconds = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
            let rest = stream.bytes - stream.first_bytes - before;
            Some((stream.from, [(before, seconds(first, middle)), (rest, seconds(middle, last))]))
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Told {
    rate: f64,
    /// Root, size class and version of the plan: under another plan the link carries another load.
    plan: (u32, u32, u32),
    at: Instant,
}

/// The last reports to the advisor about a communicator's links.
#[derive(Debug, Default)]
pub struct Teller(HashMap<NodeId, Told>);

/// The call that was timed.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    pub communicator: u64,
    pub call: u64,
    pub rank: u32,
    pub root: u32,
    pub message_bytes: u64,
    pub version: u32,
}

impl Teller {
    /// Reports what is new.
    pub fn tell(&mut self, mailbox: &Mailbox, timing: &Timing, timed: Timed) {
        let Timed { communicator, call, rank, root, message_bytes, version } = timed;
        let plan = (root, message_bytes.ilog2(), version);
        for (from, halves) in timing.halves() {
            let seconds: f64 = halves.iter().map(|half| half.1).sum();
            let bytes: u64 = halves.iter().map(|half| half.0).sum();
            if seconds <= 0.0 || bytes == 0 {
                continue;
            }
            let now = Instant::now();
            let rate = bytes as f64 / seconds;
            let before = self.0.get(&from).filter(|told| told.plan == plan);
            let is_drift = before.is_none_or(|told| (rate / told.rate).ln().abs() > DRIFT);
            if !is_drift && before.is_some_and(|told| now - told.at < REMINDER) {
                continue;
            }
            self.0.insert(from, Told { rate, plan, at: now });
            let note = SampleNote {
                at: now,
                communicator,
                call,
                root,
                message_bytes,
                version,
                from: from.0,
                to: rank,
                halves,
            };
            mailbox.timed(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_looks_at_the_clock_split_a_stream_in_halves() {
        let mut timing = Timing(vec![Stream::of(NodeId(3), 6)]);
        for bytes in [7, 10, 10, 10, 10, 5] {
            timing.came(NodeId(3), bytes);
            timing.came(NodeId(4), bytes);
        }
        let halves: Vec<_> = timing.halves().collect();
        assert_eq!(halves.len(), 1);
        let (from, [first, second]) = halves[0];
        assert_eq!((from, first.0, second.0), (NodeId(3), 20, 25));
        assert!(first.1 >= 0.0 && second.1 >= 0.0);
    }

    #[test]
    fn a_stream_that_was_cut_short_says_nothing() {
        let mut timing = Timing(vec![Stream::of(NodeId(0), 6)]);
        (0..5).for_each(|_| timing.came(NodeId(0), 1));
        assert_eq!(timing.halves().count(), 0);
    }
}
