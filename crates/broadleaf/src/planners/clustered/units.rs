//! A platform in the form of the two-level planners: the grid between its clusters, and a tree inside each.

use super::coordinator_grid::{grid_of, pipes};
use super::graft;
use super::grid::Grid;
use super::host_times::HostTimes;
use super::inner_tree;
use super::kinds::{kinds, Homes, Marks};
use super::sends::ClusterSend;
use super::unit::{units_of, Unit};
use crate::plan::TreeBuilder;
use crate::planners::Instance;
use crate::platform::NodeId;

/// A platform in the form of the grid planners.
pub(super) struct Units {
    units: Vec<Unit>,
    pub grid: Grid,
    /// The trees inside clusters: sender, receiver, each sender's in serving order.
    inner_edges: Vec<(NodeId, NodeId)>,
}

impl Units {
    /// Two levels where some cluster has several hosts and there is more than one cluster.
    pub fn new(instance: &Instance) -> Self {
        let units = units_of(instance);
        let mut links = HostTimes::new(instance);
        let marks = Marks::new(instance.platform);
        let mut grid = grid_of(instance, &units, &mut links, None, &marks);
        let mut inner_edges = Vec::new();
        for (cluster, unit) in units.iter().enumerate().filter(|(_, unit)| unit.members.len() > 1) {
            let inner = inner_tree::best(instance, unit.coordinator, &unit.members, &mut links, &marks);
            grid.set_local_s(cluster, inner.time_s);
            inner_edges.extend(inner.edges);
        }
        Units { units, grid, inner_edges }
    }

    /// Every host as its own unit, regardless of clusters, with all links.
    pub fn of_single_hosts(instance: &Instance) -> Self {
        let alone = |host| Unit { coordinator: host, members: vec![host] };
        let units: Vec<Unit> = instance.platform.hosts().map(alone).collect();
        let grid =
            grid_of(instance, &units, &mut HostTimes::new(instance), None, &Marks::new(instance.platform));
        Units { units, grid, inner_edges: Vec::new() }
    }

    /// Every host as its own unit, with links inside clusters and to coordinators only: the message enters every
    /// cluster once. Shared resources are modelled.
    pub fn of_hosts(instance: &Instance) -> Self {
        let count = instance.platform.node_count();
        let mut homes = Homes { coordinator: vec![NodeId(0); count], is_shared: vec![false; count] };
        let mut units = Vec::new();
        for unit in units_of(instance) {
            for &host in &unit.members {
                homes.coordinator[host.index()] = unit.coordinator;
                homes.is_shared[host.index()] = unit.members.len() > 1;
                units.push(Unit { coordinator: host, members: vec![host] });
            }
        }
        // As the platform has them: ties go to the smaller id.
        units.sort_by_key(|unit| unit.coordinator);
        let mut grid = grid_of(
            instance,
            &units,
            &mut HostTimes::by_segment(instance),
            Some(&homes),
            &Marks::new(instance.platform),
        );
        grid.set_pipes(pipes(instance, &units, &grid));
        Units { units, grid, inner_edges: Vec::new() }
    }

    /// The number of kinds of units, found without examining pairs.
    pub fn count_kinds(instance: &Instance) -> usize {
        kinds(instance.platform, &units_of(instance), None, &Marks::new(instance.platform)).1.len()
    }

    /// The sends between units as one tree over all hosts.
    pub fn graft(&self, instance: &Instance, sends: &[ClusterSend]) -> TreeBuilder {
        graft::tree(instance, &self.units, &self.inner_edges, sends)
    }
}
