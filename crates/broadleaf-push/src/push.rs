//! A push from beginning to end, as every rank runs it.
//!
//! Rank 0 reports progress in lines of JSON, their kind in `event`: `start` (bytes, files, hosts), `progress`
//! (done_bytes and total_bytes of the slowest host, slowest, seconds), at most ten a second, and at the end `hosts` (hosts, digest) or `error`
//! (message).

use crate::asked::Asked;
use crate::digest;
use crate::fault::Fault;
use crate::index::{Index, Kind};
use crate::pace::Pace;
use crate::place::Place;
use crate::progress::{word, Progress};
use crate::ranks::Ranks;
use crate::row::row_of;
use crate::schedule::{schedule, Schedule, Window};
use crate::source::Source;
use crate::stock::Stock;
use crate::stream::{stream, Keeping, Reading};
use crate::wire::{bit, packed, Reader, Writer};
use crate::writers::{is_source, writers};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::time::Instant;

/// The most times that a block is sent if it arrives damaged.
const MOST_ROUNDS: usize = 3;

/// One rank's state during a push.
struct Host<'a> {
    ranks: &'a dyn Ranks,
    asked: Asked,
    index: Index,
    /// `None`: this rank only passes on, because another rank of its host writes, or because of its fault.
    place: Option<Place>,
    stock: Stock,
    fault: Option<Fault>,
    /// Entries that changed on the root since the walk and could not be sent.
    failed: BTreeSet<usize>,
    received_bytes: u64,
    written_bytes: u64,
    damaged_blocks: u64,
    /// By rank, on the root.
    hosts: Vec<String>,
    said_s: f64,
    say: &'a mut dyn FnMut(Value),
    started: Instant,
}

/// Pushes the sources in `settings`, which only rank 0 must give; `say` gets the events on rank 0. Returns whether
/// every host has them, identically on all ranks.
pub fn push(ranks: &dyn Ranks, settings: &str, say: &mut dyn FnMut(Value)) -> bool {
    let is_root = ranks.rank() == 0;
    let mut source = None;
    let mut opening = Vec::new();
    if is_root {
        match walked(settings) {
            Ok(found) => {
                let mut out = Writer::default();
                out.bytes(settings.as_bytes());
                found.index.encode(&mut out);
                opening = out.0;
                source = Some(found);
            }
            Err(fault) => say(json!({"event": "error", "message": fault.0})),
        }
    }
    let opening = ranks.share(opening);
    let mut text = Reader(&opening);
    let asked = text.bytes().and_then(Asked::read);
    let Some((asked, index)) = asked.and_then(|asked| Some((asked, Index::decode(&mut text)?))) else {
        return false;
    };
    let stock = Stock::empty(&index);
    let mut host = Host {
        ranks,
        asked,
        index,
        place: None,
        stock,
        fault: None,
        failed: BTreeSet::new(),
        received_bytes: 0,
        written_bytes: 0,
        damaged_blocks: 0,
        hosts: Vec::new(),
        said_s: 0.0,
        say,
        started: Instant::now(),
    };
    let writers = host.open();
    host.take_stock(source.as_mut());
    for _ in 0..MOST_ROUNDS {
        if !host.round(source.as_mut()) {
            break;
        }
    }
    if let Some(source) = source.as_mut().filter(|_| host.place.is_none() && host.fault.is_none()) {
        host.failed.extend(host.stock.read_rest(&host.index, source));
    }
    host.finish(source.as_ref());
    host.report(&writers)
}

fn walked(settings: &str) -> Result<Source, Fault> {
    let asked = Asked::read(settings.as_bytes())
        .ok_or_else(|| Fault("settings that cannot be read; start it with: broadleaf push".into()))?;
    Source::walk(&asked.sources)
}

impl Host<'_> {
    fn is_root(&self) -> bool {
        self.ranks.rank() == 0
    }

    /// Opens this rank's target, unless another rank of its host writes there, or it is the source. Returns, on the
    /// root, whether each rank writes.
    fn open(&mut self) -> Vec<bool> {
        let target = self.asked.target(self.ranks);
        let (writers, hosts) = writers(self.ranks, &target);
        self.hosts = hosts;
        let writing = self.ranks.share(packed(writers.iter().copied()));
        if self.is_root() {
            (self.say)(json!({
                "event": "start",
                "bytes": self.index.total_bytes(),
                "files": self.index.files().count(),
                "hosts": writers.iter().filter(|&&writes| writes).count(),
            }));
        }
        let is_source = self.is_root() && is_source(&self.asked.sources, &target);
        if bit(&writing, self.ranks.rank()) && !is_source {
            match Place::open(&target, &self.index, self.asked.manner) {
                Ok(place) => self.place = Some(place),
                Err(fault) => self.fault = Some(fault),
            }
        }
        writers
    }

    /// The flags of every rank, on the root, one bit each; all ranks have the same number.
    fn gather_flags(&self, flags: impl IntoIterator<Item = bool>) -> Vec<Vec<u8>> {
        let mut mine = packed(flags);
        // Without flags there is still one row per rank.
        mine.push(0);
        self.ranks.gather_equal(&mine).chunks_exact(mine.len()).map(<[u8]>::to_vec).collect()
    }

    /// Finds what hosts hold already. The root sends the digests of the blocks that any host may have.
    fn take_stock(&mut self, source: Option<&mut Source>) {
        let mut candidates = vec![false; self.index.blocks.len()];
        if let Some(place) = self.place.as_mut() {
            match Stock::candidates(&self.index, place) {
                Ok(found) => candidates = found,
                Err(fault) => self.give_up(fault),
            }
        }
        let all = self.gather_flags(candidates.iter().copied());
        let known: Vec<bool> =
            (0..candidates.len()).map(|block| all.iter().any(|bits| bit(bits, block))).collect();
        let mut digests = Writer::default();
        if let Some(source) = source {
            digests.bytes(&packed(known.iter().copied()));
            let mut data = Vec::new();
            for (number, block) in self.index.blocks.iter().enumerate().filter(|(number, _)| known[*number]) {
                data.resize(if block.is_hole { 0 } else { block.bytes }, 0);
                match source.read(block, &mut data) {
                    Some(digest) => self.stock.digests[number] = digest,
                    None => drop(self.failed.insert(block.entry)),
                }
                digests.0.extend_from_slice(&self.stock.digests[number]);
            }
        }
        let shared = self.ranks.share(digests.0);
        let mut text = Reader(&shared);
        let known = text.bytes().unwrap_or_default();
        let sent = text.0.chunks_exact(32);
        let digests = self.stock.digests.iter_mut().enumerate();
        for ((_, digest), sent) in digests.filter(|(number, _)| bit(known, *number)).zip(sent) {
            digest.copy_from_slice(sent);
        }
        if let Some(place) = self.place.as_mut() {
            let mut taken = self.stock.take(&self.index, place, &candidates);
            let lacking = self.index.blocks.iter().zip(&self.stock.has);
            let needed: u64 = lacking
                .filter(|(block, &has)| !has && !block.is_hole)
                .map(|(block, _)| block.bytes as u64)
                .sum();
            if let Some(free) = place.free_bytes().filter(|&free| taken.is_ok() && free < needed) {
                let target = self.asked.target(self.ranks);
                taken = Err(Fault(format!(
                    "{target}: {needed} bytes are needed and {free} are free; free space there, and push again"
                )));
            }
            if let Err(fault) = taken {
                self.give_up(fault);
            }
        }
    }

    /// Ends this host's part after a fault; unfinished files without a complete block are removed.
    fn give_up(&mut self, fault: Fault) {
        if let Some(place) = self.place.as_mut() {
            for number in self.index.files() {
                if !self.stock.has[self.index.blocks_of[number].clone()].contains(&true) {
                    place.discard(&self.index.entries[number]);
                }
            }
        }
        self.place = None;
        self.fault = Some(fault);
    }

    /// Whether this rank is a member; the root is in every group.
    fn is_member(&self, members: &[bool]) -> bool {
        self.is_root() || members[self.ranks.rank()]
    }

    /// The number of each group for [`Ranks`].
    fn groups_of(&self, made: &Schedule) -> Vec<usize> {
        let number_of = |members: &Vec<bool>| {
            let all = members[1..].iter().all(|&is_member| is_member);
            if all {
                0
            } else {
                self.ranks.make_group(self.is_member(members))
            }
        };
        made.groups.iter().map(number_of).collect()
    }

    /// Agrees on the hosts of each block.
    fn agree(&self) -> Schedule {
        let lacks = |number: usize| {
            let block = &self.index.blocks[number];
            self.place.is_some()
                && self.fault.is_none()
                && !self.stock.has[number]
                && !self.failed.contains(&block.entry)
        };
        let needs = self.gather_flags((0..self.index.blocks.len()).map(lacks));
        let made = if self.is_root() { schedule(&self.index, &needs).encode() } else { Vec::new() };
        Schedule::decode(&self.ranks.share(made)).unwrap_or_default()
    }

    /// Sends every block that any host lacks; false if none is lacking.
    fn round(&mut self, source: Option<&mut Source>) -> bool {
        let made = self.agree();
        if made.runs.is_empty() {
            return false;
        }
        let groups = self.groups_of(&made);
        let windows = made.windows(&self.index);
        let is_root = self.is_root();
        let mine: Vec<_> = windows
            .iter()
            .filter(|window| self.is_member(&made.groups[window.group]))
            .map(|window| (groups[window.group], window))
            .collect();
        let needed = if is_root { made.needed(&self.index, &windows) } else { Vec::new() };
        let mut progress = Progress {
            ranks: self.ranks,
            received: vec![0; needed.len()],
            sent: vec![0; needed.len()],
            latest: vec![0; needed.len()],
            needed,
            hosts: &self.hosts,
            working: self.ranks.size() - 1,
            started: self.started,
            said_s: self.said_s,
            say: &mut self.say,
        };
        let mut reading = source.map(|source| Reading { source, unreadable: Vec::new() });
        let mut keeping = Keeping {
            place: self.place.as_mut(),
            stock: &mut self.stock,
            fault: &mut self.fault,
            is_root,
            written_bytes: 0,
            damaged_blocks: 0,
        };
        let mut pace = Pace::new(self.asked.limit_bytes_per_s);
        let (ranks, mut received) = (self.ranks, 0);
        let mut before = |window: &Window, bytes: usize| {
            if is_root {
                pace.wait_for(bytes);
                progress.admit(bytes, |rank| made.groups[window.group][rank]);
            } else {
                ranks.tell(word(received, false));
            }
            received += bytes as u64;
        };
        stream(ranks, &self.index, &mine, reading.as_mut(), &mut keeping, &mut before);
        if is_root {
            progress.finish();
        } else {
            ranks.tell(word(received, true));
        }
        self.said_s = progress.said_s;
        self.damaged_blocks += keeping.damaged_blocks;
        self.written_bytes += keeping.written_bytes;
        self.received_bytes += if is_root { 0 } else { received };
        if let Some(reading) = reading {
            self.failed.extend(reading.unreadable);
        }
        self.share_failed();
        true
    }

    /// Shares the entries that the root cannot send with all ranks.
    fn share_failed(&mut self) {
        let mut out = Writer::default();
        for &entry in &self.failed {
            out.number(entry as u64);
        }
        let shared = self.ranks.share(out.0);
        let mut text = Reader(&shared);
        while let Some(entry) = text.number() {
            self.failed.insert(entry as usize);
        }
    }

    /// Gives the complete files their names.
    fn finish(&mut self, source: Option<&Source>) {
        if let Some(source) = source {
            let changed = self.index.files().filter(|&entry| source.has_changed(entry));
            self.failed.extend(changed.collect::<Vec<usize>>());
        }
        self.share_failed();
        let Some(mut place) = self.place.take().filter(|_| self.fault.is_none()) else {
            return;
        };
        // Folders last, after all changes in them, and inner folders first.
        let is_folder = |entry: &usize| self.index.entries[*entry].kind == Kind::Folder;
        let all = 0..self.index.entries.len();
        let folders: Vec<usize> = all.clone().filter(is_folder).rev().collect();
        for number in all.filter(|entry| !is_folder(entry)).chain(folders) {
            if let Err(fault) = self.finish_entry(&mut place, number) {
                // The first fault is reported; the other files still get their names.
                self.fault.get_or_insert(fault);
            }
        }
    }

    fn finish_entry(&self, place: &mut Place, number: usize) -> Result<(), Fault> {
        let entry = &self.index.entries[number];
        let original = match entry.kind {
            Kind::SameAs(original) => original,
            _ => number,
        };
        if self.failed.contains(&original) {
            place.discard(entry);
            let name = self.asked.shown(&entry.path);
            return Err(Fault(format!("{name}: it changed while it was sent; push again")));
        }
        if !self.stock.is_whole(&self.index, original) {
            let lacking =
                self.index.blocks_of[original].clone().filter(|&block| !self.stock.has[block]).count();
            return Err(Fault(format!(
                "{lacking} blocks arrived damaged {MOST_ROUNDS} times; look at the network, and push again"
            )));
        }
        place
            .finish(&self.index, number, self.stock.is_there[number])
            .map_err(|error| place.refused(entry, &error))?;
        if self.asked.verify && matches!(entry.kind, Kind::File { .. }) {
            let is_right = self.stock.verify(&self.index, place, number);
            if !is_right.map_err(|error| place.refused(entry, &error))? {
                let name = String::from_utf8_lossy(&entry.path).into_owned();
                let target = self.asked.target(self.ranks);
                return Err(Fault(format!("{target}: {name} reads back differently; look at the disk")));
            }
        }
        Ok(())
    }

    /// The root reports the result of every host; returns whether all have the files.
    fn report(&mut self, writers: &[bool]) -> bool {
        let digest = self.stock.total(&self.index);
        let mut out = Writer::default();
        out.bytes(self.ranks.host().as_bytes()).bytes(self.asked.target(self.ranks).as_bytes());
        out.number(self.received_bytes).number(self.written_bytes).number(self.damaged_blocks);
        out.number(self.started.elapsed().as_nanos() as u64).bytes(&digest);
        out.bytes(self.fault.as_ref().map_or("", |fault| &fault.0).as_bytes());
        let told = self.ranks.gather(&out.0);
        let mut hosts = Vec::new();
        let mut all_have_it = true;
        for (rank, text) in told.iter().enumerate().filter(|(rank, _)| writers[*rank]) {
            let host = row_of(rank, text, &digest).unwrap_or(Value::Null);
            all_have_it &= host["fault"].is_null() && !host.is_null();
            hosts.push(host);
        }
        if self.is_root() {
            (self.say)(json!({"event": "hosts", "digest": digest::text(&digest), "hosts": hosts}));
        }
        self.ranks.share(vec![all_have_it.into()]) == [1]
    }
}
