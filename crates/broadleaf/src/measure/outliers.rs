//! Splits the pairs between the same two clusters by their time for a large message: most, and those that differ.

use super::findings::{ClusterPair, Findings};
use super::hosts::NodePair;
use super::statistics::median;
use crate::measure::settings::outliers::{EQUAL_GAPS, NOISE_FACTOR};
use crate::platform::NodeId;
use std::collections::HashMap;

/// The ordered pairs from one cluster to another, or inside one, typical ones and outliers.
#[derive(Clone, Debug, Default)]
pub struct PairSplit {
    pub typical: Vec<NodePair>,
    pub outliers: Vec<Outlier>,
    /// The factor by which gaps of typical pairs may differ.
    pub limit: f64,
}

/// A pair whose gap differs from that of most others.
#[derive(Clone, Copy, Debug)]
pub struct Outlier {
    pub pair: NodePair,
    /// Its large gap over the usual one.
    pub slowness: f64,
}

impl Findings {
    /// The typical pairs, and the outliers. A typical gap differs from the most common one by no more than the samples'
    /// own noise, and within the tolerance at most; a pair that was timed several times is an outlier only if it was
    /// one each time, in the same direction.
    ///
    /// Pairs on one machine differ by the processors that the scheduler chose: up to the tolerance they are typical.
    pub fn split_pairs(&self, cluster_pair: ClusterPair) -> PairSplit {
        let tolerance = self.settings.tolerance;
        let known = self.known_gaps(cluster_pair);
        if known.is_empty() {
            let is_inside = cluster_pair.0 == cluster_pair.1;
            let typical = if is_inside { Vec::new() } else { self.pairs_of(cluster_pair).collect() };
            return PairSplit { typical, outliers: Vec::new(), limit: 1.0 + tolerance };
        }
        let limit =
            1.0 + (NOISE_FACTOR * self.noise(cluster_pair)).max(EQUAL_GAPS).min(tolerance.max(EQUAL_GAPS));
        let usual_gap_s = most_common(known.iter().map(|&(_, gap_s)| gap_s).collect(), limit);
        let mut split = PairSplit { limit, ..PairSplit::default() };
        for (pair, gap_s) in known {
            let limit = if self.hosts.same_host(pair.0, pair.1) { 1.0 + tolerance } else { limit };
            let passes = self.large_gaps.get(&pair).map_or(std::slice::from_ref(&gap_s), Vec::as_slice);
            let is_slower = passes.iter().all(|&pass_s| pass_s > usual_gap_s * limit);
            let is_faster = passes.iter().all(|&pass_s| pass_s * limit < usual_gap_s);
            if is_slower || is_faster {
                split.outliers.push(Outlier { pair, slowness: gap_s / usual_gap_s });
            } else {
                split.typical.push(pair);
            }
        }
        split
    }

    /// The relative difference of a pair's gap from one visit to another: the median over the pairs that were visited
    /// more than once, 0 without any.
    pub fn noise(&self, cluster_pair: ClusterPair) -> f64 {
        let range = |passes: &Vec<f64>| {
            let least = passes.iter().copied().fold(f64::INFINITY, f64::min);
            passes.iter().copied().fold(0.0, f64::max) / least - 1.0
        };
        let ranges: Vec<f64> = self.visited_again(cluster_pair).map(range).collect();
        if ranges.is_empty() {
            0.0
        } else {
            median(&ranges)
        }
    }

    /// Whether any pair was visited more than once, so that the noise is known.
    pub fn visited_twice(&self, cluster_pair: ClusterPair) -> bool {
        self.visited_again(cluster_pair).next().is_some()
    }

    fn visited_again(&self, cluster_pair: ClusterPair) -> impl Iterator<Item = &Vec<f64>> {
        self.pairs_of(cluster_pair)
            .filter_map(|pair| self.large_gaps.get(&pair))
            .filter(|passes| passes.len() > 1)
    }

    /// The large gap of every ordered pair of nodes, seconds. The gap of an untimed pair is that of the slower of its
    /// ends, at its fastest.
    fn known_gaps(&self, cluster_pair: ClusterPair) -> Vec<(NodePair, f64)> {
        let mut best_out: HashMap<NodeId, f64> = HashMap::new();
        let mut best_in: HashMap<NodeId, f64> = HashMap::new();
        let tried: HashMap<NodePair, f64> = self
            .pairs_of(cluster_pair)
            .filter_map(|pair| self.large_gaps.get(&pair).map(|passes| (pair, median(passes))))
            .collect();
        for (&(from, to), &gap_s) in &tried {
            let keep_least = |best: &mut f64| *best = best.min(gap_s);
            best_out.entry(from).and_modify(keep_least).or_insert(gap_s);
            best_in.entry(to).and_modify(keep_least).or_insert(gap_s);
        }
        self.pairs_of(cluster_pair)
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
