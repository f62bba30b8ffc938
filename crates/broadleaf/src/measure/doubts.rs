//! Impossible values, which reveal errors of a measurement: the machines were busy, or the delay varies.
//!
//! - A message's one-way time is at most the fastest round trip of any repeat.
//! - A message takes no longer than a longer one; a small fall is the MPI's change of protocol.
//! - A message's bytes are not ten times as fast as those of all longer ones, unless it stays below the latency: then
//!   it may fit into a window.
//! - Pairs between the same clusters are not ten times apart, and no path is ten times as long as one over a third
//!   node.
//!
//! The probe measures doubtful values again (`stages/latencies`, `stages/recheck`, `stages/screening`). Confirmed
//! ones are left out of shared tables, and marked where there is no other value: a broken cable is ten times slower
//! than its neighbours, and a network with jitter has round trips below its usual latency.

use super::findings::Findings;
use super::hosts::NodePair;
use super::pair_table::PairTable;
use super::settings::doubts::{APART, FALL, MIN_TABLES};
use super::settings::gap_tables::FIRST_BYTES;
use super::settings::samples::REPORTED_SAMPLES_SHARE;
use super::statistics::median;
use std::collections::HashMap;

/// Reasons why a pair's numbers are impossible. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant's text explains its fields")]
pub enum Doubt {
    /// The latency is longer than the fastest empty round trip.
    AboveRoundTrip { latency_s: f64, round_trip_s: f64 },
    /// A message takes a multiple of the time of a longer one.
    AboveLonger { bytes: u64, gap_s: f64, longer_bytes: u64, longer_gap_s: f64 },
    /// A message's bytes take a tenth or less of the time of those of all longer ones.
    BelowLonger { bytes: u64, gap_s: f64, proven_s: f64 },
    /// The latency is ten times that of the other pairs between the same clusters.
    LatencyApart { latency_s: f64, usual_s: f64 },
    /// A large message takes at least ten times, or at most a tenth of, the time between the other pairs.
    Apart { slowness: f64 },
    /// The round trip is ten times those to and from a third node.
    AboveDetour { round_trip_s: f64, detour_s: f64 },
}

/// Milliseconds, three digits.
fn ms(seconds: f64) -> String {
    let digits = format!("{:.2e}", seconds * 1e3);
    format!("{} ms", digits.parse::<f64>().unwrap_or_default())
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Doubt::AboveRoundTrip { latency_s, round_trip_s } => write!(
                out,
                "a latency of {}, where a round trip took {}",
                ms(latency_s),
                ms(round_trip_s)
            ),
            Doubt::AboveLonger { bytes, gap_s, longer_bytes, longer_gap_s } => write!(
                out,
                "{bytes} bytes take {}, and {longer_bytes} bytes only {}",
                ms(gap_s),
                ms(longer_gap_s)
            ),
            Doubt::BelowLonger { bytes, gap_s, proven_s } => write!(
                out,
                "{bytes} bytes take {}, and {} at the best rate of longer messages",
                ms(gap_s),
                ms(proven_s)
            ),
            Doubt::LatencyApart { latency_s, usual_s } => write!(
                out,
                "a latency of {}, and {} between the other pairs of these clusters",
                ms(latency_s),
                ms(usual_s)
            ),
            Doubt::Apart { slowness } => write!(
                out,
                "a large message takes {slowness:.3} times as long as between the other pairs of these clusters"
            ),
            Doubt::AboveDetour { round_trip_s, detour_s } => write!(
                out,
                "a round trip of {}, and {} over a third node",
                ms(round_trip_s),
                ms(detour_s)
            ),
        }
    }
}

/// A doubtful pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubtfulPair {
    /// Sender and receiver.
    pub pair: NodePair,
    /// The reason.
    pub doubt: Doubt,
}

/// The quality of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// Samples taken.
    pub samples: usize,
    /// The share of samples that other programs disturbed; those were left out if there were others.
    pub disturbed_share: f64,
    /// Impossible values that a second measurement confirmed, in order of the pairs.
    pub doubtful: Vec<DoubtfulPair>,
}

impl Quality {
    /// In a word: `good`, `disturbed` (by other programs in every tenth sample or more) or `doubtful`.
    pub fn word(&self) -> &'static str {
        if !self.doubtful.is_empty() {
            "doubtful"
        } else if self.disturbed_share > REPORTED_SAMPLES_SHARE {
            "disturbed"
        } else {
            "good"
        }
    }
}

impl Findings {
    /// The quality of the findings so far.
    pub fn quality(&self) -> Quality {
        let tables = self.cluster_pairs().flat_map(|cluster_pair| {
            let split = self.split_pairs(cluster_pair);
            let is_inside = cluster_pair.0 == cluster_pair.1;
            let shared = if is_inside { self.believed(&split.typical) } else { Vec::new() };
            let own = self.pairs_of(cluster_pair).filter(|pair| !is_inside || !split.typical.contains(pair));
            let pairs: Vec<NodePair> = shared.into_iter().map(|(pair, _)| pair).chain(own).collect();
            pairs.into_iter().filter_map(|pair| Some((pair, self.table_doubt(pair)?)))
        });
        let of_trips = self
            .doubtful_round_trips()
            .into_iter()
            .filter_map(|pair| Some((pair, self.above_detour(pair, &self.nearest())?)));
        let apart = self.cluster_pairs().flat_map(|cluster_pair| {
            let outliers = self.split_pairs(cluster_pair).outliers;
            let far =
                outliers.into_iter().filter(|other| other.slowness >= APART || other.slowness * APART <= 1.0);
            far.map(|other| (other.pair, Doubt::Apart { slowness: other.slowness })).collect::<Vec<_>>()
        });
        let mut doubtful: Vec<DoubtfulPair> =
            tables.chain(of_trips).chain(apart).map(|(pair, doubt)| DoubtfulPair { pair, doubt }).collect();
        doubtful.sort_by_key(|doubtful| doubtful.pair);
        let disturbed_share = self.disturbed as f64 / self.samples.max(1) as f64;
        Quality { samples: self.samples, disturbed_share, doubtful }
    }

    /// The tables of these pairs that are combined into one: without doubtful ones, unless all are doubtful.
    pub fn believed(&self, pairs: &[NodePair]) -> Vec<(NodePair, &PairTable)> {
        let mut known: Vec<(NodePair, &PairTable)> =
            pairs.iter().filter_map(|&pair| Some((pair, self.tables.get(&pair)?))).collect();
        let is_possible = |&(pair, table): &(NodePair, &PairTable)| self.doubt_of(pair, table).is_none();
        if known.iter().any(is_possible) {
            known.retain(is_possible);
        }
        known
    }

    /// The doubt about the pair's table, if any; `None` without a table.
    pub fn table_doubt(&self, pair: NodePair) -> Option<Doubt> {
        self.doubt_of(pair, self.tables.get(&pair)?)
    }

    /// The doubt about a table of the pair, if any.
    pub fn doubt_of(&self, pair: NodePair, table: &PairTable) -> Option<Doubt> {
        let round_trip_s = self.least_round_trip_s(pair);
        if table.latency_s > round_trip_s {
            return Some(Doubt::AboveRoundTrip { latency_s: table.latency_s, round_trip_s });
        }
        self.latency_apart(pair, table).or_else(|| doubtful_gap(table))
    }

    /// Pairs whose round trip is doubtful, (smaller, larger) node.
    pub fn doubtful_round_trips(&self) -> Vec<NodePair> {
        let nearest = self.nearest();
        let is_doubtful = |&pair: &NodePair| {
            self.round_trip_s(pair) > 2.0 * self.least_round_trip_s(pair)
                || self.above_detour(pair, &nearest).is_some()
        };
        let mut pairs: Vec<NodePair> = self.round_trips.keys().copied().filter(is_doubtful).collect();
        pairs.sort_unstable();
        pairs
    }

    fn least_round_trip_s(&self, (a, b): NodePair) -> f64 {
        self.least_round_trip_s.get(&(a.min(b), a.max(b))).copied().unwrap_or(f64::INFINITY)
    }

    /// Each node's shortest round trip, seconds.
    fn nearest(&self) -> HashMap<usize, f64> {
        let mut nearest = HashMap::new();
        for &(a, b) in self.round_trips.keys() {
            let trip_s = self.round_trip_s((a, b));
            for node in [a, b] {
                let least_s = nearest.entry(node.index()).or_insert(f64::INFINITY);
                *least_s = trip_s.min(*least_s);
            }
        }
        nearest
    }

    fn above_detour(&self, (a, b): NodePair, nearest: &HashMap<usize, f64>) -> Option<Doubt> {
        let round_trip_s = self.round_trip_s((a, b));
        // Only for few pairs are all third nodes checked.
        if round_trip_s <= APART * (nearest[&a.index()] + nearest[&b.index()]) {
            return None;
        }
        let over = |c| self.round_trip_s((a, c)) + self.round_trip_s((c, b));
        let thirds = self.hosts.nodes().filter(|&c| c != a && c != b);
        let detour_s = thirds.map(over).fold(f64::INFINITY, f64::min);
        (round_trip_s > APART * detour_s).then_some(Doubt::AboveDetour { round_trip_s, detour_s })
    }

    /// Only if enough other pairs between the same clusters have tables.
    fn latency_apart(&self, pair: NodePair, table: &PairTable) -> Option<Doubt> {
        let cluster_pair = self.cluster_pair_of(pair);
        let others = self.tables.iter().filter(|(&other, _)| self.cluster_pair_of(other) == cluster_pair);
        let latencies: Vec<f64> = others.map(|(_, table)| table.latency_s).collect();
        if latencies.len() < MIN_TABLES {
            return None;
        }
        let (latency_s, usual_s) = (table.latency_s, median(&latencies));
        (latency_s > APART * usual_s && usual_s > 0.0).then_some(Doubt::LatencyApart { latency_s, usual_s })
    }
}

/// The first gap that longer messages contradict. A difference below the latency is no proof: gaps are differences of
/// round trips, and a window of messages is under way for that long.
fn doubtful_gap(table: &PairTable) -> Option<Doubt> {
    let rows = &table.rows;
    rows.iter().enumerate().find_map(|(at, row)| {
        let longer = &rows[at + 1..];
        let fastest = longer.iter().min_by(|a, b| a.gap_s.total_cmp(&b.gap_s))?;
        if fastest.gap_s <= FALL * row.gap_s && row.gap_s - fastest.gap_s > table.latency_s {
            return Some(Doubt::AboveLonger {
                bytes: row.bytes,
                gap_s: row.gap_s,
                longer_bytes: fastest.bytes,
                longer_gap_s: fastest.gap_s,
            });
        }
        let byte_s = longer.iter().map(|row| row.gap_s / row.bytes as f64).fold(f64::INFINITY, f64::min);
        let proven_s = byte_s * row.bytes as f64;
        let is_below = row.bytes >= FIRST_BYTES
            && row.gap_s * APART <= proven_s
            && proven_s - row.gap_s > table.latency_s;
        is_below.then_some(Doubt::BelowLonger { bytes: row.bytes, gap_s: row.gap_s, proven_s })
    })
}
