//! Reads input files without blocking.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// U+FEFF, which some editors put before UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a regular file, or a link to one, without a byte-order mark. A job or an advisor must not wait for a
/// pipe without a writer, nor read an endless device.
///
/// # Errors
/// The reason and the remedy in one line, which does not name the file.
pub fn regular_text(path: &Path) -> Result<String, String> {
    // Files that the process has open already, such as a shell's <(command), may block.
    let is_own = path.parent() == Some(Path::new("/dev/fd"));
    // A blocking open would wait for a pipe without a writer.
    let opened =
        OpenOptions::new().read(true).custom_flags(if is_own { 0 } else { libc::O_NONBLOCK }).open(path);
    let mut file = opened.map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_dir() {
        return Err("it is a folder; name a file".to_string());
    }
    if !metadata.is_file() && !is_own {
        return Err("not a regular file; save its contents to a file first".to_string());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        format!("byte {place} is no UTF-8 text; save the file as UTF-8")
    })?;
    Ok(match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_string(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    /// A folder of its own, removed with what is in it.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("broadleaf-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn text_without_its_byte_order_mark() {
        let folder = Folder::new("mark");
        let path = folder.0.join("net.json");
        std::fs::write(&path, b"\xef\xbb\xbf{}\n").unwrap();
        assert_eq!(regular_text(&path).unwrap(), "{}\n");
        std::fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
        assert_eq!(regular_text(&path).unwrap_err(), "byte 0 is no UTF-8 text; save the file as UTF-8");
    }

    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let folder = Folder::new("pipe");
        let pipe = folder.0.join("net.json");
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: `name` ends with a zero and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            assert!(regular_text(path).unwrap_err().contains("not a regular file"), "{path:?}");
        }
        assert!(regular_text(&folder.0).unwrap_err().contains("folder"));
        assert!(regular_text(&folder.0.join("none")).unwrap_err().contains("No such file"));
    }
}
