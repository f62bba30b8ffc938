//! Which pairs of a stretch take about as long for a large message as most others, and which do not.

use super::findings::{Findings, Stretch};
use super::hosts::Pair;
use super::statistic::median;
use crate::platform::NodeId;
use std::collections::HashMap;

/// Gaps that differ by less count as equal: they are to be known to 2 %.
const EQUAL: f64 = 0.015;
/// Gaps differ where they do by more than so many times what the same pair's differ from visit to visit.
const NOISES: f64 = 3.0;

/// The ordered pairs of a stretch by whether they are like most others.
#[derive(Clone, Debug, Default)]
pub struct SortedPairs {
    pub alike: Vec<Pair>,
    pub unlike: Vec<Unlike>,
    /// By what factor gaps of pairs that are alike may differ.
    pub limit: f64,
}

/// A pair that is not like most others of its stretch.
#[derive(Clone, Copy, Debug)]
pub struct Unlike {
    pub pair: Pair,
    /// Its large gap over the usual one.
    pub slowness: f64,
}

impl Findings {
    /// The pairs of a stretch that are alike, and those that are not. Alike are gaps that differ from the most
    /// common one by no more than the samples' own noise, and within the tolerance at most; a pair that was tried
    /// several times is unlike the others only if it was each time, and in the same direction.
    ///
    /// Pairs on one machine differ by which processor the scheduler had to spare: they are alike within the
    /// tolerance.
    pub fn sorted_pairs(&self, stretch: Stretch) -> SortedPairs {
        let tolerance = self.settings.tolerance;
        let known = self.known_gaps(stretch);
        if known.is_empty() {
            let alike = if stretch.0 == stretch.1 { Vec::new() } else { self.pairs_of(stretch).collect() };
            return SortedPairs { alike, unlike: Vec::new(), limit: 1.0 + tolerance };
        }
        let limit = 1.0 + (NOISES * self.noise(stretch)).max(EQUAL).min(tolerance.max(EQUAL));
        let usual_gap_s = most_common(known.iter().map(|&(_, gap_s)| gap_s).collect(), limit);
        let mut sorted = SortedPairs { limit, ..SortedPairs::default() };
        for (pair, gap_s) in known {
            let limit = if self.hosts.together(pair.0, pair.1) { 1.0 + tolerance } else { limit };
            let passes = self.large_gaps.get(&pair).map_or(std::slice::from_ref(&gap_s), Vec::as_slice);
            let is_slower = passes.iter().all(|&pass_s| pass_s > usual_gap_s * limit);
            let is_faster = passes.iter().all(|&pass_s| pass_s * limit < usual_gap_s);
            if is_slower || is_faster {
                sorted.unlike.push(Unlike { pair, slowness: gap_s / usual_gap_s });
            } else {
                sorted.alike.push(pair);
            }
        }
        sorted
    }

    /// By how much, relatively, a pair's gap differs from one visit to another: the median over the pairs that
    /// were visited more than once, 0 without any.
    pub fn noise(&self, stretch: Stretch) -> f64 {
        let range = |passes: &Vec<f64>| {
            let least = passes.iter().copied().fold(f64::INFINITY, f64::min);
            passes.iter().copied().fold(0.0, f64::max) / least - 1.0
        };
        let ranges: Vec<f64> = self.visited_again(stretch).map(range).collect();
        if ranges.is_empty() {
            0.0
        } else {
            median(&ranges)
        }
    }

    /// Whether any pair was, so that the noise is known.
    pub fn visited_twice(&self, stretch: Stretch) -> bool {
        self.visited_again(stretch).next().is_some()
    }

    fn visited_again(&self, stretch: Stretch) -> impl Iterator<Item = &Vec<f64>> {
        self.pairs_of(stretch).filter_map(|pair| self.large_gaps.get(&pair)).filter(|passes| passes.len() > 1)
    }

    /// The large gap of every ordered pair of a stretch, seconds. A pair that was not tried is as slow as the
    /// slower of its ends was at its best.
    fn known_gaps(&self, stretch: Stretch) -> Vec<(Pair, f64)> {
        let mut best_out: HashMap<NodeId, f64> = HashMap::new();
        let mut best_in: HashMap<NodeId, f64> = HashMap::new();
        let tried: HashMap<Pair, f64> = self
            .pairs_of(stretch)
            .filter_map(|pair| self.large_gaps.get(&pair).map(|passes| (pair, median(passes))))
            .collect();
        for (&(from, to), &gap_s) in &tried {
            let keep_least = |best: &mut f64| *best = best.min(gap_s);
            best_out.entry(from).and_modify(keep_least).or_insert(gap_s);
            best_in.entry(to).and_modify(keep_least).or_insert(gap_s);
        }
        self.pairs_of(stretch)
            .filter_map(|pair| {
                let ends = || Some(best_out.get(&pair.0)?.max(*best_in.get(&pair.1)?));
                Some((pair, tried.get(&pair).copied().or_else(ends)?))
            })
            .collect()
    }
}

/// The median of the largest group of values that lie within `limit`² of each other; of two equal groups
/// the smaller values.
///
/// Unlike the plain median it is never between two kinds of pairs.
pub fn most_common(mut values: Vec<f64>, limit: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let (mut best, mut first) = (0..0, 0);
    for last in 0..values.len() {
        while values[last] > values[first] * limit * limit {
            first += 1;
        }
        if last + 1 - first > best.len() {
            best = first..last + 1;
        }
    }
    median(&values[best])
}

#[cfg(test)]
mod tests {
    use super::most_common;

    #[test]
    fn the_most_common_value_is_never_between_two_kinds() {
        assert_eq!(most_common(vec![1.0, 10.0, 10.5, 1.0], 1.3), 1.0);
        assert_eq!(most_common(vec![1.0, 10.0, 10.5, 11.0], 1.3), 10.5);
        assert_eq!(most_common(vec![0.0, 0.0], 1.3), 0.0);
    }
}
