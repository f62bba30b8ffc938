//! The next value of a series, by linear regression that is robust against outliers, phases and alternation.
//!
//! The paper fits one least-squares line. One broadcast of another size bends that line, it follows a new phase of
//! the program late, averages alternating sizes, and does not fit exponentially falling intervals. So several lines
//! compete: through the logarithms or the values, through every value or every second, third or fourth, over the
//! latest few or all of them. Each is Theil and Sen's, the median of the slopes between all pairs, which tolerates a
//! quarter of outliers. The line that would have predicted the latest values best, the latest weighted most, predicts
//! the next.
//!
//! O(n²) for each of a dozen lines and a few past values: about a millisecond for 24 values.

/// The number of latest values by which lines are compared.
const JUDGED: usize = 6;

/// The weight of an error relative to that of the value after it.
const FADING: f64 = 0.5;

/// A line needs to be this much better than a simpler one before it (in relative error) to be taken.
const WORTHWHILE: f64 = 1e-6;

/// Limit of an error: a factor of ten is no worse than a factor of three.
const WORST_ERROR: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    /// The period of the series, in values.
    stride: usize,
    is_log: bool,
    /// The number of values, at the stride, that it is fitted to.
    through: usize,
}

/// Simplest first: of equally good ones the first is taken.
fn lines() -> impl Iterator<Item = Line> {
    (1..=4).flat_map(|stride| {
        [24, 8, 4, 1].into_iter().flat_map(move |through| {
            // Through one value both are equal.
            [false, true].into_iter().filter(move |&is_log| through > 1 || !is_log).map(move |is_log| Line {
                stride,
                is_log,
                through,
            })
        })
    })
}

impl Line {
    /// The value after the last of `series`, if there are enough for the line.
    fn next(self, series: &[f64]) -> Option<f64> {
        let scaled = |&value: &f64| if self.is_log { value.ln() } else { value };
        if self.is_log && series.iter().any(|&value| value <= 0.0) {
            return None;
        }
        let mut values: Vec<f64> = series.iter().map(scaled).rev().skip(self.stride - 1).collect();
        values = values.into_iter().step_by(self.stride).take(self.through).collect();
        // A stride needs at least two repetitions.
        if values.is_empty() || (self.stride > 1 && values.len() < 2) {
            return None;
        }
        values.reverse();
        let next = theil_sen(&values);
        Some(if self.is_log { next.exp() } else { next })
    }

    /// The relative error that the line would have had for the latest values.
    fn error(self, series: &[f64]) -> f64 {
        let (mut error, mut weight, mut whole) = (0.0, 1.0, 0.0);
        for at in (1..series.len()).rev().take(JUDGED) {
            let off = match self.next(&series[..at]) {
                Some(value) => {
                    let size = value.abs().max(series[at].abs());
                    if size > 0.0 {
                        ((value - series[at]).abs() / size).min(WORST_ERROR)
                    } else {
                        0.0
                    }
                }
                None => WORST_ERROR,
            };
            error += weight * off;
            whole += weight;
            weight *= FADING;
        }
        error / f64::max(whole, f64::MIN_POSITIVE)
    }
}

/// The value after the last of `values` on their Theil-Sen line.
fn theil_sen(values: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (at, &later) in values.iter().enumerate() {
        slopes.extend(values[..at].iter().enumerate().map(|(before, &v)| (later - v) / (at - before) as f64));
    }
    let slope = if slopes.is_empty() { 0.0 } else { median(slopes) };
    let levels = values.iter().enumerate().map(|(at, value)| value - slope * at as f64).collect();
    median(levels) + slope * values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        0.5 * (values[middle - 1] + values[middle])
    }
}

/// The predicted next value of `series` (oldest first, finite); `None` for an empty one.
///
/// ```
/// use broadleaf::adapt::predict::next;
/// assert_eq!(next(&[100.0, 90.0, 80.0, 70.0]), Some(60.0));
/// // One wild value does not bend the line.
/// assert_eq!(next(&[100.0, 90.0, 5000.0, 70.0, 60.0, 50.0]), Some(40.0));
/// // Exponential fall; alternation.
/// assert!((next(&[80.0, 40.0, 20.0, 10.0]).unwrap() - 5.0).abs() < 1e-9);
/// assert_eq!(next(&[1.0, 7.0, 1.0, 7.0, 1.0, 7.0]), Some(1.0));
/// ```
pub fn next(series: &[f64]) -> Option<f64> {
    let mut best: Option<(f64, f64)> = None;
    for line in lines() {
        let Some(value) = line.next(series) else { continue };
        let error = line.error(series);
        if best.is_none_or(|(least, _)| error < least - WORTHWHILE) {
            best = Some((error, value));
        }
    }
    best.map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_median_of_slopes_against_least_squares_by_hand() {
        // Through (0,0), (1,1), (2,2), (3,30): least squares gives 9.3 x − 5.7, so 31.5 at 4; the median slope of
        // {1, 1, 1, 10, 14.5, 28} is 5.5, the median of {0, −4.5, −9, 13.5} is −2.25.
        assert_eq!(theil_sen(&[0.0, 1.0, 2.0, 30.0]), -2.25 + 5.5 * 4.0);
        assert_eq!(theil_sen(&[3.0]), 3.0);
    }

    #[test]
    fn a_new_phase_is_followed_after_two_values() {
        let mut series = vec![1e6; 20];
        series.extend([64e3; 2]);
        assert_eq!(next(&series), Some(64e3));
        // One value alone may be an outlier.
        assert_eq!(next(&series[..21]), Some(1e6));
    }

    #[test]
    fn the_papers_program_is_predicted() {
        let sizes: Vec<f64> = (0..60).map(|call| (1e6 - 1e6 / 60.0 * f64::from(call)).round()).collect();
        let gaps_s: Vec<f64> = (0..60).map(|call| 90.0 * 0.97f64.powi(call)).collect();
        for now in 3..60 {
            let latest = now.max(24) - 24;
            assert!((next(&sizes[latest..now]).unwrap() - sizes[now]).abs() <= 2.0, "size of call {now}");
            let off = next(&gaps_s[latest..now]).unwrap() / gaps_s[now];
            assert!((off - 1.0).abs() < 1e-6, "interval before call {now}: {off}");
        }
    }

    #[test]
    fn noise_and_wild_values_cost_little() {
        let mut random = Random::new(3);
        let mut off = Vec::new();
        for _ in 0..100 {
            let (start, slope) = (random.between(50.0, 100.0), random.between(-1.0, 1.0));
            let series: Vec<f64> = (0..24)
                .map(|at| {
                    let wild = if random.chance(0.1) { 10.0 } else { 1.0 };
                    wild * (start + slope * f64::from(at)) * random.gaussian(1.0, 0.02)
                })
                .collect();
            off.push((next(&series).unwrap() / (start + slope * 24.0) - 1.0).abs());
        }
        // Half of the predictions are within 5 %: accurate enough for sizes a factor of two apart.
        assert!(median(off.clone()) < 0.05, "{}", median(off));
    }

    #[test]
    fn nothing_panics_on_odd_series() {
        assert_eq!(next(&[]), None);
        assert_eq!(next(&[0.0]), Some(0.0));
        assert_eq!(next(&[0.0, 0.0, 0.0]), Some(0.0));
        assert!(next(&[5.0, 0.0, -3.0, 1e300]).unwrap().is_finite());
    }
}
