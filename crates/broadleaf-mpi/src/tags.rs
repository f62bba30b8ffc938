//! The MPI tags of Broadleaf's messages.

use broadleaf::plan::{Collective, Transfers};

/// MPI tags below this are the plan's channel numbers.
pub const CHANNEL_TAGS: u32 = 1 << 13;
/// Frames and the data that follows them.
pub const FRAME_TAG: i32 = CHANNEL_TAGS as i32;
pub const FRAME_DATA_TAG: i32 = FRAME_TAG + 1;
pub const PLAN_TAG: i32 = FRAME_TAG + 2;
/// The agreement of a host's ranks at the start.
pub const GROUP_TAG: i32 = PLAN_TAG + 1;
/// Call headers have the tags from here to 32767, the highest that every MPI has.
const FIRST_CALL_TAG: i32 = 1 << 14;
const CALL_TAGS: u64 = 1 << 14;

/// The tag of a call's headers. A header from another call must not be taken for this one's, and no rank can
/// be this many calls ahead of another that it broadcasts to; the call's number stands in the header as well.
pub fn call_tag(call: u64) -> i32 {
    FIRST_CALL_TAG + (call % CALL_TAGS) as i32
}

/// The offset from a plan's channel numbers to tags: the message's length and the call's number choose one of the
/// ranges that fit below [`CHANNEL_TAGS`]. Different lengths nearly always get different tags; where they do not, a
/// segment's length reveals it. So the receives of a rank with a wrong length do not match the next call's data.
pub(crate) fn salt(plan: &Transfers, call: u64) -> u32 {
    let range = channels(plan).next_power_of_two();
    let ranges = u64::from(CHANNEL_TAGS) / range.max(1);
    // Only a broadcast's receives may be posted for another length than the sender's.
    if ranges < 2 || plan.collective != Collective::Bcast {
        return 0;
    }
    // Neighbouring lengths get tags far apart: the golden ratio's multiples.
    let length = plan.message_bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = length.wrapping_add(call.wrapping_mul(0xbf58_476d_1ce4_e5b9)) >> 32;
    (mixed % ranges * range) as u32
}

/// Channels of one pair of ranks: at most one a tree, and one more for each relayed edge.
pub(crate) fn channels(plan: &Transfers) -> u64 {
    plan.trees.iter().chain(&plan.inward).map(|tree| 1 + tree.via.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::budget::Budget;
    use broadleaf::planners::{find, plan_with, Instance};
    use broadleaf::platform::Mesh;
    use broadleaf::platform::{LinkClass, NodeId, PlatformBuilder, PortModel};

    fn plan(planner: &str, bytes: u64) -> Transfers {
        let mut builder = PlatformBuilder::new("eight", PortModel::OnePort);
        for node in 0..8 {
            builder.add_host(format!("n{node}")).unwrap();
        }
        let class = builder.add_class(LinkClass::affine(1e-6, 1e9));
        builder.add_mesh(Mesh { nodes: (0..8).map(NodeId).collect(), class }).unwrap();
        let platform = builder.build().unwrap();
        let instance = Instance::new(&platform, NodeId(0), bytes).unwrap().segmented(1000);
        plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap().into()
    }

    #[test]
    fn tags_of_near_lengths_do_not_meet_and_stay_in_range() {
        for planner in ["chain", "round-robin"] {
            let base = plan(planner, 300_000);
            let channels = channels(&base) as u32;
            assert!(salt(&base, 7).abs_diff(salt(&base, 8)) >= channels, "{planner}: the next call");
            for bytes in [299_999, 300_001, 150_000, 600_000, 70_000] {
                let (one, other) = (salt(&base, 7), salt(&plan(planner, bytes), 7));
                assert!(one.abs_diff(other) >= channels, "{planner}: {one} and {other} for {bytes}");
                assert!(other + channels <= CHANNEL_TAGS, "{planner}: {other}");
            }
        }
    }
}
