//! All-reduce from other collectives' plans: a way in, which is a plan turned round, and a way out.
//!
//! From an all-gather: each host combines a block of the message from all others, the all-gather turned round, then gives it
//! to all (reduce-scatter, then all-gather; with the ring and recursive doubling, Thakur, Rabenseifner and Gropp,
//! *Optimization of collective communication operations in MPICH*, section 4.5). From a broadcast: the root combines each
//! segment and sends it out while the next one comes in. The former moves 2·(n − 1)/n messages through each port of a
//! homogeneous network, the latter two, so a planner of both has its all-gather taken where it plans one.

use super::Instance;
use crate::plan::{tree_of_positions, Collective, Period, Plan, PlanError, Predicted, Slot, Tree};

/// Both halves as separate instances: inward, then outward.
pub(super) fn halves<'a>(half: Collective, instance: &Instance<'a>) -> [Instance<'a>; 2] {
    let hosts = instance.platform.hosts().count() as u64;
    let message_bytes = match half {
        Collective::Allgather => instance.message_bytes.div_ceil(hosts),
        _ => instance.message_bytes,
    };
    let segment_bytes = instance.segment_bytes.min(message_bytes);
    [half.mirror(), half].map(|collective| Instance { collective, message_bytes, segment_bytes, ..*instance })
}

/// The all-reduce of a way in and a way out, as planned for [`halves`].
pub(super) fn joined(instance: &Instance, mut way_in: Plan, mut way_out: Plan) -> Result<Plan, PlanError> {
    // As many segments a block as the half has, none of them longer.
    let mut segment_bytes = way_out.segment_bytes.min(way_in.segment_bytes);
    if way_out.collective == Collective::Allgather {
        let blocks = instance.platform.hosts().count() as u64;
        let count = way_out.message_bytes.div_ceil(segment_bytes) * blocks;
        segment_bytes = instance.message_bytes.div_ceil(count).max(1);
        for tree in way_out.trees.iter_mut().chain(way_in.trees.iter_mut()) {
            tree.share /= blocks as f64;
        }
    }
    let of_tree = |plan: &Plan| -> Vec<_> {
        plan.trees.iter().map(|tree: &Tree| (plan.root_of(tree), tree.share)).collect()
    };
    if of_tree(&way_out) != of_tree(&way_in) {
        // The network differs by direction: the shares of the way out are used both ways.
        way_in = way_out.mirrored(instance.platform);
        if way_in.routed(instance.platform).is_err() {
            let reason = "its trees cannot be gone both ways here".to_string();
            return Err(PlanError::Unsupported { planner: way_out.planner, reason });
        }
    }
    let period = merged(&way_in, &way_out);
    Ok(Plan {
        collective: Collective::Allreduce,
        root: instance.root,
        message_bytes: instance.message_bytes,
        segment_bytes,
        inward: way_in.trees,
        period,
        pattern: None,
        predicted: Predicted::default(),
        ..way_out
    })
}

/// One period of both: each segment goes out when it has come in, after a fixed number of periods at most. `None`
/// where the two halves deal the segments differently, or neither has an order.
fn merged(way_in: &Plan, way_out: &Plan) -> Option<Period> {
    let (coming, going) = (way_in.period.as_ref()?, way_out.period.as_ref()?);
    let dealt = |plan: &Plan, period: &Period| tree_of_positions(period, plan.collective, &plan.trees, &[]);
    if dealt(way_in, coming) != dealt(way_out, going) {
        return None;
    }
    let behind = coming.longest_lag();
    let out = going.slots.iter().map(|slot| Slot {
        segment: slot.segment + going.segments,
        lag: slot.lag + behind,
        ..*slot
    });
    Some(Period { segments: going.segments, slots: coming.slots.iter().copied().chain(out).collect() })
}
