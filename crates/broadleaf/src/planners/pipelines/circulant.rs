//! Träff's broadcast on a circulant graph: in every round each node sends one segment and receives one, and
//! with k segments the last is everywhere after ⌈log2 n⌉ − 1 + k rounds, which no schedule beats.
//!
//! In round i every node sends a fixed number of places ahead, one of ⌈log2 n⌉ distances in turn, for any n. What
//! goes over an edge repeats every ⌈log2 n⌉ rounds, so the plan is ⌈log2 n⌉ trees and a period of as many segments.
//! To be that early everywhere, the last segment must leave the root several times, which no tree of the others does.
//! A repeated plan sends it like the others and takes ⌈log2 n⌉ + k rounds; a plan selected by name that is not too
//! long to be written out is one period of k segments in which the last has its own tree.
//!
//! An all-gather takes ⌈log2 n⌉ rounds of about half of the missing blocks each, for any n; turned round it is the
//! reduce-scatter of Träff, *Optimal, non-pipelined reduce-scatter and allreduce algorithms* (2024).
//!
//! Reference: Träff, *Optimal broadcast schedules in logarithmic time with applications to broadcast,
//! all-broadcast, reduction and all-reduction* (2024), section 2; *(Poly)logarithmic time construction of
//! round-optimal n-block broadcast schedules* (2022).
//! Cost: ⌈log2 n⌉ − 1 + k segment times on a homogeneous one-port network. Complexity: O(n log n), O(nk)
//! written out. Guarantee: round-optimal there, for any n.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance, Planner};
//! use broadleaf::portfolio::{make, Effort, SegmentChoice};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("five", PortModel::OnePort);
//! let nodes: Vec<_> = "abcde".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 1.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 20).unwrap();
//! let made = make(&instance, "circulant", SegmentChoice::Bytes(1), Effort::Thorough, &Budget::UNLIMITED).unwrap();
//! // 20 segments of 1 s; three rounds reach five nodes.
//! assert_eq!(made.plan.predicted.makespan_s, Some(3.0 - 1.0 + 20.0));
//! ```

use super::bruck::at_most;
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Regular, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub struct Circulant;

/// Plans of more slots repeat, and take one round more, of thousands.
const MOST_SLOTS: u64 = 1 << 18;

static CARD: Card = Card {
    name: "circulant",
    summary: "in every round everyone sends as far ahead as everyone else, one of log2 n distances in turn",
    reference: "Träff, Optimal broadcast schedules in logarithmic time, 2024, section 2",
    objective: "makespan of any number of segments on homogeneous clusters",
    guarantee: "ceil(log2 n) - 1 + k rounds on homogeneous one-port networks, the fewest there can be; one \
                more for more than 262144 / (n - 1) segments",
    complexity: "O(n log n)",
    profile: Profile { finish: Some(written_out), ..Profile::QUICK },
};

impl Planner for Circulant {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        match instance.collective {
            Collective::Allgather => at_most(instance),
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        if instance.collective == Collective::Allgather {
            let hosts = instance.platform.hosts().collect();
            return Ok(instance.regular_plan(CARD.name, Regular::CirculantAllgather, hosts));
        }
        let hosts = instance.root_and_receivers();
        if hosts.len() < 2 {
            let empty = TreeBuilder::new(instance.platform.node_count());
            return Ok(instance.tree_plan(CARD.name, empty));
        }
        let rounds = u64::from(hosts.len().next_power_of_two().trailing_zeros());
        let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
        // The last segment leaves in the last round of a period: its tree is the quickest.
        let turn = ((rounds - segments % rounds) % rounds) as u32;
        Ok(instance.regular_plan(CARD.name, Regular::Circulant { turn }, hosts))
    }
}

/// The plan as one period of all its segments, where that is not too long.
fn written_out(instance: &Instance, plan: Plan) -> Plan {
    if instance.collective != Collective::Bcast {
        return plan;
    }
    let (hosts, segments) = (instance.root_and_receivers(), plan.segment_count());
    let slots = segments.saturating_mul(hosts.len() as u64 - 1);
    if slots == 0 || slots > MOST_SLOTS {
        return plan;
    }
    let regular = Regular::CirculantOnce { segments: segments as u32 };
    instance.segmented(plan.segment_bytes).regular_plan(CARD.name, regular, hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check;
    use crate::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
    use crate::simulate::simulate;

    fn homogeneous(nodes: usize) -> Platform {
        let mut builder = PlatformBuilder::new("same", PortModel::OnePort);
        let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(0.0, 1.0));
        builder.add_mesh(Mesh { nodes: hosts, class }).unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn takes_the_fewest_rounds() {
        for nodes in [2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33, 64, 100] {
            let platform = homogeneous(nodes);
            let least = nodes.next_power_of_two().trailing_zeros() as f64 - 1.0;
            for segments in [1, 2, 5, 31, 64] {
                let instance =
                    Instance::new(&platform, NodeId(nodes as u32 / 2), segments).unwrap().segmented(1);
                let repeated = Circulant.plan(&instance, &Budget::UNLIMITED).unwrap();
                let once = written_out(&instance, repeated.clone());
                for (plan, rounds) in [(repeated, least + 1.0), (once, least)] {
                    assert_eq!(check::faults(&platform, &plan), [""; 0]);
                    let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
                    let most_s = rounds + segments as f64;
                    assert!(makespan_s <= most_s, "{nodes} nodes, {segments} segments: {makespan_s} s");
                    assert!(makespan_s >= least + segments as f64, "fewer rounds than there can be");
                }
            }
        }
    }

    #[test]
    fn one_node_and_plans_too_long_to_write_out() {
        let alone = homogeneous(1);
        let instance = Instance::new(&alone, NodeId(0), 7).unwrap();
        let plan = written_out(&instance, Circulant.plan(&instance, &Budget::UNLIMITED).unwrap());
        assert_eq!(simulate(&alone, &plan, false).unwrap().makespan_s, 0.0);
        let platform = homogeneous(5);
        let instance = Instance::new(&platform, NodeId(0), MOST_SLOTS).unwrap().segmented(1);
        let plan = written_out(&instance, Circulant.plan(&instance, &Budget::UNLIMITED).unwrap());
        assert_eq!(plan.trees.len(), 3);
        assert_eq!(plan.period.unwrap().segments, 3);
    }
}
