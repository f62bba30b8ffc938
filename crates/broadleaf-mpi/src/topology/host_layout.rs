//! Which ranks run on which host.

/// The hosts and their ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLayout {
    of_rank: Vec<u32>,
    /// The ranks of all hosts, host by host, ascending within each; a host's ranks begin at `first[host]`.
    members: Vec<u32>,
    first: Vec<u32>,
}

impl HostLayout {
    /// Hosts numbered from 0, none without a rank.
    pub fn new(of_rank: Vec<u32>) -> HostLayout {
        let count = of_rank.iter().max().map_or(0, |&host| host as usize + 1);
        let mut first = vec![0; count + 1];
        of_rank.iter().for_each(|&host| first[host as usize + 1] += 1);
        (0..count).for_each(|host| first[host + 1] += first[host]);
        let mut members: Vec<u32> = (0..of_rank.len() as u32).collect();
        members.sort_by_key(|&rank| of_rank[rank as usize]);
        HostLayout { of_rank, members, first }
    }

    pub fn of_rank(&self) -> &[u32] {
        &self.of_rank
    }

    /// At least one.
    pub fn members(&self, host: usize) -> &[u32] {
        &self.members[self.first[host] as usize..self.first[host + 1] as usize]
    }

    pub fn count(&self) -> usize {
        self.first.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_its_ranks_in_order() {
        let layout = HostLayout::new(vec![2, 0, 1, 0, 2]);
        assert_eq!([layout.members(0), layout.members(1), layout.members(2)], [&[1, 3][..], &[2], &[0, 4]]);
        assert_eq!((layout.count(), HostLayout::new(Vec::new()).count()), (3, 0));
    }
}
