//! Ring all-gather: every node forwards to its right-hand neighbour the block that it last got from the left.
//!
//! Where hops to the right share pipes that hops to the left do not, the ring goes to the left: routes through switches
//! need not be the same both ways.
//!
//! Reference: Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
//! section 4.1; one of the baselines of paper 5's global data exchange.
//! Cost: (n − 1)·(T(m) + latency) on a homogeneous one-port network, which is optimal but for the latencies. Up to 256
//! hosts a segment is passed on while the next one comes, so with k segments of s bytes it is about
//! (n − 1)·max(k·T(s), T(s) + latency).
//! Complexity: O(n²) slots. Guarantee: none elsewhere.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap();
//! let instance = Instance { collective: Collective::Allgather, ..instance };
//! let plan = find("ring").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Two rounds of 1 s, half a second on the way each.
//! assert_eq!(trace.finish_s, [3.0, 3.0, 3.0]);
//! ```

use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::plan::{Collective, Plan, PlanError, Regular, MOST_FOLLOWING};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{Hop, LinkClassId, NodeId};
use std::collections::HashMap;

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
const MOST_HOSTS: usize = 1500;

/// Segments of a block; more would only be shorter.
const MOST_SEGMENTS: u64 = 32;

pub struct Ring;

static CARD: Card = Card {
    name: "ring",
    summary: "everyone passes on to one neighbour what it last got from the other",
    reference:
        "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 4.1",
    objective: "makespan of large all-gathers on a homogeneous network",
    guarantee: "optimal but for latencies on a homogeneous one-port network",
    complexity: "O(n^2)",
    profile: Profile {
        segments: Segmentation::Guided { whole: |_, count| count, modelled: segments_of_a_block },
        ..Profile::QUICK
    },
};

/// The segments whose hop is the shortest: all of a block through a port, or one of them and the latency.
fn segments_of_a_block(instance: &Instance, most: u64, _: &Budget) -> Option<u64> {
    let Instance { platform, message_bytes, .. } = *instance;
    let hosts: Vec<NodeId> = platform.hosts().collect();
    if hosts.len() > MOST_FOLLOWING {
        return Some(1);
    }
    let leftwards = is_leftwards(instance, &hosts);
    let classes: Vec<_> = hops(&hosts, leftwards).filter_map(|(from, to)| platform.link(from, to)).collect();
    let longest = |seconds: &dyn Fn(LinkClassId) -> f64| {
        classes.iter().map(|&class| seconds(class)).fold(0.0, f64::max)
    };
    let latency_s = longest(&|class| platform.class(class).latency_s);
    let hop_s = |count: u64| {
        let segment_s = longest(&|class| platform.transfer_s(class, message_bytes.div_ceil(count)));
        (count as f64 * segment_s).max(segment_s + latency_s)
    };
    let counts = 1..=most.min(MOST_SEGMENTS);
    counts.min_by(|&a, &b| hop_s(a).total_cmp(&hop_s(b)))
}

impl Planner for Ring {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        match instance.platform.hosts().count() {
            hosts if hosts > MOST_HOSTS => Err(Unsupported(format!("{hosts} hosts; at most {MOST_HOSTS}"))),
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts: Vec<NodeId> = instance.platform.hosts().collect();
        let leftwards = is_leftwards(instance, &hosts);
        Ok(instance.regular_plan(CARD.name, Regular::Ring { leftwards }, hosts))
    }
}

/// Whether the busiest resource has less to do, by more than rounding, where everyone sends to its left-hand neighbour.
fn is_leftwards(instance: &Instance, hosts: &[NodeId]) -> bool {
    let [right_s, left_s] = [false, true].map(|leftwards| busiest_s(instance, hops(hosts, leftwards)));
    left_s < right_s * (1.0 - 1e-9)
}

/// How long a block holds the busiest resource on all hops together, seconds; infinite without a link for each.
fn busiest_s(instance: &Instance, hops: impl Iterator<Item = (NodeId, NodeId)>) -> f64 {
    let Instance { platform, message_bytes, .. } = *instance;
    let mut held_s: HashMap<Resource, f64> = HashMap::new();
    for (from, to) in hops {
        let Some(class) = platform.link(from, to) else { return f64::INFINITY };
        for window in occupation(platform, Hop { from, to, class }, message_bytes).windows {
            *held_s.entry(window.resource).or_default() += window.duration_s;
        }
    }
    held_s.into_values().fold(0.0, f64::max)
}

/// From each host to its neighbour.
fn hops(hosts: &[NodeId], leftwards: bool) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    let next = hosts.iter().copied().cycle().skip(1);
    let hops = hosts.iter().copied().zip(next);
    hops.map(move |(one, other)| if leftwards { (other, one) } else { (one, other) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;
    use serde_json::json;

    /// Of four hosts, a's and c's hops to the right share a pipe.
    #[test]
    fn the_ring_goes_the_way_on_which_fewer_hops_share_a_pipe() {
        let link = |from: &str, to: &str, uses: &[&str]| json!({"from": from, "to": to, "bandwidth_bytes_per_s": 1e6, "uses": uses});
        for (crowded, free, leftwards) in [("ab cd", "ba dc", true), ("ba dc", "ab cd", false)] {
            let ends = |hops: &'static str| hops.split(' ').map(|hop| hop.split_at(1));
            let links = ends(crowded).map(|(from, to)| link(from, to, &["pipe"]));
            let others = ends(free).chain(ends("bc cb da ad")).map(|(from, to)| link(from, to, &[]));
            let document = json!({"format": "broadleaf-platform/1", "name": "four", "port_model": "one-port",
                "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
                "shared": [{"id": "pipe", "bandwidth_bytes_per_s": 1e6}],
                "links": links.chain(others).collect::<Vec<_>>()});
            let platform = Platform::from_json(&document.to_string()).unwrap();
            let instance = Instance::new(&platform, NodeId(0), 1_000_000).unwrap();
            let instance = Instance { collective: Collective::Allgather, ..instance };
            let plan = Ring.plan(&instance, &Budget::UNLIMITED).unwrap();
            let pattern = plan.pattern.as_ref().map(|pattern| pattern.regular);
            assert_eq!(pattern, Some(Regular::Ring { leftwards }), "{crowded}");
            // Three rounds of 1 s.
            assert_eq!(crate::simulate::simulate(&platform, &plan, false).unwrap().makespan_s, 3.0);
        }
    }
}
