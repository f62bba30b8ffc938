//! The broadcast advisor's decisions: links to probe, plans to make, plans to put into use.
//!
//! A state machine. Calls, samples and finished plans go in; [`Advisor::tick`] returns the next actions. While a
//! program runs it plans for the size predicted next, its double and its half, root by root, within the time that is
//! predicted to be left; else for every power of two from 1 KiB to 64 MiB. Beyond the paper: a plan is put into use
//! only if it is predicted to be faster by a margin on the network as currently estimated; earlier plans are kept and
//! tried first when the network changes, so that the earlier plan returns as soon as a load ends; planning waits for
//! probes of doubtful links; and since a plan that avoids a load cannot show its end, a slow link is probed shortly
//! before the next expected broadcast.

use super::kept::Kept;
use super::links::{LinkEstimates, Pair, Sample};
use super::record::{Call, Next, Record, Stream};
use crate::plan::check::faults;
use crate::plan::{Plan, PlanError};
use crate::platform::{NodeId, Platform};
use crate::portfolio::Coarsening;
use crate::simulate::estimate;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use super::advice::{Advice, PlanKey, PlanRequest};

/// The exponents of the sizes prepared while idle: 1 KiB … 64 MiB (the paper stops at 2 MiB).
const PREPARED: std::ops::RangeInclusive<u32> = 10..=26;

/// The advisor's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AdvisorSettings {
    /// A stream without calls for this long has ended, seconds.
    pub idle_after_s: f64,
    /// The predicted speedup from which a plan replaces the one in use.
    pub margin: f64,
    /// Shortest and longest time for planning, independent of the prediction, seconds.
    pub least_s: f64,
    /// The same at most, seconds.
    pub most_s: f64,
    /// The longest wait of planning for probes of doubtful links, seconds.
    pub patience_s: f64,
    /// Slow links that no plan uses are probed this long before the next expected broadcast, seconds.
    pub lead_s: f64,
    /// Shortest time between two such probes, seconds; the longest is three times that.
    pub look_again_s: f64,
    /// The limits of segments in its plans.
    pub coarsening: Coarsening,
    /// Roots to prepare plans for while idle.
    pub roots: Vec<NodeId>,
    /// The planner to use; `None`: the advisor's own search.
    pub planner: Option<String>,
}

impl Default for AdvisorSettings {
    fn default() -> Self {
        AdvisorSettings {
            idle_after_s: 600.0,
            margin: 0.01,
            least_s: 0.1,
            most_s: 10.0,
            patience_s: 5.0,
            lead_s: 3.0,
            look_again_s: 10.0,
            coarsening: Coarsening::BUSY,
            roots: Vec::new(),
            planner: None,
        }
    }
}

/// The advisor.
#[derive(Clone, Debug)]
pub struct Advisor {
    settings: AdvisorSettings,
    record: Record,
    links: LinkEstimates,
    plans: BTreeMap<PlanKey, Kept>,
    /// The order in progress, the version of the estimates it is based on, and its time.
    ordered: Option<(PlanRequest, u64, f64)>,
    orders: u64,
    version: u64,
    /// Links for which a probe was requested, and when.
    asked: BTreeMap<Pair, f64>,
    doubted_since_s: Option<f64>,
    /// The time of the last probe of slow links; `None` without slow links.
    looked_at_s: Option<f64>,
    ready: Vec<Advice>,
}

impl Advisor {
    /// An advisor whose estimates are the platform as measured.
    pub fn new(platform: Arc<Platform>, settings: AdvisorSettings) -> Advisor {
        Advisor {
            settings,
            record: Record::default(),
            links: LinkEstimates::new(platform),
            plans: BTreeMap::new(),
            ordered: None,
            orders: 0,
            version: 0,
            asked: BTreeMap::new(),
            doubted_since_s: None,
            looked_at_s: None,
            ready: Vec::new(),
        }
    }

    /// The recorded broadcasts.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The current estimates of the links.
    pub fn links(&self) -> &LinkEstimates {
        &self.links
    }

    /// Later versions are greater than `version`, for an advisor that was restarted.
    pub fn resume_after(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Records a broadcast call.
    pub fn called(&mut self, call: Call) {
        self.record.add(call);
    }

    /// Takes a timed transfer.
    pub fn sampled(&mut self, sample: &Sample) {
        self.links.observe(sample);
        self.no_longer_asked(sample.from, sample.to);
    }

    /// Takes the rates of the links of one broadcast, after its samples.
    pub fn carried(&mut self, rates: &[(NodeId, NodeId, f64)]) {
        self.links.observe_together(rates);
    }

    /// Takes a link's latency from a probe, seconds.
    pub fn found_latency(&mut self, from: NodeId, to: NodeId, latency_s: f64, at_s: f64) {
        self.links.observe_latency(from, to, latency_s, at_s);
        self.no_longer_asked(from, to);
    }

    fn no_longer_asked(&mut self, from: NodeId, to: NodeId) {
        let pair = self.links.pair(from, to);
        if !self.links.doubts().any(|doubt| doubt == pair) {
            self.asked.remove(&pair);
        }
    }

    /// A probe failed (a host that does not answer): planning no longer waits for its links.
    pub fn not_probed(&mut self, pair: Pair, now_s: f64) {
        self.asked.insert(pair, now_s);
    }

    /// Records that the program runs this plan, of any origin; new plans are compared with it.
    ///
    /// # Errors
    /// A plan that is not valid on the platform as measured; the one in use stays.
    pub fn in_use(&mut self, key: PlanKey, plan: &Plan) -> Result<(), PlanError> {
        let plan = plan.bind(self.links.base())?;
        let faults = faults(self.links.base(), &plan);
        if !faults.is_empty() {
            return Err(PlanError::Invalid(faults));
        }
        let kept = self.kept(key);
        if let Some(before) = kept.plan.replace(Arc::new(plan)) {
            kept.keep(before);
        }
        Ok(())
    }

    /// Takes the ordered plan, or `None` if it could not be made. Unknown numbers (of a cancelled request) are ignored.
    ///
    /// # Errors
    /// A known plan that cannot be simulated on the estimated platform.
    pub fn planned(&mut self, number: u64, plan: Option<Plan>) -> Result<(), PlanError> {
        let Some((order, believed, _)) = self.ordered.take_if(|(order, ..)| order.number == number) else {
            return Ok(());
        };
        let kept = self.kept(order.key);
        kept.planned_at = Some(believed);
        let Some(plan) = plan else { return Ok(()) };
        let base = Arc::clone(self.links.base());
        // Plans name the platform as measured, which every rank has.
        let plan = Plan {
            platform: base.name().to_string(),
            platform_digest: base.digest().to_string(),
            nodes: Arc::clone(base.ids()),
            ..plan
        };
        self.kept(order.key).keep(Arc::new(plan));
        self.choose(order.key, order.bytes)
    }

    /// The actions due now. A time before the last one counts as the last one.
    ///
    /// # Errors
    /// As [`Advisor::planned`].
    pub fn tick(&mut self, now_s: f64) -> Result<Vec<Advice>, PlanError> {
        self.ask_about_doubts(now_s);
        self.look_at_slow(now_s);
        self.reconsider(now_s)?;
        let is_overdue =
            |(order, _, since_s): &(PlanRequest, u64, f64)| now_s > since_s + 2.0 * order.within_s + 10.0;
        if self.ordered.as_ref().is_some_and(is_overdue) {
            self.ordered = None;
        }
        if self.ordered.is_none() && !self.is_waiting(now_s) {
            if let Some(order) = self.next_order(now_s) {
                self.ordered = Some((order.clone(), self.links.version(), now_s));
                self.ready.push(Advice::Plan(order));
            }
        }
        Ok(std::mem::take(&mut self.ready))
    }

    fn ask_about_doubts(&mut self, now_s: f64) {
        let doubts: BTreeSet<Pair> = self.links.doubts().collect();
        self.doubted_since_s = match (doubts.is_empty(), self.doubted_since_s) {
            (true, _) => None,
            (false, since) => Some(since.unwrap_or(now_s)),
        };
        self.asked.retain(|pair, _| doubts.contains(pair));
        for pair in doubts {
            let again = self.asked.get(&pair).is_none_or(|&at_s| now_s >= at_s + self.settings.patience_s);
            if again {
                self.asked.insert(pair, now_s);
                self.ready.push(Advice::Probe(pair));
            }
        }
    }

    /// The time of the next probe of slow links, if a program runs and there are such links: the deadline of the
    /// caller's next [`tick`](Self::tick).
    pub fn next_look_s(&self, now_s: f64) -> Option<f64> {
        let last_s = self.looked_at_s?;
        let next = self.record.next(now_s - self.settings.idle_after_s);
        let (soonest_s, latest_s) =
            (last_s + self.settings.look_again_s, last_s + 3.0 * self.settings.look_again_s);
        let before = |next: &Next| next.at_s.map_or(latest_s, |at_s| at_s - self.settings.lead_s);
        next.iter().map(before).reduce(f64::min).map(|at_s| at_s.clamp(soonest_s, latest_s))
    }

    /// Probes one slow link at each end that no plan uses: if it has recovered, the others become doubtful and are
    /// probed too.
    fn look_at_slow(&mut self, now_s: f64) {
        if !self.links.drifts().any(|drift| drift.is_worse()) {
            self.looked_at_s = None;
            return;
        }
        if self.looked_at_s.is_none() {
            // A drift was sampled just now.
            self.looked_at_s = Some(now_s);
        }
        if now_s < self.looked_at_s.map_or(now_s, |last_s| last_s + self.settings.look_again_s)
            || self.next_look_s(now_s).is_none_or(|at_s| now_s < at_s)
        {
            return;
        }
        self.looked_at_s = Some(now_s);
        let in_use = self.pairs_in_use(now_s);
        let worse: BTreeSet<Pair> =
            self.links.drifts().filter(|drift| drift.is_worse()).map(|drift| drift.pair).collect();
        let mut ends = BTreeSet::new();
        for pair in self.links.probe_order(|pair| in_use.contains(&pair)) {
            let is_slow = worse.contains(&pair) && !in_use.contains(&pair);
            if is_slow && !ends.contains(&pair.from) && !ends.contains(&pair.to) {
                ends.extend([pair.from, pair.to]);
                self.ready.push(Advice::Probe(pair));
            }
        }
    }

    /// The links that the next broadcasts will use.
    fn pairs_in_use(&self, now_s: f64) -> BTreeSet<Pair> {
        let next = self.record.next(now_s - self.settings.idle_after_s);
        let plans = next
            .iter()
            .filter_map(|next| self.plans.get(&PlanKey::new(next.stream, next.bytes))?.plan.as_ref());
        let edges = plans.flat_map(|plan| plan.trees.iter().flat_map(|tree| tree.edges()));
        edges.map(|(from, to)| self.links.pair(from, to)).collect()
    }

    fn is_waiting(&self, now_s: f64) -> bool {
        self.doubted_since_s.is_some_and(|since_s| now_s < since_s + self.settings.patience_s)
    }

    /// Tries the known plans after a change of the estimates, which is faster than planning.
    fn reconsider(&mut self, now_s: f64) -> Result<(), PlanError> {
        if self.is_waiting(now_s) {
            return Ok(());
        }
        let version = self.links.version();
        for (key, bytes) in self.wanted(now_s) {
            let kept = self.kept(key);
            if kept.reconsidered_at != Some(version) {
                kept.reconsidered_at = Some(version);
                self.choose(key, bytes)?;
            }
        }
        Ok(())
    }

    /// Puts the best known plan into use, if it beats the current one by the margin.
    fn choose(&mut self, key: PlanKey, bytes: u64) -> Result<(), PlanError> {
        let platform = Arc::clone(self.links.platform());
        let seconds = |plan: &Arc<Plan>| estimate(&platform, &plan.resized(bytes));
        let kept = self.kept(key);
        let in_use_s = kept.plan.as_ref().map(seconds).transpose()?;
        let mut best: Option<(f64, usize)> = None;
        for (at, plan) in kept.earlier.iter().enumerate() {
            let plan_s = seconds(plan)?;
            if best.is_none_or(|(least_s, _)| plan_s < least_s) {
                best = Some((plan_s, at));
            }
        }
        let Some((best_s, at)) = best else { return Ok(()) };
        let margin = self.settings.margin;
        if in_use_s.is_some_and(|in_use_s| best_s > (1.0 - margin) * in_use_s) {
            return Ok(());
        }
        let kept = self.kept(key);
        let plan = kept.earlier.remove(at).expect("the plan just looked at");
        if let Some(before) = kept.plan.replace(Arc::clone(&plan)) {
            kept.keep(before);
        }
        self.version += 1;
        let version = self.version;
        // Of two publications for one key only the later counts.
        self.ready.retain(|advice| !matches!(advice, Advice::Publish { key: other, .. } if *other == key));
        self.ready.push(Advice::Publish { key, version, plan });
        Ok(())
    }

    /// Keys that need plans, the most urgent first, each with the size to plan for.
    fn wanted(&self, now_s: f64) -> Vec<(PlanKey, u64)> {
        let mut next = self.record.next(now_s - self.settings.idle_after_s);
        let when = |next: &Next| next.at_s.unwrap_or(f64::NEG_INFINITY);
        next.sort_by(|a, b| when(a).total_cmp(&when(b)).then(a.stream.cmp(&b.stream)));
        let mut wanted: Vec<(PlanKey, u64)> = Vec::new();
        let sizes: [fn(u64) -> u64; 3] =
            [|bytes| bytes, |bytes| bytes.saturating_mul(2), |bytes| bytes.div_ceil(2)];
        for size in sizes {
            wanted.extend(
                next.iter().map(|next| (PlanKey::new(next.stream, size(next.bytes)), size(next.bytes))),
            );
        }
        if wanted.is_empty() {
            for exponent in PREPARED {
                let stream = |root| Stream { communicator: 0, root };
                let key = |root| (PlanKey { stream: stream(root), size_class: exponent }, 1 << exponent);
                wanted.extend(self.settings.roots.iter().copied().map(key));
            }
        }
        wanted
    }

    fn next_order(&mut self, now_s: f64) -> Option<PlanRequest> {
        let version = self.links.version();
        let is_stale =
            |key: &PlanKey| self.plans.get(key).is_none_or(|kept| kept.planned_at != Some(version));
        let (key, bytes) = self.wanted(now_s).into_iter().find(|(key, _)| is_stale(key))?;
        let left_s = self.record.next_of(key.stream).and_then(|next| next.at_s).map(|at_s| at_s - now_s);
        let AdvisorSettings { least_s, most_s, .. } = self.settings;
        let within_s = left_s.unwrap_or(most_s).clamp(least_s, most_s);
        self.orders += 1;
        let platform = Arc::clone(self.links.platform());
        let (coarsening, planner) = (self.settings.coarsening, self.settings.planner.clone());
        Some(PlanRequest { number: self.orders, key, bytes, within_s, platform, coarsening, planner })
    }

    fn kept(&mut self, key: PlanKey) -> &mut Kept {
        self.plans.entry(key).or_default()
    }
}
