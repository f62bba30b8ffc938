//! Medians and quartiles: a few samples that the scheduler delayed must not move a result.
//!
//! Alternating samples need means first. A shaper passes messages of 1 KiB in twos and threes, so their round trips
//! alternate between 24 and 70 µs where the rate gives 45 µs. Their median is one or the other by chance; only means
//! over several consecutive samples measure the network.

use crate::measure::settings::samples::{ALTERNATING_SPREAD, MIN_MEANS, SAMPLES_PER_MEAN};

/// Median and quartiles of some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    /// Third quartile minus first.
    pub range: f64,
    /// Error of the median: half of its 95 % confidence interval.
    pub error: f64,
}

impl Summary {
    /// `samples` must not be empty.
    pub fn of(samples: &[f64]) -> Summary {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Summary {
            median: quantile(&sorted, 0.5),
            range: quantile(&sorted, 0.75) - quantile(&sorted, 0.25),
            error: median_error(&sorted),
        }
    }

    /// The summary of samples in the order of measurement; of alternating ones, by the median of the means of several
    /// consecutive samples.
    ///
    /// The range stays that of single samples.
    pub fn in_turn(samples: &[f64]) -> Summary {
        let all = Summary::of(samples);
        let means: Vec<f64> = samples
            .chunks_exact(SAMPLES_PER_MEAN)
            .map(|row| row.iter().sum::<f64>() / row.len() as f64)
            .collect();
        if all.spread() < ALTERNATING_SPREAD || means.len() < MIN_MEANS {
            return all;
        }
        Summary { range: all.range, ..Summary::of(&means) }
    }

    /// Interquartile range over median; 0 where the median is 0.
    pub fn spread(&self) -> f64 {
        relative(self.range, self.median)
    }
}

/// For any distribution of samples, the number of them below its median is binomial: so the samples
/// 1.96 · √n / 2 places from the middle on either side enclose it 19 times in 20. Few samples do not get that
/// far, and all of them together are the interval.
fn median_error(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    let below = ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).max(0.0) as usize;
    (sorted[count - 1 - below] - sorted[below]) / 2.0
}

/// `range / median`, 0 where the median is 0.
pub fn relative(range: f64, median: f64) -> f64 {
    if median > 0.0 {
        range / median
    } else {
        0.0
    }
}

pub fn median(samples: &[f64]) -> f64 {
    Summary::of(samples).median
}

/// The time with little disturbance: delays only add, so with few samples the lower quartile is nearer to the true
/// value than the median.
pub fn lower_quartile(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.25)
}

/// The time with the usual disturbances.
pub fn upper_quartile(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.75)
}

/// Linear between the two samples around the place, as in R's type 7 and NumPy.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_by_hand() {
        let summary = Summary::of(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(summary, Summary { median: 3.0, range: 2.0, error: 2.0 });
        assert_eq!(median(&[1.0, 2.0, 4.0, 100.0]), 3.0);
        assert_eq!(lower_quartile(&[5.0, 1.0, 4.0, 2.0, 3.0]), 2.0);
        assert_eq!(upper_quartile(&[5.0, 1.0, 4.0, 2.0, 3.0]), 4.0);
        assert_eq!(Summary::of(&[7.0]), Summary { median: 7.0, range: 0.0, error: 0.0 });
        assert_eq!(Summary::of(&[0.0, 0.0]).spread(), 0.0);
    }

    #[test]
    fn samples_that_swing_are_judged_by_the_means_of_several_in_a_row() {
        // Twos and threes: 20, 80 and 20, 20, 95, and 48 on average.
        let mut swinging: Vec<f64> =
            (0..20).flat_map(|_| [20.0, 80.0, 20.0, 20.0, 95.0, 20.0, 80.0]).collect();
        let summary = Summary::in_turn(&swinging);
        assert_eq!(median(&swinging), 20.0);
        assert!((summary.median - 47.9).abs() < 4.0 && summary.error < 4.0, "{summary:?}");
        assert_eq!(summary.range, Summary::of(&swinging).range);
        // A scheduler's delay of one sample affects one mean.
        swinging[30] = 5000.0;
        assert!((Summary::in_turn(&swinging).median - 47.9).abs() < 4.0);
        // Neither few samples nor steady ones are averaged.
        assert_eq!(Summary::in_turn(&swinging[..16]), Summary::of(&swinging[..16]));
        let steady: Vec<f64> = (0..100).map(|at| if at % 9 == 0 { 900.0 } else { 10.0 }).collect();
        assert_eq!(Summary::in_turn(&steady).median, 10.0);
    }

    /// Of 20 samples 5 are left out at either end: (20 − 1.96 · 4.47) / 2 = 5.6. By the binomial distribution
    /// the sixth and the fifteenth enclose the median with 95.9 %.
    #[test]
    fn the_error_of_a_median_by_hand() {
        let samples: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(Summary::of(&samples).error, (14.0 - 5.0) / 2.0);
        let chosen = |k: u64| (1..=k).fold(1.0, |ways, i| ways * (21 - i) as f64 / i as f64) / 2f64.powi(20);
        assert!(((6..=14).map(chosen).sum::<f64>() - 0.959).abs() < 1e-3);
    }
}
