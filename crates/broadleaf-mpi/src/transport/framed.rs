//! Framed messages, for plans whose executor cannot announce its receives: combined transfers and rendezvous.
//!
//! A small *frame* says what comes (kind, and tag and segment of every item); the data of all its items follows
//! as one message, straight from and to its place where the items are one run of bytes.

use super::passing::segment_buffer;
use super::{MpiTransport, Request, FRAMED};
use crate::error::CallError;
use crate::error::Malformed;
use crate::observe::trace::Side;
use crate::wire::{put_u32, put_u64, Reader};
use broadleaf::execute::{Completion, Kind, Message};
use broadleaf::plan::{Protocol, Segments};
use broadleaf::platform::NodeId;
use std::collections::HashMap;

/// MPI tags of frames and of the data that follows them.
const FRAME_TAG: i32 = crate::tags::FIRST_FRAME_TAG;
const FRAME_DATA_TAG: i32 = FRAME_TAG + 1;

/// What may still come from a peer in frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    pub items: u64,
    pub readies: u64,
}

impl MpiTransport<'_> {
    pub(crate) fn is_framed(&self) -> bool {
        self.plan.combine || self.plan.protocol == Protocol::Rendezvous
    }

    /// Gets ready for framed messages: `segments` says how many items each peer sends.
    pub fn expect_frames(&mut self, segments: &Segments) -> Result<(), CallError> {
        let mut items: HashMap<NodeId, u64> = HashMap::new();
        for (at, input) in self.program.inputs.iter().enumerate() {
            // A scatter's edges carry the blocks below them.
            let blocks = self.program.input_blocks.get(at).map_or(1, |blocks| blocks.len() as u64);
            *items.entry(input.from).or_default() += segments.in_tree(input.tree as usize) * blocks;
        }
        for (from, items) in items {
            self.expected.insert(from, Expected { items, readies: 0 });
            self.post_frame(from)?;
        }
        Ok(())
    }

    fn post_frame(&mut self, from: NodeId) -> Result<(), CallError> {
        let expected = self.expected[&from];
        if expected.items == 0 && expected.readies == 0 {
            return Ok(());
        }
        let mut frame = vec![0; frame_bytes(expected.items.max(1) as usize)];
        let (pointer, length) = (frame.as_mut_ptr(), frame.len() as u64);
        let number = self.number(Request::FrameIn { from, frame });
        Ok(self.mpi.irecv(pointer, length, Some(from.0), FRAME_TAG, number)?)
    }

    pub(crate) fn take_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        done: &mut Vec<Completion>,
    ) -> Result<(), CallError> {
        let (kind, items) = read_frame(frame)?;
        match (kind, items.first()) {
            (Kind::Data, _) => {
                let expected = self.expected.entry(from).or_default();
                expected.items = expected
                    .items
                    .checked_sub(items.len() as u64)
                    .ok_or_else(|| CallError::Internal(format!("rank {from} sent more than the plan has")))?;
                self.post_data(from, items)?;
            }
            (kind, Some(&(tag, segment))) => {
                if kind == Kind::Ready {
                    self.expected.entry(from).or_default().readies -= 1;
                }
                done.push(Completion::Received { from, kind, tag, segment });
            }
            (_, None) => return Err(Malformed("frame").into()),
        }
        self.post_frame(from)
    }

    fn post_data(&mut self, from: NodeId, items: Vec<(u32, u64)>) -> Result<(), CallError> {
        let bytes = items.iter().map(|&(_, segment)| self.place(segment).1).sum();
        let node = self.program.node;
        let own = |&(tag, _): &(u32, u64)| self.program.inputs[self.program.input(from, tag)].target == node;
        let in_place = !self.only_passes()
            && items.iter().all(own)
            && self.follow_each_other(items.iter().map(|&(_, segment)| segment));
        let mut packed = (!in_place).then(|| segment_buffer(bytes)).transpose()?;
        let pointer = match &mut packed {
            Some(packed) => packed.as_mut_ptr(),
            None => self.place(items[0].1).0,
        };
        let turn = self.reorder.entry((from, FRAMED)).or_default().next();
        let ((tag, segment), count) = (items[0], items.len() as u64);
        let number = self.number(Request::DataIn { from, items, bytes, turn, packed });
        if let Some(watch) = &mut self.watch {
            let tree = self.program.inputs[self.program.input(from, tag)].tree;
            watch.begin(Side::Receive, number, from.0, (tree, segment), count, bytes);
        }
        Ok(self.mpi.irecv(pointer, bytes, Some(from.0), FRAME_DATA_TAG, number)?)
    }

    /// Puts the segments of a framed message where they belong.
    pub(crate) fn unpack(&mut self, from: NodeId, items: &[(u32, u64)], packed: Option<Vec<u8>>) {
        let Some(packed) = packed else { return };
        let mut at = 0;
        for &(tag, segment) in items {
            let (pointer, length) = self.place(segment);
            let bytes = &packed[at..at + length as usize];
            at += length as usize;
            let input = self.program.inputs[self.program.input(from, tag)];
            if input.target == self.program.node && !self.only_passes() {
                // SAFETY: `place` gives memory inside the message, and `bytes` is our own.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, bytes.len()) };
            } else {
                self.keep((input.tree, input.target, segment), bytes.to_vec());
            }
        }
    }

    pub(crate) fn send_framed(&mut self, message: &Message) -> Result<(), CallError> {
        let items: Vec<(u32, u64)> = message.items().map(|item| (item.tag, item.segment)).collect();
        let number = self.next_message;
        self.next_message = self.next_message.wrapping_add(1);
        let is_data = message.kind == Kind::Data;
        self.parts.insert(number, (message.to, if is_data { 2 } else { 1 }));
        if message.kind == Kind::Request {
            let expected = self.expected.entry(message.to).or_default();
            expected.readies += 1;
            let first = expected.readies == 1 && expected.items == 0;
            if first {
                self.post_frame(message.to)?;
            }
        }
        self.send_part(message.to, FRAME_TAG, number, write_frame(message.kind, &items), None, None)?;
        if !is_data {
            return Ok(());
        }
        let bytes: u64 = items.iter().map(|&(_, segment)| self.place(segment).1).sum();
        let first = message.first;
        let noted = (first.tree, first.segment, items.len() as u64);
        let direct = !self.only_passes()
            && message.items().all(|item| !item.relayed)
            && self.follow_each_other(items.iter().map(|&(_, segment)| segment));
        if direct {
            let pointer = self.place(items[0].1).0;
            let own = Vec::new();
            return self.send_part(
                message.to,
                FRAME_DATA_TAG,
                number,
                own,
                Some((pointer, bytes)),
                Some(noted),
            );
        }
        let mut packed = Vec::with_capacity(bytes as usize);
        for item in message.items() {
            if item.relayed {
                packed.extend(self.take_relayed((item.tree, item.target, item.segment))?);
            } else if self.only_passes() {
                packed.extend(self.take_passing(item.tree, item.segment)?);
            } else {
                let (pointer, length) = self.place(item.segment);
                // SAFETY: `place` gives memory inside the message.
                packed.extend_from_slice(unsafe { std::slice::from_raw_parts(pointer, length as usize) });
            }
        }
        self.send_part(message.to, FRAME_DATA_TAG, number, packed, None, Some(noted))
    }

    /// Whether each segment lies behind the one before, so that together they are one run of bytes.
    fn follow_each_other(&self, segments: impl Iterator<Item = u64>) -> bool {
        let mut end = None;
        segments.map(|segment| self.place(segment)).all(|(at, length)| {
            let follows = end.is_none_or(|end| end == at);
            end = Some(at.wrapping_add(length as usize));
            follows
        })
    }

    /// Sends one part of a framed message: `own` bytes, or memory of the message. `noted` is what a trace says of it:
    /// tree, first segment and number of segments.
    fn send_part(
        &mut self,
        to: NodeId,
        tag: i32,
        message: u32,
        own: Vec<u8>,
        direct: Option<(*mut u8, u64)>,
        noted: Option<(u32, u64, u64)>,
    ) -> Result<(), CallError> {
        let (pointer, length) =
            direct.map_or((own.as_ptr(), own.len() as u64), |(at, length)| (at.cast_const(), length));
        let number = self.number(Request::PartOut { message, _bytes: own });
        if let (Some(watch), Some((tree, segment, count))) = (&mut self.watch, noted) {
            watch.begin(Side::Send, number, to.0, (tree, segment), count, length);
        }
        Ok(self.mpi.isend(pointer, length, to.0, tag, number)?)
    }
}

fn frame_bytes(items: usize) -> usize {
    8 + 12 * items
}

fn write_frame(kind: Kind, items: &[(u32, u64)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame_bytes(items.len()));
    put_u32(&mut out, kind as u32);
    put_u32(&mut out, items.len() as u32);
    for &(tag, segment) in items {
        put_u32(&mut out, tag);
        put_u64(&mut out, segment);
    }
    out
}

fn read_frame(bytes: &[u8]) -> Result<(Kind, Vec<(u32, u64)>), Malformed> {
    let mut from = Reader { bytes, what: "frame" };
    let kind = match from.u32()? {
        kind if kind == Kind::Data as u32 => Kind::Data,
        kind if kind == Kind::Request as u32 => Kind::Request,
        kind if kind == Kind::Ready as u32 => Kind::Ready,
        _ => return Err(Malformed("frame")),
    };
    let count = from.u32()?;
    let items = (0..count).map(|_| Ok((from.u32()?, from.u64()?))).collect::<Result<_, Malformed>>()?;
    Ok((kind, items))
}
