//! The source without its contents: entries in the order of their names, and the blocks of their files.

use crate::wire::{Reader, Writer};
use std::ops::Range;

/// Bytes of a block: a power of two of BLAKE3's chunks, so that a block is a node of the file's hash tree. An
/// interruption or a changed byte costs one block; a block's digest is 10⁻⁵ of its size.
pub const BLOCK_BYTES: u64 = 4 << 20;

/// The type of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    /// The folder for several sources; an existing one is unchanged.
    Around,
    /// `data`: the ranges that are not holes, in order; `is_sparse`: the file has holes, perhaps inside blocks.
    File {
        bytes: u64,
        is_sparse: bool,
        data: Vec<Range<u64>>,
    },
    /// A symbolic link, with its text.
    Link(Vec<u8>),
    /// A hard link to the file of that entry.
    SameAs(usize),
}

/// A name and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Below the target, without a leading slash; empty: the target itself.
    pub path: Vec<u8>,
    /// Permissions, set-id bits included.
    pub mode: u32,
    /// Seconds and nanoseconds of the last change.
    pub changed: (i64, u32),
    pub kind: Kind,
}

/// One block of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub entry: usize,
    /// First byte in the file.
    pub offset: u64,
    pub bytes: usize,
    pub is_hole: bool,
}

/// All entries; folders before their contents.
#[derive(Debug, PartialEq, Eq)]
pub struct Index {
    pub entries: Vec<Entry>,
    pub blocks: Vec<Block>,
    /// The blocks of each entry.
    pub blocks_of: Vec<Range<usize>>,
}

impl Index {
    pub fn new(entries: Vec<Entry>) -> Index {
        let (mut blocks, mut blocks_of) = (Vec::new(), Vec::new());
        for (number, entry) in entries.iter().enumerate() {
            let first = blocks.len();
            if let Kind::File { bytes, data, .. } = &entry.kind {
                let mut ranges = data.iter().peekable();
                let mut offset = 0;
                while offset < *bytes {
                    let end = (offset + BLOCK_BYTES).min(*bytes);
                    while ranges.next_if(|range| range.end <= offset).is_some() {}
                    let is_hole = ranges.peek().is_none_or(|range| range.start >= end);
                    blocks.push(Block { entry: number, offset, bytes: (end - offset) as usize, is_hole });
                    offset = end;
                }
            }
            blocks_of.push(first..blocks.len());
        }
        Index { entries, blocks, blocks_of }
    }

    /// Bytes of an entry's file; 0 for other types.
    pub fn file_bytes(&self, entry: usize) -> u64 {
        match self.entries[entry].kind {
            Kind::File { bytes, .. } => bytes,
            _ => 0,
        }
    }

    /// Whether one write makes the whole file.
    pub fn is_written_at_once(&self, entry: usize) -> bool {
        let is_whole = matches!(self.entries[entry].kind, Kind::File { is_sparse: false, .. });
        is_whole && self.blocks_of[entry].len() == 1
    }

    /// The entries that are files, each once.
    pub fn files(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.entries.len()).filter(|&entry| matches!(self.entries[entry].kind, Kind::File { .. }))
    }

    /// Bytes of all files, holes included.
    pub fn total_bytes(&self) -> u64 {
        self.files().map(|entry| self.file_bytes(entry)).sum()
    }

    pub fn encode(&self, out: &mut Writer) {
        out.number(self.entries.len() as u64);
        for entry in &self.entries {
            out.bytes(&entry.path).number(entry.mode.into());
            out.number(entry.changed.0 as u64).number(entry.changed.1.into());
            match &entry.kind {
                Kind::Folder => {
                    out.number(0);
                }
                Kind::Around => {
                    out.number(4);
                }
                Kind::File { bytes, is_sparse, data } => {
                    out.number(1).number(*bytes).number((*is_sparse).into()).number(data.len() as u64);
                    for range in data {
                        out.number(range.start).number(range.end);
                    }
                }
                Kind::Link(text) => {
                    out.number(2).bytes(text);
                }
                Kind::SameAs(entry) => {
                    out.number(3).number(*entry as u64);
                }
            }
        }
    }

    /// `None` for text that [`Index::encode`] does not write, including names that lead out of the target.
    pub fn decode(text: &mut Reader<'_>) -> Option<Index> {
        let mut entries: Vec<Entry> = Vec::new();
        for number in 0..text.number()? as usize {
            let path = text.bytes()?.to_vec();
            let mode = u32::try_from(text.number()?).ok()?;
            let changed = (text.number()? as i64, u32::try_from(text.number()?).ok()?);
            let kind = match text.number()? {
                0 => Kind::Folder,
                1 => {
                    let (bytes, is_sparse) = (text.number()?, text.number()? != 0);
                    let ranges = text.number()?;
                    let data = (0..ranges).map(|_| Some(text.number()?..text.number()?));
                    Kind::File { bytes, is_sparse, data: data.collect::<Option<_>>()? }
                }
                2 => Kind::Link(text.bytes()?.to_vec()),
                3 => Kind::SameAs(text.number().map(|entry| entry as usize).filter(|&entry| entry < number)?),
                4 => Kind::Around,
                _ => return None,
            };
            if !stays_inside(&path) {
                return None;
            }
            entries.push(Entry { path, mode, changed, kind });
        }
        Some(Index::new(entries))
    }
}

/// Whether a name is below the target by its text; links are refused when the name is opened.
pub fn stays_inside(path: &[u8]) -> bool {
    path.is_empty() || path.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}
