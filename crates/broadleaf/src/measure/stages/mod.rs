//! One part of the measurement per file: it requests rounds, takes their samples, and writes its conclusions into the
//! findings.

mod accesses;
mod bottleneck_search;
pub mod bottlenecks;
pub mod gap_tables;
pub mod latencies;
mod pair_rounds;
pub mod ports;
pub mod recheck;
pub mod screening;
pub mod screening_between;

use super::experiment::{Round, Samples};
use super::findings::Findings;

/// Seconds since the start, and the time budget.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub now_s: f64,
    pub budget_s: f64,
}

impl Clock {
    /// Seconds until that share of the budget is used up; negative when it is.
    pub fn left(&self, share: f64) -> f64 {
        share * self.budget_s - self.now_s
    }
}

/// One experiment of the measurement.
pub trait Stage {
    fn name(&self) -> &'static str;

    /// Pairs done and to do.
    fn progress(&self) -> (usize, usize);

    /// The next round, or `None` when the stage has written its conclusion into `known`.
    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round>;

    /// Adds the conclusions of the stage if it ended now.
    fn so_far(&self, _known: &mut Findings) {}

    /// Takes the samples of each trial of each task of a round from [`Stage::next`], which took `took_s`.
    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, took_s: f64);
}
