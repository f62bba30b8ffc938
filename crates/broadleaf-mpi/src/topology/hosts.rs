//! The hosts that a communicator's ranks run on, and the leader of each.

use crate::error::CallError;
use crate::intranode::{CopyMethod, HostGroup};
use crate::mpi::Mpi;
use crate::topology::host_layout::HostLayout;
use crate::topology::rank_map::RankMap;
use std::collections::HashMap;
use std::sync::Arc;

/// The same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    layout: Arc<HostLayout>,
    /// Whether a host's ranks share memory; empty where no host's do.
    shares: Vec<bool>,
}

impl Hosts {
    /// Hosts whose ranks do not share memory yet.
    pub fn new(layout: Arc<HostLayout>) -> Hosts {
        Hosts { layout, shares: Vec::new() }
    }

    /// Assumes that the ranks of every host with several share memory, for predictions.
    pub fn assume_shared(&mut self) {
        self.shares = (0..self.count()).map(|host| self.members(host).len() > 1).collect();
    }

    pub fn count(&self) -> usize {
        self.layout.count()
    }

    pub fn of_rank(&self) -> &[u32] {
        self.layout.of_rank()
    }

    pub fn members(&self, host: usize) -> &[u32] {
        self.layout.members(host)
    }

    pub fn shares(&self, host: usize) -> bool {
        self.shares.get(host).is_some_and(|&shares| shares)
    }

    /// The leader of a host in broadcasts from `root`: the root itself, elsewhere the lowest rank.
    pub fn leader(&self, host: usize, root: u32) -> u32 {
        if self.of_rank()[root as usize] as usize == host {
            root
        } else {
            self.members(host)[0]
        }
    }

    /// Whether another rank of its host passes the message on to this one.
    pub fn is_served(&self, rank: u32, root: u32) -> bool {
        let host = self.of_rank()[rank as usize] as usize;
        self.shares(host) && self.leader(host, root) != rank
    }

    /// The root, then the ranks that receive a call's header by message.
    pub fn hearers(&self, root: u32) -> Vec<u32> {
        let ranks = self.of_rank().len() as u32;
        (0..ranks).map(|step| (root + step) % ranks).filter(|&rank| !self.is_served(rank, root)).collect()
    }

    /// Collective: sets up shared memory on every host with several ranks, where `wanted`; `always`: as in
    /// [`HostGroup::open`].
    pub fn join(
        &mut self,
        mpi: &Mpi,
        rank: u32,
        wanted: bool,
        always: Option<CopyMethod>,
    ) -> Result<Option<HostGroup>, CallError> {
        if !wanted || self.of_rank().len() == self.count() {
            return Ok(None);
        }
        let (own, ranks) = (self.of_rank()[rank as usize] as usize, self.of_rank().len());
        let members = self.members(own);
        let group =
            if members.len() > 1 { HostGroup::open(mpi, rank, members.to_vec(), always)? } else { None };
        if self.count() == 1 {
            self.shares = vec![group.is_some()];
            return Ok(group);
        }
        let mut joined = mpi.gather(&[group.is_some().into()], ranks, rank as usize)?;
        joined.resize(ranks, 0);
        mpi.share(&mut joined)?;
        self.shares = (0..self.count()).map(|host| joined[self.members(host)[0] as usize] != 0).collect();
        Ok(group)
    }
}

/// Whether plans over this rank map's nodes can run as they are with shared memory: not where a host's ranks sit on
/// several nodes, between which a plan selected by name moves the data itself.
pub fn one_node_a_host(rank_map: &RankMap, hosts: &Hosts) -> bool {
    let alike = |members: &[u32]| {
        members
            .iter()
            .all(|&rank| rank_map.node_of_rank[rank as usize] == rank_map.node_of_rank[members[0] as usize])
    };
    hosts.count() > 1
        && (0..hosts.count()).all(|host| alike(hosts.members(host)))
        && one_host_a_node(rank_map)
}

/// Whether each node has ranks of one host only: not if machines of one short name in several domains match one node
/// of the platform.
pub fn one_host_a_node(rank_map: &RankMap) -> bool {
    let mut host_of: HashMap<u32, u32> = HashMap::new();
    rank_map
        .node_of_rank
        .iter()
        .zip(rank_map.hosts.of_rank())
        .all(|(&node, &host)| *host_of.entry(node).or_insert(host) == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_hosts() -> Hosts {
        let mut hosts = Hosts::new(Arc::new(HostLayout::new(vec![0, 1, 0, 1, 1])));
        hosts.shares = vec![true, false];
        hosts
    }

    #[test]
    fn the_root_leads_its_own_host_and_the_lowest_rank_the_others() {
        let hosts = two_hosts();
        assert_eq!([hosts.leader(0, 2), hosts.leader(1, 2)], [2, 1]);
        assert_eq!([hosts.leader(0, 3), hosts.leader(1, 3)], [0, 3]);
    }

    #[test]
    fn whoever_is_served_hears_nothing_by_message() {
        assert_eq!(two_hosts().hearers(2), [2, 3, 4, 1]);
        assert_eq!(two_hosts().hearers(1), [1, 3, 4, 0]);
    }
}
