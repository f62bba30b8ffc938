//! The experiments on a pair of nodes, and their samples.

use crate::measure::settings::samples::{
    FASTEST_SHARE, MAX_WAIT_SHARE, MIN_UNDISTURBED, REPORTED_WAIT_SHARE,
};
use crate::platform::NodeId;

/// One timed experiment between a sender and a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant's text explains its fields")]
pub enum Trial {
    /// A message there, an empty one back, `repeats` times. Timed at the sender: the round trip and the send call in
    /// it; with a common clock, the one-way time as well.
    PingPong { bytes: u64, repeats: u32 },
    /// `window` messages there back to back, one empty message back, `repeats` times. Timed at the sender, until the
    /// answer is in.
    Burst { bytes: u64, window: u32, repeats: u32 },
    /// The receiver requests the message, waits for `pause_s`, then receives it, `repeats` times. Timed at the
    /// receiver: the receive call alone.
    LateReceive { bytes: u64, repeats: u32, pause_s: f64 },
}

impl Trial {
    /// Repeats of the experiment.
    pub fn repeats(&self) -> u32 {
        match *self {
            Trial::PingPong { repeats, .. }
            | Trial::Burst { repeats, .. }
            | Trial::LateReceive { repeats, .. } => repeats,
        }
    }

    /// The size of a message.
    #[cfg(test)]
    pub fn message_bytes(&self) -> u64 {
        match *self {
            Trial::PingPong { bytes, .. } | Trial::Burst { bytes, .. } | Trial::LateReceive { bytes, .. } => {
                bytes
            }
        }
    }

    /// Message bytes that one repeat moves.
    pub fn bytes_per_repeat(&self) -> u64 {
        match *self {
            Trial::PingPong { bytes, .. } | Trial::LateReceive { bytes, .. } => bytes,
            Trial::Burst { bytes, window, .. } => bytes * u64::from(window),
        }
    }
}

/// Trials of one pair, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// In this order.
    pub trials: Vec<Trial>,
}

/// Tasks that run at the same time, started together, with no node in two of them; or bursts of one sender to several
/// receivers, equal in repeats, which are timed until all answers are in.
pub type Round = Vec<Task>;

/// The samples of a trial, in the order of its repeats, seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The round trips, the bursts, or the receive calls.
    pub seconds: Vec<f64>,
    /// The send calls of a [`Trial::PingPong`]; empty otherwise.
    pub send_s: Vec<f64>,
    /// The one-way times of a [`Trial::PingPong`], until the message was received; empty without a common clock.
    pub way_s: Vec<f64>,
    /// The time in each repeat for which the two sides were runnable but other programs had the processors; empty if
    /// unknown.
    pub waited_s: Vec<f64>,
}

impl Samples {
    /// Without the first of more than two samples, which includes the set-up of buffers and page faults.
    pub fn settled(mut self) -> Samples {
        if self.seconds.len() > 2 {
            [&mut self.seconds, &mut self.send_s, &mut self.way_s, &mut self.waited_s]
                .into_iter()
                .filter(|list| !list.is_empty())
                .for_each(|list| {
                    list.remove(0);
                });
        }
        self
    }

    /// Adds the samples of one more visit.
    pub fn extend(&mut self, more: Samples) {
        self.seconds.extend(more.seconds);
        self.send_s.extend(more.send_s);
        self.way_s.extend(more.way_s);
        self.waited_s.extend(more.waited_s);
    }

    /// The one-way times as separate samples; empty if unknown.
    pub fn one_way(&self) -> Samples {
        let waited_s = if self.way_s.is_empty() { Vec::new() } else { self.waited_s.clone() };
        Samples { seconds: self.way_s.clone(), waited_s, ..Samples::default() }
    }

    /// The number of samples that other programs disturbed enough to report.
    pub fn disturbed(&self) -> usize {
        self.seconds.len() - self.free_of(REPORTED_WAIT_SHARE).count()
    }

    /// Whether enough samples were undisturbed.
    pub fn is_quiet(&self) -> bool {
        self.free_of(MAX_WAIT_SHARE).count() >= MIN_UNDISTURBED.min(self.seconds.len())
    }

    /// The indices of samples of which waiting was at most this share; all if waiting is unknown.
    fn free_of(&self, share: f64) -> impl Iterator<Item = usize> + '_ {
        let waited_s = |at: usize| self.waited_s.get(at).copied().unwrap_or(0.0);
        (0..self.seconds.len()).filter(move |&at| waited_s(at) <= share * self.seconds[at])
    }

    /// Without the samples that other programs on the machines disturbed.
    ///
    /// On a machine with more work than processors every median measures the scheduler. The waiting times are known, so
    /// the remaining samples equal those on a quiet machine, if some samples are shorter than the scheduler's time
    /// slice.
    pub fn undisturbed(self) -> Samples {
        if self.waited_s.is_empty() {
            return self;
        }
        let mut order: Vec<usize> = self.free_of(MAX_WAIT_SHARE).collect();
        if !self.is_quiet() {
            order = (0..self.seconds.len()).collect();
            order.sort_by(|&a, &b| self.seconds[a].total_cmp(&self.seconds[b]));
            order.truncate(MIN_UNDISTURBED.max((FASTEST_SHARE * order.len() as f64).ceil() as usize));
            order.sort_unstable();
        }
        let kept = |list: &[f64]| order.iter().filter_map(|&at| list.get(at).copied()).collect();
        Samples {
            seconds: kept(&self.seconds),
            send_s: kept(&self.send_s),
            way_s: kept(&self.way_s),
            waited_s: kept(&self.waited_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: &[f64], waited_s: &[f64]) -> Samples {
        let [seconds, send_s] = [seconds, seconds].map(<[f64]>::to_vec);
        Samples { seconds, send_s, way_s: vec![], waited_s: waited_s.to_vec() }
    }

    #[test]
    fn samples_that_waited_for_a_processor_are_left_out() {
        let kept = samples(&[1.0, 5.0, 1.1, 9.0, 1.2], &[0.0, 4.0, 0.001, 8.0, 0.0]).undisturbed();
        assert_eq!((kept.seconds, kept.send_s), (vec![1.0, 1.1, 1.2], vec![1.0, 1.1, 1.2]));
    }

    #[test]
    fn where_all_waited_the_fastest_stand_in() {
        let waited = samples(&[10.0, 5.0, 4.0, 8.0, 7.0], &[1.0, 1.0, 2.0, 0.0, 3.0]);
        assert!(!waited.is_quiet());
        assert_eq!(waited.undisturbed().seconds, [5.0, 4.0, 7.0]);
        assert_eq!(samples(&[3.0], &[2.0]).undisturbed().seconds, [3.0]);
        assert_eq!(samples(&[3.0, 1.0, 2.0], &[]).undisturbed().seconds, [3.0, 1.0, 2.0], "unknown");
    }

    #[test]
    fn the_first_of_several_is_left_out() {
        let settled = samples(&[9.0, 1.0, 2.0], &[0.0, 0.1, 0.2]).settled();
        assert_eq!((settled.seconds, settled.waited_s), (vec![1.0, 2.0], vec![0.1, 0.2]));
        assert_eq!(samples(&[9.0, 1.0], &[]).settled().seconds, [9.0, 1.0]);
    }
}
