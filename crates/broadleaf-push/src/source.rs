//! The source, on the root: walked into an index, read block by block, and checked for changes afterwards.

use crate::digest::{self, BlockHasher, Digest};
use crate::fault::Fault;
use crate::index::{Block, Entry, Index, Kind};
use crate::sparse::data_ranges;
use crate::unfinished::is_unfinished;
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that are hashed while they are in the cache of the core that has just read them: a power of two of BLAKE3's
/// chunks, and half of a small second-level cache.
const PIECE_BYTES: usize = 128 << 10;

/// The source and its index.
pub struct Source {
    /// The path of each source, by its name in the target; a single one has the empty name.
    bases: HashMap<Vec<u8>, PathBuf>,
    pub index: Index,
    /// By entry: its state at the walk, to detect changes.
    stamps: Vec<Stamp>,
    /// By entry: whether it was read at once, and had not changed by then.
    is_settled: Vec<bool>,
    /// The file that was read last.
    open: Option<(usize, File)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed: (i64, i64),
    renamed: (i64, i64),
    file: (u64, u64),
}

impl Stamp {
    fn of(found: &Metadata) -> Stamp {
        Stamp {
            bytes: found.len(),
            changed: (found.mtime(), found.mtime_nsec()),
            renamed: (found.ctime(), found.ctime_nsec()),
            file: (found.dev(), found.ino()),
        }
    }
}

impl Source {
    /// Walks the files and folders at `sources`; follows links there, but none below.
    pub fn walk(sources: &[String]) -> Result<Source, Fault> {
        // SAFETY: it takes nothing and cannot fail.
        let mut walk = Walk { user: unsafe { libc::geteuid() }, ..Walk::default() };
        let mut bases = HashMap::new();
        if sources.len() != 1 {
            walk.around();
        }
        for source in sources {
            let base = Path::new(source);
            let found = fs::metadata(base).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Fault(format!("{source}: no such file or folder; name one")),
                _ => Fault::source(source, &error),
            })?;
            let name = match base.file_name() {
                _ if sources.len() == 1 => Vec::new(),
                Some(name) => name.as_bytes().to_vec(),
                None => return Err(Fault(format!("{source}: it has no name of its own; name the folder"))),
            };
            walk.below = usize::from(sources.len() != 1);
            walk.add(base, name.clone(), &found)?;
            if bases.insert(name, base.to_owned()).is_some() {
                return Err(Fault(format!("{source}: another source has the same name; rename one of them")));
            }
        }
        let is_settled = vec![false; walk.entries.len()];
        Ok(Source { bases, index: Index::new(walk.entries), stamps: walk.stamps, is_settled, open: None })
    }

    fn path(&self, entry: usize) -> PathBuf {
        let path = &self.index.entries[entry].path[..];
        let first = path.split(|&byte| byte == b'/').next().unwrap_or_default();
        let (base, rest) = match self.bases.get(first) {
            Some(base) => (base.clone(), path.get(first.len() + 1..).unwrap_or_default()),
            None => (self.bases.get(&b""[..]).cloned().unwrap_or_default(), path),
        };
        if rest.is_empty() {
            base
        } else {
            base.join(std::ffi::OsStr::from_bytes(rest))
        }
    }

    /// Reads a block into `data` and returns its digest; `None` if the file has changed since the walk. A hole has no
    /// bytes, but a digest.
    pub fn read(&mut self, block: &Block, data: &mut [u8]) -> Option<Digest> {
        let file_bytes = self.index.file_bytes(block.entry);
        if block.is_hole {
            return Some(digest::of_block(&vec![0; block.bytes], block.offset, file_bytes));
        }
        if self.open.as_ref().is_none_or(|(entry, _)| *entry != block.entry) {
            self.open = Some((block.entry, File::open(self.path(block.entry)).ok()?));
        }
        let (_, file) = self.open.as_ref()?;
        let mut hasher = BlockHasher::new(block.offset, file_bytes);
        let mut offset = block.offset;
        for piece in data.chunks_mut(PIECE_BYTES) {
            file.read_exact_at(piece, offset).ok()?;
            hasher.update(piece);
            offset += piece.len() as u64;
        }
        // Later changes do not matter to a file that is read at once; it costs less to look at it while it is open.
        if self.index.is_written_at_once(block.entry) {
            if Stamp::of(&file.metadata().ok()?) != self.stamps[block.entry] {
                return None;
            }
            self.is_settled[block.entry] = true;
        }
        Some(hasher.finish())
    }

    /// Whether a file has changed since the walk, or, if it was read at once, between the walk and that.
    pub fn has_changed(&self, entry: usize) -> bool {
        !self.is_settled[entry]
            && fs::metadata(self.path(entry)).map_or(true, |found| Stamp::of(&found) != self.stamps[entry])
    }
}

#[derive(Default)]
struct Walk {
    entries: Vec<Entry>,
    stamps: Vec<Stamp>,
    /// Files with several names, by device and inode.
    seen: HashMap<(u64, u64), usize>,
    /// Number of a path's names above its source.
    below: usize,
    user: u32,
}

impl Walk {
    /// Adds the folder for several sources.
    fn around(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let changed = (now.as_secs() as i64, now.subsec_nanos());
        let entry = Entry { path: Vec::new(), mode: 0o755, changed, kind: Kind::Around };
        self.entries.push(entry);
        self.stamps.push(Stamp::default());
    }

    fn add(&mut self, at: &Path, path: Vec<u8>, found: &Metadata) -> Result<(), Fault> {
        let refused = |error: Error| Fault::source(at.display(), &error);
        refuse_unfinished(at, &path)?;
        let what = found.file_type();
        let kind = if what.is_dir() {
            Kind::Folder
        } else if what.is_symlink() {
            let text = fs::read_link(at).map_err(refused)?.into_os_string().into_vec();
            if !link_stays_inside(&path, self.below, &text) {
                let text = String::from_utf8_lossy(&text);
                return Err(Fault(format!(
                    "{}: the link leads out of the folder, to {text}; copy what it leads to, or remove it",
                    at.display()
                )));
            }
            Kind::Link(text)
        } else if what.is_file() {
            match self.seen.get(&(found.dev(), found.ino())) {
                Some(&entry) => Kind::SameAs(entry),
                None => {
                    let is_sparse = found.blocks().saturating_mul(512) < found.len();
                    let mut data: Vec<_> = std::iter::once(0..found.len()).collect();
                    // Without permission to read one file, nothing is sent. To open thousands takes as long as to
                    // read them, so those are not opened that the user has and may read by their mode.
                    if is_sparse || found.uid() != self.user || found.mode() & 0o400 == 0 {
                        let file = File::open(at).map_err(refused)?;
                        if is_sparse {
                            data = data_ranges(&file, found.len());
                        }
                    }
                    Kind::File { bytes: found.len(), is_sparse, data }
                }
            }
        } else {
            let what = if what.is_fifo() { "pipe" } else { "device or socket" };
            return Err(Fault(format!("{}: a {what} cannot be sent; leave it out", at.display())));
        };
        if matches!(kind, Kind::File { .. }) && found.nlink() > 1 {
            self.seen.insert((found.dev(), found.ino()), self.entries.len());
        }
        let is_folder = kind == Kind::Folder;
        let changed = (found.mtime(), found.mtime_nsec() as u32);
        self.entries.push(Entry { path: path.clone(), mode: found.mode() & 0o7777, changed, kind });
        self.stamps.push(Stamp::of(found));
        if is_folder {
            let listed: Result<Vec<_>, Error> = fs::read_dir(at).map_err(refused)?.collect();
            let mut names: Vec<_> =
                listed.map_err(refused)?.into_iter().map(|each| (each.file_name(), each)).collect();
            names.sort_by(|(one, _), (other, _)| one.cmp(other));
            for (name, each) in names {
                let mut below = path.clone();
                if !below.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name.as_bytes());
                let at = at.join(name);
                let found = each.metadata().map_err(|error| Fault::source(at.display(), &error))?;
                self.add(&at, below, &found)?;
            }
        }
        Ok(())
    }
}

/// Refuses the unfinished copies of another push: the targets use these names themselves.
fn refuse_unfinished(at: &Path, path: &[u8]) -> Result<(), Fault> {
    let at = at.display();
    match path.rsplit(|&byte| byte == b'/').next() {
        Some(name) if is_unfinished(name) => {
            Err(Fault(format!("{at}: an unfinished copy of a push; finish that push, or remove it")))
        }
        _ => Ok(()),
    }
}

/// Whether a link at `path` leads, by its text, into the same source, which is `below` names deep.
fn link_stays_inside(path: &[u8], below: usize, text: &[u8]) -> bool {
    let mut depth = path.split(|&byte| byte == b'/').count() - 1 - below;
    !text.starts_with(b"/")
        && text.split(|&byte| byte == b'/').all(|part| {
            match part {
                b"" | b"." => {}
                b".." if depth == 0 => return false,
                b".." => depth -= 1,
                _ => depth += 1,
            }
            true
        })
}

#[cfg(test)]
mod tests {
    use super::{link_stays_inside, Source};
    use std::fs;

    #[test]
    fn a_change_is_found_until_a_small_file_has_been_read() {
        let folder = std::env::temp_dir().join(format!("broadleaf-push-read-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [before, after] = ["before", "later"].map(|name| folder.join(name));
        for path in [&before, &after] {
            fs::write(path, "text").unwrap();
        }
        let mut source = Source::walk(&[folder.to_string_lossy().into_owned()]).unwrap();
        let blocks = source.index.blocks.clone();
        fs::write(&before, "longer text").unwrap();
        let mut data = [0; 4];
        assert!(source.read(&blocks[0], &mut data).is_none() && source.has_changed(blocks[0].entry));
        assert!(source.read(&blocks[1], &mut data).is_some() && data == *b"text");
        fs::write(&after, "longer text").unwrap();
        assert!(!source.has_changed(blocks[1].entry));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn links_that_lead_out_are_known_by_their_words() {
        for (path, text) in [("a", "b"), ("a/b", "../c"), ("a/b", "./x/../../c"), ("a/b/c", "../../d")] {
            assert!(link_stays_inside(path.as_bytes(), 0, text.as_bytes()), "{path} -> {text}");
        }
        for (path, text) in [("a", "../b"), ("a/b", "../../c"), ("a", "/etc/passwd"), ("a", "x/../../b")] {
            assert!(!link_stays_inside(path.as_bytes(), 0, text.as_bytes()), "{path} -> {text}");
        }
        // Links from one source into another are refused.
        assert!(link_stays_inside(b"one/a/b", 1, b"../c") && !link_stays_inside(b"one/a/b", 1, b"../../two"));
    }
}
