//! One-way times of empty messages, and the pairs whose time differs from the others between the same clusters.
//!
//! Distances in a cluster differ if it is a chain of short steps (the neighbours of a torus); so may those between two
//! clusters. With a common clock, the two directions of a pair may differ too: routes may be asymmetric. Without one,
//! each direction counts as half of a round trip.

use super::findings::{ClusterPair, Findings};
use super::hosts::NodePair;
use super::outliers::most_common;
use super::statistics::{lower_quartile, median};
use crate::measure::settings::outliers::{EQUAL_LATENCIES, NOISE_FACTOR};
use std::cmp::Reverse;

/// The usual one-way time between two clusters.
#[derive(Clone, Copy, Debug)]
pub struct OneWayLatencies {
    /// The most common one, seconds.
    pub usual_s: f64,
    /// Relative difference above which a time is not the usual one.
    limit: f64,
}

impl OneWayLatencies {
    pub fn of(known: &Findings, cluster_pair: ClusterPair) -> OneWayLatencies {
        let pairs: Vec<NodePair> = known.pairs_of(cluster_pair).collect();
        let noises: Vec<f64> = pairs
            .iter()
            .filter(|(a, b)| !known.hosts.same_host(*a, *b))
            .map(|&pair| known.one_way_halves_s(pair))
            .filter(|[one, other]| *one > 0.0 && *other > 0.0)
            .map(|[one, other]| (one / other).ln().abs())
            .collect();
        let tolerance = known.settings.tolerance;
        let noise = if noises.is_empty() { 0.0 } else { median(&noises) };
        let limit = (NOISE_FACTOR * noise).max(EQUAL_LATENCIES).min(tolerance.max(EQUAL_LATENCIES));
        let times_s = pairs.iter().map(|&pair| known.one_way_s(pair)).collect();
        OneWayLatencies { usual_s: most_common(times_s, 1.0 + limit), limit }
    }

    /// Whether the pair's time differs from the usual one, in both halves of its samples.
    pub fn differs(&self, known: &Findings, pair: NodePair) -> bool {
        let halves = known.one_way_halves_s(pair);
        let is_longer = |way_s: &f64| *way_s > (1.0 + self.limit) * self.usual_s;
        let is_shorter = |way_s: &f64| *way_s * (1.0 + self.limit) < self.usual_s;
        halves.iter().all(is_longer) || halves.iter().all(is_shorter)
    }
}

impl Findings {
    /// The one-way time of an empty message on a quiet network, seconds; 0 before the first sample.
    pub fn one_way_s(&self, pair: NodePair) -> f64 {
        self.share_of_trip(pair) * self.round_trip_s(pair)
    }

    /// The same from the first and from the second half of the samples, which were taken at different times.
    fn one_way_halves_s(&self, pair @ (a, b): NodePair) -> [f64; 2] {
        match self.round_trips.get(&(a.min(b), a.max(b))) {
            Some(samples) if samples.len() > 1 && !self.hosts.same_host(a, b) => {
                let (first, second) = samples.split_at(samples.len() / 2);
                [first, second].map(|half| self.share_of_trip(pair) * lower_quartile(half))
            }
            _ => [self.one_way_s(pair); 2],
        }
    }

    /// The share of the one-way time in the empty round trip.
    fn share_of_trip(&self, (a, b): NodePair) -> f64 {
        let shares = self.one_way_shares.get(&(a.min(b), a.max(b))).filter(|shares| !shares.is_empty());
        match shares.map(|shares| median(shares)) {
            Some(share) if !self.hosts.same_host(a, b) => {
                if a < b {
                    share
                } else {
                    1.0 - share
                }
            }
            _ => 0.5,
        }
    }

    /// The pair that represents the link between two clusters: of the typical ones that from the first sender to the
    /// last receiver, so that a cluster's sender is not its receiver.
    pub fn representative(&self, cluster_pair: ClusterPair) -> NodePair {
        let one_way = OneWayLatencies::of(self, cluster_pair);
        let typical = self.split_pairs(cluster_pair).typical;
        let place = |&&(from, to): &&NodePair| (from, Reverse(to));
        let usual = typical.iter().filter(|&&pair| !one_way.differs(self, pair)).min_by_key(place);
        let (senders, receivers) = (&self.clusters[cluster_pair.0], &self.clusters[cluster_pair.1]);
        usual
            .or(typical.iter().min_by_key(place))
            .copied()
            .unwrap_or((senders[0], receivers[receivers.len() - 1]))
    }
}
