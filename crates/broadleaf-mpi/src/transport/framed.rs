//! Framed messages, for plans whose executor cannot announce its receives: combined transfers and rendezvous.
//!
//! A small *frame* lists the items (kind, and tag and segment of each). Short data travels in the frame itself. Other data
//! follows as one message, without a copy where the items are contiguous; its receive is posted when the frame has come,
//! which costs a large message one more latency.

use super::buffer::Buffer;
use super::requests::Purpose;
use super::MpiTransport;
use crate::error::{CallError, Malformed};
use crate::tags::{FRAME_DATA_TAG, FRAME_TAG};
use crate::wire::{put_u32, put_u64, Reader};
use broadleaf::execute::{Completion, Item, Kind, Message};
use broadleaf::plan::NodeProgram;
use broadleaf::platform::NodeId;
use std::collections::HashMap;

/// The most data that travels in its frame: a copy at both ends takes less time than a second message, and MPIs
/// send as much without a rendezvous.
pub const IN_FRAME_BYTES: u64 = 8 << 10;

/// The frames still expected from each peer.
#[derive(Debug, Default)]
pub(super) struct Frames {
    expected: HashMap<NodeId, Expected>,
    /// Of an item.
    most_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    items: u64,
    readies: u64,
}

impl Frames {
    /// Whether an answer to a rendezvous is still to come.
    pub fn await_answers(&self) -> bool {
        self.expected.values().any(|expected| expected.readies > 0)
    }

    /// Whether frames with items are still to come.
    fn are_expected(&self) -> bool {
        self.expected.values().any(|expected| expected.items > 0)
    }

    /// The room for the next frame; none where nothing more comes.
    fn next_frame(&self, from: NodeId) -> Option<Vec<u8>> {
        let Expected { items, readies } = self.expected.get(&from).copied()?;
        let data = items.saturating_mul(self.most_bytes).min(IN_FRAME_BYTES) as usize;
        (items > 0 || readies > 0).then(|| vec![0; frame_bytes(items.max(1) as usize) + data])
    }

    fn take_items(&mut self, from: NodeId, count: usize) -> Result<(), CallError> {
        let expected = self.expected.entry(from).or_default();
        let too_many = || CallError::Internal(format!("rank {from} sent more than the plan has"));
        expected.items = expected.items.checked_sub(count as u64).ok_or_else(too_many)?;
        Ok(())
    }
}

/// The channel of framed messages from a peer, whatever their items.
pub(super) const FRAMED: u32 = u32::MAX;

impl MpiTransport<'_> {
    /// Gets ready for framed messages.
    pub(super) fn expect_frames(&mut self) -> Result<(), CallError> {
        let (program, segments) = (self.part.program(), self.part.programs().segments());
        let mut items: HashMap<NodeId, u64> = HashMap::new();
        for (at, input) in program.inputs.iter().enumerate() {
            // A scatter's edges carry the blocks below them.
            let blocks = program.input_blocks.get(at).map_or(1, |blocks| blocks.len() as u64);
            *items.entry(input.from).or_default() += segments.in_tree(input.tree as usize) * blocks;
        }
        self.frames.most_bytes = self.part.programs().blocks().longest_segment_bytes();
        for (from, items) in items {
            self.frames.expected.insert(from, Expected { items, readies: 0 });
            self.post_frame(from)?;
        }
        Ok(())
    }

    fn post_frame(&mut self, from: NodeId) -> Result<(), CallError> {
        let Some(frame) = self.frames.next_frame(from) else { return Ok(()) };
        self.requests.receive(Purpose::Frame { from }, Buffer::own(frame), Some(from.0), FRAME_TAG, None)
    }

    pub(super) fn take_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        done: &mut Vec<Completion>,
    ) -> Result<(), CallError> {
        let Frame { kind, items, data } = read_frame(frame, from, self.part.program())?;
        let &first = items.first().ok_or(Malformed("frame"))?;
        if kind == Kind::Data {
            self.frames.take_items(from, items.len())?;
            let mut buffer = self.memory.incoming(&items)?;
            let turn = self.reorder.next((from, FRAMED));
            let noted = (first.tree, first.segment, items.len() as u64);
            let purpose = Purpose::FramedData { from, items, turn };
            if let Some(data) = data {
                buffer.fill(data);
                self.requests.note_received(from.0, noted, data.len() as u64);
                self.take(purpose, buffer, data.len() as u64, done)?;
            } else {
                self.requests.receive(purpose, buffer, Some(from.0), FRAME_DATA_TAG, Some(noted))?;
            }
        } else {
            if kind == Kind::Ready {
                self.frames.expected.entry(from).or_default().readies -= 1;
            }
            done.push(Completion::Received { from, kind, tag: first.tag, segment: first.segment });
        }
        self.post_frame(from)
    }

    pub(super) fn send_framed(&mut self, message: &Message) -> Result<(), CallError> {
        let (to, items) = (message.to, message.items().collect::<Vec<Item>>());
        if message.kind == Kind::Request {
            let expected = self.frames.expected.entry(to).or_default();
            expected.readies += 1;
            if expected.readies == 1 && expected.items == 0 {
                self.post_frame(to)?;
            }
        }
        let purpose = Purpose::Out { to };
        if message.kind != Kind::Data {
            let frame = write_frame(message.kind, &items, None);
            return self.requests.send(purpose, Buffer::own(frame), to.0, FRAME_TAG, None);
        }
        let noted = Some((message.first.tree, message.first.segment, items.len() as u64));
        let buffer = self.memory.outgoing(&items)?;
        let is_short = buffer.bytes() <= IN_FRAME_BYTES;
        // A rank that waits posts no receives, and the data of frames that come meanwhile would wait with it.
        if is_short || !self.frames.are_expected() {
            self.wait_for_port(message, &buffer);
        }
        if is_short {
            let frame = write_frame(message.kind, &items, Some(buffer.as_slice()));
            return self.requests.send(purpose, Buffer::own(frame), to.0, FRAME_TAG, noted);
        }
        self.control.send(&mut self.requests, write_frame(message.kind, &items, None), to.0, FRAME_TAG)?;
        self.requests.send(purpose, buffer, to.0, FRAME_DATA_TAG, noted)
    }
}

fn frame_bytes(items: usize) -> usize {
    8 + 12 * items
}

/// Added to the kind where the data stands behind the items.
const HAS_DATA: u32 = 1 << 8;

fn write_frame(kind: Kind, items: &[Item], data: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame_bytes(items.len()) + data.map_or(0, <[u8]>::len));
    put_u32(&mut out, kind as u32 | data.map_or(0, |_| HAS_DATA));
    put_u32(&mut out, items.len() as u32);
    for item in items {
        put_u32(&mut out, item.tag);
        put_u64(&mut out, item.segment);
    }
    out.extend_from_slice(data.unwrap_or_default());
    out
}

/// What comes from a rank, as the receiver's program has it.
struct Frame<'a> {
    kind: Kind,
    items: Vec<Item>,
    data: Option<&'a [u8]>,
}

fn read_frame<'a>(bytes: &'a [u8], sender: NodeId, program: &NodeProgram) -> Result<Frame<'a>, Malformed> {
    let mut from = Reader { bytes, what: "frame" };
    let code = from.u32()?;
    let kinds = [Kind::Data, Kind::Request, Kind::Ready];
    let kind = kinds.into_iter().find(|known| *known as u32 == code & !HAS_DATA);
    let kind = kind.ok_or(Malformed("frame"))?;
    let mut items = Vec::new();
    for _ in 0..from.u32()? {
        let (tag, segment) = (from.u32()?, from.u64()?);
        // An answer names a channel to its sender.
        items.push(match kind {
            Kind::Ready => Item::answer(sender, tag, segment),
            Kind::Data | Kind::Request => {
                Item::received(&program.inputs[program.input(sender, tag)], program.node, segment)
            }
        });
    }
    let data = (code & HAS_DATA != 0).then_some(from.bytes);
    Ok(Frame { kind, items, data })
}
