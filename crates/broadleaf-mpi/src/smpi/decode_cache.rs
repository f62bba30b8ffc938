//! Per-process cache of decoded data that is identical on all ranks.
//!
//! Thousands of simulated ranks share one process. If each kept its own copy of data proportional to the ranks,
//! memory would grow with their square.

use super::is_on;
use crate::error::Malformed;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A value and the bytes that it travels as.
#[derive(Debug)]
pub struct Encoded<T> {
    pub bytes: Vec<u8>,
    value: T,
}

impl<T> Encoded<T> {
    pub fn new(bytes: Vec<u8>, value: T) -> Encoded<T> {
        Encoded { bytes, value }
    }
}

impl<T> Deref for Encoded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The decoded values that some rank of this process holds.
pub struct DecodeCache<T>(Mutex<Vec<Weak<Encoded<T>>>>);

impl<T> DecodeCache<T> {
    pub const fn new() -> DecodeCache<T> {
        DecodeCache(Mutex::new(Vec::new()))
    }

    /// The decoded value: that of another rank with equal bytes, if one still holds it.
    pub fn decoded(
        &self,
        bytes: Vec<u8>,
        decode: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Arc<Encoded<T>>, Malformed> {
        if !is_on() {
            let value = decode(&bytes)?;
            return Ok(Arc::new(Encoded { bytes, value }));
        }
        self.shared(bytes, decode)
    }

    fn shared(
        &self,
        bytes: Vec<u8>,
        decode: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Arc<Encoded<T>>, Malformed> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = held.iter().filter_map(Weak::upgrade).find(|value| value.bytes == bytes) {
            return Ok(found);
        }
        let value = decode(&bytes)?;
        let value = Arc::new(Encoded { bytes, value });
        held.retain(|other| other.strong_count() > 0);
        held.push(Arc::downgrade(&value));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_decoded_once_and_forgotten_with_their_last_holder() {
        let cache = DecodeCache::new();
        let mut decodings = 0;
        let mut get = |bytes: &[u8]| {
            let decode = |bytes: &[u8]| {
                decodings += 1;
                bytes.first().copied().ok_or(Malformed("test"))
            };
            let value = cache.shared(bytes.to_vec(), decode);
            (value, decodings)
        };
        let (first, _) = get(&[7, 1]);
        let (again, decodings) = get(&[7, 1]);
        assert!(decodings == 1 && Arc::ptr_eq(first.as_ref().unwrap(), again.as_ref().unwrap()));
        let (other, decodings) = get(&[8]);
        assert_eq!((**other.unwrap(), decodings), (8, 2));
        drop((first, again));
        assert_eq!(get(&[7, 1]).1, 3);
        assert_eq!(get(&[]).0.unwrap_err(), Malformed("test"));
    }
}
