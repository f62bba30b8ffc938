//! Refuses, before planning, times that are too long to be summed in floating point.
//!
//! Planners and bounds add up times over all nodes and segments, and multiply two of them. Near the largest
//! floating-point number, the result would be infinity, where comparisons have no meaning.

use super::{ExplicitLink, LinkClass, LinkClassId, Platform};
use crate::json::Fault;

/// The longest time of a node, a link or a shared resource with the longest of all messages, seconds. Its square,
/// summed over 2^64 segments and all pairs of 10,000 nodes, is still finite.
pub const MOST_S: f64 = 1e100;

pub(super) fn refuse(platform: &Platform) -> Result<(), Fault> {
    for (index, class) in platform.classes.iter().enumerate() {
        if let Some(fact) = of_class(class) {
            return Err(fault(place(platform, LinkClassId(index as u32)), fact));
        }
    }
    for (index, shared) in platform.shared.iter().enumerate() {
        if let Some(fact) = of_rate(Some(shared.bandwidth_bytes_per_s)) {
            return Err(fault(format!("$.shared[{index}]"), fact));
        }
    }
    for (index, node) in platform.nodes.iter().enumerate() {
        let local = node.local_broadcast_s.and_then(|seconds| too_long("its local broadcast takes", seconds));
        let rates = [node.out_bytes_per_s, node.in_bytes_per_s, node.combine_bytes_per_s];
        let fact = local.or_else(|| rates.into_iter().find_map(of_rate));
        if let Some(fact) = fact {
            return Err(fault(format!("$.nodes[{index}]"), fact));
        }
    }
    Ok(())
}

fn fault(place: String, fact: String) -> Fault {
    Fault::new(place, fact, format!("keep times below {MOST_S:e} s, so that they can be added up"))
}

fn of_class(class: &LinkClass) -> Option<String> {
    let longest = "a transfer of 2^64 bytes takes";
    let parts = [&class.send, &class.recv].into_iter().flatten().map(|part| part.seconds(u64::MAX));
    let tables = [&class.send_overhead, &class.receive_overhead, &class.bulk].into_iter().flatten();
    let rows = |table: &super::GapTable| {
        table.rows().iter().map(|&(_, s)| s).fold(table.seconds(u64::MAX), f64::max)
    };
    let rows_of_time = match &class.time {
        super::TransferTime::Gap(table) => rows(table),
        super::TransferTime::Affine { .. } => class.time.seconds(u64::MAX),
    };
    too_long("its latency is", class.latency_s)
        .or_else(|| too_long(longest, rows_of_time))
        .or_else(|| parts.chain(tables.map(rows)).find_map(|seconds| too_long(longest, seconds)))
}

fn of_rate(bytes_per_s: Option<f64>) -> Option<String> {
    too_long("2^64 bytes take", u64::MAX as f64 / bytes_per_s?)
}

fn too_long(what: &str, seconds: f64) -> Option<String> {
    (seconds.is_nan() || seconds > MOST_S).then(|| format!("{what} {seconds:e} s"))
}

/// The place of a class in the document.
fn place(platform: &Platform, class: LinkClassId) -> String {
    let link = platform.links.iter().position(|link: &ExplicitLink| link.class == class);
    let mesh = || platform.meshes.iter().position(|mesh| mesh.class == class);
    let bridge = || platform.bridges.iter().position(|bridge| bridge.class == class);
    link.map(|at| format!("$.links[{at}]"))
        .or_else(|| mesh().map(|at| format!("$.meshes[{at}].link")))
        .or_else(|| bridge().map(|at| format!("$.bridges[{at}].link")))
        .unwrap_or_else(|| "$".to_string())
}
