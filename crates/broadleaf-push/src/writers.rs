//! The ranks that write: the first of those that share a host and a target.

use crate::ranks::Ranks;
use crate::wire::Writer;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a host's name that are sent to the root ahead of the report.
const NAME_BYTES: usize = 64;

/// By rank, on the root: whether it writes, and its host. Empty on other ranks.
pub fn writers(ranks: &dyn Ranks, target: &str) -> (Vec<bool>, Vec<String>) {
    // Of equal length on all ranks: the begin of the host's name, and a digest of the whole name and the target.
    let host = ranks.host().as_bytes();
    let mut name = Writer::default();
    name.bytes(host).bytes(target.trim_end_matches('/').as_bytes());
    let mut mine = host[..host.len().min(NAME_BYTES)].to_vec();
    mine.resize(NAME_BYTES, 0);
    mine.extend_from_slice(blake3::hash(&name.0).as_bytes());
    let mut seen = HashSet::new();
    let of_one = |each: &[u8]| {
        let (name, digest) = each.split_at(NAME_BYTES);
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        (seen.insert(digest.to_vec()), String::from_utf8_lossy(name).into_owned())
    };
    ranks.gather_equal(&mine).chunks_exact(mine.len()).map(of_one).unzip()
}

/// Whether the target is the source, or, of several sources, the folder that they are in.
pub fn is_source(sources: &[String], target: &str) -> bool {
    match sources {
        [only] => is_same_file(only, target),
        all => all.iter().map(Path::new).all(|source| {
            let name = source.file_name();
            name.is_some_and(|name| is_same_file(source, Path::new(target).join(name)))
        }),
    }
}

/// Whether two paths lead to one file.
fn is_same_file(one: impl AsRef<Path>, other: impl AsRef<Path>) -> bool {
    let (Ok(one), Ok(other)) = (std::fs::metadata(one), std::fs::metadata(other)) else {
        return false;
    };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
