//! The machines of the nodes, and the pairs that may be measured at the same time.

use crate::platform::NodeId;
use std::collections::HashMap;

/// The machine of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankHost {
    /// The machine's name.
    pub host: String,
    /// Processors of that machine.
    pub cores: u32,
}

/// An ordered pair: sender, receiver.
pub type NodePair = (NodeId, NodeId);

/// The machines of all ranks.
#[derive(Clone, Debug)]
pub struct Hosts {
    names: Vec<String>,
    cores: Vec<u32>,
    of: Vec<usize>,
    members: Vec<Vec<NodeId>>,
}

impl Hosts {
    pub fn new(ranks: &[RankHost]) -> Hosts {
        let mut hosts = Hosts { names: vec![], cores: vec![], of: vec![], members: vec![] };
        let mut known = HashMap::new();
        for (rank, RankHost { host, cores }) in ranks.iter().enumerate() {
            let index = *known.entry(host).or_insert_with(|| {
                hosts.names.push(host.clone());
                hosts.cores.push(*cores);
                hosts.members.push(Vec::new());
                hosts.names.len() - 1
            });
            hosts.of.push(index);
            hosts.members[index].push(NodeId(rank as u32));
        }
        hosts
    }

    pub fn node_count(&self) -> usize {
        self.of.len()
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        (0..self.of.len() as u32).map(NodeId)
    }

    /// The nodes of each machine, in order of rank.
    pub fn members(&self) -> &[Vec<NodeId>] {
        &self.members
    }

    pub fn of(&self, node: NodeId) -> usize {
        self.of[node.index()]
    }

    pub fn name(&self, node: NodeId) -> &str {
        &self.names[self.of(node)]
    }

    /// The node's index among those of its machine.
    pub fn place(&self, node: NodeId) -> usize {
        self.members[self.of(node)].iter().position(|&other| other == node).unwrap_or(0)
    }

    pub fn same_host(&self, a: NodeId, b: NodeId) -> bool {
        self.of(a) == self.of(b)
    }

    /// Splits pairs into groups that may run at the same time: no machine in two pairs of a group, since
    /// they would share its network card and its memory, and at least half of its processors idle.
    ///
    /// A pair that leaves fewer processors idle runs alone. The order of the pairs is kept as far as possible: each is
    /// added to the first group that allows it.
    pub fn groups(&self, pairs: &[NodePair]) -> Vec<Vec<NodePair>> {
        let mut groups: Vec<(Vec<NodePair>, Vec<bool>)> = Vec::new();
        for &pair in pairs {
            let (from, to) = (self.of(pair.0), self.of(pair.1));
            let alone = !self.has_cores_to_spare(pair);
            let open = groups.iter_mut().find(|(_, busy)| !alone && !busy[from] && !busy[to]);
            let (group, busy) = match open {
                Some(group) => group,
                None => {
                    // The group of a pair that runs alone is full from the start.
                    groups.push((Vec::new(), vec![alone; self.names.len()]));
                    groups.last_mut().expect("just pushed")
                }
            };
            group.push(pair);
            (busy[from], busy[to]) = (true, true);
        }
        groups.into_iter().map(|(group, _)| group).collect()
    }

    fn has_cores_to_spare(&self, (from, to): NodePair) -> bool {
        if self.same_host(from, to) {
            return self.cores[self.of(from)] >= 4;
        }
        [from, to].into_iter().all(|node| self.cores[self.of(node)] >= 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &[(&str, u32)]) -> Hosts {
        let rank = |&(host, cores): &(&str, u32)| RankHost { host: host.to_string(), cores };
        Hosts::new(&list.iter().map(rank).collect::<Vec<_>>())
    }

    fn pairs(list: &[(u32, u32)]) -> Vec<NodePair> {
        list.iter().map(|&(a, b)| (NodeId(a), NodeId(b))).collect()
    }

    #[test]
    fn pairs_of_one_machine_never_run_at_the_same_time() {
        let one = hosts(&[("a", 64); 4]);
        let all = pairs(&[(0, 1), (2, 3), (1, 2)]);
        assert_eq!(one.groups(&all), all.iter().map(|&pair| vec![pair]).collect::<Vec<_>>());
        assert_eq!((one.place(NodeId(2)), one.name(NodeId(2))), (2, "a"));
    }

    #[test]
    fn pairs_of_different_machines_do_when_cores_are_left() {
        let four = hosts(&[("a", 2), ("b", 2), ("c", 2), ("d", 2), ("e", 1), ("f", 2)]);
        let all = pairs(&[(0, 1), (2, 3), (0, 2), (1, 3), (4, 5)]);
        let wanted = vec![pairs(&[(0, 1), (2, 3)]), pairs(&[(0, 2), (1, 3)]), pairs(&[(4, 5)])];
        assert_eq!(four.groups(&all), wanted, "e has one processor and would be disturbed");
    }
}
