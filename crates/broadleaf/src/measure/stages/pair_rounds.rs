//! Ordered pairs in rounds: rounds that cover one or two clusters, and groups of pairs that may run at the same time.

use crate::measure::findings::{ClusterPair, Findings};
use crate::measure::hosts::NodePair;
use crate::measure::settings::bottlenecks::MAX_PAIRS;
use crate::measure::settings::screening::{EVERY_PAIR, ROUNDS_OF_LARGE};
use crate::measure::tournament;
use crate::platform::NodeId;
use std::collections::HashSet;

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
/// The first sender meets the last receiver, so that a node that sends is not the one that its cluster receives with.
pub fn neighbours(
    known: &Findings,
    (from, to): ClusterPair,
    moved: usize,
) -> impl Iterator<Item = NodePair> + '_ {
    let (senders, receivers) = (&known.clusters[from], &known.clusters[to]);
    let count = senders.len().max(receivers.len());
    let receiver = move |at: usize| receivers[(at + moved + receivers.len() - 1) % receivers.len()];
    (0..count).map(move |at| (senders[at % senders.len()], receiver(at)))
}

/// Pairs of clusters in groups that may run at the same time: in a group each cluster sends to one other at most, and
/// receives from one. Those of similar round trips are together, since a group takes as long as its slowest.
pub fn groups_between(known: &Findings, cluster_pairs: &[ClusterPair]) -> Vec<Vec<ClusterPair>> {
    let trip_s = |&cluster_pair: &ClusterPair| known.round_trip_s(known.representative(cluster_pair));
    let mut sorted = cluster_pairs.to_vec();
    sorted.sort_by(|x, y| trip_s(y).total_cmp(&trip_s(x)));
    let mut groups: Vec<Vec<ClusterPair>> = Vec::new();
    for (from, to) in sorted {
        let is_open =
            |group: &&mut Vec<ClusterPair>| group.iter().all(|other| other.0 != from && other.1 != to);
        match groups.iter_mut().find(is_open) {
            Some(group) => group.push((from, to)),
            None => groups.push(vec![(from, to)]),
        }
    }
    groups
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

/// Disjoint pairs from one cluster to another, without the machines that are busy. The first receivers are other nodes
/// than the first senders of the same cluster, so that two searches can use it at the same time.
pub fn across(known: &Findings, (from, to): ClusterPair, busy: &HashSet<usize>) -> Vec<NodePair> {
    let free = |cluster: usize| {
        let nodes = by_host(known, &known.clusters[cluster]).into_iter();
        nodes.filter(|&node| !busy.contains(&known.hosts.of(node))).collect::<Vec<NodeId>>()
    };
    let (senders, mut receivers) = (free(from), free(to));
    let half = receivers.len() / 2;
    receivers.rotate_left(half);
    senders.into_iter().zip(receivers).take(MAX_PAIRS).collect()
}

/// The nodes with one of each machine first, then the second ones, and so on.
pub fn by_host(known: &Findings, members: &[NodeId]) -> Vec<NodeId> {
    let mut ordered = members.to_vec();
    ordered.sort_by_key(|&node| (known.hosts.place(node), node));
    ordered
}
