//! One communicator's calls.
//!
//! Ranks agree without extra messages: only the root decides, and its decision reaches the other ranks in the header,
//! down the plan's own edges. All ranks receive the same headers in the same order, so their plan caches stay equal,
//! evictions included. Where the ranks of a host share memory, one of them takes part for all, and announces the
//! decision to the others ([`crate::intranode`]).

use crate::error::CallError;
use crate::intranode::{Announcement, CopyMethod, Delivery, HostGroup};
use crate::mpi::Mpi;
use crate::observe::advice::passive::Teller;
use crate::observe::row_key::RowKey;
use crate::observe::stats;
use crate::observe::trace::{self, Tracer, Watch};
use crate::outcome::Outcome;
use crate::planning::plan_cache::{Current, PlanVersions};
use crate::planning::{Advised, BackgroundSearch, Planning};
use crate::settings::WorldSettings;
use crate::smpi::Encoded;
use crate::topology::hosts::Hosts;
use crate::topology::rank_map::{agree_on_rank_map, RankMap};
pub use crate::transport::Lack;
use broadleaf::adapt::switch::{Header, Kind};
use broadleaf::plan::Collective;
use exchange::Exchanges;
use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

mod exchange;
mod follow;
mod forecast;
mod headers;
mod intranode;
mod lead;
mod predictor;

/// How long the blocks of a call are, bytes.
#[derive(Clone, Copy)]
pub struct BlockBytes<'a> {
    /// Of the message, of every block, or of the longest one.
    pub largest: u64,
    /// By rank, where they are not all alike.
    pub sizes: Option<&'a [u64]>,
    /// Of an element; segments end between elements.
    pub element: u64,
}

/// One call on a communicator, at one rank.
#[derive(Clone, Copy)]
struct Call<'a> {
    collective: Collective,
    /// The same on all ranks.
    number: u64,
    packed: *mut u8,
    /// Why, where `packed` is null.
    lack: Lack,
    /// Of the message, or of the longest block.
    bytes: u64,
    blocks: BlockBytes<'a>,
    root: u32,
}

/// One communicator.
pub struct Session {
    mpi: Mpi,
    name: String,
    rank: u32,
    size: u32,
    /// Planned collectives so far.
    calls: u64,
    /// Until the first broadcast that is not left to the MPI's own.
    rank_map: Option<Arc<Encoded<RankMap>>>,
    /// None: rank 0 found the settings unusable, and has informed all ranks.
    planning: Option<Planning>,
    hosts: Arc<Hosts>,
    /// The ranks of this host, where they share memory.
    group: Option<HostGroup>,
    /// Where all ranks are on one host: shorter messages go to the MPI's own broadcast.
    intranode_from: u64,
    threshold: u64,
    plans: PlanVersions,
    /// At a root, what may become its next plans.
    searches: HashMap<Kind, BackgroundSearch>,
    /// At a root that follows an advisor, the data for notes to it.
    advised: HashMap<Kind, Advised>,
    teller: Teller,
    exchanges: Exchanges,
    world: WorldSettings,
    tracer: Option<Tracer>,
    /// What the last planned call ran, for the statistics.
    ran: stats::Ran,
}

impl Session {
    /// Collective. `place`: this rank's host name and its place among the ranks of that host.
    pub fn open(
        mpi: Mpi,
        name: &str,
        rank: u32,
        size: u32,
        place: (String, u32),
        world: &WorldSettings,
    ) -> Result<Session, CallError> {
        let rank_map = agree_on_rank_map(&mpi, rank, size, place)?;
        let layout = rank_map.as_ref().map_or_else(Arc::default, |rank_map| Arc::clone(&rank_map.hosts));
        let hosts = Arc::new(Hosts::new(layout));
        let intranode_from = rank_map.as_ref().map_or(0, |rank_map| intranode::from_bytes(&mpi, rank_map));
        let threshold = match &rank_map {
            Some(rank_map) if rank_map.settings.plan_dir.is_none() => {
                intranode_from.max(rank_map.planned_from)
            }
            Some(rank_map) => rank_map.planned_from,
            None => 0,
        };
        let communicator = rank_map.as_ref().map_or(0, |rank_map| rank_map.communicator);
        let process = mpi.process();
        let tracer = world.trace.then(|| Tracer { process, communicator, name: name.to_string(), rank });
        Ok(Session {
            mpi,
            name: name.to_string(),
            rank,
            size,
            calls: 0,
            rank_map,
            planning: None,
            hosts,
            group: None,
            intranode_from,
            threshold,
            plans: PlanVersions::default(),
            searches: HashMap::new(),
            advised: HashMap::new(),
            teller: Teller::default(),
            exchanges: Exchanges::default(),
            world: *world,
            tracer,
            ran: stats::Ran::default(),
        })
    }

    /// The ranks of the communicator.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Messages of fewer bytes go to the MPI's own broadcast, on all ranks, and do not reach this session.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Of the plan that the last call ran by.
    pub fn plan_version(&self) -> u32 {
        self.ran.plan_version
    }

    /// Calls of other collectives of fewer bytes in all go to the MPI's own; `u64::MAX`: all do.
    pub fn exchange_threshold(&self) -> u64 {
        self.known_ranks()
            .map_or(u64::MAX, |rank_map| exchange::from_bytes(&self.mpi, &rank_map, &self.world))
    }

    /// Where the ranks sit; none: rank 0 found the settings unusable.
    fn known_ranks(&self) -> Option<Arc<Encoded<RankMap>>> {
        self.rank_map.as_ref().or(self.planning.as_ref().map(Planning::rank_map)).map(Arc::clone)
    }

    /// Broadcasts the packed bytes at `packed`; collective.
    ///
    /// # Safety
    /// `packed` points to `bytes` > 0 bytes that nothing else touches meanwhile, or is null: a rank without memory for
    /// them takes part for the others.
    pub unsafe fn broadcast(&mut self, packed: *mut u8, bytes: u64, root: u32) -> Outcome {
        let collective = Collective::Bcast;
        let blocks = BlockBytes { largest: bytes, sizes: None, element: 1 };
        self.perform(Call { collective, number: self.calls, packed, lack: Lack::Memory, bytes, blocks, root })
    }

    /// Another collective on a block for each rank, of which the longest has some bytes, or one vector that is reduced;
    /// collective.
    ///
    /// # Safety `packed` points to a block for every rank, one behind the other, that nothing else touches meanwhile.
    /// A rank that lacks them still forwards for the others. If it has blocks to send,
    /// outward all ranks use the MPI's own, and inward the root is informed.
    pub unsafe fn exchange(
        &mut self,
        collective: Collective,
        packed: Result<*mut u8, Lack>,
        blocks: BlockBytes<'_>,
        root: u32,
    ) -> Outcome {
        let bytes = blocks.largest;
        let (packed, lack) = (packed.unwrap_or(std::ptr::null_mut()), packed.err().unwrap_or(Lack::Memory));
        self.perform(Call { collective, number: self.calls, packed, lack, bytes, blocks, root })
    }

    unsafe fn perform(&mut self, call: Call<'_>) -> Outcome {
        let begin_s = (self.world.stats || self.tracer.is_some()).then(trace::now_s);
        // The next call has the next number on every rank, also after an error.
        self.calls += 1;
        let done = catch_unwind(AssertUnwindSafe(|| match call.collective {
            Collective::Bcast => self.run_call(call),
            _ => self.exchange_blocks(call),
        }));
        let outcome = done.unwrap_or(Err(CallError::Panicked)).unwrap_or_else(|error| {
            self.mpi.abandon();
            Outcome::from_error(&error)
        });
        if let Some((tracer, begin_s)) = self.tracer.as_ref().zip(begin_s) {
            let ran = if outcome == Outcome::Done { self.ran.clone() } else { stats::Ran::default() };
            tracer.called(call.number, call.collective, self.bytes_of(call), call.root, begin_s, &ran);
        }
        if let Some(begin_s) = begin_s.filter(|_| self.world.stats) {
            self.count(call, outcome, trace::now_s() - begin_s);
        }
        outcome
    }

    unsafe fn run_call(&mut self, call: Call) -> Result<Outcome, CallError> {
        if let Some(rank_map) = self.rank_map.take() {
            self.share_memory(rank_map)?;
        }
        if self.planning.is_none() {
            return Ok(Outcome::BadValue);
        }
        if self.rank == call.root && call.packed.is_null() {
            self.decline(call)
        } else if self.rank == call.root {
            self.lead(call)
        } else if self.hosts.is_served(self.rank, call.root) {
            self.attend(call)
        } else {
            self.follow(call)
        }
    }

    /// Of all blocks.
    fn bytes_of(&self, call: Call) -> u64 {
        match call.blocks.sizes {
            Some(sizes) => sizes.iter().sum(),
            None => call.bytes * call.collective.blocks(self.size as usize) as u64,
        }
    }

    fn count(&self, call: Call, outcome: Outcome, seconds: f64) {
        if self.rank > 0 && outcome != Outcome::Done {
            return;
        }
        let key = RowKey {
            collective: call.collective.name(),
            communicator: self.name.clone(),
            ranks: self.size,
            root: call.root,
            bytes: self.bytes_of(call),
        };
        let communicator = self.known_ranks().map_or(0, |rank_map| rank_map.communicator);
        stats::count(key, |row| {
            if outcome == Outcome::Done {
                row.latest.add(communicator, seconds);
            }
            match outcome {
                _ if self.rank > 0 => {}
                Outcome::Done => row.add_planned(seconds, &self.ran),
                Outcome::Own => *row.passed.entry("no-plan").or_default() += 1,
                Outcome::BadValue => *row.passed.entry("bad-value").or_default() += 1,
                Outcome::WrongLength | Outcome::Mpi(_) | Outcome::NoMemory | Outcome::Internal => {
                    row.failed += 1
                }
            }
        });
    }
}

fn watch(tracer: &Option<Tracer>, call: Call) -> Option<Watch> {
    tracer.as_ref().map(|tracer| tracer.watch(call.number, call.collective))
}

/// How the message is delivered inside this rank's host.
fn delivery(current: &Current) -> Delivery {
    if current.carried.led {
        Delivery::SharedMemory
    } else {
        Delivery::Messages
    }
}

/// What a leader announces of a call to the others of its host.
fn announced(header: Header, ran: &stats::Ran) -> Announcement {
    let mut announcement = Announcement {
        call: header.call,
        root: header.root,
        bytes: header.message_bytes,
        method: CopyMethod::through_ring(header.message_bytes) as u32,
        ..Announcement::default()
    };
    ran.tell(&mut announcement);
    announcement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_number_goes_on_after_a_fault_of_ours() {
        let place = ("host".to_string(), 0);
        let mut session =
            Session::open(Mpi::alone(), "alone", 0, 1, place, &WorldSettings::default()).unwrap();
        // C passes no broadcast of no bytes.
        let outcome = unsafe { session.broadcast(std::ptr::null_mut(), 0, 0) };
        assert_eq!((outcome, session.calls), (Outcome::Internal, 1));
    }
}
