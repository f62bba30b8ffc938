//! The order of the stages, and the way in and out: rounds to perform, samples, a platform.

use super::experiment::{Round, Samples};
use super::findings::Findings;
use super::hosts::{Hosts, RankHost};
use super::latencies::Latencies;
use super::pipes::Pipes;
use super::screening::Screening;
use super::tables::Tables;
use super::{assemble, growth};
use crate::json::Fault;
use crate::platform::Platform;

/// What to measure, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The platform's name.
    pub name: String,
    /// ρ of Lowekamp's clustering, and how far pairs of a cluster may differ and still count as alike.
    pub tolerance: f64,
    /// Time to stay within, seconds, as far as the network lets; `None`: 4 s and 1.5 s a node, at most 40 s;
    /// between several machines three times that, of which up to 16 nodes have 40 s and each further one 2.5 s more.
    pub budget_s: Option<f64>,
    /// Gap tables end here, bytes; beyond it the last slope holds.
    pub largest_bytes: u64,
}

impl Settings {
    pub const TOLERANCE: f64 = 0.3;
    pub const LARGEST_BYTES: u64 = 4 << 20;

    pub fn new(name: impl Into<String>) -> Settings {
        let (tolerance, largest_bytes) = (Settings::TOLERANCE, Settings::LARGEST_BYTES);
        Settings { name: name.into(), tolerance, budget_s: None, largest_bytes }
    }
}

/// Why a measurement cannot start or end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("no ranks to measure between; start at least 1")]
    NoRanks,
    #[error("the tolerance {0} is not in 0 ... 10; 0.3 is usual")]
    Tolerance(f64),
    #[error("a time budget of {0} s is not above 0; leave it out for the usual one")]
    Budget(f64),
    #[error("a largest size of {0} bytes is not in 1024 ... {most}; 4194304 is usual", most = growth::MOST_BYTES)]
    LargestBytes(u64),
    #[error("the measured network is no platform: {0}")]
    Platform(#[from] Fault),
    #[error("the measurement is not finished; perform its remaining rounds first")]
    Unfinished,
}

/// How far the measurement is, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: &'static str,
    /// Pairs done and to do in this stage, as far as known.
    pub done: usize,
    pub total: usize,
}

/// Seconds since the start, and the time to stay within.
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

/// One part of the measurement.
pub trait Stage {
    fn name(&self) -> &'static str;

    /// Pairs done and to do.
    fn progress(&self) -> (usize, usize);

    /// The next round, or `None` when the stage has written its conclusion into `known`.
    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round>;

    /// Adds what the stage would conclude if it had to end now.
    fn so_far(&self, _known: &mut Findings) {}

    /// The samples of each trial of each task of the round that [`Stage::next`] gave; it took `took_s`.
    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, took_s: f64);
}

fn usual_budget_s(ranks: &[RankHost]) -> f64 {
    let count = ranks.len() as f64;
    let one_machine_s = (4.0 + 1.5 * count).min(40.0);
    if ranks.iter().all(|rank| rank.host == ranks[0].host) {
        return one_machine_s;
    }
    // The search for pipes goes on past it, and 16 ranks are to be done within a minute.
    (3.0 * one_machine_s).min(40.0 + 2.5 * (count - 16.0).max(0.0))
}

type MakeStage = fn(&Findings) -> Box<dyn Stage>;

/// In order; each is made from what the earlier ones have found.
const STAGES: [MakeStage; 5] = [
    |known| Box::new(Latencies::new(known)),
    |known| Box::new(Screening::new(known)),
    |known| Box::new(Tables::new(known)),
    |known| Box::new(Pipes::new(known)),
    |known| Box::new(Screening::again(known)),
];

/// The place of the pipes among them.
const PIPES: usize = 3;

/// A measurement under way.
///
/// ```
/// use broadleaf::measure::{Probe, RankHost, Settings};
/// let alone = [RankHost { host: "n01".to_string(), cores: 8 }];
/// let mut probe = Probe::new(&alone, Settings::new("one")).unwrap();
/// assert!(probe.next_round(0.0).is_none(), "a single node has no network to measure");
/// assert_eq!(probe.platform().unwrap().node_count(), 1);
/// ```
pub struct Probe {
    known: Findings,
    budget_s: f64,
    stage: Box<dyn Stage>,
    /// How many of [`STAGES`] have been begun.
    begun: usize,
    /// The round under way, and when it was given out.
    current: Option<(Round, f64)>,
    finished: bool,
}

impl Probe {
    /// A measurement between ranks 0 … n−1, which become the platform's nodes in that order.
    pub fn new(ranks: &[RankHost], settings: Settings) -> Result<Probe, MeasureError> {
        if ranks.is_empty() {
            return Err(MeasureError::NoRanks);
        }
        if !(0.0..=10.0).contains(&settings.tolerance) {
            return Err(MeasureError::Tolerance(settings.tolerance));
        }
        if !(growth::FIRST_BYTES..=growth::MOST_BYTES).contains(&settings.largest_bytes) {
            return Err(MeasureError::LargestBytes(settings.largest_bytes));
        }
        let budget_s = settings.budget_s.unwrap_or_else(|| usual_budget_s(ranks));
        if !(budget_s > 0.0 && budget_s.is_finite()) {
            return Err(MeasureError::Budget(budget_s));
        }
        let known = Findings::new(settings, Hosts::new(ranks));
        let stage = STAGES[0](&known);
        Ok(Probe { known, budget_s, stage, begun: 1, current: None, finished: false })
    }

    /// The experiments to perform now, all tasks at the same time; `None` when the measurement is finished.
    ///
    /// `now_s` is the time since the start on any steady clock.
    pub fn next_round(&mut self, now_s: f64) -> Option<&Round> {
        let clock = Clock { now_s, budget_s: self.budget_s };
        loop {
            if let Some(round) = self.stage.next(&mut self.known, clock) {
                return Some(&self.current.insert((round, now_s)).0);
            }
            let Some(following) = STAGES.get(self.begun) else {
                self.finished = true;
                return None;
            };
            self.begun += 1;
            self.stage = following(&self.known);
        }
    }

    /// Takes what the round under way measured: for each task, for each trial, its samples.
    pub fn take(&mut self, samples: Vec<Vec<Samples>>, now_s: f64) {
        let Some((round, started_s)) = self.current.take() else { return };
        for trial in samples.iter().flatten() {
            self.known.samples += trial.seconds.len();
            self.known.disturbed += trial.disturbed();
        }
        self.stage.take(&round, samples, &mut self.known, now_s - started_s);
    }

    pub fn progress(&self) -> Progress {
        let (done, total) = self.stage.progress();
        Progress { stage: self.stage.name(), done, total }
    }

    /// What is known in the middle of it: the platform, if it is one already, and what is missing in it, or for
    /// it, a noun phrase each.
    pub fn so_far(&self) -> (Option<Platform>, Vec<String>) {
        let mut known = self.known.clone();
        self.stage.so_far(&mut known);
        let lacking = known.lacking();
        if !lacking.is_empty() {
            return (None, lacking);
        }
        if self.begun <= PIPES {
            known.untried_pipes = Pipes::new(&known).progress().1;
        }
        let mut missing = known.shortfalls();
        let (done, total) = self.stage.progress();
        if self.begun <= PIPES && done < total {
            missing.insert(
                0,
                format!("the tables of {} of {total} pairs, which have those of others", total - done),
            );
        }
        (assemble::platform(&known).ok(), missing)
    }

    /// What the samples showed besides numbers, one line each.
    pub fn remarks(&self) -> Vec<String> {
        self.known.remarks()
    }

    /// What the time was too short for: a noun phrase each.
    pub fn shortfalls(&self) -> Vec<String> {
        self.known.shortfalls()
    }

    /// The measured network.
    pub fn platform(&self) -> Result<Platform, MeasureError> {
        if !self.finished {
            return Err(MeasureError::Unfinished);
        }
        Ok(assemble::platform(&self.known)?)
    }
}
