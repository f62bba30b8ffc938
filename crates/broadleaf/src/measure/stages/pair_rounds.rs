//! Ordered pairs in rounds: rounds that cover one or two clusters, and groups of pairs that may run at the same time.

use crate::measure::findings::{ClusterPair, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::screening::{EVERY_PAIR, ROUNDS_OF_LARGE};
use crate::measure::tournament;

/// Rounds of disjoint ordered pairs. Inside a cluster each pair occurs in both directions, one after the other; between
/// two clusters every node takes part, and those of the smaller cluster several times.
pub fn covering_rounds(known: &Findings, (from, to): ClusterPair) -> Vec<Vec<NodePair>> {
    let senders = &known.clusters[from];
    if from != to {
        return neighbours(known, (from, to), 0).map(|pair| vec![pair]).collect();
    }
    let mut rounds = tournament::rounds(senders.len());
    if senders.len() > EVERY_PAIR {
        rounds.truncate(ROUNDS_OF_LARGE);
    }
    let there = |round: &[(usize, usize)]| round.iter().map(|&(a, b)| (senders[a], senders[b])).collect();
    let back = |round: &[(usize, usize)]| round.iter().map(|&(a, b)| (senders[b], senders[a])).collect();
    rounds.iter().flat_map(|round| [there(round), back(round)]).collect()
}

/// Pairs from one cluster to another in which every node takes part, with the receivers shifted by a number of places.
pub fn neighbours(
    known: &Findings,
    (from, to): ClusterPair,
    moved: usize,
) -> impl Iterator<Item = NodePair> + '_ {
    let (senders, receivers) = (&known.clusters[from], &known.clusters[to]);
    let count = senders.len().max(receivers.len());
    (0..count).map(move |at| (senders[at % senders.len()], receivers[(at + moved) % receivers.len()]))
}

/// Pairs of one cluster pair in groups that may run at the same time.
pub fn concurrent_groups(
    known: &Findings,
    (from, to): ClusterPair,
    pairs: &[NodePair],
) -> Vec<Vec<NodePair>> {
    if from == to && known.independent[from] {
        known.hosts.groups(pairs)
    } else {
        pairs.iter().map(|&pair| vec![pair]).collect()
    }
}
