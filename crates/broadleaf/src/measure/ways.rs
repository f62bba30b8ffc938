//! The ways of empty messages, and which pairs differ in them from the others of their stretch.
//!
//! A cluster holds pairs of unlike distance where each step of a chain is short (the neighbours of a torus), and so
//! does the stretch between two clusters. Where both ends read one clock, the two directions of a pair may differ
//! too: routes need not be the same there and back. Without one nobody can tell, and each is half of a round trip.

use super::alike::most_common;
use super::findings::{Findings, Stretch};
use super::hosts::Pair;
use super::statistic::{lower_quartile, median};

/// Ways that differ by less count as equal: latencies are to be known to 2 %.
const EQUAL: f64 = 0.01;
/// Ways differ where they do by more than so many times what the same pair differs between two visits.
const NOISES: f64 = 3.0;

/// What the ways of a stretch have in common.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// The most common one, seconds.
    pub usual_s: f64,
    /// Ways that differ from it by a larger share are not like it.
    limit: f64,
}

impl Ways {
    pub fn of(known: &Findings, stretch: Stretch) -> Ways {
        let pairs: Vec<Pair> = known.pairs_of(stretch).collect();
        let noises: Vec<f64> = pairs
            .iter()
            .filter(|(a, b)| !known.hosts.together(*a, *b))
            .map(|&pair| known.way_halves_s(pair))
            .filter(|[one, other]| *one > 0.0 && *other > 0.0)
            .map(|[one, other]| (one / other).ln().abs())
            .collect();
        let tolerance = known.settings.tolerance;
        let noise = if noises.is_empty() { 0.0 } else { median(&noises) };
        let limit = (NOISES * noise).max(EQUAL).min(tolerance.max(EQUAL));
        let ways = pairs.iter().map(|&pair| known.way_s(pair)).collect();
        Ways { usual_s: most_common(ways, 1.0 + limit), limit }
    }

    /// Whether the pair's way is not like the usual one, in both halves of its samples.
    pub fn differs(&self, known: &Findings, pair: Pair) -> bool {
        let halves = known.way_halves_s(pair);
        let is_longer = |way_s: &f64| *way_s > (1.0 + self.limit) * self.usual_s;
        let is_shorter = |way_s: &f64| *way_s * (1.0 + self.limit) < self.usual_s;
        halves.iter().all(is_longer) || halves.iter().all(is_shorter)
    }
}

impl Findings {
    /// How long an empty message is under way on a quiet network, seconds; 0 where nothing is known yet.
    pub fn way_s(&self, pair: Pair) -> f64 {
        self.share_of_trip(pair) * self.round_trip_s(pair)
    }

    /// The same from the first and from the second half of the samples, which are of different moments.
    fn way_halves_s(&self, pair @ (a, b): Pair) -> [f64; 2] {
        match self.round_trips.get(&(a.min(b), a.max(b))) {
            Some(samples) if samples.len() > 1 && !self.hosts.together(a, b) => {
                let (first, second) = samples.split_at(samples.len() / 2);
                [first, second].map(|half| self.share_of_trip(pair) * lower_quartile(half))
            }
            _ => [self.way_s(pair); 2],
        }
    }

    /// The share of the empty round trip that the way there takes.
    fn share_of_trip(&self, (a, b): Pair) -> f64 {
        let shares = self.way_shares.get(&(a.min(b), a.max(b))).filter(|shares| !shares.is_empty());
        match shares.map(|shares| median(shares)) {
            Some(share) if !self.hosts.together(a, b) => {
                if a < b {
                    share
                } else {
                    1.0 - share
                }
            }
            _ => 0.5,
        }
    }

    /// The pair that stands for the link between two clusters: the first that is like the others.
    pub fn representative(&self, stretch: Stretch) -> Pair {
        let ways = Ways::of(self, stretch);
        let alike = self.sorted_pairs(stretch).alike;
        let usual = alike.iter().find(|&&pair| !ways.differs(self, pair));
        usual.or(alike.first()).copied().unwrap_or((self.clusters[stretch.0][0], self.clusters[stretch.1][0]))
    }
}
