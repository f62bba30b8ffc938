//! The one linear program that is solved exactly: max Σ x over A x ≤ 1, x ≥ 0, A ≥ 0; columns and rows are added when
//! they are needed.
//!
//! A primal simplex after new columns, a dual one after new rows, on the dense inverse of the basis. General solvers
//! were rejected: they restart from scratch each time, while this one needs a few pivots of rows² operations.

use super::inverse::{basis_inverse, Sparse};
use crate::random::scatter;

/// A column: (row, value > 0).
pub(crate) type Column = Vec<(u32, f64)>;

/// Values smaller than this are zero to the simplex.
const ZERO: f64 = 1e-11;
/// No pivot is smaller than this.
const LEAST_PIVOT: f64 = 1e-8;
/// A column enters if it gains at least this per unit, which is the accuracy of the optimum.
const GAIN: f64 = 1e-9;
/// A level below zero by more than this is repaired.
const BELOW: f64 = 1e-10;
/// By how much the right sides differ at first, and at most: among many equal columns, rounding can be larger than the
/// differences, and the pivots then go round in circles.
const SPREAD: f64 = 1e-9;
const MOST_SPREAD: f64 = 1e-5;
/// Pivots for each row and column after which they are taken to go round.
const PATIENCE: usize = 16;
/// Pivots after which the inverse is computed again, so that rounding does not add up.
const FRESH: usize = 400;

#[derive(Clone, Debug, Default)]
pub(crate) struct Simplex {
    columns: Vec<Column>,
    basis: Vec<Member>,
    /// By row, that column of the basis' inverse.
    inverse: Vec<Vec<f64>>,
    /// By basis position.
    level: Vec<f64>,
    right: Vec<f64>,
    prices: Vec<f64>,
    column_in_basis: Vec<bool>,
    slack_in_basis: Vec<bool>,
    /// Since the inverse was computed.
    pivots: usize,
    /// Entries of the inverse that all pivots have changed.
    pub entries_changed: usize,
    /// How often the right sides were spread ten times as far.
    spreads: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Slack(u32),
    Column(u32),
}

impl Simplex {
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// The gain of a column per unit under the present prices.
    pub fn gain(&self, column: &[(u32, f64)]) -> f64 {
        1.0 - column.iter().map(|&(row, value)| self.prices[row as usize] * value).sum::<f64>()
    }

    pub fn add_column(&mut self, column: Column) {
        self.columns.push(column);
        self.column_in_basis.push(false);
    }

    /// Adds a row, given by its value in each column so far.
    pub fn add_row(&mut self, values: &[f64]) {
        let row = self.right.len() as u32;
        self.right.push(self.right_of(row));
        for (column, &value) in self.columns.iter_mut().zip(values) {
            if value > 0.0 {
                column.push((row, value));
            }
        }
        let in_basis: Vec<(usize, f64)> = (self.basis.iter().enumerate())
            .filter_map(|(position, member)| match *member {
                Member::Column(at) if values[at as usize] > 0.0 => Some((position, values[at as usize])),
                _ => None,
            })
            .collect();
        let against =
            |by: &[f64]| -in_basis.iter().map(|&(position, value)| value * by[position]).sum::<f64>();
        for column in &mut self.inverse {
            let entry = against(column);
            column.push(entry);
        }
        let mut unit = vec![0.0; self.right.len()];
        unit[row as usize] = 1.0;
        self.inverse.push(unit);
        self.level.push(self.right[row as usize] + against(&self.level));
        self.basis.push(Member::Slack(row));
        self.slack_in_basis.push(true);
        self.prices.push(0.0);
    }

    /// Slightly different right sides break ties between equal ratios, so that every pivot makes progress. The shares
    /// are scaled to the exact loads afterwards; the spread is lost at most.
    fn right_of(&self, row: u32) -> f64 {
        1.0 - self.spread() * scatter(u64::from(row))
    }

    fn spread(&self) -> f64 {
        SPREAD * 10f64.powi(self.spreads)
    }

    /// The columns' levels.
    pub fn solution(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.columns.len()];
        for (position, member) in self.basis.iter().enumerate() {
            if let Member::Column(column) = member {
                x[*column as usize] = self.level[position].max(0.0);
            }
        }
        x
    }

    /// Pivots until every level is ≥ 0 and no known column gains.
    pub fn optimise(&mut self) {
        self.repair();
        let mut left = self.patience();
        while let Some(entering) = self.best_entering() {
            if left == 0 {
                // The levels are feasible, and any prices bound the optimum.
                if self.spread() >= MOST_SPREAD {
                    return;
                }
                self.spread_further();
                left = self.patience();
                continue;
            }
            let change = self.change(entering);
            let Some(leaving) = self.first_to_empty(&change) else { return };
            self.pivot(entering, leaving, &change);
            left -= 1;
        }
    }

    fn patience(&self) -> usize {
        PATIENCE * (self.right.len() + self.columns.len())
    }

    /// Starts again with right sides that differ more.
    fn spread_further(&mut self) {
        self.spreads += 1;
        self.right = (0..self.right.len() as u32).map(|row| self.right_of(row)).collect();
        self.restart();
    }

    /// The dual simplex: while a level is below zero, its member is replaced by the one whose price rises least.
    ///
    /// Many trees often tie under the prices, and the dual simplex then wanders; after some pivots the basis of slacks,
    /// which needs no repair, is the faster start.
    fn repair(&mut self) {
        for _ in 0..20 + self.right.len() / 4 {
            let worst = (0..self.level.len()).min_by(|&a, &b| self.level[a].total_cmp(&self.level[b]));
            let Some(leaving) = worst.filter(|&position| self.level[position] < -BELOW) else { return };
            let mut offers: Vec<(Member, f64, f64)> = Vec::new();
            for (at, column) in self.columns.iter().enumerate() {
                if !self.column_in_basis[at] {
                    let rate =
                        column.iter().map(|&(row, value)| value * self.inverse[row as usize][leaving]).sum();
                    offers.push((Member::Column(at as u32), rate, -self.gain(column)));
                }
            }
            for row in 0..self.right.len() {
                if !self.slack_in_basis[row] {
                    offers.push((Member::Slack(row as u32), self.inverse[row][leaving], self.prices[row]));
                }
            }
            offers.retain(|offer| offer.1 < -LEAST_PIVOT);
            let ratios = offers.iter().map(|&(member, rate, loss)| (member, -rate, loss));
            let entering = largest_of_least(ratios);
            // x = 0 is always feasible, so only rounding can leave no member to enter.
            let Some(entering) = entering else { break };
            let change = self.change(entering);
            self.pivot(entering, leaving, &change);
        }
        self.restart();
    }

    /// Back to the basis of all slacks.
    fn restart(&mut self) {
        for (row, column) in self.inverse.iter_mut().enumerate() {
            column.fill(0.0);
            column[row] = 1.0;
        }
        self.basis = (0..self.right.len() as u32).map(Member::Slack).collect();
        self.level.copy_from_slice(&self.right);
        self.prices.fill(0.0);
        self.column_in_basis.fill(false);
        self.slack_in_basis.fill(true);
        self.pivots = 0;
    }

    fn best_entering(&self) -> Option<Member> {
        let mut best = GAIN;
        let mut entering = None;
        for (at, column) in self.columns.iter().enumerate() {
            if !self.column_in_basis[at] {
                let gain = self.gain(column);
                if gain > best {
                    best = gain;
                    entering = Some(Member::Column(at as u32));
                }
            }
        }
        for (row, &price) in self.prices.iter().enumerate() {
            if -price > best && !self.slack_in_basis[row] {
                best = -price;
                entering = Some(Member::Slack(row as u32));
            }
        }
        entering
    }

    /// The decrease of each level per unit of the entering member.
    fn change(&self, entering: Member) -> Vec<f64> {
        let mut change = vec![0.0; self.right.len()];
        let mut accumulate = |row: u32, value: f64| {
            let column = &self.inverse[row as usize];
            change.iter_mut().zip(column).for_each(|(sum, &entry)| *sum += value * entry);
        };
        match entering {
            Member::Column(at) => {
                self.columns[at as usize].iter().for_each(|&(row, value)| accumulate(row, value));
            }
            Member::Slack(row) => accumulate(row, 1.0),
        }
        change
    }

    fn first_to_empty(&self, change: &[f64]) -> Option<usize> {
        let falling = change.iter().enumerate().filter(|(_, &by)| by > LEAST_PIVOT);
        largest_of_least(falling.map(|(position, &by)| (position, by, self.level[position])))
    }

    fn pivot(&mut self, entering: Member, leaving: usize, change: &[f64]) {
        let gain = match entering {
            Member::Column(at) => self.gain(&self.columns[at as usize]),
            Member::Slack(row) => -self.prices[row as usize],
        };
        let pivot = change[leaving];
        let step = self.level[leaving] / pivot;
        for (level, &by) in self.level.iter_mut().zip(change) {
            *level -= step * by;
        }
        self.level[leaving] = step;
        let mut changed = 0;
        for (column, price) in self.inverse.iter_mut().zip(&mut self.prices) {
            let factor = column[leaving] / pivot;
            if factor.abs() > ZERO {
                column.iter_mut().zip(change).for_each(|(entry, &by)| *entry -= factor * by);
                column[leaving] = factor;
                *price += gain * factor;
                changed += change.len();
            } else {
                column[leaving] = 0.0;
            }
        }
        self.mark(self.basis[leaving], false);
        self.mark(entering, true);
        self.basis[leaving] = entering;
        self.pivots += 1;
        self.entries_changed += changed;
        if self.pivots >= FRESH {
            self.refresh();
        }
    }

    fn mark(&mut self, member: Member, in_basis: bool) {
        match member {
            Member::Slack(row) => self.slack_in_basis[row as usize] = in_basis,
            Member::Column(at) => self.column_in_basis[at as usize] = in_basis,
        }
    }

    /// Computes the inverse, levels and prices again from the basis; the present ones are better than those of a nearly
    /// singular one.
    fn refresh(&mut self) {
        let rows = self.right.len();
        self.pivots = 0;
        let sparse: Vec<Sparse> = (self.basis.iter())
            .map(|member| match *member {
                Member::Slack(row) => Sparse::Unit(row as usize),
                Member::Column(at) => Sparse::Entries(&self.columns[at as usize]),
            })
            .collect();
        let Some(inverse) = basis_inverse(&sparse) else { return };
        self.inverse = inverse;
        self.level.fill(0.0);
        for row in 0..rows {
            let column = &self.inverse[row];
            let by = self.right[row];
            self.level.iter_mut().zip(column).for_each(|(level, &entry)| *level += by * entry);
            let gained = self.basis.iter().zip(column);
            self.prices[row] = gained
                .map(|(member, &entry)| if matches!(member, Member::Column(_)) { entry } else { 0.0 })
                .sum();
        }
    }
}

/// Of (name, rate > 0, amount), the name with the least amount / rate, and among those within `SLIP` of it the one with
/// the largest rate, because small pivots spoil the inverse (Harris' test). Ties to the first.
fn largest_of_least<T: Copy>(offers: impl Iterator<Item = (T, f64, f64)> + Clone) -> Option<T> {
    const SLIP: f64 = 1e-10;
    let limit =
        offers.clone().map(|(_, rate, amount)| (amount.max(0.0) + SLIP) / rate).fold(f64::INFINITY, f64::min);
    let mut largest = 0.0;
    let mut best = None;
    for (name, rate, amount) in offers {
        if amount.max(0.0) <= limit * rate && rate > largest {
            largest = rate;
            best = Some(name);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows and columns in any order of arrival give the same optimum, proved by the prices.
    #[test]
    fn rows_that_come_late_count_as_well() {
        let mut pick = 0u64;
        let mut next = || {
            pick += 1;
            scatter(pick)
        };
        for _ in 0..50 {
            let (rows, columns) = (9, 14);
            let matrix: Vec<Vec<f64>> = (0..rows)
                .map(|_| (0..columns).map(|_| if next() < 0.5 { next() } else { 0.0 }).collect())
                .collect();
            let of = |upto: usize, at: usize| -> Column {
                (0..upto).map(|row| (row as u32, matrix[row][at])).filter(|entry| entry.1 > 0.0).collect()
            };
            let mut early = Simplex::default();
            (0..rows).for_each(|_| early.add_row(&[]));
            (0..columns).for_each(|at| early.add_column(of(rows, at)));
            early.optimise();
            let mut late = Simplex::default();
            // The first row bounds every column.
            let all: Vec<f64> = (0..columns).map(|_| 0.1).collect();
            late.add_row(&[]);
            (0..columns).for_each(|_| late.add_column(vec![(0, 0.1)]));
            late.optimise();
            for row in &matrix {
                late.add_row(row);
                late.optimise();
            }
            early.add_row(&all);
            early.optimise();
            let by_pivots = late.clone();
            late.refresh();
            let pairs = by_pivots.inverse.iter().flatten().zip(late.inverse.iter().flatten());
            assert!(
                pairs.clone().count() == 100 && pairs.clone().all(|(one, other)| (one - other).abs() < 1e-9)
            );
            for solved in [&early, &late] {
                let x = solved.solution();
                for row in &matrix {
                    assert!(row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>() < 1.0 + 1e-8);
                }
                let value: f64 = x.iter().sum();
                let priced: f64 = solved.prices().iter().sum();
                assert!((value - priced).abs() < 1e-7, "{value} {priced}");
                assert!(solved.prices().iter().all(|&price| price > -1e-8));
                assert!(solved.columns.iter().all(|column| solved.gain(column) < 1e-8));
            }
        }
    }
}
