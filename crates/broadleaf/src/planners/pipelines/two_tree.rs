//! Two-tree broadcast: two binary trees, each carrying half of the segments, so that the leaves of one are the
//! inner nodes of the other and every node's port is busy both ways all the time.
//!
//! The hosts besides the root are numbered 1 … p. The first tree is the in-order binary tree over these numbers,
//! where odd numbers are leaves; the second is its mirror image for even p, its shift by one for odd p, so that
//! each node is inner in at most one tree. A node receives from two parents and sends to at most two children:
//! these edges form a bipartite graph of degree two (senders left, receivers right), which two colours suffice
//! for. Edges of colour c work in step 2q + c of period q, so no node sends or receives twice in a step.
//!
//! Reference: Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*,
//! Parallel Computing 35 (2009), sections 2 and 3.
//! Cost: about m/b + 2·log2(n) segment times. Complexity: O(n).
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

use crate::budget::Budget;
use crate::plan::{Period, Plan, PlanError, Slot, TreeBuilder, Trees};
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

/// A parent for every host 1 … p; host 0 stands for the root.
type Parents = Vec<usize>;

impl Planner for TwoTree {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.root_and_receivers();
        let receivers = hosts.len() - 1;
        if receivers < 2 {
            let mut tree = TreeBuilder::new(instance.platform.node_count());
            hosts[1..].iter().for_each(|&host| {
                tree.add(instance.root, host);
            });
            return Ok(instance.tree_plan(CARD.name, tree));
        }
        let parents = [in_order_tree(receivers), second_tree(receivers)];
        let colours = colour(&parents);
        let steps = [first_steps(&parents[0], &colours[0]), first_steps(&parents[1], &colours[1])];
        let both = steps.iter().enumerate();
        let mut edges: Vec<(usize, usize, usize)> = both
            .flat_map(|(tree, step)| (1..=receivers).map(move |child| (step[child] % 2, tree, child)))
            .collect();
        edges.sort_unstable();
        let mut builders = [(); 2].map(|_| TreeBuilder::new(instance.platform.node_count()).share(0.5));
        let mut slots = Vec::with_capacity(edges.len());
        for (_, tree, child) in edges {
            let (from, to) = (hosts[parents[tree][child]], hosts[child]);
            builders[tree].add(from, to);
            let lag = (steps[tree][child] / 2) as u32;
            slots.push(Slot { segment: tree as u32, from, to, lag });
        }
        let plan = Plan::bcast(
            instance.platform,
            CARD.name,
            instance.root,
            instance.message_bytes,
            instance.segment_bytes,
            builders.into_iter().map(TreeBuilder::build).collect::<Trees>(),
        );
        Ok(Plan { seed: instance.seed, period: Some(Period { segments: 2, slots }), ..plan })
    }
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

/// Colours 0 and 1 for the edges into every host, by tree, so that no host sends or receives twice in a colour.
///
/// Every sender and every receiver has at most two edges, so following them from edge to edge gives paths and
/// even cycles, which alternate.
fn colour(parents: &[Parents; 2]) -> [Vec<usize>; 2] {
    let count = parents[0].len();
    let mut sends: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
    for (tree, list) in parents.iter().enumerate() {
        for child in 1..count {
            sends[list[child]].push((tree, child));
        }
    }
    const NONE: usize = 2;
    let mut colours = [vec![NONE; count], vec![NONE; count]];
    // The root sends its two edges in the order of the trees.
    let mut open: Vec<(usize, usize, usize)> = vec![];
    let starts = sends.iter().flatten().copied();
    for (tree, child) in starts {
        if colours[tree][child] != NONE {
            continue;
        }
        open.push((tree, child, tree));
        while let Some((tree, child, colour)) = open.pop() {
            if colours[tree][child] != NONE {
                continue;
            }
            colours[tree][child] = colour;
            open.push((1 - tree, child, 1 - colour));
            let sender = parents[tree][child];
            open.extend(sends[sender].iter().map(|&(other, to)| (other, to, 1 - colour)));
        }
    }
    colours
}

/// The step in which each host receives the first segment of a tree: the first one of the edge's colour after
/// the step in which its parent did.
fn first_steps(parents: &Parents, colours: &[usize]) -> Vec<usize> {
    let mut steps: Vec<Option<usize>> = vec![None; parents.len()];
    for host in 1..parents.len() {
        let mut path = vec![host];
        while let Some(&top) = path.last().filter(|&&top| parents[top] != 0 && steps[parents[top]].is_none())
        {
            path.push(parents[top]);
        }
        for node in path.into_iter().rev() {
            let ready = if parents[node] == 0 { 0 } else { steps[parents[node]].map_or(0, |step| step + 1) };
            steps[node] = Some(ready + (ready + colours[node]) % 2);
        }
    }
    steps.into_iter().map(|step| step.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let mut builder = PlatformBuilder::new("same", PortModel::OnePort);
        let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(0.0, 1.0));
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
}
