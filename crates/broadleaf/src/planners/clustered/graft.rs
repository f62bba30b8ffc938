//! Sends between clusters and trees inside them, as one tree over all hosts.

use super::sends::ClusterSend;
use super::unit::Unit;
use crate::plan::TreeBuilder;
use crate::planners::Instance;
use crate::platform::{LocalStart, NodeId};

/// The coordinator's own cluster comes after its last send to another cluster, as in the paper. With a local start on
/// arrival both would begin at once; a coordinator has one port, so its own cluster goes first.
pub(super) fn tree(
    instance: &Instance,
    units: &[Unit],
    inner_edges: &[(NodeId, NodeId)],
    sends: &[ClusterSend],
) -> TreeBuilder {
    let mut tree = TreeBuilder::new(instance.platform.node_count());
    let between = |tree: &mut TreeBuilder| {
        for send in sends {
            tree.add(units[send.from as usize].coordinator, units[send.to as usize].coordinator);
        }
    };
    let inside = |tree: &mut TreeBuilder| {
        for &(from, to) in inner_edges {
            tree.add(from, to);
        }
    };
    match instance.platform.local_start() {
        LocalStart::AfterLastSend => {
            between(&mut tree);
            inside(&mut tree);
        }
        LocalStart::OnArrival => {
            inside(&mut tree);
            between(&mut tree);
        }
    }
    tree
}
