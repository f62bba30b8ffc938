//! From a pair's points to its pLogP table, and from many pairs' tables to one.

use super::delay_modes::Step;
use super::statistics::{median, relative, Summary};
use crate::measure::settings::samples::SHORTEST_GAP_S;
use crate::platform::{Delayed, GapTable, LinkClass, SharedId, TransferTime};
use std::collections::BTreeMap;

/// One size of a [`PairTable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub bytes: u64,
    /// g(m), seconds.
    pub gap_s: f64,
    /// os(m), seconds.
    pub send_s: f64,
    /// or(m), seconds.
    pub receive_s: f64,
    /// The gap between messages sent back to back, seconds, where that was measured.
    pub bulk_s: Option<f64>,
    /// Interquartile range of the gap over the gap; a single sample has none.
    pub spread: Option<f64>,
}

/// pLogP of one ordered pair, or of many typical pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairTable {
    /// L, seconds.
    pub latency_s: f64,
    /// By size; never empty.
    pub rows: Vec<Row>,
    /// By size, bytes, the step between two groups of samples; the rows are of the usual group.
    pub steps: BTreeMap<u64, Step>,
}

impl PairTable {
    /// The table with every gap at least [`SHORTEST_GAP_S`], and falling with size only where the fall is
    /// larger than the samples' own spread.
    ///
    /// A larger message that takes less time is real where the MPI changes its protocol; elsewhere it is
    /// noise, and the rows on both sides of the fall get their common mean (pool adjacent violators).
    pub fn new(latency_s: f64, mut rows: Vec<Row>) -> PairTable {
        for row in &mut rows {
            row.gap_s = row.gap_s.max(SHORTEST_GAP_S);
        }
        // Each block: its first row, its number of rows, its mean gap.
        let mut blocks: Vec<(usize, usize, f64)> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            blocks.push((index, 1, row.gap_s));
            while let [.., before, last] = blocks.as_slice() {
                let noise_s = |block: &(usize, usize, f64)| {
                    let spreads = rows[block.0..block.0 + block.1].iter().filter_map(|row| row.spread);
                    spreads.fold(0.0, f64::max) * block.2
                };
                let fall_s = before.2 - last.2;
                if fall_s <= 0.0 || fall_s > noise_s(before).max(noise_s(last)) {
                    break;
                }
                let count = before.1 + last.1;
                let mean_s = (before.2 * before.1 as f64 + last.2 * last.1 as f64) / count as f64;
                let pooled = (before.0, count, mean_s);
                blocks.truncate(blocks.len() - 2);
                blocks.push(pooled);
            }
        }
        for (first, count, gap_s) in blocks.into_iter().filter(|block| block.1 > 1) {
            for row in &mut rows[first..first + count] {
                // The absolute spread of the samples is unchanged.
                row.spread = row.spread.map(|spread| spread * row.gap_s / gap_s);
                row.gap_s = gap_s;
            }
        }
        PairTable { latency_s: latency_s.max(0.0), rows, steps: BTreeMap::new() }
    }

    /// The table with one more row, twice the size of the last, along the median of the slopes between all of its last
    /// rows (Theil, Sen): the last two alone, which extrapolate a table, are too few if it ends early and they are
    /// noisy.
    pub fn continued(mut self) -> PairTable {
        let Some(&last) = self.rows.last() else { return self };
        let end: Vec<Row> = self.rows.iter().copied().filter(|row| row.bytes >= last.bytes / 8).collect();
        let slope = |value: fn(&Row) -> f64| {
            let between = |a: &Row, b: &Row| (value(b) - value(a)) / (b.bytes - a.bytes) as f64;
            let pairs = end.iter().enumerate().flat_map(|(at, a)| end[at + 1..].iter().map(move |b| (a, b)));
            let slopes: Vec<f64> = pairs.map(|(a, b)| between(a, b)).collect();
            if slopes.is_empty() {
                0.0
            } else {
                median(&slopes).max(0.0)
            }
        };
        let next = |value: fn(&Row) -> f64| value(&last) + slope(value) * last.bytes as f64;
        self.rows.push(Row {
            bytes: 2 * last.bytes,
            gap_s: next(|row| row.gap_s),
            send_s: next(|row| row.send_s),
            receive_s: next(|row| row.receive_s),
            bulk_s: None,
            spread: last.spread,
        });
        self
    }

    /// The table of many typical pairs: the median of each value at every size that a quarter of them
    /// were measured at (a bend of the network shows in many, one of a noisy moment in few) and half of them
    /// up to. The spread is the pairs' own or that between them, whichever is larger.
    pub fn median_of(tables: &[&PairTable]) -> PairTable {
        let mut sizes: Vec<u64> =
            tables.iter().flat_map(|table| table.rows.iter().map(|row| row.bytes)).collect();
        sizes.sort_unstable();
        let sizes: Vec<u64> = sizes
            .chunk_by(|a, b| a == b)
            .filter(|same| 4 * same.len() >= tables.len())
            .map(|same| same[0])
            .collect();
        let row_at = |bytes: u64| {
            let there: Vec<Row> = tables
                .iter()
                .filter(|table| table.rows.last().is_some_and(|last| last.bytes >= bytes))
                .map(|table| table.at(bytes))
                .collect();
            let of = |value: fn(&Row) -> f64| there.iter().map(value).collect::<Vec<f64>>();
            let known = |value: fn(&Row) -> Option<f64>| {
                let values: Vec<f64> = there.iter().filter_map(value).collect();
                (!values.is_empty()).then(|| median(&values))
            };
            let gaps = Summary::of(&of(|row| row.gap_s));
            let between = (there.len() > 1).then(|| relative(gaps.range, gaps.median));
            (2 * there.len() >= tables.len()).then(|| Row {
                bytes,
                gap_s: gaps.median,
                send_s: median(&of(|row| row.send_s)),
                receive_s: median(&of(|row| row.receive_s)),
                bulk_s: known(|row| row.bulk_s),
                spread: known(|row| row.spread).into_iter().chain(between).reduce(f64::max),
            })
        };
        let latencies: Vec<f64> = tables.iter().map(|table| table.latency_s).collect();
        let merged = PairTable::new(median(&latencies), sizes.into_iter().filter_map(row_at).collect());
        PairTable { steps: steps_of(tables), ..merged }
    }

    /// The table of a pair whose large messages take `factor` times as long, all else equal.
    pub fn scaled(&self, factor: f64) -> PairTable {
        let scale = |row: &Row| Row {
            gap_s: (row.gap_s * factor).max(SHORTEST_GAP_S),
            bulk_s: row.bulk_s.map(|bulk_s| (bulk_s * factor).max(SHORTEST_GAP_S)),
            ..*row
        };
        PairTable { rows: self.rows.iter().map(scale).collect(), ..self.clone() }
    }

    /// All values at a size, linear between the rows and along the last two beyond.
    pub fn at(&self, bytes: u64) -> Row {
        let known = |value: fn(&Row) -> Option<f64>| self.table(value).map(|table| table.seconds(bytes));
        let of = |value| known(value).expect("every row has a gap and overheads");
        Row {
            bytes,
            gap_s: of(|row| Some(row.gap_s)),
            send_s: of(|row| Some(row.send_s)),
            receive_s: of(|row| Some(row.receive_s)),
            bulk_s: known(|row| row.bulk_s),
            spread: known(|row| row.spread),
        }
    }

    /// The rows that have the value; `None` if there are none.
    fn table(&self, value: impl Fn(&Row) -> Option<f64>) -> Option<GapTable> {
        let rows: Vec<(u64, f64)> =
            self.rows.iter().filter_map(|row| value(row).map(|value| (row.bytes, value))).collect();
        (!rows.is_empty()).then(|| GapTable::new(rows))
    }

    /// The link as it stands in a platform file, six digits of each number.
    pub fn link_class(&self, uses: Vec<SharedId>) -> LinkClass {
        let table = |value: fn(&Row) -> Option<f64>| self.table(|row| value(row).map(six_digits));
        let delayed = |(&bytes, step): (&u64, &Step)| Delayed {
            bytes,
            share: six_digits(step.delayed as f64 / step.samples as f64),
            delay_s: six_digits(step.delay_s),
        };
        LinkClass {
            latency_s: six_digits(self.latency_s),
            time: TransferTime::Gap(table(|row| Some(row.gap_s)).expect("no table is empty")),
            uses,
            send_overhead: table(|row| Some(row.send_s)),
            receive_overhead: table(|row| Some(row.receive_s)),
            bulk: table(|row| row.bulk_s),
            spread: table(|row| row.spread),
            delayed: self.steps.iter().map(delayed).collect(),
            ..LinkClass::default()
        }
    }
}

/// The steps of several tables together: at each size the samples of all that show one.
fn steps_of(tables: &[&PairTable]) -> BTreeMap<u64, Step> {
    let mut found: BTreeMap<u64, Vec<Step>> = BTreeMap::new();
    for (&bytes, &step) in tables.iter().flat_map(|table| &table.steps) {
        found.entry(bytes).or_default().push(step);
    }
    let together = |steps: Vec<Step>| Step {
        delayed: steps.iter().map(|step| step.delayed).sum(),
        samples: steps.iter().map(|step| step.samples).sum(),
        delay_s: median(&steps.iter().map(|step| step.delay_s).collect::<Vec<f64>>()),
    };
    found.into_iter().map(|(bytes, steps)| (bytes, together(steps))).collect()
}

/// More digits than the accuracy of any measurement, and still readable.
pub fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: u64, gap_s: f64, spread: f64) -> Row {
        let bulk_s = Some(0.75 * gap_s);
        Row { bytes, gap_s, send_s: 0.5 * gap_s, receive_s: 0.25 * gap_s, bulk_s, spread: Some(spread) }
    }

    fn gaps(table: &PairTable) -> Vec<f64> {
        table.rows.iter().map(|row| row.gap_s).collect()
    }

    #[test]
    fn no_gap_is_scaled_below_the_shortest() {
        let row = |bytes, gap_s| row(bytes, gap_s, 0.0);
        let table = PairTable::new(0.0, vec![row(1, SHORTEST_GAP_S), row(1024, 1e-3)]).scaled(0.01);
        assert_eq!(table.rows.iter().map(|row| row.gap_s).collect::<Vec<_>>(), [SHORTEST_GAP_S, 1e-5]);
    }

    #[test]
    fn a_fall_within_the_noise_is_levelled() {
        let rows = vec![row(1, 1.0, 0.0), row(2, 2.2, 0.1), row(4, 2.0, 0.2), row(8, 4.0, 0.1)];
        assert_eq!(gaps(&PairTable::new(0.0, rows)), [1.0, 2.1, 2.1, 4.0]);
        // The second fall only becomes one when the first two rows are pooled: 3 > 2, then 2.5 > 2.4.
        let rows = vec![row(1, 3.0, 0.4), row(2, 2.0, 0.4), row(4, 2.4, 0.4)];
        let wanted = (3.0 + 2.0 + 2.4) / 3.0;
        gaps(&PairTable::new(0.0, rows)).iter().for_each(|gap| assert!((gap - wanted).abs() < 1e-12));
    }

    #[test]
    fn a_fall_beyond_the_noise_is_real() {
        let rows = vec![row(1, 1.0, 0.0), row(2, 9.0, 0.05), row(4, 3.0, 0.05), row(8, 4.0, 0.05)];
        assert_eq!(gaps(&PairTable::new(0.0, rows.clone())), [1.0, 9.0, 3.0, 4.0]);
    }

    #[test]
    fn nothing_is_negative() {
        let table = PairTable::new(-2e-7, vec![row(1, -3e-7, 0.0), row(2, 0.0, 0.0)]);
        assert_eq!((table.latency_s, gaps(&table)), (0.0, vec![1e-9, 1e-9]));
    }

    #[test]
    fn a_table_that_ends_early_goes_on_along_the_median_slope() {
        // Slopes by hand: 1 (8 to 16), 2 (16 to 32), 5/3 (8 to 32); the row at 2 is too small to count.
        let rows = vec![row(2, 7.0, 0.0), row(8, 8.0, 0.0), row(16, 16.0, 0.0), row(32, 48.0, 0.2)];
        let table = PairTable::new(0.0, rows).continued();
        let added = table.rows.last().unwrap();
        assert_eq!((added.bytes, added.spread), (64, Some(0.2)));
        assert!((added.gap_s - (48.0 + 32.0 * 5.0 / 3.0)).abs() < 1e-12, "{added:?}");
        let single = PairTable::new(0.0, vec![row(1, 3.0, 0.0)]).continued();
        assert_eq!(gaps(&single), [3.0, 3.0]);
    }

    #[test]
    fn the_median_of_three_pairs_by_hand() {
        let table = |latency_s, last| PairTable::new(latency_s, vec![row(0, 1.0, 0.0), row(10, last, 0.1)]);
        let mut long = table(5.0, 4.0);
        long.rows.push(row(20, 100.0, 0.1));
        let merged = PairTable::median_of(&[&table(1.0, 2.0), &table(2.0, 3.0), &long]);
        assert_eq!(merged.latency_s, 2.0);
        assert_eq!(gaps(&merged), [1.0, 3.0], "only one of three was measured at 20 bytes");
        assert_eq!(merged.rows[1].send_s, 1.5);
        // Quartiles of 2, 3, 4 are 2.5 and 3.5: between the pairs 1/3, more than the 0.1 within them.
        assert!((merged.rows[1].spread.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(merged.rows[1].bulk_s, Some(2.25));
    }

    #[test]
    fn what_only_some_pairs_know_is_taken_from_them() {
        let bare = Row { bulk_s: None, spread: None, ..row(8, 1.0, 0.0) };
        let alone = PairTable::new(0.0, vec![bare]);
        let merged = PairTable::median_of(&[&alone]);
        assert_eq!((merged.rows[0].bulk_s, merged.rows[0].spread), (None, None), "a single sample");
        let class = merged.link_class(vec![]);
        assert_eq!((class.bulk, class.spread), (None, None));
        let other = PairTable::new(0.0, vec![row(8, 1.0, 0.1)]);
        let merged = PairTable::median_of(&[&alone, &other]);
        assert_eq!((merged.rows[0].bulk_s, merged.rows[0].spread), (Some(0.75), Some(0.1)));
    }

    #[test]
    fn steps_of_alike_pairs_are_added_up() {
        let table = |delayed, delay_s| PairTable {
            steps: BTreeMap::from([(8, Step { delayed, samples: 10, delay_s })]),
            ..PairTable::new(0.0, vec![row(8, 1.0, 0.1)])
        };
        let merged = PairTable::median_of(&[&table(3, 0.04), &table(5, 0.042)]);
        let class = merged.link_class(vec![]);
        assert_eq!(class.delayed, [Delayed { bytes: 8, share: 0.4, delay_s: 0.041 }]);
    }

    #[test]
    fn numbers_in_the_file_have_six_digits() {
        assert_eq!(six_digits(1.234_567_89e-5), 1.23457e-5);
        assert_eq!(six_digits(0.0), 0.0);
    }
}
