//! Two-tree broadcast: two binary trees, each carrying half of the segments, so that the leaves of one are the
//! inner nodes of the other and every node's port is busy both ways all the time.
//!
//! The hosts besides the root are numbered 1 … p. The first tree is the in-order binary tree over these numbers,
//! where odd numbers are leaves; the second is its mirror image for even p, its shift by one for odd p, so that
//! each node is inner in at most one tree. A node receives from two parents and sends to at most two children:
//! these edges form a bipartite graph of degree two (senders left, receivers right), which two colours suffice
//! for. Edges of colour c work in step 2q + c of period q, so no node sends or receives twice in a step.
//!
//! Where a segment is longer on its way than a step, its receiver passes it on as many steps later; meanwhile the
//! receiver's ports serve earlier segments. So the latency delays the first segment only, and segments may be short.
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

use crate::budget::Budget;
use crate::plan::{throughput, Period, Plan, PlanError, Slot, TreeBuilder, Trees};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};
use crate::platform::NodeId;

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

/// The part of a number of steps that rounding may add.
const ROUNDING: f64 = 1e-9;

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
        let mut edges: Vec<(usize, usize, usize)> = (0..2)
            .flat_map(|tree| (1..=receivers).map(move |child| (tree, child)))
            .map(|(tree, child)| (colours[tree][child], tree, child))
            .collect();
        edges.sort_unstable();
        let mut builders = [(); 2].map(|_| TreeBuilder::new(instance.platform.node_count()).share(0.5));
        for &(_, tree, child) in &edges {
            builders[tree].add(hosts[parents[tree][child]], hosts[child]);
        }
        let plan = Plan::bcast(
            instance.platform,
            CARD.name,
            instance.root,
            instance.message_bytes,
            instance.segment_bytes,
            builders.into_iter().map(TreeBuilder::build).collect::<Trees>(),
        );
        let step_s = match throughput(instance.platform, &plan) {
            Ok(bytes_per_s) => instance.segment_bytes as f64 / bytes_per_s,
            // Routing refuses the plan.
            Err(PlanError::NoPath { .. }) => f64::INFINITY,
            Err(error) => return Err(error),
        };
        let laid_out = |steps_of_hop: &dyn Fn(NodeId, NodeId) -> usize| {
            let hop = |from: usize, to: usize| steps_of_hop(hosts[from], hosts[to]);
            let steps = [0, 1].map(|tree| first_steps(&parents[tree], &colours[tree], hop));
            let slots = edges.iter().map(|&(_, tree, child)| Slot {
                segment: tree as u32,
                from: hosts[parents[tree][child]],
                to: hosts[child],
                lag: (steps[tree][child] / 2) as u32,
            });
            Period { segments: 2, slots: slots.collect() }
        };
        let mut period = laid_out(&|from, to| steps_of_hop(instance, step_s, from, to));
        if period.excess().is_some() {
            period = laid_out(&|_, _| 1);
        }
        Ok(Plan { seed: instance.seed, period: Some(period), ..plan })
    }
}

/// The steps from the start of a segment's transfer to the start of the next one along its tree. More steps than the
/// message has segments make no difference.
fn steps_of_hop(instance: &Instance, step_s: f64, from: NodeId, to: NodeId) -> usize {
    let Some(class) = instance.platform.link(from, to) else { return 1 };
    let busy_s = instance.platform.transfer_s(class, instance.segment_bytes);
    let way_s = busy_s + instance.platform.class(class).latency_s;
    let most = instance.message_bytes.div_ceil(instance.segment_bytes).max(1);
    // Rounding must not add a step. Without any times there are no steps, and the quotient is no number.
    ((way_s / step_s * (1.0 - ROUNDING)).ceil() as usize).clamp(1, most as usize)
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

/// The step in which each host is sent the first segment of a tree: the first one of the edge's colour in which its parent
/// has it, `hop` steps after the parent was sent it.
fn first_steps(parents: &Parents, colours: &[usize], hop: impl Fn(usize, usize) -> usize) -> Vec<usize> {
    let mut steps: Vec<Option<usize>> = vec![None; parents.len()];
    for host in 1..parents.len() {
        let mut path = vec![host];
        while let Some(&top) = path.last().filter(|&&top| parents[top] != 0 && steps[parents[top]].is_none())
        {
            path.push(parents[top]);
        }
        for node in path.into_iter().rev() {
            let parent = parents[node];
            let ready = steps[parent].map_or(0, |step| step + hop(parents[parent], parent));
            steps[node] = Some(ready + (ready + colours[node]) % 2);
        }
    }
    steps.into_iter().map(|step| step.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
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
