//! Stage 4: measures impossible tables (`doubts`) again, one at a time, and keeps the better of the two.

use super::{Clock, Stage};
use crate::measure::experiment::{Round, Samples};
use crate::measure::findings::Findings;
use crate::measure::gap_table::GapTableBuilder;
use crate::measure::hosts::NodePair;
use crate::measure::pair_table::PairTable;
use crate::measure::settings::doubts::{BUDGET_SHARE, SLICE_S, TRIES};
use crate::measure::settings::gap_tables::UNCERTAIN;
use std::collections::VecDeque;

#[derive(Default)]
pub struct Recheck {
    pairs: VecDeque<NodePair>,
    builder: Option<GapTableBuilder>,
    tries: u32,
    done: usize,
    total: usize,
}

/// Less doubtful, or equally and with the shorter latency: delays only add.
fn is_better(known: &Findings, pair: NodePair, new: &PairTable) -> bool {
    let old = &known.tables[&pair];
    match (known.doubt_of(pair, new), known.doubt_of(pair, old)) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(_), Some(_)) => new.latency_s < old.latency_s,
    }
}

impl Stage for Recheck {
    fn name(&self) -> &'static str {
        "recheck"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.total)
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        loop {
            if let Some(task) = self.builder.as_mut().and_then(GapTableBuilder::next) {
                return Some(vec![task]);
            }
            if let Some(builder) = self.builder.take() {
                self.done += 1;
                let pair = builder.pair();
                if let Some(table) = builder.finish().filter(|table| is_better(known, pair, table)) {
                    known.tables.insert(pair, table);
                }
            }
            if clock.left(BUDGET_SHARE) <= 0.0 {
                return None;
            }
            if self.pairs.is_empty() {
                if self.tries == TRIES {
                    return None;
                }
                self.tries += 1;
                let doubtful = known.tables.keys().copied().filter(|&pair| known.table_doubt(pair).is_some());
                self.pairs.extend(doubtful);
                self.total += self.pairs.len();
            }
            let pair = self.pairs.pop_front()?;
            let (trip_s, largest_bytes) = (known.round_trip_s(pair), known.settings.largest_bytes);
            self.builder = Some(GapTableBuilder::new(pair, trip_s, largest_bytes, SLICE_S, UNCERTAIN));
        }
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, _known: &mut Findings, took_s: f64) {
        for (task, samples) in round.iter().zip(samples) {
            if let Some(builder) = &mut self.builder {
                builder.take(task, samples, took_s);
            }
        }
    }
}
