//! Two trees that take turns: the timetable of tree pairs in which a host sends to at most two children altogether.
//!
//! A host receives from two parents and sends to at most two children: these edges form a bipartite graph of degree two
//! (senders left, receivers right), for which two colours suffice. Edges of colour c work in step 2q + c of period q, so no
//! host sends or receives twice in a step.
//!
//! Where a segment is longer on its way than a step, its receiver passes it on as many steps later; meanwhile the
//! receiver's ports serve earlier segments. So the latency delays the first segment only, and segments may be short.
//!
//! Reference: Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*, section 3.

use crate::budget::Budget;
use crate::plan::{throughput, Period, Plan, PlanError, Slot, TreeBuilder, Trees};
use crate::planners::{time_needed, Instance};
use crate::platform::{NodeId, SharedId};

/// A parent for every host 1 … p; host 0 is the root.
pub(in crate::planners) type Parents = Vec<usize>;

/// The part of a number of steps that rounding may add.
const ROUNDING: f64 = 1e-9;

/// The plan of both trees over the hosts, of which the first is the root; each carries half of the segments.
pub(in crate::planners) fn in_turn(
    instance: &Instance,
    planner: &str,
    hosts: &[NodeId],
    parents: &[Parents; 2],
    budget: &Budget,
) -> Result<Plan, PlanError> {
    let colours = colour(parents);
    let mut edges: Vec<(usize, usize, usize)> = (0..2)
        .flat_map(|tree| (1..hosts.len()).map(move |child| (tree, child)))
        .map(|(tree, child)| (colours[tree][child], tree, child))
        .collect();
    edges.sort_unstable();
    let mut builders = [(); 2].map(|_| TreeBuilder::new(instance.platform.node_count()).share(0.5));
    for &(_, tree, child) in &edges {
        builders[tree].add(hosts[parents[tree][child]], hosts[child]);
    }
    let plan = Plan::bcast(
        instance.platform,
        planner,
        instance.root,
        instance.message_bytes,
        instance.segment_bytes,
        builders.into_iter().map(TreeBuilder::build).collect::<Trees>(),
    );
    // Once for its rate, once for the plan.
    time_needed::to_route(&plan, 2, instance.platform, budget)?;
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

/// The steps from the start of a segment's transfer to the start of the next one along its tree. More steps than the
/// message has segments make no difference.
fn steps_of_hop(instance: &Instance, step_s: f64, from: NodeId, to: NodeId) -> usize {
    let Some(class) = instance.platform.link(from, to) else { return 1 };
    let busy_s = instance.platform.transfer_s(class, instance.segment_bytes);
    let pipe_s = |(pipe, times): (SharedId, u32)| {
        let rate = instance.platform.shared()[pipe.index()].bandwidth_bytes_per_s;
        f64::from(times) * instance.segment_bytes as f64 / rate
    };
    let pipes_s = instance.platform.class(class).shared_uses().into_iter().map(pipe_s);
    let way_s = pipes_s.fold(busy_s, f64::max) + instance.platform.class(class).latency_s;
    let most = instance.message_bytes.div_ceil(instance.segment_bytes).max(1);
    // Rounding must not add a step. Without any times there are no steps, and the quotient is no number.
    ((way_s / step_s * (1.0 - ROUNDING)).ceil() as usize).clamp(1, most as usize)
}

/// Colours 0 and 1 for the edges into every host, by tree, so that no host sends or receives twice in a colour.
///
/// Every sender and every receiver has at most two edges, so following them from edge to edge gives paths and
/// even cycles, which alternate.
pub(super) fn colour(parents: &[Parents; 2]) -> [Vec<usize>; 2] {
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
