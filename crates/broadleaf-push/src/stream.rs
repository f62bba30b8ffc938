//! The stream of windows: while one is broadcast, the root reads the next one and every host writes the one before.
//!
//! A window is a table, with a status byte and a digest for each block, followed by the blocks' bytes; holes have none.

use crate::digest::{self, Digest};
use crate::fault::Fault;
use crate::index::{Block, Index};
use crate::place::Place;
use crate::ranks::Ranks;
use crate::schedule::{Schedule, Window};
use crate::source::Source;
use crate::stock::Stock;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::channel;
use std::sync::Mutex;
use std::thread::{Builder, Scope};

/// Windows in memory at once: being read, under way, being written.
const BUFFERS: usize = 3;
/// Bytes of a block's row in the table: its status, then its digest.
const TABLE_ROW: usize = 33;
const READ: u8 = 1;

impl Schedule {
    /// By rank: the bytes of the windows that it takes part in.
    pub fn needed(&self, index: &Index, windows: &[Window]) -> Vec<u64> {
        let ranks = self.groups.first().map_or(0, Vec::len);
        let takes_part = |rank: usize, window: &Window| rank == 0 || self.groups[window.group][rank];
        let needed = |rank: usize| {
            let mine = windows.iter().filter(|window| takes_part(rank, window));
            mine.map(|window| window.wire_bytes(index) as u64).sum()
        };
        (0..ranks).map(needed).collect()
    }
}

impl Window {
    /// Bytes on the wire, identical on all ranks.
    pub fn wire_bytes(&self, index: &Index) -> usize {
        self.blocks.len() * TABLE_ROW
            + index.blocks[self.blocks.clone()].iter().map(sent_bytes).sum::<usize>()
    }
}

fn sent_bytes(block: &Block) -> usize {
    if block.is_hole {
        0
    } else {
        block.bytes
    }
}

/// The source of the root's blocks.
pub struct Reading<'a> {
    pub source: &'a mut Source,
    /// Entries that have changed since the walk.
    pub unreadable: Vec<usize>,
}

/// Fills a window's buffer.
fn read(window: &Window, index: &Index, reading: &mut Reading<'_>, buffer: &mut Vec<u8>) {
    buffer.resize(window.wire_bytes(index), 0);
    let (table, mut data) = buffer.split_at_mut(window.blocks.len() * TABLE_ROW);
    for (row, block) in table.chunks_exact_mut(TABLE_ROW).zip(&index.blocks[window.blocks.clone()]) {
        let (part, rest) = data.split_at_mut(sent_bytes(block));
        data = rest;
        let found = reading.source.read(block, part);
        if found.is_none() {
            reading.unreadable.push(block.entry);
        }
        row[0] = if found.is_some() { READ } else { 0 };
        row[1..].copy_from_slice(&found.unwrap_or_default());
    }
}

/// The destination of a host's blocks.
pub struct Keeping<'a> {
    /// `None`: this rank only passes on.
    pub place: Option<&'a mut Place>,
    pub stock: &'a mut Stock,
    pub fault: &'a mut Option<Fault>,
    /// Whether the digests are computed by this rank from the source.
    pub is_root: bool,
    pub written_bytes: u64,
    /// Blocks that did not match their digests.
    pub damaged_blocks: u64,
}

/// Checks a window's blocks, and writes those that this host lacks. A damaged one stays lacking.
fn keep(window: &Window, index: &Index, buffer: &[u8], keeping: &mut Keeping<'_>) {
    let (table, mut data) = buffer.split_at(window.blocks.len() * TABLE_ROW);
    for (number, row) in window.blocks.clone().zip(table.chunks_exact(TABLE_ROW)) {
        let block = &index.blocks[number];
        let (part, rest) = data.split_at(sent_bytes(block));
        data = rest;
        let known: Digest = std::array::from_fn(|at| row[at + 1]);
        if row[0] != READ || keeping.stock.has[number] {
            continue;
        }
        let is_right = keeping.is_root
            || block.is_hole
            || digest::of_block(part, block.offset, index.file_bytes(block.entry)) == known;
        if !is_right {
            keeping.damaged_blocks += 1;
            continue;
        }
        keeping.stock.digests[number] = known;
        let Some(place) = keeping.place.as_deref_mut().filter(|_| keeping.fault.is_none()) else {
            continue;
        };
        match place.write(index, block, part) {
            Ok(()) => {
                keeping.stock.has[number] = true;
                keeping.written_bytes += part.len() as u64;
            }
            Err(error) => {
                let entry = &index.entries[block.entry];
                *keeping.fault = Some(place.refused(entry, &error));
                // Frees the space of a full disk.
                place.discard(entry);
            }
        }
    }
}

/// Runs work beside the broadcasts: on a separate thread, or in turn with them if no thread can be started. A panic in
/// it ends the process, since the other ranks would wait for this one; the launcher reports the host as lost.
fn beside<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) -> bool {
    let work = move || {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            std::process::abort();
        }
    };
    Builder::new().name(name.into()).spawn_scoped(scope, work).is_ok()
}

/// Sends the windows that this rank is a member for, in order. `groups` has each group's number for [`Ranks`]; `before`
/// is called ahead of each broadcast with its window and bytes.
pub fn stream(
    ranks: &dyn Ranks,
    index: &Index,
    windows: &[(usize, &Window)],
    reading: Option<&mut Reading<'_>>,
    keeping: &mut Keeping<'_>,
    before: &mut dyn FnMut(&Window, usize),
) {
    let (free, to_fill) = channel::<Vec<u8>>();
    let ((filled, to_send), (sent, to_keep)) = (channel::<Vec<u8>>(), channel::<Vec<u8>>());
    (0..BUFFERS).for_each(|_| drop(free.send(Vec::new())));
    let (to_fill, to_keep) = (Mutex::new(to_fill), Mutex::new(to_keep));
    let next = |from: &Mutex<std::sync::mpsc::Receiver<Vec<u8>>>| from.lock().ok()?.recv().ok();
    let is_reading = reading.is_some();
    let (reading, keeping) = (Mutex::new(reading), Mutex::new(keeping));
    let read_one = |window: &Window, mut buffer: Vec<u8>| {
        if let Ok(mut reading) = reading.lock() {
            if let Some(reading) = reading.as_deref_mut() {
                read(window, index, reading, &mut buffer);
            }
        }
        buffer
    };
    let keep_one = |window: &Window, buffer: &[u8]| {
        if let Ok(mut keeping) = keeping.lock() {
            keep(window, index, buffer, &mut keeping);
        }
    };
    std::thread::scope(|scope| {
        // Moved into the thread that uses them, so that the channels close when it ends.
        let (read_one, keep_one, next) = (&read_one, &keep_one, &next);
        let (to_fill, to_keep) = (&to_fill, &to_keep);
        let back = free.clone();
        let reader = is_reading
            && beside(scope, "reader", move || {
                for (_, window) in windows {
                    let Some(buffer) = next(to_fill) else { return };
                    if filled.send(read_one(window, buffer)).is_err() {
                        return;
                    }
                }
            });
        let writer = beside(scope, "writer", move || {
            for (_, window) in windows {
                let Some(buffer) = next(to_keep) else { return };
                keep_one(window, &buffer);
                // The receiver may be closed by now.
                let _ = back.send(buffer);
            }
        });
        for (group, window) in windows {
            let buffer = if reader { to_send.recv().ok() } else { next(to_fill) };
            let Some(mut buffer) = buffer else { return };
            if is_reading && !reader {
                buffer = read_one(window, buffer);
            }
            buffer.resize(window.wire_bytes(index), 0);
            before(window, buffer.len());
            ranks.broadcast(*group, &mut buffer);
            if writer {
                let _ = sent.send(buffer);
            } else {
                keep_one(window, &buffer);
                let _ = free.send(buffer);
            }
        }
        drop(sent);
    });
}

#[cfg(test)]
mod tests {
    use super::beside;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_panic_beside_the_broadcasts_ends_the_process() {
        const INSIDE: &str = "BROADLEAF_PUSH_PANICS";
        if std::env::var_os(INSIDE).is_some() {
            std::thread::scope(|scope| {
                beside(scope, "writer", || panic!("of the writer"));
                // As a rank that waits for others in a broadcast.
                std::thread::park();
            });
        }
        let name = "stream::tests::a_panic_beside_the_broadcasts_ends_the_process";
        let mut again = Command::new(std::env::current_exe().unwrap());
        let ended = again.args(["--exact", name]).env(INSIDE, "1").output().unwrap();
        assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{ended:?}");
    }
}
