//! Files that appear whole or not at all.

use std::fs::OpenOptions;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes the file beside its place and renames it, readable by its owner only. A link in its place is replaced and
/// not followed.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    // Renaming onto /dev/null would take it away from everybody.
    // So it would be with /dev/stdout, a link that may lead to a regular file.
    let is_device = path.parent() == Some(Path::new("/dev"));
    if is_device || std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_os_string();
    // Hosts that share the directory may have processes of one number.
    name.push(format!(".{:016x}.tmp", RandomState::new().build_hasher().finish()));
    let temporary = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_link_is_replaced_and_never_followed() {
        let directory = std::env::temp_dir().join(format!("broadleaf-stats-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (victim, path) = (directory.join("victim"), directory.join("stats.json"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        replace(&path, b"{}").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        let written = std::fs::symlink_metadata(&path).unwrap();
        assert!(written.is_file());
        assert_eq!(written.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
        std::fs::remove_dir_all(&directory).unwrap();
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
