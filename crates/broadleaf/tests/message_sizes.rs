//! Messages and segments of every size, around every power of two: a plan's results equal those of 128-bit arithmetic,
//! and every planner returns a plan or a refusal.

use broadleaf::budget::Budget;
use broadleaf::plan::{check, Collective, Plan, PlanError, Programs};
use broadleaf::planners::{supports, Instance, PLANNERS};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn platform() -> Platform {
    let document = json!({"format": "broadleaf-platform/1", "name": "mesh", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
        "meshes": [{"nodes": ["a", "b", "c"], "link": {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9}}]});
    Platform::from_json(&document.to_string()).unwrap()
}

/// A number near a power of two, or any number with that many bits.
fn size() -> impl Strategy<Value = u64> {
    let near = (0u32..64, -2i64..=2).prop_map(|(bit, by)| (1u64 << bit).wrapping_add_signed(by));
    let drawn = (any::<u64>(), 0u32..64).prop_map(|(number, bits)| number >> bits);
    prop_oneof![near, drawn, Just(0), Just(u64::MAX)]
}

fn plan(message_bytes: u64, segment_bytes: u64, trees: usize, collective: Collective) -> Plan {
    let chains = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]];
    let tree = |at: usize| {
        let [root, middle, last] = if collective == Collective::Allgather { chains[at] } else { chains[0] };
        let (middle, last) =
            if at == 1 && collective == Collective::Bcast { (last, middle) } else { (middle, last) };
        json!({"share": if collective == Collective::Allgather { 1.0 } else { 1.0 / trees as f64 }, "root": root,
            "children": {root: [middle], middle: [last]}})
    };
    let trees: Vec<_> = (0..trees).map(tree).collect();
    let text = json!({"format": "broadleaf-plan/1", "root": "a", "collective": collective.name(),
        "message_bytes": message_bytes, "segment_bytes": segment_bytes, "trees": trees});
    Plan::from_json(&text.to_string()).unwrap()
}

proptest! {
    #[test]
    fn segments_lie_where_128_bit_arithmetic_puts_them(
        message in size(), segment in size(), kind in 0usize..4, draws in prop::collection::vec(any::<u64>(), 8)
    ) {
        let segment = segment.max(1);
        let (trees, collective) = [
            (1, Collective::Bcast),
            (2, Collective::Bcast),
            (1, Collective::Scatter),
            (3, Collective::Allgather),
        ][kind];
        let plan = plan(message, segment, trees, collective);
        let platform = platform();
        let blocks = if collective == Collective::Bcast { 1 } else { 3 };
        let faults = check::faults(&platform, &plan);
        let all = u128::from(message) * blocks;
        let count = u128::from(message).div_ceil(u128::from(segment));
        prop_assert_eq!(u128::from(plan.segment_count()), count);
        prop_assert_eq!(faults.iter().any(|fault| fault.contains("2^63 - 1")), all >= 1 << 63, "{:?}", faults);
        if !faults.is_empty() {
            prop_assert!(all >= 1 << 63 || count > 1 << 26, "{:?}", faults);
            prop_assert!(simulate(&platform, &plan, false).is_err());
            return Ok(());
        }
        let programs = Programs::for_ranks(Arc::new(plan.clone().into()));
        prop_assert_eq!(u128::from(programs.total_bytes()), all);
        let ends = [0, count.saturating_sub(1) as u64];
        for at in draws.iter().map(|draw| draw % (count as u64).max(1)).chain(ends).filter(|&at| u128::from(at) < count) {
            let start = u128::from(at) * u128::from(segment);
            let length = u128::from(segment).min(u128::from(message) - start);
            prop_assert_eq!(plan.segment_range(at), (start as u64, length as u64));
            for block in 0..blocks {
                let id = u128::from(at) * blocks + block;
                let place = (block * u128::from(message) + start, length);
                let (offset, bytes) = programs.place(id as u64);
                prop_assert_eq!((u128::from(offset), u128::from(bytes)), place);
            }
        }
    }
}

/// Every planner, and the best of them, for messages at the ends of every kind of integer.
#[test]
fn planners_take_every_size() {
    let platform = platform();
    let near = |bit: u32| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1];
    let sizes: Vec<u64> =
        [0, 15, 31, 32, 52, 62, 63].into_iter().flat_map(near).chain([0, u64::MAX]).collect();
    for message_bytes in sizes {
        let Ok(instance) = Instance::new(&platform, NodeId(0), message_bytes) else { continue };
        for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
            let name = planner.card().name;
            let budget = Budget::within(Duration::from_millis(20));
            for segment in [SegmentChoice::Auto, SegmentChoice::Bytes(1 << 20)] {
                let made = make(&instance, name, segment, Effort::Quick, &budget);
                match made.map(|made| made.plan) {
                    Ok(plan) => {
                        assert_eq!(plan.message_bytes, message_bytes, "{name}");
                        let faults = check::faults(&platform, &plan);
                        assert!(
                            faults.is_empty() || message_bytes >= 1 << 46,
                            "{name}, {message_bytes} bytes: {faults:?}"
                        );
                    }
                    Err(error) => assert!(!matches!(error, PlanError::Invalid(_)), "{name}: {error}"),
                }
            }
        }
    }
}
