//! The speedup of planned calls over native ones, from samples of both.
//!
//! The estimate is the median of all ratios native/planned (Hodges and Lehmann), its interval that of the
//! Mann–Whitney test (Moses): ratios are sorted, and as many are cut off at each end as the ranks of two equal
//! populations permit. It assumes no distribution of the times, and one outlier moves neither end.

use serde_json::{json, Value};

/// The error probability of either end of the interval: 95 % of intervals hold the true ratio.
const MISSED: f64 = 0.025;

/// The resolution of the clock, s: the least divisor.
const SHORTEST_S: f64 = 1e-9;

/// Above 1: planned calls are faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Speedup {
    /// Of planned calls over native ones, both in seconds. None: too few samples for an interval.
    pub fn of(native_s: &[f64], planned_s: &[f64]) -> Option<Speedup> {
        let cut = cut_off(native_s.len(), planned_s.len())?;
        let ratio = |native: &f64, planned: &f64| native.max(SHORTEST_S) / planned.max(SHORTEST_S);
        let mut ratios: Vec<f64> = native_s
            .iter()
            .flat_map(|native| planned_s.iter().map(move |planned| ratio(native, planned)))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len() - 1;
        let median = (ratios[last / 2] + ratios[ratios.len() / 2]) / 2.0;
        Some(Speedup { median, low: ratios[cut], high: ratios[last - cut] })
    }

    pub fn to_json(self) -> Value {
        json!({"median": self.median, "low": self.low, "high": self.high})
    }
}

/// How many of the ratios lie beyond each end of the interval. None: all of them and more would have to.
fn cut_off(native: usize, planned: usize) -> Option<usize> {
    let ways = ways(native, planned);
    let all: f64 = ways.iter().map(|&ways| ways as f64).sum();
    let mut below = 0.0;
    let cut = ways.iter().take_while(|&&ways| {
        below += ways as f64;
        below <= MISSED * all
    });
    cut.count().checked_sub(1)
}

/// For each number of inverted pairs, the orders of `a` values among `b` others: the coefficients of the Gaussian
/// binomial, the product over i of (1 - x^(b + i)) / (1 - x^i).
fn ways(a: usize, b: usize) -> Vec<i128> {
    let mut ways = vec![0; a * b + 1];
    ways[0] = 1;
    for i in 1..=a {
        for pairs in (b + i..ways.len()).rev() {
            ways[pairs] -= ways[pairs - b - i];
        }
        for pairs in i..ways.len() {
            ways[pairs] += ways[pairs - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_as_by_hand() {
        // Of two values among two others: aabb, abab, abba and baab, baba, bbaa.
        assert_eq!(ways(2, 2), [1, 1, 2, 1, 1]);
        assert_eq!(ways(1, 3), [1, 1, 1, 1]);
        // All choices of 32 out of 64.
        assert_eq!(ways(32, 32).iter().sum::<i128>(), 1_832_624_140_942_590_534);
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Critical values of the Mann–Whitney U at 5 %, two-sided: 0 at 4 and 4, 2 at 5 and 5, 23 at 10 and 10.
        assert_eq!([cut_off(4, 4), cut_off(5, 5), cut_off(10, 10)], [Some(0), Some(2), Some(23)]);
        // Even the most extreme order of three and three comes up in one of ten cases.
        assert_eq!([cut_off(3, 3), cut_off(1, 30), cut_off(0, 9)], [None, None, None]);
        assert_eq!(cut_off(1, 39), Some(0));
    }

    #[test]
    fn a_ratio_worked_by_hand() {
        // 16 ratios: 1, 1, 1.5, 1.5, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 6, 6.
        let found = Speedup::of(&[2.0, 6.0, 4.0, 3.0], &[1.0, 2.0, 2.0, 1.0]).unwrap();
        assert_eq!(found, Speedup { median: 2.5, low: 1.0, high: 6.0 });
    }

    #[test]
    fn one_outlier_of_many_moves_no_end() {
        let (native, mut planned) = (vec![3.0; 10], vec![1.0; 10]);
        planned[4] = 1000.0;
        let found = Speedup::of(&native, &planned).unwrap();
        assert_eq!(found, Speedup { median: 3.0, low: 3.0, high: 3.0 });
    }

    #[test]
    fn a_clock_that_stands_still_divides_by_nothing() {
        assert_eq!(Speedup::of(&[0.0; 4], &[0.0; 4]).unwrap().median, 1.0);
    }
}
