//! Assigns blocks to hosts: a block travels only over hosts that lack it.

use crate::index::Index;
use crate::wire::{bit, Reader, Writer};
use std::collections::BTreeMap;
use std::ops::Range;

/// Most groups of hosts with their own communicator and plan. Hosts of rarer groups get blocks together, some of which
/// they hold already.
const MOST_GROUPS: usize = 8;
/// Bytes of file contents in a window, as a rule: two blocks. An interruption loses a window or two, and the first one
/// is read quickly. Eight windows take no longer than one broadcast of their sum, since the root begins the next one
/// while the hosts still forward the last one.
pub const WINDOW_BYTES: usize = 8 << 20;
/// Blocks of a window at most: small files, and holes, which have no bytes.
const WINDOW_BLOCKS: usize = 16384;

/// The members of each group, by rank, and the runs of blocks with their groups, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    pub groups: Vec<Vec<bool>>,
    pub runs: Vec<(usize, Range<usize>)>,
}

/// The blocks of one broadcast.
#[derive(Debug, PartialEq, Eq)]
pub struct Window {
    pub group: usize,
    pub blocks: Range<usize>,
}

/// The schedule for the blocks that each rank lacks: `needs` has one bit per block for each rank, the lowest first.
pub fn schedule(index: &Index, needs: &[Vec<u8>]) -> Schedule {
    let lacking = |block: usize| -> Vec<bool> { needs.iter().map(|bits| bit(bits, block)).collect() };
    let mut bytes_of: BTreeMap<Vec<bool>, u64> = BTreeMap::new();
    for (number, block) in index.blocks.iter().enumerate() {
        *bytes_of.entry(lacking(number)).or_default() += block.bytes as u64;
    }
    bytes_of.retain(|members, _| members.contains(&true));
    let mut sets: Vec<(Vec<bool>, u64)> = bytes_of.into_iter().collect();
    sets.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let mut groups: Vec<Vec<bool>> = sets.into_iter().map(|(members, _)| members).collect();
    if groups.len() > MOST_GROUPS {
        let rare = groups.split_off(MOST_GROUPS - 1);
        groups.push((0..needs.len()).map(|rank| rare.iter().any(|members| members[rank])).collect());
    }
    let last = groups.len().saturating_sub(1);
    let mut runs: Vec<(usize, Range<usize>)> = Vec::new();
    for number in 0..index.blocks.len() {
        let members = lacking(number);
        if !members.contains(&true) {
            continue;
        }
        let group = groups.iter().position(|each| *each == members).unwrap_or(last);
        match runs.last_mut() {
            Some((same, run)) if *same == group && run.end == number => run.end += 1,
            _ => runs.push((group, number..number + 1)),
        }
    }
    Schedule { groups, runs }
}

impl Schedule {
    /// The windows in the order in which they travel.
    pub fn windows(&self, index: &Index) -> Vec<Window> {
        let mut windows = Vec::new();
        for (group, run) in &self.runs {
            let (mut first, mut bytes) = (run.start, 0);
            for at in run.clone() {
                let more = if index.blocks[at].is_hole { 0 } else { index.blocks[at].bytes };
                if at > first && (bytes + more > WINDOW_BYTES || at - first == WINDOW_BLOCKS) {
                    windows.push(Window { group: *group, blocks: first..at });
                    (first, bytes) = (at, 0);
                }
                bytes += more;
            }
            windows.push(Window { group: *group, blocks: first..run.end });
        }
        windows
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(self.groups.len() as u64);
        for members in &self.groups {
            out.bytes(&members.iter().map(|&is_member| is_member.into()).collect::<Vec<u8>>());
        }
        out.number(self.runs.len() as u64);
        for (group, run) in &self.runs {
            out.number(*group as u64).number(run.start as u64).number(run.end as u64);
        }
        out.0
    }

    /// `None` for text that [`Schedule::encode`] does not write.
    pub fn decode(text: &[u8]) -> Option<Schedule> {
        let mut text = Reader(text);
        let mut found = Schedule::default();
        for _ in 0..text.number()? {
            found.groups.push(text.bytes()?.iter().map(|&byte| byte != 0).collect());
        }
        for _ in 0..text.number()? {
            let group = text.number()? as usize;
            found.runs.push((group, text.number()? as usize..text.number()? as usize));
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Entry, Kind, BLOCK_BYTES};
    use crate::wire::packed;

    fn file_of(blocks: u64) -> Index {
        let bytes = blocks * BLOCK_BYTES;
        let data = std::iter::once(0..bytes).collect();
        let kind = Kind::File { bytes, is_sparse: false, data };
        Index::new(vec![Entry { path: Vec::new(), mode: 0o644, changed: (0, 0), kind }])
    }

    #[test]
    fn blocks_go_to_those_that_lack_them() {
        let lacks = [[false; 4], [true, true, false, true], [true, false, false, true]];
        let needs: Vec<Vec<u8>> = lacks.iter().map(|each| packed(each.iter().copied())).collect();
        let made = schedule(&file_of(4), &needs);
        assert_eq!(made.groups, [vec![false, true, true], vec![false, true, false]]);
        assert_eq!(made.runs, [(0, 0..1), (1, 1..2), (0, 3..4)]);
        assert_eq!(Schedule::decode(&made.encode()), Some(made));
    }

    #[test]
    fn rare_groups_share_one() {
        // Twelve ranks, each of which lacks another block.
        let needs: Vec<Vec<u8>> = (0..12).map(|rank| packed((0..12).map(|block| block == rank))).collect();
        let made = schedule(&file_of(12), &needs);
        assert_eq!(made.groups.len(), MOST_GROUPS);
        for (group, run) in &made.runs {
            assert!(run.clone().all(|block| made.groups[*group][block]));
        }
        assert_eq!(made.runs.iter().map(|(_, run)| run.len()).sum::<usize>(), 12);
    }

    #[test]
    fn windows_hold_two_blocks_and_cover_all() {
        let index = file_of(5);
        let made = schedule(&index, &[packed([true; 5])]);
        let windows = made.windows(&index);
        assert_eq!(
            windows.iter().map(|window| window.blocks.clone()).collect::<Vec<_>>(),
            [0..2, 2..4, 4..5]
        );
        assert_eq!(schedule(&index, &[packed([false; 5])]), Schedule::default());
    }
}
