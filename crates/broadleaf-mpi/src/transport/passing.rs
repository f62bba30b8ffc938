//! A rank without memory for the message, or called with another length, still serves the ranks behind it: it keeps
//! each segment from its arrival until it has sent it on to all of them.

use super::{MpiTransport, Relayed};
use crate::error::CallError;
use broadleaf::plan::Source;

/// Memory for one segment; the rank that needs it may have little left.
pub(crate) fn segment_buffer(bytes: u64) -> Result<Vec<u8>, CallError> {
    let mut buffer = Vec::new();
    let short = |_| CallError::Internal(format!("no memory for a segment of {bytes} bytes"));
    buffer.try_reserve_exact(bytes as usize).map_err(short)?;
    buffer.resize(bytes as usize, 0);
    Ok(buffer)
}

impl MpiTransport<'_> {
    /// Whether the message has no place here, so that segments are only passed on.
    pub(crate) fn only_passes(&self) -> bool {
        self.base.is_null()
    }

    /// Keeps a segment that came outside the message's memory, for those it goes on to.
    pub(crate) fn keep(&mut self, key: Relayed, data: Vec<u8>) {
        let (tree, target, segment) = key;
        if target != self.program.node {
            self.relayed.insert(key, data);
            return;
        }
        // The host's other ranks count as one taker, also where there are none: a segment may come before that is known.
        let outputs = self.program.outputs.iter();
        let sent = outputs.filter(|output| output.tree == tree && output.source == Source::Held).count();
        self.passing.insert((tree, segment), (data, sent + 1));
    }

    /// The bytes of a segment for one of those it goes on to.
    pub(crate) fn take_passing(&mut self, tree: u32, segment: u64) -> Result<Vec<u8>, CallError> {
        let nothing = || CallError::Internal(format!("segment {segment} is sent on before it came"));
        let (data, takers) = self.passing.get_mut(&(tree, segment)).ok_or_else(nothing)?;
        *takers -= 1;
        if *takers > 0 {
            return Ok(data.clone());
        }
        self.passing.remove(&(tree, segment)).map(|(data, _)| data).ok_or_else(nothing)
    }
}
