//! Where a file has data, and where holes.

use std::fs::File;
use std::io::Error;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// The ranges of a file with data; the whole file if the file system does not report holes.
pub fn data_ranges(file: &File, bytes: u64) -> Vec<Range<u64>> {
    // SAFETY: the handle is open.
    let seek = |at: u64, how| unsafe { libc::lseek(file.as_raw_fd(), at as libc::off_t, how) };
    let (mut ranges, mut at) = (Vec::new(), 0);
    while at < bytes {
        let start = seek(at, libc::SEEK_DATA);
        if start < 0 {
            let is_end = Error::last_os_error().raw_os_error() == Some(libc::ENXIO);
            if !is_end {
                ranges.push(at..bytes);
            }
            break;
        }
        let end = seek(start as u64, libc::SEEK_HOLE);
        let end = if end < 0 { bytes } else { (end as u64).min(bytes) };
        ranges.push(start as u64..end);
        at = end;
    }
    ranges
}

/// Whether a file has data in a range; true if the file system does not report holes.
pub fn has_data(file: &File, range: Range<u64>) -> bool {
    // SAFETY: the handle is open.
    let start = unsafe { libc::lseek(file.as_raw_fd(), range.start as libc::off_t, libc::SEEK_DATA) };
    match u64::try_from(start) {
        Ok(start) => start < range.end,
        Err(_) => Error::last_os_error().raw_os_error() != Some(libc::ENXIO),
    }
}
