//! The units of a two-level planner: the clusters of a platform, or its hosts where there are no clusters.

use crate::planners::Instance;
use crate::platform::NodeId;

/// One cluster, or one host.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Receives between clusters: the root in its own cluster, else the first member.
    pub coordinator: NodeId,
    /// Coordinator included.
    pub members: Vec<NodeId>,
}

/// The hosts by cluster, those without one on their own; hosts alone where that would make one unit or units
/// of one host only.
pub(super) fn units_of(instance: &Instance) -> Vec<Unit> {
    let platform = instance.platform;
    let alone = |host| Unit { coordinator: host, members: vec![host] };
    let mut units: Vec<Unit> = Vec::new();
    let mut unit_of = vec![None; platform.clusters().len()];
    for host in platform.hosts() {
        let Some(cluster) = platform.node(host).cluster else {
            units.push(alone(host));
            continue;
        };
        match unit_of[cluster.index()] {
            None => {
                unit_of[cluster.index()] = Some(units.len());
                units.push(alone(host));
            }
            Some(unit) => {
                let unit: &mut Unit = &mut units[unit];
                unit.members.push(host);
                if host == instance.root {
                    unit.coordinator = host;
                }
            }
        }
    }
    if units.len() == 1 {
        return platform.hosts().map(alone).collect();
    }
    units
}
