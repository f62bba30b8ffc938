//! Bytes that a message reads or writes.

use crate::error::CallError;

/// Memory of the program's message, or memory of its own.
#[derive(Debug)]
pub(super) struct Buffer {
    at: *mut u8,
    bytes: u64,
    own: Option<Vec<u8>>,
}

impl Buffer {
    /// Memory that the caller keeps until the request is done.
    pub fn lent(at: *const u8, bytes: u64) -> Buffer {
        Buffer { at: at.cast_mut(), bytes, own: None }
    }

    pub fn own(mut bytes: Vec<u8>) -> Buffer {
        // The bytes stay where they are when their vector moves.
        Buffer { at: bytes.as_mut_ptr(), bytes: bytes.len() as u64, own: Some(bytes) }
    }

    /// Room for incoming data; an error where memory is short.
    pub fn room(bytes: u64) -> Result<Buffer, CallError> {
        let mut room = Vec::new();
        let short = |_| CallError::Internal(format!("no memory for a segment of {bytes} bytes"));
        room.try_reserve_exact(bytes as usize).map_err(short)?;
        room.resize(bytes as usize, 0);
        Ok(Buffer::own(room))
    }

    pub fn at(&self) -> *mut u8 {
        self.at
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn as_slice(&self) -> &[u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: the buffer has these bytes.
            bytes => unsafe { std::slice::from_raw_parts(self.at, bytes as usize) },
        }
    }

    /// Copies as much of `data` as there is room for.
    pub fn fill(&mut self, data: &[u8]) {
        let bytes = data.len().min(self.bytes as usize);
        // SAFETY: the buffer has these bytes, and `data` is memory of another message.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.at, bytes) };
    }

    /// None: the bytes are in place already.
    pub fn into_own(self) -> Option<Vec<u8>> {
        self.own
    }
}
