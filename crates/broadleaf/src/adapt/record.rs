//! The record of a program's broadcasts and their times.
//!
//! The paper keeps one list of (time stamp, size). A program that broadcasts from several roots, or on several
//! communicators, mixes several series in it, which a regression cannot separate; so they are recorded separately.

use super::predict;
use crate::platform::NodeId;
use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};

/// Calls kept of each stream: enough for a slope, few enough to drop an earlier phase.
const REMEMBERED: usize = 24;

/// Streams kept; those with the oldest last call are dropped first.
const MOST_STREAMS: usize = 256;

/// A stream of broadcasts: those of one root on one communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    /// Any number that differs between communicators; 0 is the world's.
    pub communicator: u64,
    /// The root.
    pub root: NodeId,
}

/// One broadcast that was called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The stream of the broadcast.
    pub stream: Stream,
    /// Time of the call, seconds on the caller's clock.
    pub at_s: f64,
    /// Length of the message.
    pub bytes: u64,
}

/// The latest calls of a stream.
#[derive(Clone, Debug, Default)]
struct History {
    last_at_s: f64,
    /// Sizes, oldest first.
    sizes: VecDeque<f64>,
    /// Seconds between consecutive calls, oldest first.
    gaps_s: VecDeque<f64>,
    /// The predicted size and gap, cached since they are read many times between two calls.
    predicted: OnceCell<Option<(u64, Option<f64>)>>,
}

/// The predicted next broadcast of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// The stream of the broadcast.
    pub stream: Stream,
    /// ≥ 1.
    pub bytes: u64,
    /// Predicted time, on the clock of the calls; `None` after a single call.
    pub at_s: Option<f64>,
}

/// The calls of all streams.
#[derive(Clone, Debug, Default)]
pub struct Record {
    streams: BTreeMap<Stream, History>,
}

impl Record {
    /// Adds a call. A time before the stream's last one (a clock that was set back) starts a new interval without a
    /// sample of the one before. A time that is not finite gives no sample either, and leaves the last time unchanged.
    pub fn add(&mut self, call: Call) {
        let known = self.streams.contains_key(&call.stream);
        if !known && self.streams.len() == MOST_STREAMS {
            let silent = self.streams.iter().min_by(|a, b| a.1.last_at_s.total_cmp(&b.1.last_at_s));
            if let Some(stream) = silent.map(|(&stream, _)| stream) {
                self.streams.remove(&stream);
            }
        }
        let history = self.streams.entry(call.stream).or_default();
        history.predicted.take();
        remember(&mut history.sizes, call.bytes as f64);
        if !call.at_s.is_finite() {
            return;
        }
        if known && call.at_s >= history.last_at_s {
            remember(&mut history.gaps_s, call.at_s - history.last_at_s);
        }
        history.last_at_s = call.at_s;
    }

    /// The next broadcast of each stream with a call at or after `since_s`.
    pub fn next(&self, since_s: f64) -> Vec<Next> {
        let heard = self.streams.iter().filter(|(_, history)| history.last_at_s >= since_s);
        heard.filter_map(|(&stream, history)| history.next(stream)).collect()
    }

    /// The next broadcast of one stream.
    pub fn next_of(&self, stream: Stream) -> Option<Next> {
        self.streams.get(&stream)?.next(stream)
    }

    /// The time of a stream's last call.
    pub fn last_at_s(&self, stream: Stream) -> Option<f64> {
        self.streams.get(&stream).map(|history| history.last_at_s)
    }
}

impl History {
    fn next(&self, stream: Stream) -> Option<Next> {
        let (bytes, gap_s) = (*self.predicted.get_or_init(|| self.predict()))?;
        Some(Next { stream, bytes, at_s: gap_s.map(|gap_s| self.last_at_s + gap_s.max(0.0)) })
    }

    fn predict(&self) -> Option<(u64, Option<f64>)> {
        let (sizes, gaps_s): (Vec<f64>, Vec<f64>) =
            (self.sizes.iter().copied().collect(), self.gaps_s.iter().copied().collect());
        let bytes = predict::next(&sizes)?.max(1.0).round() as u64;
        Some((bytes, predict::next(&gaps_s)))
    }
}

fn remember(series: &mut VecDeque<f64>, value: f64) {
    if series.len() == REMEMBERED {
        series.pop_front();
    }
    series.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(communicator: u64, root: u32) -> Stream {
        Stream { communicator, root: NodeId(root) }
    }

    #[test]
    fn mixed_roots_and_communicators_are_told_apart() {
        let mut record = Record::default();
        for turn in 0..8u32 {
            let at_s = 10.0 * f64::from(turn);
            record.add(Call { stream: stream(0, 0), at_s, bytes: 1_000_000 - 1000 * u64::from(turn) });
            record.add(Call { stream: stream(0, 5), at_s: at_s + 1.0, bytes: 64 << u64::from(turn) });
            record.add(Call { stream: stream(7, 0), at_s: at_s + 2.0, bytes: 77 });
        }
        let next = record.next(0.0);
        assert_eq!(next.len(), 3);
        assert_eq!(next[0], Next { stream: stream(0, 0), bytes: 992_000, at_s: Some(80.0) });
        assert_eq!(next[1], Next { stream: stream(0, 5), bytes: 64 << 8, at_s: Some(81.0) });
        assert_eq!(next[2], Next { stream: stream(7, 0), bytes: 77, at_s: Some(82.0) });
        assert_eq!(record.next(71.5).len(), 1, "the others have been silent since");
    }

    #[test]
    fn clocks_that_jump_give_no_negative_interval() {
        let mut record = Record::default();
        for at_s in [100.0, 110.0, 120.0, 5.0, 15.0, f64::NAN, 25.0] {
            record.add(Call { stream: stream(0, 0), at_s, bytes: 8 });
        }
        assert_eq!(record.next_of(stream(0, 0)).unwrap().at_s, Some(35.0));
    }

    #[test]
    fn one_call_predicts_its_size_and_no_time() {
        let mut record = Record::default();
        record.add(Call { stream: stream(0, 3), at_s: 4.0, bytes: 0 });
        assert_eq!(record.next(0.0), [Next { stream: stream(0, 3), bytes: 1, at_s: None }]);
        assert_eq!(record.next_of(stream(0, 4)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut record = Record::default();
        for number in 0..1000 {
            record.add(Call { stream: stream(number, 0), at_s: number as f64, bytes: 1 });
        }
        assert_eq!(record.streams.len(), MOST_STREAMS);
        assert!(record.next_of(stream(999, 0)).is_some() && record.next_of(stream(0, 0)).is_none());
    }
}
