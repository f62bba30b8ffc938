//! Ring all-gather: every node forwards to its right-hand neighbour the block that it last got from the left.
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
use crate::plan::{Collective, Plan, PlanError, Regular, MOST_FOLLOWING};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};
use crate::platform::LinkClassId;

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
const MOST_HOSTS: usize = 1500;

/// Segments of a block; more would only be shorter.
const MOST_SEGMENTS: u64 = 32;

pub struct Ring;

static CARD: Card = Card {
    name: "ring",
    summary: "everyone passes on to its right-hand neighbour what it last got from the left",
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
    let hosts: Vec<_> = platform.hosts().collect();
    if hosts.len() > MOST_FOLLOWING {
        return Some(1);
    }
    let neighbours = hosts.iter().zip(hosts.iter().cycle().skip(1));
    let classes: Vec<_> = neighbours.filter_map(|(&from, &to)| platform.link(from, to)).collect();
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
        Ok(instance.regular_plan(CARD.name, Regular::Ring, instance.platform.hosts().collect()))
    }
}
