//! The order of the stages, and the interface of a measurement: rounds to perform, samples, a platform.

use super::assemble;
use super::doubts::Quality;
use super::experiment::{Round, Samples, Trial};
use super::findings::Findings;
use super::hosts::{Hosts, RankHost};
use super::settings::{gap_tables, ProbeSettings};
use super::stages::bottlenecks::Bottlenecks;
use super::stages::gap_tables::GapTables;
use super::stages::latencies::Latencies;
use super::stages::ports::Ports;
use super::stages::recheck::Recheck;
use super::stages::screening::Screening;
use super::stages::screening_between::ScreeningBetween;
use super::stages::{Clock, Stage};
use crate::json::Fault;
use crate::platform::Platform;

/// Reasons why a measurement cannot start or end.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum MeasureError {
    #[error("no ranks to measure between; start at least 1")]
    NoRanks,
    #[error("the tolerance {0} is not in 0 ... 10; 0.3 is usual")]
    Tolerance(f64),
    #[error("a time budget of {0} s is not above 0; leave it out for the usual one")]
    Budget(f64),
    #[error("a largest size of {0} bytes is not in 1024 ... {most}; 4194304 is usual", most = gap_tables::MAX_BYTES)]
    LargestBytes(u64),
    #[error("the measured network is no platform: {0}")]
    Platform(#[from] Fault),
    #[error("the measurement is not finished; perform its remaining rounds first")]
    Unfinished,
}

/// The progress of the measurement, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Name of the stage: latencies, screening, tables, recheck, pipes, ports or again.
    pub stage: &'static str,
    /// Pairs done and to do in this stage, as far as known.
    pub done: usize,
    /// See [`Progress::done`].
    pub total: usize,
}

fn usual_budget_s(ranks: &[RankHost]) -> f64 {
    let count = ranks.len() as f64;
    let one_machine_s = (4.0 + 1.5 * count).min(40.0);
    if ranks.iter().all(|rank| rank.host == ranks[0].host) {
        return one_machine_s;
    }
    // The search for bottlenecks goes on past it, and 16 ranks are to be done within a minute.
    (3.0 * one_machine_s).min(40.0 + 2.5 * (count - 16.0).max(0.0))
}

type MakeStage = fn(&Findings) -> Box<dyn Stage>;

/// In order; each is made from the findings of the earlier ones.
const STAGES: [MakeStage; 8] = [
    |known| Box::new(Latencies::new(known)),
    |known| Box::new(Screening::new(known)),
    |known| Box::new(ScreeningBetween::new(known)),
    |known| Box::new(GapTables::new(known)),
    |_| Box::new(Recheck::default()),
    |known| Box::new(Bottlenecks::new(known)),
    |known| Box::new(Ports::new(known)),
    |known| Box::new(Screening::again(known)),
];

/// Indices of stages.
const RECHECK: usize = 4;
const BOTTLENECKS: usize = 5;
const PORTS: usize = 6;

/// A measurement under way.
///
/// ```
/// use broadleaf::measure::{Probe, RankHost, ProbeSettings};
/// let alone = [RankHost { host: "n01".to_string(), cores: 8 }];
/// let mut probe = Probe::new(&alone, ProbeSettings::new("one")).unwrap();
/// assert!(probe.next_round(0.0).is_none(), "a single node has no network to measure");
/// assert_eq!(probe.platform().unwrap().node_count(), 1);
/// ```
pub struct Probe {
    known: Findings,
    budget_s: f64,
    stage: Box<dyn Stage>,
    /// The number of [`STAGES`] begun.
    begun: usize,
    /// The round under way, and its start.
    current: Option<(Round, f64)>,
    finished: bool,
}

impl Probe {
    /// A measurement between ranks 0 … n−1, which become the platform's nodes in that order.
    ///
    /// # Errors
    /// No ranks, or settings outside their limits.
    pub fn new(ranks: &[RankHost], settings: ProbeSettings) -> Result<Probe, MeasureError> {
        if ranks.is_empty() {
            return Err(MeasureError::NoRanks);
        }
        if !(0.0..=10.0).contains(&settings.tolerance) {
            return Err(MeasureError::Tolerance(settings.tolerance));
        }
        if !(gap_tables::FIRST_BYTES..=gap_tables::MAX_BYTES).contains(&settings.largest_bytes) {
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

    /// Takes the samples of the round under way, for each trial of each task.
    pub fn take(&mut self, samples: Vec<Vec<Samples>>, now_s: f64) {
        let Some((round, started_s)) = self.current.take() else { return };
        for (task, of_task) in round.iter().zip(&samples) {
            for (trial, samples) in task.trials.iter().zip(of_task) {
                self.known.samples += samples.seconds.len();
                self.known.disturbed += samples.disturbed();
                if matches!(trial, Trial::PingPong { bytes: 0, .. }) {
                    self.known.note_round_trips((task.from, task.to), &samples.seconds);
                }
            }
        }
        self.stage.take(&round, samples, &mut self.known, now_s - started_s);
    }

    /// The progress of the measurement.
    pub fn progress(&self) -> Progress {
        let (done, total) = self.stage.progress();
        Progress { stage: self.stage.name(), done, total }
    }

    /// The intermediate result: the platform, if the findings are enough for one, and the parts that are missing in it
    /// or for it, a noun phrase each.
    pub fn so_far(&self) -> (Option<Platform>, Vec<String>) {
        let mut known = self.known.clone();
        self.stage.so_far(&mut known);
        let lacking = known.lacking();
        if !lacking.is_empty() {
            return (None, lacking);
        }
        if self.begun <= BOTTLENECKS {
            known.untried_bottlenecks = Bottlenecks::new(&known).progress().1;
        }
        let mut missing = known.shortfalls();
        let (done, total) = self.stage.progress();
        if self.begun <= RECHECK && done < total {
            missing.insert(
                0,
                format!("the tables of {} of {total} pairs, which have those of others", total - done),
            );
        }
        if self.begun <= PORTS && Ports::new(&known).has_round(&known) {
            missing.push("the test of ports, which are taken as one-port".to_string());
        }
        (assemble::platform(&known).ok(), missing)
    }

    /// Remarks on the samples, one line each.
    pub fn remarks(&self) -> Vec<String> {
        self.known.remarks()
    }

    /// The quality of the measurement so far.
    pub fn quality(&self) -> Quality {
        self.known.quality()
    }

    /// Parts for which the time was too short: a noun phrase each.
    pub fn shortfalls(&self) -> Vec<String> {
        self.known.shortfalls()
    }

    /// The measured network.
    ///
    /// # Errors
    /// A measurement that is not finished.
    pub fn platform(&self) -> Result<Platform, MeasureError> {
        if !self.finished {
            return Err(MeasureError::Unfinished);
        }
        Ok(assemble::platform(&self.known)?)
    }
}
