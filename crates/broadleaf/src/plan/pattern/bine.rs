//! The partners of bine (binomial negabinary) trees: binomial trees whose distances alternate in sign.
//!
//! Reference: De Sensi, Pasqualoni, Piarulli, Bonato, Ba, Turisini, Domke and Hoefler, *Bine trees: enhancing collective
//! operations by optimizing communication locality*, SC 2025.

/// The partner of node `node`, of a power of two of `hosts`, in round `round`, with growing distances: even nodes look
/// ahead by 1 − 2 + 4 − … ± 2^round places, around the end, and odd ones back.
pub(crate) fn partner(hosts: usize, round: u32, node: usize) -> usize {
    let distance = (1 - (-2i64).pow(round + 1)) / 3;
    let signed = if node.is_multiple_of(2) { distance } else { -distance };
    (node as i64 + signed).rem_euclid(hosts as i64) as usize
}

/// (parent, child) of the tree from node 0, in serving order: in every round, each node that has the message sends it
/// to its partner; the farthest partner comes first.
pub(crate) fn edges(hosts: usize) -> Vec<(usize, usize)> {
    let mut reached = vec![0];
    let mut edges = Vec::with_capacity(hosts.saturating_sub(1));
    for round in (0..hosts.trailing_zeros()).rev() {
        for at in 0..reached.len() {
            let child = partner(hosts, round, reached[at]);
            edges.push((reached[at], child));
            reached.push(child);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_mutual_and_a_third_nearer_than_a_binomial_trees() {
        for hosts in [2usize, 4, 8, 16, 32, 1024] {
            let mut reached: Vec<usize> =
                edges(hosts).into_iter().map(|(_, child)| child).chain([0]).collect();
            reached.sort_unstable();
            assert_eq!(reached, (0..hosts).collect::<Vec<_>>());
            for round in 0..hosts.trailing_zeros() {
                for node in 0..hosts {
                    let other = partner(hosts, round, node);
                    assert_eq!(partner(hosts, round, other), node, "{hosts} hosts, round {round}");
                    let apart = node.abs_diff(other).min(hosts - node.abs_diff(other));
                    assert!(3 * apart <= 2 * (1 << round) + 1, "{apart} places in round {round}");
                }
            }
        }
    }
}
