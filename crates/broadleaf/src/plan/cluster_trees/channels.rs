//! A host's channels from the construction alone, in time that does not grow with the number of hosts.

use super::ClusterTrees;
use crate::plan::{InChannel, OutChannel, Source};
use crate::platform::NodeId;

/// The channels of a broadcast's trees over clusters, their tags not numbered yet.
pub(in crate::plan) fn channels_over_clusters(
    clusters: &ClusterTrees,
    node: NodeId,
) -> (Vec<InChannel>, Vec<OutChannel>) {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for at in 0..clusters.tree_count() {
        let (tree, tag, is_inward, is_exchanged, combines) = (at as u32, 0, false, false, false);
        for to in clusters.children(at, node) {
            let (target, child, source) = (to, to, Source::Held);
            outputs.push(OutChannel {
                to,
                tag,
                tree,
                target,
                child,
                is_inward,
                is_exchanged,
                combines,
                source,
            });
        }
        if let Some(from) = clusters.parent(at, node) {
            let (target, child) = (node, node);
            inputs.push(InChannel { from, tag, tree, target, child, is_inward, is_exchanged, combines });
        }
    }
    (inputs, outputs)
}
