//! Mateescu's tree: the nearest host next, then children by the depth of their subtrees.
//!
//! A generalised Dijkstra over the end-to-end matrices: the host that can be reached earliest joins next, given when
//! each host with the message has finished its earlier sends. Then every host's children are put in order of
//! decreasing depth (in edges) of their subtrees; equal depths keep the order in which they joined.
//!
//! Reference: Mateescu, *A method for MPI broadcast in computational grids*, 2005, as *Adaptive broadcast trees by
//! simulated annealing* uses it (sections 2.1 and 3); that paper only cites it, so this follows its description. The
//! model has no shared pipes: on a grid of clusters it sends over the same wide-area link again and again, as that
//! paper's figure 9 shows, and a simulation of the platform counts that. Cost of a tree: max over hosts of Σ edges on
//! its way of (earlier siblings' gaps + gap + latency). Complexity: O(n²) for the matrices; O(n² · senders) at most
//! to grow. Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes = ["a", "b", "c", "d"].map(|id| builder.add_host(id).unwrap());
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.to_vec(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("mateescu").unwrap().plan(&Instance::new(&platform, nodes[0], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! // At 1 s a has sent to b; at 2 s a to c, and b to d: b, the deeper child, stays first.
//! assert_eq!(plan.trees[0].children(nodes[0]), [nodes[1], nodes[2]]);
//! assert_eq!(plan.trees[0].children(nodes[1]), [nodes[3]]);
//! ```

use super::pairs::{self, Pairs};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};

pub(crate) struct Mateescu;

static CARD: Card = Card {
    name: "mateescu",
    summary: "next the host that can be reached earliest, then children with the deepest subtrees first",
    reference:
        "Mateescu, A method for MPI broadcast in computational grids, 2005; as in paper 3, sections 2.1 and 3",
    objective: "makespan in the end-to-end model, which sees no shared pipes",
    guarantee: "none",
    complexity: "O(n²) for the matrices, O(n² · senders) at most",
    profile: Profile {
        pace: |instance| Pace::quick_if(instance.platform.node_count() <= QUICK_HOSTS),
        // Its model has no shared pipes.
        is_baseline: true,
        least_s: pairs::least_s,
        ..Profile::QUICK
    },
};

/// Up to this many hosts the tree takes about a millisecond.
const QUICK_HOSTS: usize = 128;

impl Planner for Mateescu {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        pairs::supports(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        Ok(pairs::plan(instance, CARD.name, tree))
    }
}

/// The tree's edges (parent, child), each parent's in serving order. Ties go to the smaller child, then parent.
pub fn tree(pairs: &Pairs, root: usize) -> Vec<(usize, usize)> {
    let edges = grown(pairs, root);
    // Leaves first: a child joined after its parent.
    let mut depth = vec![0usize; pairs.len()];
    for &(parent, child) in edges.iter().rev() {
        depth[parent] = depth[parent].max(depth[child] + 1);
    }
    let mut ordered = edges;
    ordered.sort_by_key(|&(parent, child)| (parent, usize::MAX - depth[child]));
    ordered
}

/// The edges in the order in which hosts join.
fn grown(pairs: &Pairs, root: usize) -> Vec<(usize, usize)> {
    let count = pairs.len();
    // When each host can send next; who has the message.
    let mut ready_s = vec![f64::INFINITY; count];
    let mut members = vec![root];
    ready_s[root] = 0.0;
    // For each host outside, its earliest arrival and sender.
    let mut outside: Vec<usize> = (0..count).filter(|&host| host != root).collect();
    let mut best: Vec<(f64, usize)> = (0..count).map(|host| (pairs.edge_s(root, host), root)).collect();
    let mut edges = Vec::with_capacity(count.saturating_sub(1));
    while !outside.is_empty() {
        let next = (0..outside.len()).min_by(|&a, &b| best[outside[a]].0.total_cmp(&best[outside[b]].0));
        let child = outside.remove(next.expect("some host is outside"));
        let (arrival_s, parent) = best[child];
        edges.push((parent, child));
        ready_s[parent] += pairs.gap_s(parent, child);
        ready_s[child] = arrival_s;
        members.push(child);
        members.sort_unstable();
        for &host in &outside {
            let from = |sender: usize| (ready_s[sender] + pairs.edge_s(sender, host), sender);
            if best[host].1 == parent {
                // Its sender is now later, so any other may be earlier.
                let all = members.iter().map(|&sender| from(sender));
                best[host] = all.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the root is a member");
            } else if from(child) < best[host] {
                best[host] = from(child);
            }
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The same rule, looking at every pair of hosts for every host that joins.
    fn slow(pairs: &Pairs, root: usize) -> Vec<(usize, usize)> {
        let count = pairs.len();
        let mut ready_s: Vec<Option<f64>> = vec![None; count];
        ready_s[root] = Some(0.0);
        let mut edges = Vec::new();
        for _ in 1..count {
            let mut found: Option<(f64, usize, usize)> = None;
            for child in (0..count).filter(|&child| ready_s[child].is_none()) {
                for (parent, &ready) in ready_s.iter().enumerate() {
                    let Some(ready) = ready else { continue };
                    let arrival = ready + pairs.edge_s(parent, child);
                    if found.is_none_or(|(least, ..)| arrival < least) {
                        found = Some((arrival, parent, child));
                    }
                }
            }
            let (arrival, parent, child) = found.unwrap();
            *ready_s[parent].as_mut().unwrap() += pairs.gap_s(parent, child);
            ready_s[child] = Some(arrival);
            edges.push((parent, child));
        }
        edges
    }

    #[test]
    fn the_earliest_joins_next() {
        let mut random = Random::new(2);
        for _ in 0..100 {
            let count = 1 + random.below(12);
            // Whole numbers, so that there are ties.
            let gap_s: Vec<f64> = (0..count * count).map(|_| (1 + random.below(9)) as f64).collect();
            let edge_s = gap_s.iter().map(|gap| gap + random.below(4) as f64).collect();
            let pairs = Pairs::new(count, gap_s, edge_s);
            let root = random.below(count);
            assert_eq!(grown(&pairs, root), slow(&pairs, root));
        }
    }

    #[test]
    fn deeper_children_come_first() {
        // From 0: 1 is near and ends there; 2 is further and leads to 3.
        let far = 100.0;
        let mut edge_s = vec![far; 16];
        for (from, to, seconds) in [(0, 1, 1.0), (0, 2, 2.0), (2, 3, 1.0)] {
            edge_s[from * 4 + to] = seconds;
        }
        let pairs = Pairs::new(4, edge_s.clone(), edge_s);
        assert_eq!(grown(&pairs, 0), [(0, 1), (0, 2), (2, 3)]);
        assert_eq!(tree(&pairs, 0), [(0, 2), (0, 1), (2, 3)]);
    }
}
