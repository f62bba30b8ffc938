//! Two-tree broadcast: two binary trees, each carrying half of the segments, so that the leaves of one are the
//! inner nodes of the other and every node's port is busy both ways all the time.
//!
//! The hosts besides the root are numbered 1 … p. The first tree is the in-order binary tree over these numbers,
//! where odd numbers are leaves; the second is its mirror image for even p, its shift by one for odd p, so that
//! each node is inner in at most one tree, and sends to at most two children. In two colours they take turns
//! ([`two_colours`](super::two_colours)).
//!
//! Reference: Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*,
//! Parallel Computing 35 (2009), sections 2 and 3.
//! Cost: about m/b + log2(n)·(2 segment times + latency). Complexity: O(n).
//! Guarantee: full bandwidth with logarithmic start-up on homogeneous one-port networks.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{Instance, Planner, TwoTree};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["r", "x", "y"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 1.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap().segmented(1);
//! let trace = broadleaf::simulate::simulate(&platform, &TwoTree.plan(&instance, &Budget::UNLIMITED).unwrap(), false).unwrap();
//! // The root sends for 100 s; the last segment needs one more hop, and the two trees one step to mesh.
//! assert!(trace.makespan_s <= 102.0);
//! ```

use super::two_colours::{in_turn, Parents};
use crate::budget::Budget;
use crate::plan::{Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

/// The planner `two-tree`.
pub struct TwoTree;

static CARD: Card = Card {
    name: "two-tree",
    summary: "two binary trees with half of the segments each; the leaves of one are inner in the other",
    reference:
        "Sanders, Speck and Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan",
    objective: "throughput with logarithmic start-up on homogeneous clusters",
    guarantee: "m/b + O(log n) segments on homogeneous one-port networks",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for TwoTree {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.root_and_receivers();
        let receivers = hosts.len() - 1;
        if receivers < 2 {
            let mut tree = TreeBuilder::new(instance.platform.node_count());
            hosts[1..].iter().for_each(|&host| {
                tree.add(instance.root, host);
            });
            return Ok(instance.tree_plan(CARD.name, tree));
        }
        in_turn(instance, CARD.name, &hosts, &both_trees(receivers), budget)
    }
}

/// The two trees over 1 … p.
pub(in crate::planners) fn both_trees(last: usize) -> [Parents; 2] {
    [in_order_tree(last), second_tree(last)]
}

/// The in-order binary tree over 1 … p: a number's height is that of its lowest set bit, its parent differs by
/// that bit; where p is not 2^h − 1 the parent may lie beyond p, and the next ancestor takes over.
fn in_order_tree(last: usize) -> Parents {
    let mut parents = vec![0; last + 1];
    for (node, parent) in parents.iter_mut().enumerate().skip(1) {
        let mut ancestor = node;
        loop {
            let bit = ancestor & ancestor.wrapping_neg();
            ancestor = (ancestor ^ bit) | (bit << 1);
            if ancestor <= last {
                break;
            }
            if bit > last {
                ancestor = 0;
                break;
            }
        }
        *parent = ancestor;
    }
    parents
}

/// The mirror image for even p, which swaps odd and even; else the tree shifted by one, around the end.
fn second_tree(last: usize) -> Parents {
    let first = in_order_tree(last);
    let image = |node: usize| match (node, last.is_multiple_of(2)) {
        (0, _) => 0,
        (node, true) => last + 1 - node,
        (node, false) => node % last + 1,
    };
    let mut parents = vec![0; last + 1];
    for node in 1..=last {
        parents[image(node)] = image(first[node]);
    }
    parents
}

#[cfg(test)]
mod tests {
    use super::super::two_colours::colour;
    use super::*;
    use crate::plan::check;
    use crate::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
    use crate::simulate::simulate;
    use std::collections::HashSet;

    #[test]
    fn inner_in_at_most_one_tree_and_two_colours_suffice() {
        for last in 2..200 {
            let parents = [in_order_tree(last), second_tree(last)];
            let inner =
                |tree: usize| parents[tree][1..].iter().copied().filter(|&p| p != 0).collect::<HashSet<_>>();
            assert!(inner(0).is_disjoint(&inner(1)), "p = {last}");
            let colours = colour(&parents);
            let mut sent = HashSet::new();
            for child in 1..=last {
                assert_ne!(
                    colours[0][child], colours[1][child],
                    "host {child} of {last} receives once a colour"
                );
                for tree in 0..2 {
                    assert!(sent.insert((parents[tree][child], colours[tree][child])), "p = {last}");
                }
            }
        }
    }

    fn homogeneous(nodes: usize) -> Platform {
        delayed(nodes, 0.0)
    }

    fn delayed(nodes: usize, latency_s: f64) -> Platform {
        let mut builder = PlatformBuilder::new("same", PortModel::OnePort);
        let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
        let class = builder.add_class(LinkClass { latency_s, ..LinkClass::affine(0.0, 1.0) });
        builder.add_mesh(Mesh { nodes: hosts, class }).unwrap();
        builder.build().unwrap()
    }

    /// Theorem of section 3: m/b plus about two steps a level.
    #[test]
    fn starts_up_in_logarithmic_time() {
        for nodes in [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 100, 1000] {
            let platform = homogeneous(nodes);
            let instance = Instance::new(&platform, NodeId(0), 400).unwrap().segmented(1);
            let trace =
                simulate(&platform, &TwoTree.plan(&instance, &Budget::UNLIMITED).unwrap(), false).unwrap();
            let levels = usize::BITS - nodes.leading_zeros();
            assert!(
                trace.makespan_s <= 400.0 + 2.0 * f64::from(levels) + 2.0,
                "{nodes}: {}",
                trace.makespan_s
            );
        }
    }

    /// Each of at most one level more than there are bits adds its latency and three steps; the rate stays that of the port.
    #[test]
    fn the_latency_delays_the_first_segment_only() {
        for (nodes, latency_s) in
            [(2, 9.0), (3, 9.0), (8, 0.3), (8, 7.5), (16, 40.0), (100, 12.0), (100, 1e6)]
        {
            let platform = delayed(nodes, latency_s);
            let instance = Instance::new(&platform, NodeId(0), 400).unwrap().segmented(1);
            let plan = TwoTree.plan(&instance, &Budget::UNLIMITED).unwrap();
            assert_eq!(check::faults(&platform, &plan), [""; 0]);
            let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            let levels = f64::from(usize::BITS - nodes.leading_zeros());
            let most_s = 400.0 + (levels + 1.0) * (latency_s + 3.0);
            assert!(makespan_s <= most_s, "{nodes} nodes, {latency_s} s: {makespan_s} s of {most_s} s");
        }
    }
}
