//! A host's row in the last event.

use crate::digest::{self, Digest};
use crate::wire::Reader;
use serde_json::{json, Value};

/// A rank's report; a digest that differs from the root's is a fault.
pub fn row_of(rank: usize, text: &[u8], wanted: &Digest) -> Option<Value> {
    let mut text = Reader(text);
    let read = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (host, path) = (read(text.bytes()?), read(text.bytes()?));
    let (received, written, damaged) = (text.number()?, text.number()?, text.number()?);
    let nanoseconds = text.number()?;
    let digest: Digest = text.bytes()?.try_into().ok()?;
    let mut fault = Some(read(text.bytes()?)).filter(|fault| !fault.is_empty());
    if fault.is_none() && digest != *wanted {
        fault = Some(format!("{path}: its digest is not the source's; push again"));
    }
    let is_whole = fault.is_none();
    Some(json!({
        "host": host,
        "rank": rank,
        "path": path,
        "received_bytes": received,
        "written_bytes": written,
        "damaged_blocks": damaged,
        "seconds": nanoseconds as f64 * 1e-9,
        "digest": is_whole.then(|| digest::text(&digest)),
        "fault": fault,
    }))
}
