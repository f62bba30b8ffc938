//! The lengths of a plan's blocks and of their segments.
//!
//! A scatter, an all-gather and their mirrors move a block for each host. With weights, a host's block has
//! `message_bytes` × its weight, and is cut into as many segments as every other block. So the order of segments, such
//! as a period, is the same for equal and for unequal blocks. A block without bytes is not sent; of a block with fewer
//! bytes than segments, the last segments are empty messages.

use super::Plan;
use crate::platform::{NodeId, Platform};

/// The offset of each block, in the order of the hosts, and the ends of its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    message_bytes: u64,
    segment_bytes: u64,
    count: u64,
    /// By block; empty if all are equal.
    uneven: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    offset: u64,
    bytes: u64,
    segment_bytes: u64,
}

/// The bytes of a block with the given weight.
pub(crate) fn block_bytes(message_bytes: u64, weight: f64) -> u64 {
    (message_bytes as f64 * weight).round() as u64
}

/// The least bytes of a segment in a block with the given weight, such that as many segments as the whole message has
/// hold the block.
pub(crate) fn segment_bytes_of(message_bytes: u64, segment_bytes: u64, weight: f64) -> u64 {
    let count = message_bytes.div_ceil(segment_bytes.max(1)).max(1);
    ((segment_bytes as f64 * weight).ceil() as u64).max(block_bytes(message_bytes, weight).div_ceil(count))
}

impl Blocks {
    /// `count` blocks of the same length.
    pub(super) fn alike(message_bytes: u64, segment_bytes: u64, count: u64) -> Blocks {
        Blocks { message_bytes, segment_bytes, count, uneven: Vec::new() }
    }

    /// A block for each weight; segments end between elements of `element_bytes` bytes.
    pub(super) fn weighted(
        message_bytes: u64,
        segment_bytes: u64,
        element_bytes: u64,
        weights: impl Iterator<Item = f64>,
    ) -> Blocks {
        let mut offset = 0u64;
        let uneven: Vec<Block> = weights
            .map(|weight| {
                let bytes = block_bytes(message_bytes, weight);
                let segment_bytes = segment_bytes_of(message_bytes, segment_bytes, weight)
                    .next_multiple_of(element_bytes.max(1));
                let block = Block { offset, bytes, segment_bytes };
                offset = offset.saturating_add(bytes);
                block
            })
            .collect();
        Blocks { message_bytes, segment_bytes, count: uneven.len() as u64, uneven }
    }

    /// `(offset, length)` of a block among all, bytes.
    pub fn range(&self, block: u32) -> (u64, u64) {
        match self.uneven.get(block as usize) {
            Some(block) => (block.offset, block.bytes),
            None => (u64::from(block) * self.message_bytes, self.message_bytes),
        }
    }

    /// `(offset, length)` of a block's segment among all blocks, bytes.
    pub fn place(&self, block: u32, segment: u64) -> (u64, u64) {
        let (offset, bytes) = self.range(block);
        let each = self.uneven.get(block as usize).map_or(self.segment_bytes, |block| block.segment_bytes);
        let start = (segment * each).min(bytes);
        (offset + start, each.min(bytes - start))
    }

    /// No segment of any block is longer.
    pub fn longest_segment_bytes(&self) -> u64 {
        self.uneven.iter().map(|block| block.segment_bytes).max().unwrap_or(self.segment_bytes)
    }

    /// Whether a block has no bytes, and is not sent, while other blocks have some.
    pub fn is_empty(&self, block: u32) -> bool {
        self.uneven.get(block as usize).is_some_and(|block| block.bytes == 0)
    }

    /// The sum of all blocks, bytes.
    pub fn total_bytes(&self) -> u64 {
        match self.uneven.last() {
            Some(last) => last.offset.saturating_add(last.bytes),
            None => self.count * self.message_bytes,
        }
    }
}

impl Plan {
    /// The weight of a node's block.
    pub fn weight_of(&self, node: NodeId) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[node.index()])
    }

    /// The blocks of a plan that is bound to `platform`.
    pub fn blocks(&self, platform: &Platform) -> Blocks {
        let (message_bytes, segment_bytes) = (self.message_bytes, self.segment_bytes);
        match &self.weights {
            None => {
                let count = self.collective.blocks(platform.hosts().count()) as u64;
                Blocks::alike(message_bytes, segment_bytes, count)
            }
            Some(weights) => {
                let of_hosts = platform.hosts().map(|host| weights[host.index()]);
                Blocks::weighted(message_bytes, segment_bytes, 1, of_hosts)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every block is covered by its consecutive segments, and every block has the same number of them.
    #[test]
    fn segments_tile_every_block() {
        for (message, segment) in [(10, 4), (1, 1), (1000, 7), (5, 5), (64, 1)] {
            for element in [1, 3, 8] {
                let weights = [0.0, 1.0, 0.01, 2.5, 1e-9, 7.0 / 3.0];
                let blocks = Blocks::weighted(message, segment, element, weights.into_iter());
                let mut at = 0;
                for (block, weight) in weights.into_iter().enumerate() {
                    let (offset, bytes) = blocks.range(block as u32);
                    assert_eq!((offset, bytes), (at, (message as f64 * weight).round() as u64));
                    for index in 0..message.div_ceil(segment) {
                        let (start, length) = blocks.place(block as u32, index);
                        assert_eq!(start, at);
                        at += length;
                        assert!(at == offset + bytes || (at - offset) % element == 0);
                    }
                    assert_eq!(at, offset + bytes, "{message} in {segment}, weight {weight}");
                }
                assert_eq!(blocks.total_bytes(), at);
            }
        }
    }

    #[test]
    fn weights_of_one_change_nothing() {
        for (message, segment) in [(10, 4), (9, 4), (1, 1), (1000, 7)] {
            let (alike, ones) = (
                Blocks::alike(message, segment, 3),
                Blocks::weighted(message, segment, 1, std::iter::repeat_n(1.0, 3)),
            );
            for (block, index) in
                (0..3).flat_map(|block| (0..message.div_ceil(segment)).map(move |at| (block, at)))
            {
                assert_eq!(alike.place(block, index), ones.place(block, index));
            }
        }
    }
}
