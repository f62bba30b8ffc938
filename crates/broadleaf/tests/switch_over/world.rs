//! The made-up network: every message takes its own time, but those of one pair keep their order, as MPI does.

use super::part::{content, Body, Run};
use super::{some_plan, Broadcast};
use broadleaf::adapt::switch::{kind, Directive, Header, Listening, PlanVersions};
use broadleaf::plan::Transfers;
use broadleaf::platform::{NodeId, Platform};
use broadleaf::random::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

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

/// The state of a rank.
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

struct Rank {
    plans: PlanVersions<Arc<Transfers>>,
    call: u64,
    stage: Stage,
    /// Unmatched messages, by sender, in order.
    inbox: Vec<VecDeque<Body>>,
}

pub struct World<'a> {
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
    /// The plan that each call ran, from the first rank that ran it.
    ran: HashMap<u64, (u32, Arc<Transfers>)>,
    switches: u32,
}

impl<'a> World<'a> {
    pub fn new(
        platform: &'a Platform,
        program: &'a [Broadcast],
        ranks: u32,
        mut random: Random,
    ) -> World<'a> {
        let rank = |_| Rank {
            plans: PlanVersions::default(),
            call: 0,
            stage: Stage::Away,
            inbox: vec![VecDeque::new(); ranks as usize],
        };
        World {
            platform,
            program,
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
        }
    }

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
        let plans = &mut self.ranks[rank as usize].plans;
        let (order, entry) = plans.lead(call, rank, bytes, || Some(first), || found);
        let version = entry.version;
        let current = entry.current.as_mut().unwrap();
        let travels = match order {
            Directive::RunNew => Some(Arc::clone(&current.carried)),
            Directive::RunThenSwitch => entry.next().cloned(),
            Directive::Run | Directive::Native => None,
        };
        self.switches += u32::from(order == Directive::RunThenSwitch);
        let plan_bytes = travels.is_some().into();
        let header =
            Header { call, root, message_bytes: bytes, order, version, plan_bytes, sends_plan: false };
        self.begin(rank, header, travels, None);
    }

    /// Sends the headers and starts the executor.
    fn begin(&mut self, rank: u32, header: Header, plan: Option<Arc<Transfers>>, heard: Option<Listening>) {
        let kind = kind(header.root, header.message_bytes);
        let (sent, run, plan_used) = {
            let state = &mut self.ranks[rank as usize];
            let entry = state.plans.entry(kind, header.call);
            let current = entry.current.as_mut().unwrap();
            current.resize(header.message_bytes);
            let sent: Vec<(u32, Header)> = current.headers(header).collect();
            let run = Run::start(current, header, heard.as_ref(), &mut self.random);
            (sent, run, Arc::clone(&current.carried))
        };
        let used = (header.version, plan_used);
        // No mixed plan: every rank runs the plan that the first rank ran.
        let first = self.ran.entry(header.call).or_insert_with(|| used.clone());
        assert_eq!(*first, used, "call {} at rank {rank}", header.call);
        self.ranks[rank as usize].stage = Stage::Running(Box::new(run));
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
                } else if header.order == Directive::RunNew {
                    state.stage = Stage::AwaitingPlan { header, from: from as u32, listening };
                } else {
                    state.plans.follow(rank, &header, None).unwrap().unwrap();
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
                state.plans.follow(rank, &header, Some(Arc::clone(&plan))).unwrap().unwrap();
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
            state.plans.keep(&run.header, plan);
        }
        state.call += 1;
        self.enter_later(rank);
    }

    /// The whole program at all ranks; gives how often a plan was changed.
    pub fn run(mut self) -> u32 {
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
        self.switches
    }
}
