//! Samples that fall into two groups.
//!
//! TCP may hold back an acknowledgement, and with it the next small message, for a fixed time: 40 ms in Linux, 200 ms
//! in others. Paper 4 (§4.1) reports it as times that no model predicts for messages below 128 KB; in the samples of
//! one size it is a second group, a fixed step above the usual one. It does not measure the network, so fits leave it
//! out; it does affect programs, so it is reported.

use super::statistics::{median, Summary};
use crate::measure::settings::delays::{
    AGREEMENT, CLEARANCE, MIN_DELAYS, MIN_DELAYS_SHARE, MIN_DELAY_S, MIN_USUAL, MIN_USUAL_SHARE,
};
use std::ops::RangeInclusive;

/// The usual samples of an experiment, and those that took a step longer; both sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Modes {
    pub usual: Vec<f64>,
    pub delayed: Vec<f64>,
}

/// The number of samples that were longer than the usual ones by a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub delayed: usize,
    pub samples: usize,
    /// Median, seconds.
    pub delay_s: f64,
}

impl Modes {
    pub fn of(samples: &[f64]) -> Modes {
        let mut usual = samples.to_vec();
        usual.sort_by(f64::total_cmp);
        let mut delayed = Vec::new();
        // Groups are removed one after the other: there may be a step of 40 ms and one of 200 ms.
        while let Some(first) = second_group(&usual, samples.len()) {
            delayed.splice(0..0, usual.split_off(first));
        }
        Modes { usual, delayed }
    }

    /// Of the usual samples.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.usual)
    }

    /// The delay of each of the others over the usual ones, seconds.
    pub fn delays(&self) -> Vec<f64> {
        let usual_s = self.usual_s();
        self.delayed.iter().map(|seconds| seconds - usual_s).collect()
    }

    fn usual_s(&self) -> f64 {
        median(&self.usual)
    }
}

/// The steps at which many delays agree, as ranges of seconds.
///
/// A scheduler's delays are of all lengths, and no such range holds a third of them.
pub fn timers(mut delays: Vec<f64>) -> Vec<RangeInclusive<f64>> {
    delays.sort_by(f64::total_cmp);
    let least = MIN_DELAYS.max((MIN_DELAYS_SHARE * delays.len() as f64).ceil() as usize);
    let mut found = Vec::new();
    let mut rest = delays.as_slice();
    while !rest.is_empty() {
        let range = |from: f64| from..=from * (1.0 + AGREEMENT);
        let count = |from: f64| rest.iter().filter(|delay| range(from).contains(delay)).count();
        // The first range with enough delays, moved up while that adds delays.
        let Some(first) = rest.iter().position(|&from| count(from) >= least) else { break };
        let best = (first..rest.len())
            .take_while(|&at| range(rest[first]).contains(&rest[at]))
            .max_by_key(|&at| (count(rest[at]), std::cmp::Reverse(at)));
        let best = best.unwrap_or(first);
        found.push(range(rest[best]));
        rest = &rest[best + count(rest[best])..];
    }
    found
}

/// The summary of the usual samples; `samples` must not be empty.
pub fn usual(samples: &[f64]) -> Summary {
    Modes::of(samples).summary()
}

/// Where the second group of the sorted samples begins, behind their widest empty space.
fn second_group(sorted: &[f64], samples: usize) -> Option<usize> {
    let least = MIN_USUAL.max((MIN_USUAL_SHARE * samples as f64).ceil() as usize);
    let space_s = |first: usize| sorted[first] - sorted[first - 1];
    let first = (1..sorted.len()).max_by(|&a, &b| space_s(a).total_cmp(&space_s(b)))?;
    let (usual, others) = sorted.split_at(first);
    let is_clear_of = |group: &[f64]| space_s(first) >= CLEARANCE * Summary::of(group).range;
    let is_believed = usual.len() >= least || (others.len() >= MIN_USUAL && is_clear_of(others));
    (space_s(first) >= MIN_DELAY_S && is_clear_of(usual) && is_believed).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_group_is_taken_off_and_the_step_known() {
        let samples = [1.2e-3, 41.1e-3, 1.0e-3, 1.1e-3, 41.2e-3, 1.1e-3, 41.3e-3];
        let modes = Modes::of(&samples);
        assert_eq!(modes.usual, [1.0e-3, 1.1e-3, 1.1e-3, 1.2e-3]);
        assert!(modes.delays().iter().all(|delay_s| (0.0399..0.0403).contains(delay_s)));
        assert_eq!(usual(&samples).median, 1.1e-3);
    }

    #[test]
    fn two_steps_are_taken_off_one_after_the_other() {
        let samples = [1e-3, 1e-3, 1e-3, 1e-3, 41e-3, 41e-3, 41e-3, 201e-3];
        let modes = Modes::of(&samples);
        assert_eq!((modes.usual.len(), modes.delayed.as_slice()), (4, &[41e-3, 41e-3, 41e-3, 201e-3][..]));
    }

    #[test]
    fn most_samples_may_be_delayed() {
        let samples = [1e-3, 41e-3, 41e-3, 1e-3, 41e-3, 41e-3, 41e-3, 41e-3, 41e-3, 41e-3];
        assert_eq!(usual(&samples).median, 1e-3);
        assert_eq!(usual(&[41e-3, 41e-3, 1e-3, 201e-3, 41e-3, 41e-3]).median, 1e-3, "all but one");
    }

    #[test]
    fn what_is_no_step_stays() {
        for samples in [
            vec![5.0],
            vec![1.0, 1.1],
            // A step shorter than any timer's.
            vec![1e-3, 1e-3, 1e-3, 6e-3, 6e-3, 6e-3],
            // A wide spread.
            vec![0.10, 0.14, 0.19, 0.22, 0.26, 0.31, 0.37],
            // Of two modes, neither is known to be the usual one.
            vec![1e-3, 41e-3],
            // The fastest of widely scattered samples.
            vec![0.10, 0.16, 0.18, 0.21, 0.23, 0.26, 0.31],
        ] {
            assert!(Modes::of(&samples).delayed.is_empty(), "{samples:?}");
        }
    }

    #[test]
    fn delays_that_agree_are_a_timers() {
        let linux = [40e-3, 40.5e-3, 41e-3, 43e-3, 44e-3, 40e-3, 40e-3, 40e-3];
        let found = |delays: &[f64]| -> Vec<f64> {
            timers(delays.to_vec()).iter().map(|timer| (timer.start() * 1e3).round()).collect()
        };
        assert_eq!(found(&linux), [40.0]);
        assert!(found(&linux[1..]).is_empty(), "seven may be chance");
        // A few delays of the scheduler neither hide it nor belong to it; a second timer is separate.
        let both = [&linux[..], &[12e-3, 19e-3, 30e-3], &[204e-3; 8]].concat();
        assert_eq!(found(&both), [40.0, 204.0]);
        let scheduler: Vec<f64> = (0..100).map(|i| 10e-3 + 0.4e-3 * f64::from(i)).collect();
        assert!(found(&scheduler).is_empty());
    }
}
