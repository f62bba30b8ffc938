//! Plans change while broadcasts run, at thousands of made-up timings: every message takes its own time, ranks
//! come late, roots and sizes take turns, and new plans are found at any moment. The books, headers and executors
//! are those of the runtime; only the network is made up.

// Over 400 lines: one simulated world, all of whose parts change each other; apart they explain nothing.

use broadleaf::adapt::switch::{Book, Current, Header, Listening, Order};
use broadleaf::budget::Budget;
use broadleaf::execute::{Item, Message, NodeExecutor, Window};
use broadleaf::plan::Plan;
use broadleaf::planners::{find, Instance};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::random::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// Byte `at` of the message of a call.
fn content(call: u64, at: u64) -> u8 {
    ((call * 131 + at * 7) % 251) as u8
}

/// What every rank of a program calls, one after the other.
#[derive(Clone, Copy)]
struct Broadcast {
    root: u32,
    bytes: u64,
}

#[derive(Clone)]
enum Body {
    Header(Header),
    Plan(Arc<Plan>),
    Data(Vec<(Item, Vec<u8>)>),
}

enum Happening {
    Arrival {
        from: u32,
        to: u32,
        body: Body,
    },
    /// The buffer of a message to `to` is free again.
    Sent {
        rank: u32,
        to: NodeId,
    },
    /// The rank calls its next broadcast.
    Enters(u32),
}

/// Where a rank is.
enum Stage {
    /// Outside the broadcast.
    Away,
    Listening(Listening),
    /// The header came; the new plan follows it.
    AwaitingPlan {
        header: Header,
        from: u32,
        listening: Listening,
    },
    Running(Box<Run>),
}

struct Run {
    header: Header,
    executor: NodeExecutor,
    /// Segments yet to come on each input, and headers and plans beside them.
    open: HashMap<(u32, u32), u64>,
    headers: Vec<u32>,
    plan_from: Option<u32>,
    arrived_plan: Option<Arc<Plan>>,
    plan_children: Vec<u32>,
    buffer: Vec<u8>,
    segment_bytes: u64,
}

struct Rank {
    book: Book<Arc<Plan>>,
    call: u64,
    stage: Stage,
    /// Messages that came and that nobody has asked for yet, by sender, in order.
    inbox: Vec<VecDeque<Body>>,
}

struct World<'a> {
    platform: &'a Platform,
    program: &'a [Broadcast],
    ranks: Vec<Rank>,
    events: BinaryHeap<(Reverse<u64>, Reverse<u64>)>,
    happenings: HashMap<u64, Happening>,
    number: u64,
    now: u64,
    /// When the last message of an ordered pair arrives: MPI keeps their order.
    latest: HashMap<(u32, u32), u64>,
    random: Random,
    /// How long a message may take at most, in ticks, and a rank until its next call.
    slowest: u64,
    laziest: u64,
    /// The plan each call ran, told by the first rank that knew.
    ran: HashMap<u64, (u32, Arc<Plan>)>,
    switches: u32,
}

const SEGMENTS: [u64; 4] = [16, 50, 128, 4096];
const PLANNERS: [&str; 7] =
    ["flat", "chain", "binary", "binomial", "van-de-geijn", "round-robin", "two-tree"];

fn some_plan(platform: &Platform, random: &mut Random, root: u32, bytes: u64) -> Arc<Plan> {
    loop {
        let planner = find(PLANNERS[random.below(PLANNERS.len())]).unwrap();
        let instance = Instance::new(platform, NodeId(root), bytes).unwrap();
        let instance = instance.segmented(SEGMENTS[random.below(SEGMENTS.len())].min(bytes));
        if let Ok(plan) = planner.plan(&instance, &Budget::UNLIMITED) {
            return Arc::new(plan);
        }
    }
}

impl World<'_> {
    fn add(&mut self, at: u64, happening: Happening) {
        self.events.push((Reverse(at), Reverse(self.number)));
        self.happenings.insert(self.number, happening);
        self.number += 1;
    }

    fn send(&mut self, from: u32, to: u32, body: Body) {
        let earliest = self.latest.get(&(from, to)).copied().unwrap_or(0);
        let arrives = (self.now + 1 + self.random.below(self.slowest as usize) as u64).max(earliest);
        self.latest.insert((from, to), arrives);
        self.add(arrives, Happening::Arrival { from, to, body });
    }

    fn enter_later(&mut self, rank: u32) {
        if self.ranks[rank as usize].call < self.program.len() as u64 {
            let at = self.now + self.random.below(self.laziest as usize) as u64;
            self.add(at, Happening::Enters(rank));
        }
    }

    fn enter(&mut self, rank: u32) {
        let call = self.ranks[rank as usize].call;
        let Broadcast { root, bytes } = self.program[call as usize];
        if rank != root {
            self.ranks[rank as usize].stage = Stage::Listening(Listening::new(call, root));
            return self.look(rank);
        }
        let first = some_plan(self.platform, &mut self.random, root, bytes);
        // A search that has just ended, one that has not, and often none at all.
        let found =
            (self.random.below(3) == 0).then(|| some_plan(self.platform, &mut self.random, root, bytes));
        let book = &mut self.ranks[rank as usize].book;
        let (order, entry) = book.lead(call, rank, bytes, || Some(first), || found);
        let version = entry.version;
        let current = entry.current.as_mut().unwrap();
        let travels = match order {
            Order::RunNew => Some(Arc::clone(&current.carried)),
            Order::RunThenSwitch => entry.next().cloned(),
            Order::Run | Order::Own => None,
        };
        self.switches += u32::from(order == Order::RunThenSwitch);
        let plan_bytes = travels.is_some().into();
        let header =
            Header { call, root, message_bytes: bytes, order, version, plan_bytes, sends_plan: false };
        self.begin(rank, header, travels, None);
    }

    /// Sends the headers and starts the executor.
    fn begin(&mut self, rank: u32, header: Header, plan: Option<Arc<Plan>>, heard: Option<Listening>) {
        let kind = broadleaf::adapt::switch::kind(header.root, header.message_bytes);
        let (sent, run) = {
            let state = &mut self.ranks[rank as usize];
            let entry = state.book.entry(kind, header.call);
            let current = entry.current.as_mut().unwrap();
            current.resize(header.message_bytes);
            let sent: Vec<(u32, Header)> = current.headers(header).collect();
            (sent, Run::start(current, header, heard.as_ref(), &mut self.random))
        };
        let used = (header.version, Arc::clone(run.plan()));
        let (version, plan_used) = self.ran.entry(header.call).or_insert_with(|| used.clone());
        // No mixed plan: whoever takes part runs the very plan that the first one ran.
        assert_eq!((*version, &**plan_used), (used.0, &*used.1), "call {} at rank {rank}", header.call);
        self.ranks[rank as usize].stage = Stage::Running(Box::new(run.run));
        for (to, header) in sent {
            self.send(rank, to, Body::Header(header));
            if let Some(plan) = plan.as_ref().filter(|_| header.sends_plan) {
                self.send(rank, to, Body::Plan(Arc::clone(plan)));
            }
        }
        self.look(rank);
    }

    /// Takes from the inbox what the rank asks for now, and sends what it can.
    fn look(&mut self, rank: u32) {
        while self.take(rank) {}
        self.step(rank);
    }

    /// One message out of the inbox; false if there is none that is asked for.
    fn take(&mut self, rank: u32) -> bool {
        let state = &mut self.ranks[rank as usize];
        match std::mem::replace(&mut state.stage, Stage::Away) {
            Stage::Away => false,
            Stage::Listening(mut listening) => {
                let call = state.call;
                // A header has its call in its tag; nothing else of that sender matches it.
                let of_call = |body: &Body| matches!(body, Body::Header(header) if header.call == call);
                let found = state
                    .inbox
                    .iter()
                    .enumerate()
                    .find_map(|(from, inbox)| inbox.iter().position(of_call).map(|at| (from, at)));
                let Some((from, at)) = found else {
                    state.stage = Stage::Listening(listening);
                    return false;
                };
                let Some(Body::Header(header)) = state.inbox[from].remove(at) else { unreachable!() };
                if !listening.hear(from as u32, &header).unwrap() {
                    state.stage = Stage::Listening(listening);
                } else if header.order == Order::RunNew {
                    state.stage = Stage::AwaitingPlan { header, from: from as u32, listening };
                } else {
                    state.book.follow(rank, &header, None).unwrap().unwrap();
                    self.begin(rank, header, None, Some(listening));
                    return false;
                }
                true
            }
            Stage::AwaitingPlan { header, from, listening } => {
                let inbox = &mut state.inbox[from as usize];
                let Some(at) = inbox.iter().position(|body| matches!(body, Body::Plan(_))) else {
                    state.stage = Stage::AwaitingPlan { header, from, listening };
                    return false;
                };
                let Some(Body::Plan(plan)) = inbox.remove(at) else { unreachable!() };
                state.book.follow(rank, &header, Some(Arc::clone(&plan))).unwrap().unwrap();
                self.begin(rank, header, Some(plan), Some(listening));
                false
            }
            Stage::Running(mut run) => {
                let mut forwards = Vec::new();
                let mut taken = false;
                for (from, inbox) in state.inbox.iter_mut().enumerate() {
                    let Some(at) = inbox.iter().position(|body| run.wants(from as u32, body)) else {
                        continue;
                    };
                    taken = true;
                    if let Some(plan) = run.receive(from as u32, inbox.remove(at).unwrap()) {
                        forwards.extend(run.plan_children.iter().map(|&to| (to, Arc::clone(&plan))));
                    }
                    break;
                }
                state.stage = Stage::Running(run);
                for (to, plan) in forwards {
                    self.send(rank, to, Body::Plan(plan));
                }
                taken
            }
        }
    }

    /// Sends what the executor has, and ends the call when all is done.
    fn step(&mut self, rank: u32) {
        let Stage::Running(run) = &mut self.ranks[rank as usize].stage else { return };
        let mut out: Vec<(NodeId, Body)> = Vec::new();
        while let Some(message) = run.executor.poll_send() {
            out.push((message.to, run.data(&message)));
        }
        let done = run.is_done();
        for (to, body) in out {
            self.send(rank, to.0, body);
            let free = self.now + self.random.below(self.slowest as usize) as u64;
            self.add(free, Happening::Sent { rank, to });
        }
        if done {
            self.leave(rank);
        }
    }

    fn leave(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        let Stage::Running(run) = std::mem::replace(&mut state.stage, Stage::Away) else { unreachable!() };
        let right = run.buffer.iter().enumerate().all(|(at, &byte)| byte == content(state.call, at as u64));
        assert!(right, "wrong bytes at rank {rank} in call {}", state.call);
        if let Some(plan) = run.arrived_plan {
            state.book.keep(&run.header, plan);
        }
        state.call += 1;
        self.enter_later(rank);
    }

    fn go(&mut self) {
        (0..self.ranks.len() as u32).for_each(|rank| self.enter_later(rank));
        while let Some((Reverse(at), Reverse(number))) = self.events.pop() {
            self.now = at;
            match self.happenings.remove(&number).unwrap() {
                Happening::Enters(rank) => self.enter(rank),
                Happening::Arrival { from, to, body } => {
                    self.ranks[to as usize].inbox[from as usize].push_back(body);
                    self.look(to);
                }
                Happening::Sent { rank, to } => {
                    if let Stage::Running(run) = &mut self.ranks[rank as usize].stage {
                        run.executor.handle_sent(to);
                        self.step(rank);
                    }
                }
            }
        }
        for (rank, state) in self.ranks.iter().enumerate() {
            assert_eq!(state.call, self.program.len() as u64, "rank {rank} hangs in call {}", state.call);
            assert!(
                state.inbox.iter().all(VecDeque::is_empty),
                "something was sent to rank {rank} for nothing"
            );
        }
    }
}

/// A run and the plan it is of.
struct Started {
    run: Run,
    plan: Arc<Plan>,
}

impl Started {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

impl Run {
    fn start(
        current: &Current<Arc<Plan>>,
        header: Header,
        heard: Option<&Listening>,
        random: &mut Random,
    ) -> Started {
        let node = current.program.node;
        let is_root = header.root == node.0;
        let messages = 1 + random.below(4) as u32;
        let executor = NodeExecutor::new(&current.programs, node, |_| Window { messages, ..Window::PORT });
        let segments = current.programs.segments();
        let inputs = current.program.inputs.iter();
        let open =
            inputs.map(|input| ((input.from.0, input.tag), segments.in_tree(input.tree as usize))).collect();
        let follows = header.order == Order::RunThenSwitch && !is_root;
        let bytes = (0..header.message_bytes).map(|at| content(header.call, at));
        let run = Run {
            header,
            executor,
            open,
            headers: heard.map_or_else(Vec::new, |heard| heard.missing(current).collect()),
            plan_from: follows.then(|| current.plan_parent.unwrap()),
            arrived_plan: None,
            plan_children: current.plan_children.clone(),
            buffer: if is_root { bytes.collect() } else { vec![255; header.message_bytes as usize] },
            segment_bytes: current.programs.plan().segment_bytes,
        };
        Started { run, plan: Arc::clone(&current.carried) }
    }

    /// Whether a receive for this message has been posted: MPI matches by sender and tag, in order. The tag of
    /// data does not name the call, so only the count of segments keeps calls apart.
    fn wants(&self, from: u32, body: &Body) -> bool {
        match body {
            Body::Header(header) => header.call == self.header.call && self.headers.contains(&from),
            Body::Plan(_) => self.plan_from == Some(from),
            Body::Data(items) => {
                items.iter().all(|(item, _)| self.open.get(&(from, item.tag)).is_some_and(|&left| left > 0))
            }
        }
    }

    /// Gives a plan to pass on.
    fn receive(&mut self, from: u32, body: Body) -> Option<Arc<Plan>> {
        match body {
            Body::Header(_) => self.headers.retain(|&other| other != from),
            Body::Plan(plan) => {
                self.plan_from = None;
                self.arrived_plan = Some(Arc::clone(&plan));
                return Some(plan);
            }
            Body::Data(items) => {
                for (item, bytes) in items {
                    *self.open.get_mut(&(from, item.tag)).unwrap() -= 1;
                    let start = (item.segment * self.segment_bytes) as usize;
                    self.buffer[start..start + bytes.len()].copy_from_slice(&bytes);
                    let kind = broadleaf::execute::Kind::Data;
                    self.executor.handle_received(NodeId(from), kind, item.tag, item.segment);
                }
            }
        }
        None
    }

    fn data(&self, message: &Message) -> Body {
        let bytes = |item: &Item| {
            let start = item.segment * self.segment_bytes;
            let end = (start + self.segment_bytes).min(self.header.message_bytes);
            self.buffer[start as usize..end as usize].to_vec()
        };
        Body::Data(message.items().map(|item| (item, bytes(&item))).collect())
    }

    fn is_done(&self) -> bool {
        self.executor.is_finished() && self.headers.is_empty() && self.plan_from.is_none()
    }
}

fn network(ranks: u32) -> Platform {
    let mut builder = PlatformBuilder::new("any", PortModel::OnePort);
    (0..ranks).for_each(|rank| {
        builder.add_host(format!("r{rank}")).unwrap();
    });
    let class = builder.add_class(LinkClass::default());
    builder.add_mesh(Mesh { nodes: (0..ranks).map(NodeId).collect(), class }).unwrap();
    builder.build().unwrap()
}

/// Runs one random program at random timings; gives how often a plan was changed.
fn run(seed: u64) -> u32 {
    let mut random = Random::new(seed);
    let ranks = 2 + random.below(7) as u32;
    let roots = 1 + random.below(ranks as usize);
    let sizes = [1, 37, 200, 1000];
    let program: Vec<Broadcast> = (0..12)
        .map(|_| {
            let largest = 1 + random.below(sizes.len());
            Broadcast { root: random.below(roots) as u32, bytes: sizes[random.below(largest)] }
        })
        .collect();
    let platform = network(ranks);
    let rank = |_| Rank {
        book: Book::default(),
        call: 0,
        stage: Stage::Away,
        inbox: vec![VecDeque::new(); ranks as usize],
    };
    let mut world = World {
        platform: &platform,
        program: &program,
        ranks: (0..ranks).map(rank).collect(),
        events: BinaryHeap::new(),
        happenings: HashMap::new(),
        number: 0,
        now: 0,
        latest: HashMap::new(),
        slowest: [1, 10, 1000][random.below(3)],
        laziest: [1, 100, 5000][random.below(3)],
        random,
        ran: HashMap::new(),
        switches: 0,
    };
    world.go();
    world.switches
}

#[test]
fn no_mixed_plan_no_hang_and_right_data_at_any_timing() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000);
    let switches: u32 = (0..cases).map(run).sum();
    assert!(u64::from(switches) > cases, "only {switches} changes of plan in {cases} programs");
}
