//! The hops over the switches in a plan.

use crate::plan::PlanError;
use crate::platform::{Hop, NodeId, Platform};

/// The hops from one host to another over the switches that the plan names.
pub(super) fn explicit_hops(
    platform: &Platform,
    from: NodeId,
    to: NodeId,
    switches: &[NodeId],
) -> Result<Vec<Hop>, PlanError> {
    let mut path = vec![from];
    path.extend_from_slice(switches);
    path.push(to);
    path.windows(2)
        .map(|pair| {
            let class = platform.link(pair[0], pair[1]).ok_or_else(|| PlanError::NoPath {
                from: platform.node(pair[0]).id.clone(),
                to: platform.node(pair[1]).id.clone(),
            })?;
            Ok(Hop { from: pair[0], to: pair[1], class })
        })
        .collect()
}
