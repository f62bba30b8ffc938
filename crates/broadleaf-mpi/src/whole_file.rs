//! Files that appear whole or not at all.

use std::fs::OpenOptions;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file that only its owner can read. A link in its place is replaced and not followed.
///
/// # Errors
/// Where something other than a regular file is there, and where the file cannot be written.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Renaming onto /dev/null would replace the device for all users; likewise /dev/stdout, a link that may lead to a
    // regular file.
    let is_device = path.parent() == Some(Path::new("/dev"));
    if is_device || std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    may_grow_to(bytes.len() as u64)?;
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
    // Hosts that share the directory may have processes with equal ids.
    name.push(format!(".{:016x}.tmp", RandomState::new().build_hasher().finish()));
    let temporary = path.with_file_name(name);
    // Not `tempfile`: its errors name the temporary file, so that no two lines would be equal.
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Fails if the limit of `ulimit -f` is lower. The system ends a process that grows a file, also one in memory,
/// beyond that limit.
///
/// # Errors
/// Where the limit is lower.
pub(crate) fn may_grow_to(bytes: u64) -> io::Result<()> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills what it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limits) } == 0;
    if !known || limits.rlim_cur == libc::RLIM_INFINITY || bytes <= limits.rlim_cur {
        return Ok(());
    }
    let limit = limits.rlim_cur;
    Err(io::Error::other(format!("{bytes} bytes are over the limit of {limit} that ulimit -f has set")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_link_is_replaced_and_never_followed() {
        let folder = std::env::temp_dir().join(format!("broadleaf-whole-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (victim, path) = (folder.join("victim"), folder.join("stats.json"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        replace(&path, b"{}").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
        let written = std::fs::symlink_metadata(&path).unwrap();
        assert!(written.is_file());
        assert_eq!(written.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn devices_and_directories_are_left_alone() {
        for path in ["/dev/null", "/tmp"] {
            let told = replace(Path::new(path), b"{}").unwrap_err().to_string();
            assert_eq!(told, "not a regular file", "{path}");
        }
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
