//! BLAKE3 by blocks: the digest of a block is its node of the file's hash tree, so that the digests of all blocks
//! give the digest of the file without reading it again, the one that `b3sum` prints.
//!
//! Reference: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2020, section 2.1.

use crate::index::BLOCK_BYTES;
use blake3::hazmat::{left_subtree_len, merge_subtrees_non_root, merge_subtrees_root, HasherExt, Mode};
use blake3::Hasher;

/// A BLAKE3 digest.
pub type Digest = [u8; 32];

/// The digest of the block `data` that begins at byte `offset` of a file of `file_bytes`.
pub fn of_block(data: &[u8], offset: u64, file_bytes: u64) -> Digest {
    let mut block = BlockHasher::new(offset, file_bytes);
    block.update(data);
    block.finish()
}

/// The digest of a block whose bytes come one piece after the other.
pub struct BlockHasher {
    hasher: Hasher,
    is_whole_file: bool,
}

impl BlockHasher {
    /// For the block that begins at byte `offset` of a file of `file_bytes`.
    pub fn new(offset: u64, file_bytes: u64) -> BlockHasher {
        let mut hasher = Hasher::new();
        let is_whole_file = file_bytes <= BLOCK_BYTES;
        if !is_whole_file {
            hasher.set_input_offset(offset);
        }
        BlockHasher { hasher, is_whole_file }
    }

    pub fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
    }

    pub fn finish(&self) -> Digest {
        if self.is_whole_file {
            *self.hasher.finalize().as_bytes()
        } else {
            self.hasher.finalize_non_root()
        }
    }
}

/// The digest of a file of `file_bytes` from those of its blocks.
pub fn of_file(blocks: &[Digest], file_bytes: u64) -> Digest {
    match blocks {
        [] => *blake3::hash(b"").as_bytes(),
        [one] => *one,
        _ => {
            let (left, right) = halves(blocks, file_bytes);
            *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
        }
    }
}

fn halves(blocks: &[Digest], bytes: u64) -> (Digest, Digest) {
    // A multiple of a block, which is a power of two of chunks, as the left part is.
    let left_bytes = left_subtree_len(bytes);
    let (left, right) = blocks.split_at((left_bytes / BLOCK_BYTES) as usize);
    (node(left, left_bytes), node(right, bytes - left_bytes))
}

fn node(blocks: &[Digest], bytes: u64) -> Digest {
    if let [one] = blocks {
        return *one;
    }
    let (left, right) = halves(blocks, bytes);
    merge_subtrees_non_root(&left, &right, Mode::Hash)
}

/// The digest in hexadecimal.
pub fn text(digest: &Digest) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
