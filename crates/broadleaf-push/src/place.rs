//! A host's target: unfinished copies beside the final names, to which they are renamed.

use crate::fault::Fault;
use crate::folder::{self, Folder, NO_FILE};
use crate::index::{Block, Entry, Index, Kind};
use crate::unfinished::unfinished;
use std::collections::HashSet;
use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{fchown, FileExt, MetadataExt, PermissionsExt};

/// Modes and owners, as the user set them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// The mode of all files; `None`: each as in the source.
    pub mode: Option<u32>,
    /// Whether set-user-id and set-group-id bits stay.
    pub keeps_set_id: bool,
    pub user: Option<u32>,
    pub group: Option<u32>,
}

impl Manner {
    fn mode_of(&self, entry: &Entry) -> u32 {
        let asked =
            self.mode.filter(|_| !matches!(entry.kind, Kind::Folder | Kind::Around)).unwrap_or(entry.mode);
        asked & if self.keeps_set_id { 0o7777 } else { 0o1777 }
    }
}

/// The target on this host.
pub struct Place {
    /// The target if it is a folder, else its parent folder.
    top: Folder,
    /// The target's own name, if it is a file.
    name: Vec<u8>,
    /// Whether this push has made the folder `top`.
    is_made: bool,
    shown: String,
    manner: Manner,
    /// Holds the lock of a single file.
    _lock: Option<File>,
    /// The folder that was used last, with its path below `top`.
    last_folder: Option<(Vec<u8>, Folder)>,
    /// The unfinished copy that was used last.
    last_file: Option<(usize, File)>,
    /// Unfinished copies that this push has found or made: a missing one is not made again, without its data.
    begun: HashSet<usize>,
    /// Unfinished copies whose owner, mode and time are set.
    dressed: HashSet<usize>,
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// A missing unfinished copy, as someone else has removed it; other errors unchanged.
fn gone(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::other("its unfinished copy was removed; push again"),
        _ => error,
    }
}

impl Place {
    /// Opens the target, makes its folders, and keeps other pushes to it out.
    pub fn open(shown: &str, index: &Index, manner: Manner) -> std::result::Result<Place, Fault> {
        let refused = |error: Error| Fault::target(shown, &error);
        let path = match shown.trim_end_matches('/').as_bytes() {
            b"" if shown.starts_with('/') => b"/",
            path => path,
        };
        let is_folder =
            matches!(index.entries.first(), Some(Entry { kind: Kind::Folder | Kind::Around, .. }));
        let (parent, name) = split(path);
        let parent = if path.starts_with(b"/") && parent.is_empty() { b"/" } else { parent };
        let above = Folder::open(parent).map_err(refused)?;
        let mut place = Place {
            top: above,
            name: name.to_vec(),
            is_made: false,
            shown: shown.to_owned(),
            manner,
            _lock: None,
            last_folder: None,
            last_file: None,
            begun: HashSet::new(),
            dressed: HashSet::new(),
        };
        let is_free = if is_folder {
            if Folder::open(path).is_err() {
                place.top.make(name).map_err(refused)?;
                place.is_made = true;
            }
            place.top = Folder::open(path).map_err(refused)?;
            for entry in
                index.entries.iter().filter(|entry| entry.kind == Kind::Folder && !entry.path.is_empty())
            {
                let (_, name) = split(&entry.path);
                place
                    .folder_of(entry)
                    .and_then(|folder| folder.make(name))
                    .map_err(|e| place.refused(entry, &e))?;
            }
            place.top.lock()
        } else {
            // Where the name leads, since a link to a folder or a device is not meant to be replaced either.
            let found = std::fs::metadata(shown).ok().map(|found| found.file_type());
            if name.is_empty() || shown.ends_with('/') || found.is_some_and(|found| found.is_dir()) {
                return Err(Fault(format!("{shown}: it is a folder; name a file")));
            }
            if found.is_some_and(|found| !found.is_file()) {
                return Err(Fault(format!("{shown}: {NO_FILE}")));
            }
            let file = place.top.write(&unfinished(name), true).map_err(refused)?;
            let is_free = folder::lock(file.as_raw_fd());
            place._lock = Some(file);
            place.begun.insert(0);
            is_free
        };
        if !is_free {
            return Err(Fault(format!("{shown}: another push writes there; wait for it")));
        }
        Ok(place)
    }

    /// Whether this push has made the folder at the target, so that it has no older files.
    pub fn is_made(&self) -> bool {
        self.is_made
    }

    /// A system error at an entry.
    pub fn refused(&self, entry: &Entry, error: &Error) -> Fault {
        if entry.path.is_empty() {
            return Fault::target(&self.shown, error);
        }
        Fault::target(format!("{}/{}", self.shown, String::from_utf8_lossy(&entry.path)), error)
    }

    fn folder_of(&mut self, entry: &Entry) -> Result<&Folder> {
        let (path, _) = split(&entry.path);
        if path.is_empty() {
            return Ok(&self.top);
        }
        if self.last_folder.as_ref().is_none_or(|(last, _)| last != path) {
            self.last_folder = Some((path.to_vec(), self.top.descend(path)?));
        }
        let found = self.last_folder.as_ref().map(|(_, folder)| folder);
        found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))
    }

    fn name_of(&self, entry: &Entry) -> Vec<u8> {
        if entry.path.is_empty() {
            return self.name.clone();
        }
        split(&entry.path).1.to_vec()
    }

    /// The file with an entry's name, if it is a regular one.
    pub fn older(&mut self, entry: &Entry) -> Result<Option<File>> {
        let name = self.name_of(entry);
        self.folder_of(entry)?.read(&name)
    }

    /// The unfinished copy of an entry from an interrupted push.
    pub fn left_over(&mut self, index: &Index, number: usize) -> Result<Option<File>> {
        let entry = &index.entries[number];
        let name = unfinished(&self.name_of(entry));
        let found = self.folder_of(entry)?.read(&name)?;
        let found = found.filter(|file| file.metadata().is_ok_and(|found| found.len() > 0));
        if found.is_some() {
            self.begun.insert(number);
        }
        Ok(found)
    }

    /// The unfinished copy of an entry, with the final length.
    pub fn unfinished(&mut self, index: &Index, number: usize) -> Result<&File> {
        if self.last_file.as_ref().is_none_or(|(last, _)| *last != number) {
            let entry = &index.entries[number];
            let name = unfinished(&self.name_of(entry));
            let is_new = self.begun.insert(number);
            let opened = self.folder_of(entry)?.write(&name, is_new);
            let file = if is_new { opened? } else { opened.map_err(gone)? };
            // A new file of one block gets its length from the write.
            if !self.is_made || !index.is_written_at_once(number) {
                let (bytes, found) = (index.file_bytes(number), file.metadata()?.len());
                if found > bytes || found < bytes && !index.is_written_at_once(number) {
                    file.set_len(bytes)?;
                }
            }
            self.last_file = Some((number, file));
        }
        let found = self.last_file.as_ref().map(|(_, file)| file);
        found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))
    }

    /// Writes a block. A small file gets its owner, mode and time immediately, while it is open: opening thousands of
    /// them again would cost as much as writing them.
    pub fn write(&mut self, index: &Index, block: &Block, data: &[u8]) -> Result<()> {
        self.write_block(index, block, data)?;
        let entry = &index.entries[block.entry];
        // If this push is interrupted, a file that its owner may not write would stop the next push.
        let is_ours = self.manner.mode_of(entry) & 0o600 == 0o600 && self.manner.user.is_none();
        if is_ours && index.is_written_at_once(block.entry) {
            if let Some((_, file)) = self.last_file.take() {
                self.dress(&file, entry)?;
                self.dressed.insert(block.entry);
            }
        }
        Ok(())
    }

    /// Writes a block; holes of the source, and pages of zeros in a sparse file, become holes.
    fn write_block(&mut self, index: &Index, block: &Block, data: &[u8]) -> Result<()> {
        const PAGE: usize = 4096;
        let is_sparse = matches!(index.entries[block.entry].kind, Kind::File { is_sparse: true, .. });
        let file = self.unfinished(index, block.entry)?;
        if !is_sparse {
            return file.write_all_at(data, block.offset);
        }
        if !folder::punch(file, block.offset, block.bytes as u64) {
            let zeros = if block.is_hole { vec![0; block.bytes] } else { Vec::new() };
            return file.write_all_at(if block.is_hole { &zeros } else { data }, block.offset);
        }
        let mut at = 0;
        while at < data.len() {
            let is_zero = |from: usize| data[from..data.len().min(from + PAGE)].iter().all(|&byte| byte == 0);
            let mut end = at;
            while end < data.len() && !is_zero(end) {
                end += PAGE;
            }
            if end > at {
                file.write_all_at(&data[at..end.min(data.len())], block.offset + at as u64)?;
            }
            at = end + PAGE;
        }
        Ok(())
    }

    /// Removes the unfinished copy of an entry.
    pub fn discard(&mut self, entry: &Entry) {
        self.last_file = None;
        let name = unfinished(&self.name_of(entry));
        if let Ok(folder) = self.folder_of(entry) {
            // If it cannot be removed, the next push finds it and checks it by digest.
            let _ = folder.remove(&name);
        }
    }

    /// Bytes that may still be written here.
    pub fn free_bytes(&self) -> Option<u64> {
        self.top.free_bytes()
    }

    fn dress(&self, file: &File, entry: &Entry) -> Result<()> {
        let found = file.metadata()?;
        let Manner { user, group, .. } = self.manner;
        let is_owned =
            user.is_none_or(|user| user == found.uid()) && group.is_none_or(|group| group == found.gid());
        if !is_owned {
            fchown(file, user, group)?;
        }
        let mode = self.manner.mode_of(entry);
        // After the owner, since its change clears set-id bits.
        if !is_owned || found.mode() & 0o7777 != mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        if (found.mtime(), found.mtime_nsec() as u32) != entry.changed {
            folder::set_time(file.as_raw_fd(), entry.changed)?;
        }
        Ok(())
    }

    /// Gives an entry its name, mode, owner and time; `is_there`: the older version is identical.
    pub fn finish(&mut self, index: &Index, number: usize, is_there: bool) -> Result<()> {
        let entry = &index.entries[number];
        let name = self.name_of(entry);
        let draft = unfinished(&name);
        match &entry.kind {
            Kind::Around if !self.is_made => Ok(()),
            Kind::Folder | Kind::Around => {
                let mode = self.manner.mode_of(entry);
                let folder = if entry.path.is_empty() {
                    self.top.descend(b"")?
                } else {
                    self.folder_of(entry)?.enter(&name)?
                };
                folder.own(self.manner.user, self.manner.group)?;
                folder.finish(mode, entry.changed)
            }
            Kind::File { .. } if is_there => {
                if let Some(file) = self.folder_of(entry)?.read(&name)? {
                    self.dress(&file, entry)?;
                }
                self.folder_of(entry)?.remove(&draft)
            }
            Kind::File { .. } => {
                if !self.dressed.contains(&number) {
                    // Made here if the file is empty and has no block.
                    self.unfinished(index, number)?;
                    if let Some((_, file)) = self.last_file.take() {
                        self.dress(&file, entry)?;
                    }
                }
                self.folder_of(entry)?.rename(&draft, &name).map_err(gone)
            }
            Kind::Link(text) => {
                let folder = self.folder_of(entry)?;
                folder.remove(&draft)?;
                folder.link(&draft, text)?;
                folder.set_time(&draft, entry.changed)?;
                folder.rename(&draft, &name)
            }
            Kind::SameAs(other) => {
                let (other_path, other_name) = split(&index.entries[*other].path);
                let other = self.top.descend(other_path)?;
                let folder = self.folder_of(entry)?;
                folder.remove(&draft)?;
                folder.same(&draft, &other, other_name)?;
                folder.rename(&draft, &name)?;
                // Renaming one of two hard links to the other keeps both.
                folder.remove(&draft)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_folder_is_a_target_like_others() {
        let entry = Entry { path: Vec::new(), mode: 0o755, changed: (0, 0), kind: Kind::Around };
        let place = Place::open("/", &Index::new(vec![entry]), Manner::default()).unwrap();
        assert!(place.top.enter(b"proc").is_ok());
        assert!(!place.is_made());
    }
}
