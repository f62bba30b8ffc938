//! Times of a bounded number of calls, the same calls on all ranks.
//!
//! All calls are kept until there are [`KEPT`], then every second one, every fourth, and so on: they stay evenly
//! spread over the run, and every rank keeps the same calls without asking. At the end the longest time of any rank
//! stands for each call.

use serde_json::{json, Value};
use std::collections::BTreeMap;

/// Samples of one side of a row, at most; with more calls there are more than half as many.
pub const KEPT: usize = 32;

/// Communicators of one name and size whose samples a row keeps; those of later ones are left out.
const MOST_COMMUNICATORS: usize = 8;

/// Times of calls by their numbers, s.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    calls: u64,
    /// The numbers of the calls kept are multiples of it.
    stride: u64,
    kept: Vec<(u64, f64)>,
}

impl Default for Samples {
    fn default() -> Self {
        Samples { calls: 0, stride: 1, kept: Vec::new() }
    }
}

impl Samples {
    pub fn add(&mut self, seconds: f64) {
        let number = self.calls;
        self.calls += 1;
        if self.kept.len() == KEPT && number.is_multiple_of(self.stride) {
            self.stride *= 2;
            self.kept.retain(|(number, _)| number.is_multiple_of(self.stride));
        }
        if number.is_multiple_of(self.stride) {
            // To the nanosecond, which is what the clock has.
            self.kept.push((number, (seconds * 1e9).round() / 1e9));
        }
    }
}

/// One communicator's samples in a row.
#[derive(Clone, Debug, PartialEq)]
struct OfCommunicator {
    communicator: u64,
    /// The rank in the communicator; under SMPI all ranks are in one process. The first rank writes the row.
    rank: u32,
    native: Option<Samples>,
    planned: Option<(u32, Samples)>,
}

/// A row's samples. The first call of either side and the first by each plan are left out: they make connections, or
/// wait for a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowSamples(Vec<OfCommunicator>);

impl RowSamples {
    fn of(&mut self, communicator: u64, rank: u32) -> Option<&mut OfCommunicator> {
        let at = self.0.iter().position(|known| (known.communicator, known.rank) == (communicator, rank));
        if at.is_none() {
            if self.0.iter().filter(|known| known.rank == rank).count() == MOST_COMMUNICATORS {
                return None;
            }
            self.0.push(OfCommunicator { communicator, rank, native: None, planned: None });
        }
        let at = at.unwrap_or(self.0.len() - 1);
        Some(&mut self.0[at])
    }

    pub fn add_native(&mut self, communicator: u64, rank: u32, seconds: f64) {
        let Some(known) = self.of(communicator, rank) else { return };
        match &mut known.native {
            Some(samples) => samples.add(seconds),
            None => known.native = Some(Samples::default()),
        }
    }

    /// Samples of a plan that another has replaced are dropped: they do not predict later calls.
    pub fn add_planned(&mut self, communicator: u64, rank: u32, seconds: f64, version: u32) {
        let Some(known) = self.of(communicator, rank) else { return };
        match &mut known.planned {
            Some((last, samples)) if *last == version => samples.add(seconds),
            other => *other = Some((version, Samples::default())),
        }
    }

    /// Adds what [`Longest`] reads to a row.
    pub fn tell(&self, row: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        let told = self.0.iter().map(|known| {
            let native = known.native.as_ref().map_or(&[][..], |samples| &samples.kept);
            let planned = known.planned.as_ref().map_or(&[][..], |(_, samples)| &samples.kept);
            json!({OF: known.communicator, FIRST: known.rank == 0, NATIVE: native, PLANNED: planned})
        });
        row[SAMPLES] = told.collect();
    }
}

const SAMPLES: &str = "samples";
const OF: &str = "of";
const FIRST: &str = "is_first";
pub const NATIVE: &str = "native_s";
pub const PLANNED: &str = "planned_s";

/// Each call's longest time of any rank.
#[derive(Debug, Default)]
pub struct Longest(BTreeMap<(String, &'static str), BTreeMap<u64, f64>>);

fn key(row: &Value, of: &Value) -> String {
    let names = ["collective", "communicator", "ranks", "root", "bytes"].map(|name| row[name].to_string());
    format!("{} {of}", names.join(" "))
}

fn told(row: &Value) -> impl Iterator<Item = &Value> {
    row[SAMPLES].as_array().into_iter().flatten()
}

impl Longest {
    pub fn of(rows: &[Value]) -> Longest {
        let mut longest = Longest::default();
        for (row, told) in rows.iter().flat_map(|row| told(row).map(move |told| (row, told))) {
            for side in [NATIVE, PLANNED] {
                let all = longest.0.entry((key(row, &told[OF]), side)).or_default();
                for sample in told[side].as_array().into_iter().flatten() {
                    if let (Some(number), Some(seconds)) = (sample[0].as_u64(), sample[1].as_f64()) {
                        let most = all.entry(number).or_insert(seconds);
                        *most = most.max(seconds);
                    }
                }
            }
        }
        longest
    }

    /// Replaces the row's own times with these.
    pub fn put_into(&self, row: &mut Value) {
        if row.get(SAMPLES).is_none() {
            return;
        }
        for side in [NATIVE, PLANNED] {
            let own = told(row).filter(|told| told[FIRST] == true);
            let found = own.filter_map(|told| self.0.get(&(key(row, &told[OF]), side)));
            let mut seconds: Vec<f64> = found.flat_map(|samples| samples.values().copied()).collect();
            while seconds.len() > KEPT {
                seconds = seconds.into_iter().step_by(2).collect();
            }
            row[side] = json!(seconds);
        }
        if let Some(fields) = row.as_object_mut() {
            fields.remove(SAMPLES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(samples: &RowSamples) -> Value {
        let mut row = json!({"communicator": "half", "ranks": 2, "root": 0, "bytes": 9});
        samples.tell(&mut row);
        row
    }

    #[test]
    fn samples_are_bounded_and_spread_over_the_run() {
        let mut samples = Samples::default();
        for call in 0..1000 {
            samples.add(f64::from(call));
            assert!(samples.kept.len() <= KEPT && (call < 32 || samples.kept.len() > KEPT / 2));
        }
        assert_eq!((samples.stride, samples.kept.len()), (32, 32));
        assert!(samples.kept.iter().all(|&(number, seconds)| number % 32 == 0 && number as f64 == seconds));
    }

    #[test]
    fn the_first_call_and_earlier_plans_are_left_out() {
        let mut samples = RowSamples::default();
        [9.0, 1.0, 2.0].into_iter().for_each(|seconds| samples.add_native(7, 0, seconds));
        for (seconds, version) in [(9.0, 0), (3.0, 0), (8.0, 1), (4.0, 1)] {
            samples.add_planned(7, 0, seconds, version);
        }
        let mut row = row(&samples);
        Longest::of(std::slice::from_ref(&row)).put_into(&mut row);
        assert_eq!((&row[NATIVE], &row[PLANNED]), (&json!([1.0, 2.0]), &json!([4.0])));
    }

    /// Two communicators of one name: each call counts by its own slowest rank.
    #[test]
    fn the_slowest_rank_of_each_call_counts() {
        let of = |communicator, rank, seconds: [f64; 2]| {
            let mut samples = RowSamples::default();
            samples.add_native(communicator, rank, 9.0);
            seconds.into_iter().for_each(|seconds| samples.add_native(communicator, rank, seconds));
            row(&samples)
        };
        let mut rows =
            [of(1, 0, [0.1, 0.2]), of(1, 1, [0.3, 0.1]), of(2, 1, [0.9, 0.9]), of(2, 0, [0.5, 1.0])];
        let longest = Longest::of(&rows);
        rows.iter_mut().for_each(|row| longest.put_into(row));
        assert_eq!([&rows[0][NATIVE], &rows[3][NATIVE]], [&json!([0.3, 0.2]), &json!([0.9, 1.0])]);
        assert!(rows.iter().all(|row| row.get(SAMPLES).is_none()));
    }

    #[test]
    fn a_program_that_makes_communicators_without_end_fills_no_memory() {
        let mut samples = RowSamples::default();
        (0..1000).for_each(|communicator| samples.add_native(communicator, 0, 1.0));
        assert_eq!(samples.0.len(), MOST_COMMUNICATORS);
    }

    #[test]
    fn ranks_of_one_process_keep_their_times_apart() {
        let mut samples = RowSamples::default();
        for (rank, seconds) in [(0, 9.0), (1, 9.0), (0, 0.1), (1, 0.3), (0, 0.2), (1, 0.1)] {
            samples.add_native(7, rank, seconds);
        }
        let mut row = row(&samples);
        Longest::of(std::slice::from_ref(&row)).put_into(&mut row);
        assert_eq!(row[NATIVE], json!([0.3, 0.2]));
    }
}
