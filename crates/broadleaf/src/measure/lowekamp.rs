//! Lowekamp's clustering of nodes by latency.
//!
//! Lowekamp and Beguelin, *ECO: Efficient Collective Operations for Communication on Heterogeneous
//! Networks*, IPPS 1996, with the tolerance ρ of paper 2 (§7: 30 %). Edges are taken shortest first; one
//! joins two nodes' clusters when it is no longer than 1 + ρ times the shortest edge at either node and the
//! shortest edge in either's cluster.
//!
//! Measured latencies are ranges here: an edge is too long when its lower end exceeds 1 + ρ times the shortest upper end.
//! So noise alone does not split equal nodes.
//!
//! Cost: O(n² log n) for the sorting of all edges.

use crate::platform::NodeId;

/// The clusters, each sorted, in order of their smallest node.
///
/// `latency_s(a, b)` with a < b is the latency of a pair; equal latencies are taken in order of (a, b).
/// `tolerance` is ρ ≥ 0.
///
/// ```
/// use broadleaf::measure::clusters;
/// // Nodes 0 and 1 are 50 µs apart, 2 and 3 as well, and everything else is 5 ms.
/// let found = clusters(4, 0.3, |a, b| if a.0 / 2 == b.0 / 2 { 5e-5 } else { 5e-3 });
/// assert_eq!(found.len(), 2);
/// ```
pub fn clusters(nodes: usize, tolerance: f64, latency_s: impl Fn(NodeId, NodeId) -> f64) -> Vec<Vec<NodeId>> {
    clusters_of_ranges(nodes, tolerance, |a, b| [latency_s(a, b); 2])
}

/// The same of the lower and upper end of each latency.
pub(super) fn clusters_of_ranges(
    nodes: usize,
    tolerance: f64,
    range_s: impl Fn(NodeId, NodeId) -> [f64; 2],
) -> Vec<Vec<NodeId>> {
    let limit = 1.0 + tolerance;
    let mut edges = Vec::with_capacity(nodes * nodes.saturating_sub(1) / 2);
    let mut shortest_s = vec![f64::INFINITY; nodes];
    for a in 0..nodes {
        for b in a + 1..nodes {
            let [low_s, high_s] = range_s(NodeId(a as u32), NodeId(b as u32));
            shortest_s[a] = shortest_s[a].min(high_s);
            shortest_s[b] = shortest_s[b].min(high_s);
            edges.push((low_s, high_s, a, b));
        }
    }
    edges.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.2, x.3).cmp(&(y.2, y.3))));

    let mut cluster_of: Vec<usize> = (0..nodes).collect();
    let mut members: Vec<Vec<NodeId>> = (0..nodes).map(|node| vec![NodeId(node as u32)]).collect();
    let mut cluster_shortest_s = vec![f64::INFINITY; nodes];
    for (low_s, high_s, a, b) in edges {
        let (mine, theirs) = (cluster_of[a], cluster_of[b]);
        let too_long = |shortest_s: f64| low_s > limit * shortest_s;
        if mine == theirs
            || too_long(shortest_s[a])
            || too_long(shortest_s[b])
            || too_long(cluster_shortest_s[mine])
            || too_long(cluster_shortest_s[theirs])
        {
            continue;
        }
        // The smaller cluster moves, so that each node moves at most log n times.
        let (kept, gone) =
            if members[mine].len() >= members[theirs].len() { (mine, theirs) } else { (theirs, mine) };
        for node in std::mem::take(&mut members[gone]) {
            cluster_of[node.index()] = kept;
            members[kept].push(node);
        }
        cluster_shortest_s[kept] = cluster_shortest_s[kept].min(cluster_shortest_s[gone]).min(high_s);
    }
    members.retain(|cluster| !cluster.is_empty());
    members.iter_mut().for_each(|cluster| cluster.sort_unstable());
    members.sort_unstable();
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(clusters: &[Vec<NodeId>]) -> Vec<usize> {
        clusters.iter().map(Vec::len).collect()
    }

    fn of_matrix(latency: &[&[f64]], tolerance: f64) -> Vec<Vec<u32>> {
        let found = clusters(latency.len(), tolerance, |a, b| latency[a.index()][b.index()]);
        found.iter().map(|cluster| cluster.iter().map(|node| node.0).collect()).collect()
    }

    /// Computed by hand. Edges by length: 01 (10), 12 (12), 23 (14), 02 (15), 13 (20), 03 (30). ρ = 30 %: 01 joins; 12
    /// is within 13 of node 1's 10 and joins; 23 is longer than 1.3 · 10 of that cluster, so node 3 stays alone. ρ = 50
    /// %: 23 is within 15 and joins.
    #[test]
    fn a_chain_by_hand() {
        let latency: [&[f64]; 4] = [
            &[0.0, 10.0, 15.0, 30.0],
            &[10.0, 0.0, 12.0, 20.0],
            &[15.0, 12.0, 0.0, 14.0],
            &[30.0, 20.0, 14.0, 0.0],
        ];
        assert_eq!(of_matrix(&latency, 0.3), [vec![0, 1, 2], vec![3]]);
        assert_eq!(of_matrix(&latency, 0.5), [vec![0, 1, 2, 3]]);
        assert_eq!(of_matrix(&latency, 0.0), [vec![0, 1], vec![2], vec![3]]);
    }

    #[test]
    fn none_and_one() {
        assert!(clusters(0, 0.3, |_, _| 1.0).is_empty());
        assert_eq!(sizes(&clusters(1, 0.3, |_, _| 1.0)), [1]);
    }

    /// Four equal nodes whose ranks share two processors: a round trip takes 15 µs or 25 µs by where they run.
    #[test]
    fn ranges_that_overlap_do_not_split() {
        let range =
            |a: NodeId, b: NodeId| if (a.0 + b.0).is_multiple_of(2) { [15.0, 27.0] } else { [24.0, 26.0] };
        assert_eq!(sizes(&clusters_of_ranges(4, 0.3, range)), [4]);
        assert_eq!(sizes(&clusters(4, 0.3, |a, b| range(a, b)[0])), [2, 2]);
        // 40 µs exceeds 1.3 times the 27 µs of every node.
        let farther = |a: NodeId, b: NodeId| if a.0 / 2 == b.0 / 2 { [15.0, 27.0] } else { [40.0, 60.0] };
        assert_eq!(sizes(&clusters_of_ranges(4, 0.3, farther)), [2, 2]);
    }

    /// Paper 2, Table 3: 88 machines of GRID5000 form the six clusters of its heading.
    #[test]
    fn table_3_of_paper_2() {
        let machines = [31, 29, 6, 1, 1, 20];
        let cluster_of: Vec<usize> =
            machines.iter().enumerate().flat_map(|(cluster, &count)| vec![cluster; count]).collect();
        let latency_us = [
            [47.56, 62.10, 12181.52, 12187.24, 12197.49, 5210.99],
            [62.10, 47.92, 12181.52, 12198.03, 12195.22, 5211.47],
            [12181.52, 12181.52, 35.52, 60.08, 60.08, 5388.49],
            [12187.24, 12198.03, 60.08, 0.0, 242.47, 5393.98],
            [12197.49, 12195.22, 60.08, 242.47, 0.0, 5394.10],
            [5210.99, 5211.47, 5388.49, 5393.98, 5394.10, 27.53],
        ];
        let found = clusters(88, 0.3, |a, b| latency_us[cluster_of[a.index()]][cluster_of[b.index()]]);
        assert_eq!(sizes(&found), machines);
        for cluster in &found {
            assert!(cluster.iter().all(|node| cluster_of[node.index()] == cluster_of[cluster[0].index()]));
        }
        // The tolerance matters: at 32 % the two clusters of Orsay (47.56 and 62.10 µs apart) are one.
        let found = clusters(88, 0.32, |a, b| latency_us[cluster_of[a.index()]][cluster_of[b.index()]]);
        assert_eq!(sizes(&found), [60, 6, 1, 1, 20]);
    }
}
