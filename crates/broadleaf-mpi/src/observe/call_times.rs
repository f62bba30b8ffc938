//! Times of a communicator's calls, planned and native, from entry to return.
//!
//! A rank's clock runs from its own entry of the call to its return, so that no clocks of two hosts are compared, and
//! the longest of all ranks' times is taken for the makespan. It includes the wait for ranks that enter late.

use super::predictions::{Predict, Predictions};
use super::row_key::RowKey;
use super::stats;
use super::turns::Turns;
use crate::settings::Mode;
use broadleaf::plan::Collective;
use std::collections::HashSet;
use std::sync::Arc;

/// One communicator's, at one rank.
pub struct CallTimes {
    /// The same on all its ranks.
    communicator: u64,
    name: String,
    rank: u32,
    ranks: u32,
    /// None: Broadleaf is disabled.
    mode: Option<Mode>,
    turns: Turns,
    /// At rank 0 of an observed communicator.
    predictor: Option<Arc<dyn Predict>>,
    /// Collective, root and length of rows that have their predictor, a bounded number.
    has_predictor: HashSet<(Collective, u32, u64)>,
}

/// Rows of one communicator that get a prediction, at most.
const MOST_PREDICTED: usize = 1000;

impl CallTimes {
    pub fn new(
        communicator: u64,
        name: &str,
        rank: u32,
        ranks: u32,
        mode: Option<Mode>,
        predictor: Option<Arc<dyn Predict>>,
    ) -> CallTimes {
        CallTimes {
            communicator,
            name: name.to_string(),
            rank,
            ranks,
            mode,
            turns: Turns::default(),
            predictor,
            has_predictor: HashSet::new(),
        }
    }

    /// Whether the next call goes to the MPI's own broadcast, on all ranks.
    pub fn next_is_native(&mut self, collective: Collective, root: u32, bytes: u64) -> bool {
        match self.mode {
            Some(Mode::Plan) => false,
            Some(Mode::Compare) => self.turns.next_is_native(collective, root, bytes),
            Some(Mode::Observe) | None => true,
        }
    }

    /// After a call that ran by the plan of that version.
    pub fn planned(&self, collective: Collective, root: u32, bytes: u64, seconds: f64, version: u32) {
        stats::count(self.key(collective, root, bytes), |row| {
            row.samples.add_planned(self.communicator, self.rank, seconds, version);
        });
    }

    /// After a call that went to the MPI's own broadcast on account of the mode.
    pub fn native(&mut self, collective: Collective, root: u32, bytes: u64, seconds: f64) {
        let reason = match self.mode {
            Some(Mode::Compare) => "compared",
            Some(Mode::Observe) => "observed",
            Some(Mode::Plan) | None => "disabled",
        };
        let key = self.key(collective, root, bytes);
        if let Some(predictor) = self.predictor.as_ref() {
            if self.has_predictor.len() < MOST_PREDICTED
                && self.has_predictor.insert((collective, root, bytes))
            {
                Predictions::want(key.clone(), predictor);
            }
        }
        stats::count(key, |row| {
            row.samples.add_native(self.communicator, self.rank, seconds);
            if self.rank == 0 {
                *row.passed.entry(reason).or_default() += 1;
            }
        });
    }

    fn key(&self, collective: Collective, root: u32, bytes: u64) -> RowKey {
        RowKey {
            collective: collective.name(),
            communicator: self.name.clone(),
            ranks: self.ranks,
            root,
            bytes,
        }
    }
}
