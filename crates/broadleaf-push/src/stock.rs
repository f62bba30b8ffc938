//! A host's stock: the blocks in an interrupted push's unfinished copies and in older versions of the files. Both are
//! read again and compared by digest, so no record of an earlier push is kept or trusted.

use crate::digest::{self, Digest};
use crate::fault::Fault;
use crate::index::{Block, Index};
use crate::place::Place;
use crate::source::Source;
use crate::sparse::has_data;
use std::fs::File;
use std::io::Result;
use std::os::unix::fs::FileExt;

/// Instead of the digest of a block that the root has not read.
const UNREAD: Digest = [0; 32];

/// One host's blocks, and the digests of all blocks.
pub struct Stock {
    /// By block: whether it is in the unfinished copy, or in an identical older version.
    pub has: Vec<bool>,
    /// By block: its digest, after the root has sent it.
    pub digests: Vec<Digest>,
    /// By entry: whether the older version is identical.
    pub is_there: Vec<bool>,
}

impl Stock {
    pub fn empty(index: &Index) -> Stock {
        Stock {
            has: vec![false; index.blocks.len()],
            digests: vec![UNREAD; index.blocks.len()],
            is_there: vec![false; index.entries.len()],
        }
    }

    /// By block: whether the host may have it: every block of an older version, and those of which an unfinished copy
    /// has data.
    pub fn candidates(index: &Index, place: &mut Place) -> std::result::Result<Vec<bool>, Fault> {
        let mut found = vec![false; index.blocks.len()];
        if place.is_made() {
            return Ok(found);
        }
        for number in index.files() {
            let entry = &index.entries[number];
            let blocks = index.blocks_of[number].clone();
            let flags = &mut found[blocks.clone()];
            if place.older(entry).map_err(|error| place.refused(entry, &error))?.is_some() {
                flags.fill(true);
            } else if let Some(file) =
                place.left_over(index, number).map_err(|error| place.refused(entry, &error))?
            {
                for (flag, block) in flags.iter_mut().zip(&index.blocks[blocks]) {
                    *flag = has_data(&file, block.offset..block.offset + block.bytes as u64);
                }
            }
        }
        Ok(found)
    }

    /// Checks the blocks in `candidates`, whose digests are known.
    pub fn take(
        &mut self,
        index: &Index,
        place: &mut Place,
        candidates: &[bool],
    ) -> std::result::Result<(), Fault> {
        for number in index.files() {
            let candidates = &candidates[index.blocks_of[number].clone()];
            if candidates.is_empty() || candidates.contains(&true) {
                self.take_entry(index, place, number, candidates).map_err(|error| {
                    let entry = &index.entries[number];
                    // Frees the space of a full disk.
                    place.discard(entry);
                    place.refused(entry, &error)
                })?;
            }
        }
        Ok(())
    }

    fn take_entry(
        &mut self,
        index: &Index,
        place: &mut Place,
        number: usize,
        candidates: &[bool],
    ) -> Result<()> {
        let entry = &index.entries[number];
        let blocks = index.blocks_of[number].clone();
        let file_bytes = index.file_bytes(number);
        let older = place.older(entry)?;
        let in_older = self.matching(index, number, candidates, older.as_ref());
        let same_length =
            older.as_ref().is_some_and(|file| file.metadata().is_ok_and(|found| found.len() == file_bytes));
        if same_length && in_older.iter().all(|&matches| matches) {
            self.has[blocks].fill(true);
            self.is_there[number] = true;
            return Ok(());
        }
        let left_over = place.left_over(index, number)?;
        let in_left_over = self.matching(index, number, candidates, left_over.as_ref());
        let mut data = Vec::new();
        for (at, block) in blocks.clone().zip(&index.blocks[blocks]) {
            let first = at - index.blocks_of[number].start;
            self.has[at] = in_left_over[first];
            if let Some(older) = older.as_ref().filter(|_| in_older[first] && !in_left_over[first]) {
                // Compared again, since another program may have written to the older version meanwhile.
                if is_at(older, block, file_bytes, &self.digests[at], &mut data) {
                    place.write(index, block, &data)?;
                    self.has[at] = true;
                }
            }
        }
        Ok(())
    }

    /// By block of an entry: whether it is a candidate, and the file has it at the same offset.
    fn matching(&self, index: &Index, number: usize, candidates: &[bool], file: Option<&File>) -> Vec<bool> {
        let mut data = Vec::new();
        let file_bytes = index.file_bytes(number);
        let blocks = index.blocks_of[number].clone();
        let of_block = |((block, known), &is_candidate): ((&Block, &Digest), &bool)| {
            is_candidate && file.is_some_and(|file| is_at(file, block, file_bytes, known, &mut data))
        };
        let known = index.blocks[blocks.clone()].iter().zip(&self.digests[blocks]);
        known.zip(candidates).map(of_block).collect()
    }

    /// The digests of blocks that no host has asked for, which matter if the source itself is the root's copy. Returns
    /// the entries that have changed since the walk.
    pub fn read_rest(&mut self, index: &Index, source: &mut Source) -> Vec<usize> {
        let (mut data, mut changed) = (Vec::new(), Vec::new());
        let unread = self.digests.iter_mut().zip(&index.blocks).filter(|(digest, _)| **digest == UNREAD);
        for (digest, block) in unread {
            data.resize(if block.is_hole { 0 } else { block.bytes }, 0);
            match source.read(block, &mut data) {
                Some(found) => *digest = found,
                None => changed.push(block.entry),
            }
        }
        changed
    }

    /// Whether the host has all of an entry's blocks.
    pub fn is_whole(&self, index: &Index, number: usize) -> bool {
        self.has[index.blocks_of[number].clone()].iter().all(|&has| has)
    }

    /// Reads a finished file again, from the disk if the system drops its cache, and returns whether it is correct.
    pub fn verify(&self, index: &Index, place: &mut Place, number: usize) -> Result<bool> {
        let Some(file) = place.older(&index.entries[number])? else {
            return Ok(false);
        };
        file.sync_all()?;
        // SAFETY: the handle is open. Pages that cannot be dropped from the cache are read from it.
        unsafe {
            libc::posix_fadvise(std::os::fd::AsRawFd::as_raw_fd(&file), 0, 0, libc::POSIX_FADV_DONTNEED)
        };
        let same_length = file.metadata()?.len() == index.file_bytes(number);
        let all = vec![true; index.blocks_of[number].len()];
        Ok(same_length && self.matching(index, number, &all, Some(&file)).iter().all(|&matches| matches))
    }

    /// The digest of all files: the file's own where there is one, else that of the lines `DIGEST  NAME` of all.
    pub fn total(&self, index: &Index) -> Digest {
        let of = |number: usize| {
            digest::of_file(&self.digests[index.blocks_of[number].clone()], index.file_bytes(number))
        };
        if let [only] = &index.entries[..] {
            if only.path.is_empty() {
                return of(0);
            }
        }
        let mut lines = Vec::new();
        for number in index.files() {
            lines.extend_from_slice(digest::text(&of(number)).as_bytes());
            lines.extend_from_slice(b"  ");
            lines.extend_from_slice(&index.entries[number].path);
            lines.push(b'\n');
        }
        *blake3::hash(&lines).as_bytes()
    }
}

/// Whether a file has a block with that digest; read into `data`.
fn is_at(file: &File, block: &Block, file_bytes: u64, known: &Digest, data: &mut Vec<u8>) -> bool {
    data.resize(block.bytes, 0);
    file.read_exact_at(data, block.offset).is_ok()
        && digest::of_block(data, block.offset, file_bytes) == *known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Entry, Kind, BLOCK_BYTES};
    use crate::place::Manner;
    use std::fs;

    /// The root reads the candidates again, so of an unfinished copy only what it has counts.
    #[test]
    fn of_an_unfinished_copy_the_blocks_with_data_are_candidates() {
        let folder = std::env::temp_dir().join(format!("broadleaf-push-stock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let data = std::iter::once(0..4 * BLOCK_BYTES).collect();
        let kind = Kind::File { bytes: 4 * BLOCK_BYTES, is_sparse: false, data };
        let index = Index::new(vec![Entry { path: Vec::new(), mode: 0o644, changed: (0, 0), kind }]);
        let target = folder.join("target");
        let candidates = || {
            let mut place = Place::open(&target.to_string_lossy(), &index, Manner::default()).unwrap();
            Stock::candidates(&index, &mut place).unwrap()
        };
        assert_eq!(candidates(), [false; 4]);
        let copy = File::create(folder.join(".target.broadleaf")).unwrap();
        copy.set_len(4 * BLOCK_BYTES).unwrap();
        copy.write_all_at(&[1; 5000], 2 * BLOCK_BYTES).unwrap();
        assert_eq!(candidates(), [false, false, true, false]);
        fs::write(&target, "an older version").unwrap();
        assert_eq!(candidates(), [true; 4]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
