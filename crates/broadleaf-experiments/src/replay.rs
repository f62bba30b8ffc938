//! A program replayed in simulated time while its network changes: paper 3's experiment, and the advisor's test.
//!
//! The [`Advisor`] itself decides; this module simulates its environment. Each broadcast is simulated with the rates at
//! its time; its transfers, a few for each pair of clusters, are the passive samples. Probes and the advisor's planning
//! take no time, but a plan that is published between two calls travels with the second and is current from the third
//! on, as in the runtime's switch-over. The time of that travel, and of what goes ahead of every broadcast, is part of a
//! broadcast's seconds (`travel`). `monitored` has the paper's own set-up.

mod monitored;
mod travel;

use crate::varying_rates::{Course, Rates};
use broadleaf::adapt::advisor::{Advice, Advisor, AdvisorSettings, PlanKey};
use broadleaf::adapt::links::{LinkEstimates, Origin, Pair, Sample};
use broadleaf::adapt::record::{Call, Stream};
use broadleaf::adapt::search::search;
use broadleaf::budget::Budget;
use broadleaf::plan::{Plan, PlanError, Programs};
use broadleaf::platform::{Hop, LinkChange, LinkEnd, NodeId, Platform};
use broadleaf::portfolio::Coarsening;
use broadleaf::simulate::{run_varying, Trace};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use monitored::PlanningTime;
pub use travel::Travel;

/// Bytes of a probe: a low load on the network, and more than start-ups account for.
const PROBE_BYTES: u64 = 1 << 16;

/// An estimate counts as wrong if it differs by more than this factor of a rate, or by more than this latency.
const UNAWARE: f64 = 1.25;
const UNAWARE_LATENCY_S: f64 = 2e-3;

/// Passive samples kept of each pair of clusters and broadcast: a deviating one and its confirmation.
const SAMPLES: usize = 2;

/// The advisor's plan for the first size of each size class on the platform as measured, that is, without loads.
///
/// # Errors
/// A platform that the planners cannot plan for.
pub fn first_plans(
    platform: &Platform,
    root: NodeId,
    calls: &[(f64, u64)],
    coarsening: Coarsening,
) -> Result<BTreeMap<u32, Arc<Plan>>, PlanError> {
    let mut plans = BTreeMap::new();
    for &(_, bytes) in calls {
        if let Entry::Vacant(slot) = plans.entry(bytes.max(1).ilog2()) {
            slot.insert(Arc::new(search(platform, root, bytes, coarsening, &Budget::UNLIMITED)?));
        }
    }
    Ok(plans)
}

/// The replayed program.
pub struct Program<'a> {
    /// The platform as measured.
    pub platform: Arc<Platform>,
    /// The actual rates.
    pub rates: &'a Rates,
    /// Factors of the latencies of the links from one group to another, over time. They are constant during a
    /// broadcast.
    pub latencies: &'a [(LinkEnd, LinkEnd, Course)],
    pub root: NodeId,
    /// (time in seconds, bytes), by rising time.
    pub calls: &'a [(f64, u64)],
}

/// The source of the program's plans.
pub enum PlanSource<'a> {
    /// One planner's for the platform as measured, in one segment.
    Fixed(&'a str),
    /// One planner's for the rates last monitored, in one segment: the paper's set-up. Without a planning time plans
    /// take no time.
    Monitored { planner: &'a str, every_s: f64, planning: Option<PlanningTime> },
    /// These, by size class, without changes.
    Static(&'a BTreeMap<u32, Arc<Plan>>),
    /// The advisor's, with these at first, and a monitor that probes all links every `every_s`.
    Advised { first: &'a BTreeMap<u32, Arc<Plan>>, settings: AdvisorSettings, every_s: f64 },
}

/// The result of one broadcast.
#[derive(Clone, Debug)]
pub struct Broadcast {
    pub at_s: f64,
    pub bytes: u64,
    /// Until the last host has the message, that of the travel included.
    pub seconds: f64,
    pub travel: Travel,
    pub plan: Arc<Plan>,
    /// Whether the plan was chosen with another estimate of a link that it uses, or with a link estimated as slow or
    /// far that no longer is, or a better plan is on its way.
    pub is_stale: bool,
    /// Whether the estimate of some link was wrong.
    pub is_unaware: bool,
}

/// All broadcasts of the program.
///
/// # Errors
/// A platform that the planners cannot plan for.
pub fn replay(program: &Program, source: &PlanSource) -> Result<Vec<Broadcast>, PlanError> {
    match source {
        PlanSource::Fixed(planner) => program.fixed(planner),
        PlanSource::Monitored { planner, every_s, planning } => {
            program.monitored(planner, *every_s, *planning)
        }
        PlanSource::Static(plans) => {
            program.calls.iter().map(|&call| program.as_first(call, plans)).collect()
        }
        PlanSource::Advised { first, settings, every_s } => {
            Advised::new(program, first, settings.clone(), *every_s).run(program.calls)
        }
    }
}

impl Program<'_> {
    fn trace(&self, at_s: f64, plan: &Plan, record: bool) -> Result<Trace, PlanError> {
        let platform = self.with_latencies(at_s);
        let programs = Programs::for_platform(&Arc::new(plan.clone()), &platform)?;
        run_varying(&platform, &programs, &self.rates.beginning_at(at_s), record)
    }

    /// The latency at a time minus the measured one, seconds.
    fn added_latency_s(&self, pair: Pair, time_s: f64) -> f64 {
        let of_pair = |course: &&(LinkEnd, LinkEnd, Course)| (course.0, course.1) == (pair.from, pair.to);
        let Some((.., course)) = self.latencies.iter().find(of_pair) else { return 0.0 };
        let linked = |u: NodeId, v: NodeId| self.platform.link(u, v);
        let (from, to) = (self.platform.members(pair.from), self.platform.members(pair.to));
        let class = from.iter().find_map(|&u| to.iter().find_map(|&v| linked(u, v)));
        class.map_or(0.0, |class| (course.at(time_s) - 1.0) * self.platform.class(class).latency_s)
    }

    /// The platform with the latencies at a time.
    fn with_latencies(&self, time_s: f64) -> Arc<Platform> {
        let pairs = self.latencies.iter().map(|&(from, to, _)| Pair { from, to });
        self.with_changes(pairs.map(|pair| (pair, 1.0, self.added_latency_s(pair, time_s))))
    }

    /// The platform with the links of some pairs at another rate and with other latencies.
    fn with_changes(&self, changes: impl Iterator<Item = (Pair, f64, f64)>) -> Arc<Platform> {
        let changes: Vec<LinkChange> = changes
            .filter(|&(_, factor, added_latency_s)| factor != 1.0 || added_latency_s != 0.0)
            .map(|(pair, factor, added_latency_s)| {
                let Pair { from, to } = pair;
                LinkChange { from, to, factor, added_latency_s, pipe: None }
            })
            .collect();
        if changes.is_empty() {
            return Arc::clone(&self.platform);
        }
        Arc::new(self.platform.changed(&changes, &[]))
    }

    /// A broadcast with `beside` bytes ahead of its data.
    fn went(&self, (at_s, bytes): (f64, u64), plan: Plan, beside: u64) -> Result<Broadcast, PlanError> {
        let data_s = self.trace(at_s, &plan, false)?.makespan_s;
        let travel = self.ahead(at_s, &plan, data_s, beside)?;
        let seconds = data_s + travel.seconds;
        Ok(Broadcast {
            at_s,
            bytes,
            seconds,
            travel,
            plan: Arc::new(plan),
            is_stale: false,
            is_unaware: false,
        })
    }

    fn as_first(&self, call: (f64, u64), plans: &BTreeMap<u32, Arc<Plan>>) -> Result<Broadcast, PlanError> {
        self.went(call, self.first(call.1, plans)?.resized(call.1), travel::HEADER_BYTES)
    }

    fn first(&self, bytes: u64, plans: &BTreeMap<u32, Arc<Plan>>) -> Result<Arc<Plan>, PlanError> {
        plans.get(&bytes.ilog2()).cloned().ok_or_else(|| {
            let fact = format!("no first plan for {bytes} bytes; give one for every size class");
            PlanError::BadRequest(fact)
        })
    }

    /// The platform with the rates and latencies at a time, pair by pair.
    fn seen(&self, time_s: f64) -> Arc<Platform> {
        let links = LinkEstimates::new(Arc::clone(&self.platform));
        let truth = |&pair: &Pair| {
            (pair, self.rates.factor(pair.from, pair.to, time_s), self.added_latency_s(pair, time_s))
        };
        self.with_changes(links.pairs().iter().map(truth))
    }
}

struct Advised<'a> {
    program: &'a Program<'a>,
    first: &'a BTreeMap<u32, Arc<Plan>>,
    advisor: Advisor,
    every_s: f64,
    stream: Stream,
    current: BTreeMap<PlanKey, Arc<Plan>>,
    /// Published since the last call.
    next: BTreeMap<PlanKey, Arc<Plan>>,
    /// The time of the monitor's next round.
    due_s: f64,
    /// The time of the last decision.
    now_s: f64,
}

impl<'a> Advised<'a> {
    fn new(
        program: &'a Program<'a>,
        first: &'a BTreeMap<u32, Arc<Plan>>,
        settings: AdvisorSettings,
        every_s: f64,
    ) -> Advised<'a> {
        Advised {
            program,
            first,
            advisor: Advisor::new(Arc::clone(&program.platform), settings),
            every_s,
            stream: Stream { communicator: 0, root: program.root },
            current: BTreeMap::new(),
            next: BTreeMap::new(),
            due_s: 0.0,
            now_s: f64::NEG_INFINITY,
        }
    }

    fn run(mut self, calls: &[(f64, u64)]) -> Result<Vec<Broadcast>, PlanError> {
        calls.iter().map(|&call| self.call(call)).collect()
    }

    fn call(&mut self, (at_s, bytes): (f64, u64)) -> Result<Broadcast, PlanError> {
        self.pass_until(at_s)?;
        let key = PlanKey::new(self.stream, bytes);
        if !self.current.contains_key(&key) {
            // The runtime plans at the first call of a class; so does the replay.
            let first = self.program.first(bytes, self.first)?;
            self.advisor.in_use(key, &first)?;
            self.current.insert(key, first);
        }
        let plan = Arc::clone(&self.current[&key]);
        let trace = self.program.trace(at_s, &plan.resized(bytes), true)?;
        let in_use: BTreeSet<Pair> =
            trace.transfers.iter().map(|transfer| self.pair(transfer.from, transfer.to)).collect();
        let truth = |pair: &Pair| {
            (self.program.rates.factor(pair.from, pair.to, at_s), self.program.added_latency_s(*pair, at_s))
        };
        let links = self.advisor.links();
        let is_unaware_of = |pair: &Pair| {
            let ((rate, latency_s), believed) = (truth(pair), links.factor(*pair));
            rate.max(believed) > UNAWARE * rate.min(believed)
                || (latency_s - links.added_latency_s(*pair)).abs() > UNAWARE_LATENCY_S
        };
        let unknown: Vec<Pair> = links.pairs().iter().copied().filter(|pair| is_unaware_of(pair)).collect();
        let is_better_again = |pair: &Pair| {
            let (rate, latency_s) = truth(pair);
            rate > links.factor(*pair) || latency_s < links.added_latency_s(*pair)
        };
        let is_stale = self.next.contains_key(&key)
            || unknown.iter().any(|pair| in_use.contains(pair) || is_better_again(pair));
        let is_unaware = !unknown.is_empty();
        let new_bytes = self.next.get(&key).map_or(0, |next| travel::plan_bytes(next));
        let beside = travel::HEADER_BYTES + new_bytes;
        let travel = self.program.ahead(at_s, &plan.resized(bytes), trace.makespan_s, beside)?;
        // The plan that travelled with this call is current from the next call on.
        self.current.append(&mut self.next);
        self.advisor.called(Call { stream: self.stream, at_s, bytes });
        let seconds = trace.makespan_s + travel.seconds;
        let end_s = at_s + seconds;
        self.sample(&trace, end_s);
        self.follow(end_s)?;
        Ok(Broadcast { at_s, bytes, seconds, travel, plan, is_stale, is_unaware })
    }

    fn pair(&self, from: NodeId, to: NodeId) -> Pair {
        self.advisor.links().pair(from, to)
    }

    /// The executor's own forwarding times, as each host would report them: a few samples per link.
    fn sample(&mut self, trace: &Trace, now_s: f64) {
        let mut taken: BTreeMap<Pair, usize> = BTreeMap::new();
        for transfer in &trace.transfers {
            let count = taken.entry(self.pair(transfer.from, transfer.to)).or_default();
            if *count < SAMPLES {
                *count += 1;
                self.advisor.sampled(&Sample {
                    from: transfer.from,
                    to: transfer.to,
                    bytes: transfer.bytes,
                    seconds: transfer.release_s - transfer.start_s,
                    expected_s: None,
                    at_s: now_s,
                    origin: Origin::Passive,
                });
            }
        }
    }

    /// Runs the events before the next call: the monitor's rounds, and probes of slow links.
    fn pass_until(&mut self, until_s: f64) -> Result<(), PlanError> {
        loop {
            let look_s =
                self.advisor.next_look_s(self.now_s).map_or(f64::INFINITY, |at_s| at_s.max(self.now_s));
            let now_s = self.due_s.min(look_s);
            if now_s >= until_s {
                return Ok(());
            }
            if self.due_s <= look_s {
                self.due_s += self.every_s;
                for pair in self.advisor.links().pairs().to_vec() {
                    self.probe(pair, now_s);
                }
            }
            self.follow(now_s)?;
        }
    }

    /// Two transfers, as in every probe, and two empty ones there and back.
    fn probe(&mut self, pair: Pair, now_s: f64) {
        let Some((from, to)) = self.advisor.links().representatives(pair) else { return };
        let platform = &self.program.platform;
        let class = platform.link(from, to).expect("representatives are linked");
        let hop = Hop { from, to, class };
        let seconds = self.program.rates.beginning_at(now_s).busy_s(platform, hop, PROBE_BYTES, 0.0);
        let origin = Origin::Active;
        let sample = Sample { from, to, bytes: PROBE_BYTES, seconds, expected_s: None, at_s: now_s, origin };
        let latency_s = platform.class(class).latency_s + self.program.added_latency_s(pair, now_s);
        for _ in 0..2 {
            self.advisor.sampled(&sample);
            self.advisor.found_latency(from, to, latency_s, now_s);
        }
    }

    /// Carries out the advisor's actions until none is left.
    fn follow(&mut self, now_s: f64) -> Result<(), PlanError> {
        self.now_s = now_s;
        loop {
            let advice = self.advisor.tick(now_s)?;
            if advice.is_empty() {
                return Ok(());
            }
            for advice in advice {
                match advice {
                    Advice::Probe(pair) => self.probe(pair, now_s),
                    Advice::Plan(order) => {
                        self.advisor.planned(order.number, Some(order.plan(&Budget::UNLIMITED)?))?;
                    }
                    Advice::Publish { key, plan, .. } => {
                        self.next.insert(key, plan);
                    }
                }
            }
        }
    }
}
