//! Van de Geijn: a scatter along a binomial tree, then an all-gather.
//!
//! The message is cut into n blocks, block r for node r by index relative to the root. A node passes on the blocks of
//! its subtree's nodes; then all exchange: by recursive doubling where n is a power of two (in round i node r
//! exchanges all it has with node r XOR 2^i), around a ring otherwise. A node never receives a block that the scatter
//! left with it.
//!
//! As a plan: one tree a block, and one period whose slots are the rounds in order. Blocks that travel together are
//! one transfer. A recursive-doubling round lists the blocks that its sender got last first, so that it waits for the
//! round before and sends once. Ring slots of one sender are never adjacent, so each block travels alone: combined,
//! the root's blocks would all go to its neighbour at once.
//!
//! Reference: Barnett, Littlefield, Payne and van de Geijn, *On the efficiency of global combine operations*;
//! Axida, Viet and Yoshinaga, *Pipelined broadcast by round-robin*, section 2 and table 1, whose printed sum
//! should be 2·log2(n)·startup + 2·(n − 1)/n·m/bandwidth.
//! Cost: log2(n) transfers of m/2, m/4 … m/n and again as many back on a homogeneous one-port network; with the
//! ring log2(n) + n − 1 transfers. Complexity: O(n²), the number of slots.
//! Guarantee: within 2·(n − 1)/n of the time for m bytes, apart from start-ups and latency, on a homogeneous
//! one-port network with n a power of two.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = "abcd".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("van-de-geijn").unwrap().plan(&Instance::new(&platform, nodes[0], 400).unwrap(), &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Blocks of 1 s. Scatter: a sends 2 and 3 to c until 2 s, then 1 to b and c sends 3 to d until 3 s.
//! // Round 0: a and b exchange 0 (b has 1), c and d 2, until 4 s.
//! // Round 1: b lacks 2 and 3, c and d lack 0 and 1: two blocks each, until 6 s.
//! assert_eq!(trace.finish_s, [0.0, 6.0, 6.0, 6.0]);
//! // Three transfers of the scatter; b and d receive in round 0, all but a in round 1.
//! assert_eq!(trace.transfer_count, 3 + 2 + 3);
//! ```

use crate::budget::Budget;
use crate::plan::{Plan, PlanError, Regular};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};

pub struct VanDeGeijn;

/// A plan has n² slots; with more nodes it would not fit in a few hundred megabytes.
const MOST_NODES: usize = 1024;
/// Up to this many nodes, planning and simulating n² slots takes less than 10 ms.
const QUICK_NODES: usize = 96;

static CARD: Card = Card {
    name: "van-de-geijn",
    summary: "binomial scatter, then all-gather by recursive doubling or around a ring; n blocks",
    reference:
        "Barnett, Littlefield, Payne and van de Geijn, On the efficiency of global combine operations, \
                1993",
    objective: "makespan of long messages on a homogeneous network",
    guarantee: "at most twice the time of the message over one link, but for start-ups and latency, on a \
                homogeneous one-port network with n a power of two",
    complexity: "O(n^2)",
    profile: Profile {
        pace: |instance| Pace::uncounted(instance, instance.platform.hosts().count() <= QUICK_NODES),
        segments: Segmentation::Fixed,
        ..Profile::QUICK
    },
};

impl Planner for VanDeGeijn {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let count = instance.platform.hosts().count();
        if count > MOST_NODES {
            return Err(Unsupported(format!(
                "{count} nodes, and its plan has a slot for every pair; at most {MOST_NODES}"
            )));
        }
        if instance.message_bytes < count as u64 {
            return Err(Unsupported(format!(
                "a message of {} bytes cannot be cut into {count} blocks, one a node",
                instance.message_bytes
            )));
        }
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.hosts_from_root();
        let blocks = instance.segmented(instance.message_bytes.div_ceil(hosts.len() as u64));
        Ok(blocks.regular_plan(CARD.name, Regular::VanDeGeijn, hosts))
    }
}
