//! Little-endian numbers to and from messages.
//!
//! Sender and receiver are processes of one job with one library, so a document that does not decode is a bug in
//! Broadleaf, and is reported as one.

use crate::error::Malformed;

/// The length of a call's header.
pub const HEADER_BYTES: usize = 48;

pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads values from the front of a byte slice.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
    /// What is being read, for the error.
    pub what: &'static str,
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed(self.what))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(bytes))
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(bytes))
    }
}
