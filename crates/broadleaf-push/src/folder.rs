//! Folders by their handles: names below one are opened step by step and never through a link, so that no name reaches
//! outside of the target, even if another process changes it meanwhile.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The fault of a name that a file must not replace.
pub const NO_FILE: &str = "it is a device, pipe or socket; name a file";

/// An open folder.
pub struct Folder(OwnedFd);

/// A zero-terminated copy for system calls.
fn c_text(name: &[u8]) -> Result<CString> {
    CString::new(name).map_err(|_| Error::from_raw_os_error(libc::EINVAL))
}

fn checked(code: libc::c_int) -> Result<libc::c_int> {
    if code < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(code)
    }
}

fn opened(at: RawFd, name: &[u8], flags: libc::c_int, mode: libc::mode_t) -> Result<OwnedFd> {
    let name = c_text(name)?;
    // SAFETY: the name is zero-terminated; a handle that comes back has no other owner.
    unsafe {
        let handle = checked(libc::openat(at, name.as_ptr(), flags | libc::O_CLOEXEC, mode))?;
        Ok(OwnedFd::from_raw_fd(handle))
    }
}

impl Folder {
    /// Opens the folder with that name and follows links, since the user gave the name.
    pub fn open(path: &[u8]) -> Result<Folder> {
        let path = if path.is_empty() { b"." } else { path };
        Ok(Folder(opened(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_DIRECTORY, 0)?))
    }

    /// Opens a folder in this one; refuses a link.
    pub fn enter(&self, name: &[u8]) -> Result<Folder> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        Ok(Folder(opened(self.0.as_raw_fd(), name, flags, 0)?))
    }

    /// Opens the folder at a path of several names below this one; itself for the empty path.
    pub fn descend(&self, path: &[u8]) -> Result<Folder> {
        let mut at = Folder(self.0.try_clone()?);
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            at = at.enter(name)?;
        }
        Ok(at)
    }

    /// Makes a folder that only this user may use until it gets its mode; an existing one is unchanged.
    pub fn make(&self, name: &[u8]) -> Result<()> {
        let text = c_text(name)?;
        // SAFETY: the name is zero-terminated.
        match checked(unsafe { libc::mkdirat(self.0.as_raw_fd(), text.as_ptr(), 0o700) }) {
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => self.enter(name).map(drop),
            made => made.map(drop),
        }
    }

    /// Opens the file for reading; `None` if the name is free or a link. Refuses anything else, which a rename would
    /// replace.
    pub fn read(&self, name: &[u8]) -> Result<Option<File>> {
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        match opened(self.0.as_raw_fd(), name, flags, 0) {
            Ok(handle) => {
                let file = File::from(handle);
                let kind = file.metadata()?.file_type();
                if kind.is_dir() {
                    return Err(Error::from_raw_os_error(libc::EISDIR));
                }
                if !kind.is_file() {
                    return Err(Error::other(NO_FILE));
                }
                Ok(Some(file))
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)) => Ok(None),
            // A socket, or a device that is not there.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) => {
                Err(Error::other(NO_FILE))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a file to read and write; with `is_made`, makes a missing one that only this user may use.
    pub fn write(&self, name: &[u8], is_made: bool) -> Result<File> {
        let made = if is_made { libc::O_CREAT } else { 0 };
        Ok(opened(
            self.0.as_raw_fd(),
            name,
            libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | made,
            0o600,
        )?
        .into())
    }

    pub fn rename(&self, from: &[u8], to: &[u8]) -> Result<()> {
        let (at, from, to) = (self.0.as_raw_fd(), c_text(from)?, c_text(to)?);
        // SAFETY: the names are zero-terminated.
        checked(unsafe { libc::renameat(at, from.as_ptr(), at, to.as_ptr()) }).map(drop)
    }

    /// Removes a name; a missing one is no error.
    pub fn remove(&self, name: &[u8]) -> Result<()> {
        let name = c_text(name)?;
        // SAFETY: the name is zero-terminated.
        match checked(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), 0) }) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// Makes a symbolic link with that text.
    pub fn link(&self, name: &[u8], text: &[u8]) -> Result<()> {
        let (name, text) = (c_text(name)?, c_text(text)?);
        // SAFETY: both are zero-terminated.
        checked(unsafe { libc::symlinkat(text.as_ptr(), self.0.as_raw_fd(), name.as_ptr()) }).map(drop)
    }

    /// Makes a hard link, in this folder, to the file `other_name` in another.
    pub fn same(&self, name: &[u8], other: &Folder, other_name: &[u8]) -> Result<()> {
        let (name, other_name) = (c_text(name)?, c_text(other_name)?);
        let (at, other) = (self.0.as_raw_fd(), other.0.as_raw_fd());
        // SAFETY: both are zero-terminated.
        checked(unsafe { libc::linkat(other, other_name.as_ptr(), at, name.as_ptr(), 0) }).map(drop)
    }

    /// Sets the time of the last change of a name; of a link itself, not of its target.
    pub fn set_time(&self, name: &[u8], changed: (i64, u32)) -> Result<()> {
        let name = c_text(name)?;
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: the name is zero-terminated, and there are two times.
        checked(unsafe { libc::utimensat(self.0.as_raw_fd(), name.as_ptr(), times(changed).as_ptr(), flags) })
            .map(drop)
    }

    /// Sets the owner of the folder itself, if one is given.
    pub fn own(&self, user: Option<u32>, group: Option<u32>) -> Result<()> {
        if user.is_none() && group.is_none() {
            return Ok(());
        }
        std::os::unix::fs::fchown(&self.0, user, group)
    }

    /// Sets mode and time of the folder itself.
    pub fn finish(&self, mode: u32, changed: (i64, u32)) -> Result<()> {
        // SAFETY: the handle is open.
        checked(unsafe { libc::fchmod(self.0.as_raw_fd(), mode) })?;
        set_time(self.0.as_raw_fd(), changed)
    }

    /// Locks other pushes out until the handle is closed; false if another one holds the lock. Without locks in the
    /// file system, true.
    pub fn lock(&self) -> bool {
        lock(self.0.as_raw_fd())
    }

    /// Bytes that this user may still write here; `None` if unknown.
    pub fn free_bytes(&self) -> Option<u64> {
        let mut found = MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the handle is open, and `found` is filled where the call succeeds.
        let found = unsafe {
            checked(libc::fstatvfs(self.0.as_raw_fd(), found.as_mut_ptr())).ok()?;
            found.assume_init()
        };
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
}

fn times(changed: (i64, u32)) -> [libc::timespec; 2] {
    let now = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
    [now, libc::timespec { tv_sec: changed.0, tv_nsec: changed.1.into() }]
}

/// Sets the time of the last change of an open file.
pub fn set_time(handle: RawFd, changed: (i64, u32)) -> Result<()> {
    // SAFETY: the handle is open, and there are two times.
    checked(unsafe { libc::futimens(handle, times(changed).as_ptr()) }).map(drop)
}

/// As [`Folder::lock`], for an open file.
pub fn lock(handle: RawFd) -> bool {
    // SAFETY: the handle is open.
    let locked = checked(unsafe { libc::flock(handle, libc::LOCK_EX | libc::LOCK_NB) });
    !locked.is_err_and(|error| error.raw_os_error() == Some(libc::EWOULDBLOCK))
}

/// Makes a range of a file a hole; false if the file system has no holes.
pub fn punch(file: &File, offset: u64, bytes: u64) -> bool {
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the handle is open.
    unsafe { libc::fallocate(file.as_raw_fd(), how, offset as libc::off_t, bytes as libc::off_t) == 0 }
}
