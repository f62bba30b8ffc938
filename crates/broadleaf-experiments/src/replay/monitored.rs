//! Paper 3's set-up: one planner's trees, in one segment, for a network that a monitor looks at now and then.
//!
//! The paper's advisor "cycles through a set of message sizes close to the predicted message (predicted message size,
//! x2, /2)" and gives its planner the predicted time until the next broadcast. With a [`PlanningTime`] one worker does
//! that: a plan is for the view and the prediction with which it was begun, and may be used once it is ready. Sizes
//! without a plan have the tree that was prepared while no program ran, for the platform as measured.

use super::travel::tree_bytes;
use super::{Broadcast, Program};
use broadleaf::adapt::record::{Call, Record, Stream};
use broadleaf::budget::{Budget, UNITS_PER_S};
use broadleaf::plan::{Plan, PlanError};
use broadleaf::planners::baselines::annealing::MOVES_PER_UNIT;
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::Platform;
use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Shortest planning time, seconds of the simulated program.
const LEAST_S: f64 = 0.1;

/// How long a plan takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanningTime {
    /// The part of the predicted time until the next broadcast that each plan takes: 1 in the paper.
    pub part: f64,
    /// Moves of the annealer that the advisor's machine makes in a second.
    pub moves_per_s: f64,
}

impl PlanningTime {
    fn budget(self, seconds: f64) -> Budget {
        let moves_per_s = (UNITS_PER_S * MOVES_PER_UNIT) as f64;
        Budget::within(Duration::from_secs_f64(seconds * self.moves_per_s / moves_per_s))
    }
}

impl Program<'_> {
    /// A plan for each size class on the platform as measured, known to all hosts.
    pub(super) fn fixed(&self, planner: &str) -> Result<Vec<Broadcast>, PlanError> {
        let mut plans = Plans::new(planner);
        let call = |&(at_s, bytes): &(f64, u64)| {
            let plan = plans.of(&self.platform, self, bytes)?;
            self.went((at_s, bytes), Plan { segment_bytes: bytes, ..plan }, 0)
        };
        self.calls.iter().map(call).collect()
    }

    /// A plan for each size class and view of the monitor; it goes with every broadcast.
    pub(super) fn monitored(
        &self,
        planner: &str,
        every_s: f64,
        planning: Option<PlanningTime>,
    ) -> Result<Vec<Broadcast>, PlanError> {
        let mut plans = Plans::new(planner);
        let mut worker = planning.map(|time| Worker::new(self, planner, every_s, time));
        let mut went = Vec::new();
        for &(at_s, bytes) in self.calls {
            let ready = match &mut worker {
                Some(worker) => worker.until(at_s, bytes)?,
                None => None,
            };
            let plan = match (ready, &worker) {
                (Some(plan), _) => plan,
                (None, Some(_)) => plans.of(&self.platform, self, bytes)?,
                (None, None) => plans.of(&self.viewed(at_s, every_s), self, bytes)?,
            };
            let plan = Plan { segment_bytes: bytes, ..plan.resized(bytes) };
            let beside = tree_bytes(&plan);
            went.push(self.went((at_s, bytes), plan, beside)?);
        }
        Ok(went)
    }

    /// The platform as the monitor saw it last.
    fn viewed(&self, at_s: f64, every_s: f64) -> Arc<Platform> {
        self.seen((at_s / every_s).floor() * every_s)
    }
}

/// One planner's plans, made once for each view and size class.
struct Plans<'a> {
    planner: &'a str,
    known: BTreeMap<(String, u32), Plan>,
}

impl<'a> Plans<'a> {
    fn new(planner: &'a str) -> Plans<'a> {
        Plans { planner, known: BTreeMap::new() }
    }

    fn of(&mut self, platform: &Platform, program: &Program, bytes: u64) -> Result<Plan, PlanError> {
        Ok(match self.known.entry((platform.digest().to_string(), bytes.max(1).ilog2())) {
            Entry::Occupied(known) => known.get().resized(bytes),
            Entry::Vacant(slot) => {
                let instance = Instance::new(platform, program.root, bytes)?;
                slot.insert(plan_with(find(self.planner)?, &instance, &Budget::UNLIMITED)?).clone()
            }
        })
    }
}

/// The advisor's one process, which makes a plan after the other.
struct Worker<'a> {
    program: &'a Program<'a>,
    planner: &'a str,
    every_s: f64,
    time: PlanningTime,
    record: Record,
    /// The latest plan of each size class that is ready.
    ready: BTreeMap<u32, Plan>,
    /// The plan in progress, and when it is ready.
    running: Option<(f64, Plan)>,
    free_s: f64,
    /// Plans begun since the last call.
    begun: usize,
}

impl<'a> Worker<'a> {
    fn new(program: &'a Program<'a>, planner: &'a str, every_s: f64, time: PlanningTime) -> Worker<'a> {
        Worker {
            program,
            planner,
            every_s,
            time,
            record: Record::default(),
            ready: BTreeMap::new(),
            running: None,
            free_s: 0.0,
            begun: 0,
        }
    }

    /// Works until a call, and returns the plan that is ready for it.
    fn until(&mut self, at_s: f64, bytes: u64) -> Result<Option<Plan>, PlanError> {
        loop {
            if let Some((ready_s, plan)) = self.running.take_if(|running| running.0 <= at_s) {
                self.free_s = ready_s;
                self.ready.insert(plan.message_bytes.ilog2(), plan);
            }
            if self.running.is_some() || self.free_s >= at_s || !self.begin()? {
                break;
            }
        }
        let stream = self.stream();
        self.record.add(Call { stream, at_s, bytes });
        self.begun = 0;
        self.free_s = self.free_s.max(at_s);
        Ok(self.ready.get(&bytes.max(1).ilog2()).cloned())
    }

    /// Begins the next plan, if there is a prediction and one of its sizes is left.
    fn begin(&mut self) -> Result<bool, PlanError> {
        let Some(next) = self.record.next_of(self.stream()) else { return Ok(false) };
        let Some(expected_s) = next.at_s else { return Ok(false) };
        let sizes = [next.bytes, next.bytes.saturating_mul(2), next.bytes.div_ceil(2)];
        let Some(&bytes) = sizes.get(self.begun) else { return Ok(false) };
        self.begun += 1;
        let seconds = (self.time.part * (expected_s - self.free_s)).max(LEAST_S);
        let platform = self.program.viewed(self.free_s, self.every_s);
        let instance = Instance::new(&platform, self.program.root, bytes)?;
        let plan = plan_with(find(self.planner)?, &instance, &self.time.budget(seconds))?;
        self.running = Some((self.free_s + seconds, plan));
        Ok(true)
    }

    fn stream(&self) -> Stream {
        Stream { communicator: 0, root: self.program.root }
    }
}
