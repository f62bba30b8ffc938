//! One communicator's broadcasts.
//!
//! Ranks agree without asking: only the root decides, and everybody else learns the decision from the header
//! that reaches it down the plan's own edges. All ranks see the same headers in the same order, so their books
//! of plans stay equal, evictions included. Where the ranks of a host share memory, one of them takes part for all,
//! and the others hear the decision from it ([`crate::intranode`]).

use crate::decode_cache::Encoded;
use crate::error::CallError;
use crate::intranode::{Announcement, CopyMethod, Delivery, HostGroup};
use crate::mpi::Mpi;
use crate::observe::advice::passive::{Teller, Timed, Timing};
use crate::observe::advice::{CallNote, InUse};
use crate::observe::stats;
use crate::observe::trace::{self, Tracer};
use crate::outcome::Outcome;
use crate::planning::plan_cache::{executor, Book, Current};
use crate::planning::{Advised, Given, Planning, Search};
use crate::rank_plan::carried::Carried;
use crate::report;
use crate::tags::{call_tag, PLAN_TAG};
use crate::topology::hosts::Hosts;
use crate::topology::rank_map::{agree_on_rank_map, RankMap};
use crate::transport::control::Forward;
use crate::transport::header::{decode_header, encode_header, HEADER_BYTES};
use crate::transport::MpiTransport;
use broadleaf::adapt::switch::{kind, Header, Kind, Listening, Order};
use broadleaf::execute::{drive, NodeExecutor};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

mod forecast;
mod intranode;

use forecast::Forecast;

/// What is kept of a communicator's calls.
#[derive(Clone, Copy, Debug)]
pub struct Keeps {
    pub stats: bool,
    pub trace: bool,
}

/// One communicator.
pub struct Session {
    mpi: Mpi,
    name: String,
    rank: u32,
    size: u32,
    /// Large broadcasts so far.
    calls: u64,
    /// Until the first broadcast that is not left to the MPI's own.
    rank_map: Option<Arc<Encoded<RankMap>>>,
    /// None: rank 0 found the settings unusable, and all ranks know.
    planning: Option<Planning>,
    hosts: Arc<Hosts>,
    /// The ranks of this host, where they share memory.
    group: Option<HostGroup>,
    /// Where all ranks are on one host: shorter messages go to the MPI's own broadcast.
    intranode_from: u64,
    threshold: u64,
    book: Book,
    /// At a root, what may become its next plans.
    searches: HashMap<Kind, Search>,
    /// At a root that follows an advisor, what it may say.
    advised: HashMap<Kind, Advised>,
    teller: Teller,
    keeps_stats: bool,
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
        keeps: Keeps,
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
        let tracer = if keeps.trace { Some(Tracer::agreed(&mpi, name, rank)?) } else { None };
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
            book: Book::default(),
            searches: HashMap::new(),
            advised: HashMap::new(),
            teller: Teller::default(),
            keeps_stats: keeps.stats,
            tracer,
            ran: stats::Ran::default(),
        })
    }

    /// Messages of fewer bytes go to the MPI's own broadcast, on all ranks alike, without a word to this session.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Broadcasts the packed bytes at `packed`; collective.
    ///
    /// # Safety
    /// `packed` points to `bytes` > 0 bytes that nothing else touches meanwhile, or is null: a rank without memory for
    /// them takes part for the others.
    pub unsafe fn broadcast(&mut self, packed: *mut u8, bytes: u64, root: u32) -> Outcome {
        let start = self.keeps_stats.then(Instant::now);
        let (begin_s, call) = (self.tracer.is_some().then(trace::now_s), self.calls);
        let outcome = self.run_call(packed, bytes, root).unwrap_or_else(|error| {
            self.mpi.abandon();
            Outcome::from_error(&error)
        });
        if let Some((tracer, begin_s)) = self.tracer.as_ref().zip(begin_s) {
            let ran = if outcome == Outcome::Done { self.ran.clone() } else { stats::Ran::default() };
            tracer.called(call, bytes, root, begin_s, &ran);
        }
        if let Some(start) = start {
            self.count(bytes, root, outcome, start.elapsed().as_secs_f64());
        }
        outcome
    }

    unsafe fn run_call(&mut self, packed: *mut u8, bytes: u64, root: u32) -> Result<Outcome, CallError> {
        if let Some(rank_map) = self.rank_map.take() {
            self.share_memory(rank_map)?;
        }
        if self.planning.is_none() {
            return Ok(Outcome::BadValue);
        }
        let done = if self.rank == root && packed.is_null() {
            self.decline(bytes)
        } else if self.rank == root {
            self.lead(packed, bytes)
        } else if self.hosts.is_served(self.rank, root) {
            self.attend(packed, bytes, root)
        } else {
            self.follow(packed, bytes, root)
        };
        self.calls += 1;
        done
    }

    /// The root's part.
    unsafe fn lead(&mut self, packed: *mut u8, bytes: u64) -> Result<Outcome, CallError> {
        let (call, rank) = (self.calls, self.rank);
        if self.is_intranode(bytes) {
            return self.lead_intranode(packed, bytes);
        }
        let kind = kind(rank, bytes);
        if !self.book.knows(kind) {
            // What the book has forgotten meanwhile needs no search.
            self.searches.retain(|&other, _| self.book.knows(other));
            self.advised.retain(|&other, _| self.book.knows(other));
        }
        let (mut found, mut brought) = (None, None);
        let first = || match self.planning.as_mut()?.first(rank, bytes) {
            Ok(made) => {
                found = Some((made.search, made.advised));
                Some(Carried::made(made.ranked))
            }
            Err(line) => {
                report::once(&format!("{line}; the MPI's own broadcast is used"));
                None
            }
        };
        let better = || {
            let advised = self.advised.get(&kind).and_then(|advised| advised.watch.take());
            let Given { plan, ranked } =
                advised.or_else(|| self.searches.get_mut(&kind).and_then(Search::better))?;
            brought = Some(plan);
            Some(Carried::made(ranked))
        };
        let (order, entry) = self.book.lead(call, rank, bytes, first, better);
        if let Some((search, advised)) = found {
            self.searches.insert(kind, search);
            if let Some(advised) = advised {
                brought = Some(Arc::clone(&advised.plan));
                self.advised.insert(kind, advised);
            }
        }
        if let Some((mailbox, advised)) =
            self.planning.as_ref().and_then(Planning::mailbox).zip(self.advised.get(&kind))
        {
            let version = entry.version + u32::from(order == Order::RunThenSwitch);
            let nodes = Arc::clone(&advised.nodes);
            mailbox.called(CallNote {
                at: Instant::now(),
                platform: Arc::clone(&advised.platform),
                communicator: self.planning.as_ref().map_or(0, Planning::communicator),
                call,
                root: advised.nodes[rank as usize],
                bytes,
                version: entry.version,
                brought: brought.map(|plan| InUse { version, plan, nodes }),
            });
        }
        let travels = match order {
            Order::RunNew => entry.current.as_ref().map(|current| current.carried.clone()),
            Order::RunThenSwitch => entry.next().cloned(),
            Order::Run | Order::Own => None,
        };
        let header = Header {
            call,
            root: rank,
            message_bytes: bytes,
            order,
            version: entry.version,
            plan_bytes: travels.as_ref().map_or(0, |plan| plan.bytes().len() as u64),
            sends_plan: false,
        };
        let Some(current) = entry.current.as_mut().filter(|_| order != Order::Own) else {
            return self.pass_by(header, &Listening::new(call, rank));
        };
        current.resize(bytes);
        self.ran.set(&current.carried.plan, entry.version);
        if let Some(group) = &mut self.group {
            group.announce(&self.mpi, delivery(current), announced(header, &self.ran))?;
        }
        let mut transport =
            MpiTransport::new(&self.mpi, packed, current.programs.plan(), current.program.clone());
        transport.watch(self.tracer.as_ref().map(|tracer| tracer.watch(call)));
        send_headers(&mut transport, current, header, travels.as_ref())?;
        run(&mut transport, &mut executor(current), current, self.group.as_mut())?;
        drop(transport);
        if let Some(group) = &mut self.group {
            group.finish_led(&self.mpi)?;
        }
        Ok(Outcome::Done)
    }

    /// The part of a rank that hears of the call by message.
    unsafe fn follow(&mut self, packed: *mut u8, bytes: u64, root: u32) -> Result<Outcome, CallError> {
        let (call, rank, mpi) = (self.calls, self.rank, self.mpi);
        let (forecast, part) = Forecast::of(&mut self.book, root, bytes).unzip();
        let mut posted = None;
        let (header, sender, listening) = match forecast.as_ref().zip(part) {
            None => self.listen(Listening::new(call, root), Vec::new())?,
            Some((forecast, mut executor)) => {
                let mut transport = MpiTransport::new(&mpi, packed, &forecast.plan, forecast.program.clone());
                transport.watch(self.tracer.as_ref().map(|tracer| tracer.watch(call)));
                transport.post_ahead(&mut executor, &forecast.before, call)?;
                let (sender, header) = transport.next_header()?;
                let mut listening = Listening::new(call, root);
                if forecast.holds(&header) && listening.hear(sender, &header)? {
                    posted = Some((transport, executor));
                    (header, sender, listening)
                } else {
                    let mut heard = vec![(sender, header)];
                    heard.extend(transport.withdraw()?);
                    self.listen(listening, heard)?
                }
            }
        };
        let mut arrived = None;
        if header.order == Order::RunNew {
            let mut plan = vec![0; header.plan_bytes as usize];
            self.mpi.receive(&mut plan, Some(sender), PLAN_TAG)?;
            arrived = Some(Carried::received(plan)?);
        }
        let unknown = || CallError::Internal(format!("call {call} runs a plan that never came"));
        let Some(entry) = self.book.follow(rank, &header, arrived.clone())? else {
            return self.pass_by(header, &listening);
        };
        let version = entry.version;
        let current = entry.current.as_mut().ok_or_else(unknown)?;
        current.resize(header.message_bytes);
        self.ran.set(&current.carried.plan, entry.version);
        let mut leads = None;
        if !self.hosts.is_served(rank, root) {
            leads = self.group.as_mut();
        }
        if let Some(group) = &mut leads {
            group.announce(&self.mpi, delivery(current), announced(header, &self.ran))?;
        }

        // The others have been promised the root's length, so a rank with another one still passes it on.
        let fits = bytes == header.message_bytes;
        let base = if fits { packed } else { std::ptr::null_mut() };
        let (mut transport, mut executor) = match posted {
            Some(posted) => posted,
            None => {
                let (plan, program) = (current.programs.plan(), current.program.clone());
                let mut transport = MpiTransport::new(&mpi, base, plan, program);
                transport.watch(self.tracer.as_ref().map(|tracer| tracer.watch(call)));
                for other in listening.missing(current) {
                    transport.drop_header(other, call)?;
                }
                (transport, executor(current))
            }
        };
        send_headers(&mut transport, current, header, arrived.as_ref())?;
        if header.order == Order::RunThenSwitch {
            let from = current.plan_parent.ok_or_else(unknown)?;
            let to = current.plan_children.clone();
            transport.receive_plan(Forward { from, bytes: header.plan_bytes, to })?;
        }
        let advice =
            self.planning.as_ref().and_then(|planning| Some((planning.mailbox()?, planning.communicator())));
        if advice.is_some() {
            transport.timing = Some(Timing::new(&current.programs, &current.program));
        }
        let next = run(&mut transport, &mut executor, current, leads.as_deref_mut())?;
        if let (Some((mailbox, communicator)), Some(timing)) = (advice, transport.timing.take()) {
            let message_bytes = header.message_bytes;
            let timed = Timed { communicator, call, rank, root, message_bytes, version };
            self.teller.tell(mailbox, &timing, timed);
        }
        drop(transport);
        if let Some(group) = leads {
            group.finish_led(&self.mpi)?;
        }
        if let Some(plan) = next {
            self.book.keep(&header, plan);
        }
        Ok(if fits { Outcome::Done } else { Outcome::WrongLength })
    }

    /// The header to act on, and who sent it; some have been heard before.
    fn listen(
        &self,
        mut listening: Listening,
        heard: Vec<(u32, Header)>,
    ) -> Result<(Header, u32, Listening), CallError> {
        let mut found = None;
        for (sender, header) in heard {
            if listening.hear(sender, &header)? && found.is_none() {
                found = Some((header, sender));
            }
        }
        if let Some((header, sender)) = found {
            return Ok((header, sender, listening));
        }
        loop {
            let mut bytes = [0; HEADER_BYTES];
            let sender = self.mpi.receive(&mut bytes, None, call_tag(self.calls))?;
            let header = decode_header(&bytes)?;
            if listening.hear(sender, &header)? {
                return Ok((header, sender, listening));
            }
        }
    }

    /// A root without memory for the packed message: for this call, all ranks use the MPI's own broadcast.
    fn decline(&mut self, bytes: u64) -> Result<Outcome, CallError> {
        let (call, root) = (self.calls, self.rank);
        let version = self.book.decline(call, root, bytes).version;
        let (order, message_bytes) = (Order::Own, bytes);
        let header = Header { call, root, message_bytes, order, version, plan_bytes: 0, sends_plan: false };
        self.pass_by(header, &Listening::new(call, root))
    }

    /// "Use the MPI's own broadcast" goes to the others of this host, and to all ranks that hear by message: down the
    /// plan that they expect, or a binomial tree where there is none.
    fn pass_by(&mut self, header: Header, listening: &Listening) -> Result<Outcome, CallError> {
        let header = Header { plan_bytes: 0, sends_plan: false, ..header };
        let is_served = self.hosts.is_served(self.rank, header.root);
        let entry = self.book.entry(kind(header.root, header.message_bytes), header.call);
        if let Some(group) = self.group.as_mut().filter(|_| !is_served) {
            let by_message = entry.current.as_ref().is_some_and(|current| !current.carried.led);
            let delivery = if by_message { Delivery::Messages } else { Delivery::Native };
            group.announce(&self.mpi, delivery, announced(header, &stats::Ran::default()))?;
            group.finish_led(&self.mpi)?;
        }
        if let Some(current) = &entry.current {
            let (plan, program) = (current.programs.plan(), current.program.clone());
            // SAFETY: no segment is sent or received.
            let mut transport = unsafe { MpiTransport::new(&self.mpi, std::ptr::null_mut(), plan, program) };
            for other in listening.missing(current) {
                transport.drop_header(other, header.call)?;
            }
            send_headers(&mut transport, current, header, None)?;
            transport.finish()?;
            return Ok(Outcome::Own);
        }
        let hearers = self.hosts.hearers(header.root);
        let mine = hearers.iter().position(|&rank| rank == self.rank).unwrap_or(0);
        let bytes = encode_header(&header);
        let mut reach =
            if mine == 0 { hearers.len().next_power_of_two() } else { 1 << mine.trailing_zeros() };
        while reach > 1 {
            reach /= 2;
            if let Some(&other) = hearers.get(mine + reach) {
                self.mpi.send(&bytes, other, call_tag(header.call))?;
            }
        }
        Ok(Outcome::Own)
    }

    fn count(&self, bytes: u64, root: u32, outcome: Outcome, seconds: f64) {
        if self.rank > 0 && outcome != Outcome::Done {
            return;
        }
        let key = stats::Key { communicator: self.name.clone(), ranks: self.size, root, bytes };
        let communicator = self.planning.as_ref().map_or(0, Planning::communicator);
        stats::count(key, |row| {
            if outcome == Outcome::Done {
                row.latest.add(communicator, seconds);
            }
            match outcome {
                _ if self.rank > 0 => {}
                Outcome::Done => row.add_planned(seconds, &self.ran),
                Outcome::Own => *row.passed.entry("no-plan").or_default() += 1,
                Outcome::BadValue => *row.passed.entry("bad-value").or_default() += 1,
                Outcome::WrongLength | Outcome::Mpi(_) | Outcome::Internal => row.failed += 1,
            }
        });
    }
}

/// What goes on inside this rank's host.
fn delivery(current: &Current) -> Delivery {
    if current.carried.led {
        Delivery::SharedMemory
    } else {
        Delivery::Messages
    }
}

/// What a leader tells the others of its host of a call.
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

/// The header to everyone this rank sends to, and the plan, if one travels, down the first tree.
fn send_headers(
    transport: &mut MpiTransport,
    current: &Current,
    header: Header,
    plan: Option<&Carried>,
) -> Result<(), CallError> {
    for (rank, header) in current.headers(header) {
        transport.send_header(rank, &header)?;
        if let Some(plan) = plan.filter(|_| header.sends_plan) {
            transport.send_plan(rank, plan.clone())?;
        }
    }
    Ok(())
}

/// Runs this rank's part to its end, and passes the message on inside its host where the plan leaves that to
/// it. Gives the plan that came with it.
fn run<'a>(
    transport: &mut MpiTransport<'a>,
    executor: &mut NodeExecutor,
    current: &Current,
    group: Option<&'a mut HostGroup>,
) -> Result<Option<Carried>, CallError> {
    if let Some(group) = group.filter(|_| current.carried.led) {
        transport.feed(group);
    }
    if !executor.is_announced() {
        transport.expect_frames(current.programs.segments())?;
    }
    transport.pace(&current.carried.edges);
    drive(executor, transport)?;
    transport.finish()
}
