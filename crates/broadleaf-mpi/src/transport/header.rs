//! The header of a call: what the root decided, ahead of the data.

use crate::error::Malformed;
pub use crate::wire::HEADER_BYTES;
use crate::wire::{put_u32, put_u64, Reader};
use broadleaf::adapt::switch::{Directive, Header};

/// Distinguishes a header from any other message with its tag.
const MAGIC: u32 = 0x4c4f_4f4d;

/// The encoded header, with its sender.
pub fn encode_header(header: &Header, sender: u32) -> [u8; HEADER_BYTES] {
    let mut out = Vec::with_capacity(HEADER_BYTES);
    let order = Directive::ALL.iter().position(|order| *order == header.order).unwrap_or(0);
    put_u32(&mut out, MAGIC);
    put_u32(&mut out, order as u32);
    put_u64(&mut out, header.call);
    put_u64(&mut out, header.message_bytes);
    put_u64(&mut out, header.plan_bytes);
    put_u32(&mut out, header.root);
    put_u32(&mut out, header.version);
    put_u32(&mut out, header.sends_plan.into());
    put_u32(&mut out, sender);
    let mut bytes = [0; HEADER_BYTES];
    bytes.copy_from_slice(&out);
    bytes
}

/// The sender and what it sent.
pub fn decode_header(bytes: &[u8]) -> Result<(u32, Header), Malformed> {
    let wrong = Malformed("header");
    let mut from = Reader { bytes, what: "header" };
    if bytes.len() != HEADER_BYTES || from.u32()? != MAGIC {
        return Err(wrong);
    }
    let order = *Directive::ALL.get(from.u32()? as usize).ok_or(wrong)?;
    let header = Header {
        order,
        call: from.u64()?,
        message_bytes: from.u64()?,
        plan_bytes: from.u64()?,
        root: from.u32()?,
        version: from.u32()?,
        sends_plan: from.u32()? != 0,
    };
    Ok((from.u32()?, header))
}
