//! The k-nomial tree: every host serves k − 1 others at each distance k^i below its own, the farthest first.
//!
//! Node r, by index relative to the root, serves r + s·k^i for s = 1 … k − 1 and every k^i below its lowest digit
//! that is not 0 in base k (the root: below n). k = 2 is the binomial tree. With more children a host sends several
//! short messages within one latency, so the tree is as flat as the latency is long; the radix is the one with the
//! least makespan of unsegmented messages, of equal ones the smallest.
//!
//! Reference: MPICH, `src/mpi/coll/algorithms/treealgo`, trees of the kind knomial_1; the choice of the radix by the
//! makespan is Broadleaf's.
//! Cost: ⌈log_k n⌉·((k − 1)·T(m) + latency) on a homogeneous one-port network. Complexity: O(n) a radix.
//! Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("five", PortModel::OnePort);
//! let nodes: Vec<_> = "abcde".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(10.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap();
//! let plan = find("k-nomial").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Four messages of 1 s leave a within the first one's latency of 10 s. k = 5 would take as long as k = 4, which
//! // serves e, at distance 4, before b, c and d at distances 1 to 3.
//! assert_eq!(trace.finish_s, [0.0, 12.0, 13.0, 14.0, 11.0]);
//! ```

use crate::budget::Budget;
use crate::plan::{Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};
use crate::platform::NodeId;
use ordered_float::OrderedFloat;
use std::ops::RangeInclusive;

pub struct KNomial;

static CARD: Card = Card {
    name: "k-nomial",
    summary: "every host serves k - 1 others at each distance k^i, the farthest first; k follows from latency and size",
    reference: "MPICH, src/mpi/coll/algorithms/treealgo, knomial_1",
    objective: "makespan of short messages where latency dominates",
    guarantee: "none",
    complexity: "O(n)",
    profile: Profile { segments: Segmentation::Fixed, ..Profile::QUICK },
};

/// Beyond eight children a level, a host that serves one at a time has more to send than a latency hides.
const RADICES: RangeInclusive<usize> = 2..=8;

impl Planner for KNomial {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.hosts_from_root();
        let makespans_s = RADICES.map(|radix| (OrderedFloat(makespan_s(instance, &hosts, radix)), radix));
        let radix = makespans_s.min().map_or(2, |(_, radix)| radix);
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        for place in 0..hosts.len() {
            for child in children(place, radix, hosts.len()) {
                tree.add(hosts[place], hosts[child]);
            }
        }
        let whole = instance.segmented(instance.message_bytes);
        Ok(whole.tree_plan(CARD.name, tree))
    }
}

/// The places that `place` serves, in its order.
fn children(place: usize, radix: usize, count: usize) -> impl Iterator<Item = usize> {
    let mut distances = Vec::new();
    let mut distance = 1;
    while distance < count && place.is_multiple_of(distance * radix) {
        distances.push(distance);
        distance *= radix;
    }
    let served = move |distance| (1..radix).map(move |step| place + step * distance);
    distances.into_iter().rev().flat_map(served).filter(move |&child| child < count)
}

/// When the last host has the message, by links and ports alone; infinite where an edge has no link.
fn makespan_s(instance: &Instance, hosts: &[NodeId], radix: usize) -> f64 {
    let mut arrival_s = vec![0.0; hosts.len()];
    // A place comes after its parent's.
    for place in 0..hosts.len() {
        let mut port_free_s = arrival_s[place];
        for child in children(place, radix, hosts.len()) {
            let Some(link) = instance.platform.link(hosts[place], hosts[child]) else { return f64::INFINITY };
            let class = instance.platform.class(link);
            port_free_s += class.time.seconds(instance.message_bytes);
            arrival_s[child] = port_free_s + class.latency_s;
        }
    }
    arrival_s.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_served_once_by_an_earlier_one() {
        for count in [1, 2, 5, 16, 27, 64, 100] {
            for radix in RADICES {
                let mut served: Vec<usize> = Vec::new();
                for place in 0..count {
                    let children: Vec<usize> = children(place, radix, count).collect();
                    assert!(children.iter().all(|&child| child > place));
                    served.extend(children);
                }
                served.sort_unstable();
                assert!(served.into_iter().eq(1..count), "{count} hosts, radix {radix}");
            }
        }
    }
}
