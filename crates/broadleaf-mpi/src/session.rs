//! One communicator's broadcasts.
//!
//! Ranks agree without asking: only the root decides, and everybody else learns the decision from the header
//! that reaches it down the plan's own edges. All ranks see the same headers in the same order, so their books
//! of plans stay equal, evictions included.

use crate::abi::Mpi;
use crate::planning::{Planning, Progress, Search};
use crate::ranks::RankPlan;
use crate::report;
use crate::seats::agree_on_seats;
use crate::stats;
use crate::transport::{call_tag, CallError, Forward, MpiTransport, PLAN_TAG};
use crate::wire::{decode_plan, encode_plan, Header, Order};
use broadleaf::execute::{drive, NodeExecutor, Window};
use broadleaf::plan::{NodeProgram, Programs};
use broadleaf::platform::NodeId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// How a broadcast ended at this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The data is there.
    Done,
    /// All ranks use the MPI's own broadcast for this call.
    Own,
    /// As `Own`, because of a setting that has been reported.
    BadValue,
    /// This rank's length is not the root's.
    WrongLength,
    /// An MPI error code.
    Mpi(i32),
    /// Our own fault; reported.
    Internal,
}

impl Outcome {
    pub fn from_error(error: &CallError) -> Outcome {
        match error {
            CallError::Mpi(code) => Outcome::Mpi(*code),
            CallError::Internal(fact) => {
                report::once(&format!("internal error: {fact}; please report it"));
                Outcome::Internal
            }
        }
    }
}

/// Plans kept per communicator; the one used longest ago goes first. A program that rotates roots and sizes
/// beyond that plans again.
const MAX_PLANS: usize = 64;

/// One communicator.
pub struct Session {
    mpi: Mpi,
    name: String,
    rank: u32,
    size: u32,
    /// Large broadcasts so far.
    calls: u64,
    /// None: rank 0 found the settings unusable, and all ranks know.
    planning: Option<Planning>,
    book: HashMap<(u32, u32), Entry>,
    keeps_stats: bool,
}

/// What a rank knows of the broadcasts of one (root, size class).
#[derive(Default)]
struct Entry {
    used: u64,
    version: u32,
    /// None: the MPI's own broadcast is used.
    current: Option<Current>,
    next: Option<RankPlan>,
    /// At the root only.
    search: Option<Search>,
}

/// The plan in use, and what this rank does in it.
struct Current {
    ranked: RankPlan,
    /// For messages of this length; most programs broadcast the same length again and again.
    programs: Programs,
    program: NodeProgram,
    /// The first tree carries plans.
    plan_parent: Option<u32>,
    plan_children: Vec<u32>,
    /// Everyone that sends to this rank, and everyone it sends to.
    before: BTreeSet<u32>,
    after: BTreeSet<u32>,
}

impl Current {
    fn new(ranked: RankPlan, rank: u32, bytes: u64) -> Current {
        let plan = Arc::new(ranked.plan.resized(bytes));
        let first = &plan.trees[0];
        let plan_parent = first.parents()[rank as usize].map(|parent| parent.0);
        let plan_children: Vec<u32> = first.children(NodeId(rank)).iter().map(|child| child.0).collect();
        let programs = Programs::for_ranks(plan);
        let program = programs.node(NodeId(rank));
        let before = program.inputs.iter().map(|input| input.from.0).chain(plan_parent).collect();
        let sent_to = program.outputs.iter().map(|output| output.to.0);
        let after = sent_to.chain(plan_children.iter().copied()).collect();
        Current { ranked, programs, program, plan_parent, plan_children, before, after }
    }

    fn resize(&mut self, bytes: u64) {
        if self.programs.plan().message_bytes != bytes {
            self.programs = Programs::for_ranks(Arc::new(self.ranked.plan.resized(bytes)));
            self.program = self.programs.node(self.program.node);
        }
    }

    /// The widest window of any edge between this rank and a peer.
    fn window(&self, peer: NodeId) -> Window {
        let windows = &self.ranked.windows;
        let out = self.program.outputs.iter().filter(|output| output.to == peer);
        let messages =
            out.map(|output| windows[output.tree as usize][output.target.index()]).max().unwrap_or(1);
        Window { messages: u32::from(messages), shares_port: true }
    }

    /// Receives to have posted on a channel: as many as its sender may have in flight, and one more.
    fn ahead(&self) -> u32 {
        let windows = &self.ranked.windows;
        let inputs = self.program.inputs.iter();
        let widest =
            inputs.map(|input| windows[input.tree as usize][input.target.index()]).max().unwrap_or(1);
        u32::from(widest) + 1
    }
}

impl Session {
    /// Collective. `place`: this rank's host name and its place among the ranks of that host.
    pub fn open(
        mpi: Mpi,
        name: &str,
        rank: u32,
        size: u32,
        place: (String, u32),
        keeps_stats: bool,
    ) -> Result<Session, CallError> {
        let seats = agree_on_seats(&mpi, rank, size, place)?;
        Ok(Session {
            mpi,
            name: name.to_string(),
            rank,
            size,
            calls: 0,
            planning: seats.map(Planning::new),
            book: HashMap::new(),
            keeps_stats: keeps_stats && rank == 0,
        })
    }

    /// Broadcasts the packed bytes at `packed`; collective.
    ///
    /// # Safety
    /// `packed` points to `bytes` > 0 bytes that nothing else touches meanwhile.
    pub unsafe fn broadcast(&mut self, packed: *mut u8, bytes: u64, root: u32) -> Outcome {
        let start = Instant::now();
        let outcome = if self.planning.is_none() {
            Outcome::BadValue
        } else {
            let done =
                if self.rank == root { self.lead(packed, bytes) } else { self.follow(packed, bytes, root) };
            self.calls += 1;
            done.unwrap_or_else(|error| {
                self.mpi.abandon();
                Outcome::from_error(&error)
            })
        };
        if self.keeps_stats {
            self.count(bytes, root, outcome, start.elapsed().as_secs_f64());
        }
        outcome
    }

    /// The root's part.
    unsafe fn lead(&mut self, packed: *mut u8, bytes: u64) -> Result<Outcome, CallError> {
        let (call, rank, size) = (self.calls, self.rank, self.size);
        let key = (rank, bytes.ilog2());
        let known = self.book.contains_key(&key);
        let entry = entry_of(&mut self.book, key, call);
        let mut plan = Vec::new();
        let order = if !known {
            let made = self.planning.as_mut().map(|planning| planning.first(rank, bytes));
            match made {
                Some(Ok(made)) => {
                    plan = encode_plan(&made.ranked);
                    entry.search = made.search;
                    entry.current = Some(Current::new(made.ranked, rank, bytes));
                    Order::RunNew
                }
                Some(Err(line)) => {
                    report::once(&format!("{line}; the MPI's own broadcast is used"));
                    Order::Own
                }
                None => Order::Own,
            }
        } else if entry.current.is_none() {
            Order::Own
        } else {
            entry.switch(rank, bytes);
            match entry.search.as_ref().map_or(Progress::Searching, Search::progress) {
                Progress::Better(better) => {
                    plan = encode_plan(&better);
                    entry.next = Some(better);
                    Order::RunThenSwitch
                }
                Progress::Ended => {
                    entry.search = None;
                    Order::Run
                }
                Progress::Searching => Order::Run,
            }
        };
        let header = Header {
            call,
            root: rank,
            message_bytes: bytes,
            order,
            version: entry.version,
            plan_bytes: plan.len() as u64,
            sends_plan: false,
        };
        let Some(current) = entry.current.as_mut().filter(|_| order != Order::Own) else {
            tell_own(&self.mpi, header, rank, size)?;
            return Ok(Outcome::Own);
        };
        current.resize(bytes);
        let mut transport =
            MpiTransport::new(&self.mpi, packed, current.programs.plan(), current.program.clone());
        send_headers(&mut transport, current, header, &plan)?;
        run(&mut transport, current)?;
        transport.finish()?;
        Ok(Outcome::Done)
    }

    /// Everybody else's part.
    unsafe fn follow(&mut self, packed: *mut u8, bytes: u64, root: u32) -> Result<Outcome, CallError> {
        let (call, rank) = (self.calls, self.rank);
        let mut told = BTreeSet::new();
        let (header, sender) = self.first_header(root, &mut told)?;
        let entry = entry_of(&mut self.book, (root, header.message_bytes.ilog2()), call);
        if header.order == Order::Own {
            tell_own(&self.mpi, header, rank, self.size)?;
            return Ok(Outcome::Own);
        }
        let mut plan = Vec::new();
        if header.order == Order::RunNew {
            plan = vec![0; header.plan_bytes as usize];
            self.mpi.receive(&mut plan, Some(sender), PLAN_TAG)?;
            entry.current = Some(Current::new(decode_plan(&plan)?, rank, header.message_bytes));
        }
        entry.switch(rank, header.message_bytes);
        let unknown = || CallError::Internal(format!("call {call} runs a plan that never came"));
        let current =
            entry.current.as_mut().filter(|_| entry.version == header.version).ok_or_else(unknown)?;
        current.resize(header.message_bytes);

        // The others have been promised the root's length, so a rank with another one still serves them.
        let fits = bytes == header.message_bytes;
        let mut scratch = vec![0u8; if fits { 0 } else { header.message_bytes as usize }];
        let base = if fits { packed } else { scratch.as_mut_ptr() };
        let mut transport =
            MpiTransport::new(&self.mpi, base, current.programs.plan(), current.program.clone());
        send_headers(&mut transport, current, header, &plan)?;
        for &other in current.before.difference(&told) {
            transport.receive_aside(other, call_tag(call), Header::BYTES)?;
        }
        if header.order == Order::RunThenSwitch {
            let from = current.plan_parent.ok_or_else(unknown)?;
            let to = current.plan_children.clone();
            transport.receive_plan(Forward { from, bytes: header.plan_bytes, to })?;
        }
        run(&mut transport, current)?;
        if let Some(plan) = transport.finish()? {
            entry.next = Some(decode_plan(&plan)?);
        }
        Ok(if fits { Outcome::Done } else { Outcome::WrongLength })
    }

    /// The header to act on and who sent it: the first that comes, or with a new plan, the one that it follows.
    fn first_header(&self, root: u32, told: &mut BTreeSet<u32>) -> Result<(Header, u32), CallError> {
        loop {
            let mut bytes = [0; Header::BYTES];
            let sender = self.mpi.receive(&mut bytes, None, call_tag(self.calls))?;
            let header = Header::decode(&bytes)?;
            if header.call != self.calls || header.root != root {
                return Err(CallError::Internal(format!(
                    "rank {sender} is in broadcast {} from root {}, this rank in broadcast {} from root {root}",
                    header.call, header.root, self.calls
                )));
            }
            told.insert(sender);
            if header.order != Order::RunNew || header.sends_plan {
                return Ok((header, sender));
            }
        }
    }

    fn count(&self, bytes: u64, root: u32, outcome: Outcome, seconds: f64) {
        let key = stats::Key { communicator: self.name.clone(), ranks: self.size, root, bytes };
        let entry = self.book.get(&(root, bytes.ilog2()));
        stats::count(key, |row| match outcome {
            Outcome::Done => {
                if row.planned == 0 {
                    row.first_s = seconds;
                    row.fastest_s = seconds;
                }
                row.planned += 1;
                row.seconds += seconds;
                row.fastest_s = row.fastest_s.min(seconds);
                if let Some((entry, current)) = entry.and_then(|entry| Some((entry, entry.current.as_ref()?)))
                {
                    let plan = &current.ranked.plan;
                    row.planner.clone_from(&plan.planner);
                    row.segment_bytes = plan.segment_bytes;
                    row.trees = plan.trees.len() as u32;
                    row.plan_version = entry.version;
                }
            }
            Outcome::Own => *row.passed.entry("no-plan").or_default() += 1,
            Outcome::BadValue => *row.passed.entry("bad-value").or_default() += 1,
            Outcome::WrongLength | Outcome::Mpi(_) | Outcome::Internal => row.failed += 1,
        });
    }
}

impl Entry {
    /// The plan that came with the last call takes effect.
    fn switch(&mut self, rank: u32, bytes: u64) {
        if let Some(next) = self.next.take() {
            self.version += 1;
            self.current = Some(Current::new(next, rank, bytes));
        }
    }
}

/// The entry of a key, made if there is none; then the one used longest ago may have to go.
fn entry_of(book: &mut HashMap<(u32, u32), Entry>, key: (u32, u32), call: u64) -> &mut Entry {
    if book.len() >= MAX_PLANS && !book.contains_key(&key) {
        let oldest = book.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
        oldest.and_then(|oldest| book.remove(&oldest));
    }
    let entry = book.entry(key).or_default();
    entry.used = call;
    entry
}

/// The header to everyone this rank sends to, and the plan, if one travels, down the first tree.
fn send_headers(
    transport: &mut MpiTransport,
    current: &Current,
    header: Header,
    plan: &[u8],
) -> Result<(), CallError> {
    for &rank in &current.after {
        let sends_plan = header.plan_bytes > 0 && current.plan_children.contains(&rank);
        transport.send_aside(
            rank,
            call_tag(header.call),
            Header { sends_plan, ..header }.encode().to_vec(),
        )?;
        if sends_plan && !plan.is_empty() {
            transport.send_aside(rank, PLAN_TAG, plan.to_vec())?;
        }
    }
    Ok(())
}

fn run(transport: &mut MpiTransport, current: &Current) -> Result<(), CallError> {
    let node = current.program.node;
    let mut executor = NodeExecutor::new(&current.programs, node, |peer| current.window(peer));
    if executor.is_announced() {
        executor.post_ahead(current.ahead());
    } else {
        transport.expect_frames(current.programs.segments())?;
    }
    drive(&mut executor, transport)
}

/// Passes "use the MPI's own broadcast" on, down a binomial tree of ranks counted from the root.
fn tell_own(mpi: &Mpi, header: Header, rank: u32, size: u32) -> Result<(), CallError> {
    let mine = (rank + size - header.root) % size;
    let header = Header { plan_bytes: 0, sends_plan: false, ..header };
    let bytes = header.encode();
    let mut reach = if mine == 0 { size.next_power_of_two() } else { 1 << mine.trailing_zeros() };
    while reach > 1 {
        reach /= 2;
        if mine + reach < size {
            mpi.send(&bytes, (mine + reach + header.root) % size, call_tag(header.call))?;
        }
    }
    Ok(())
}
