//! What the root of a broadcast does when it has no plan for it: look into the plan directory, or plan within
//! the first broadcast's budget, and search on in the background.

use crate::adjust::{coarsened, without_period, without_turns};
use crate::advice::{self, Desk, Given, Watch};
use crate::ahead::channels;
use crate::alike::Encoded;
use crate::hosts::{one_host_a_node, one_node_a_host, Hosts};
use crate::inner::inner_tree;
use crate::placement::{memory_link, Placement};
use crate::ranks::{expand, Edge, Inside, RankPlan};
use crate::search::{on_threads, Search, Threads};
use crate::seats::{load, Seats};
use crate::settings::BEST;
use crate::short::shortened;
use crate::transport::CHANNEL_TAGS;
use broadleaf::plan::{check, Collective, Plan, Predicted, Protocol, TreeBuilder};
use broadleaf::planners::Instance;
use broadleaf::platform::{NodeId, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Smaller segments are mostly headers on the wire, which no platform tells: about 150 bytes each with TCP, IP,
/// Ethernet and the MPI's own.
const LEAST_SEGMENT_BYTES: u64 = 2048;

/// What is under way at a planner's time limit is finished, so the limit is this part of the budget.
const BEFORE_LIMIT: f64 = 0.7;

/// Of a platform's digest, in file names.
const KEY_CHARACTERS: usize = 16;

/// Who lets the first broadcast wait for so long wants a thorough search, and none beside the program.
const PATIENT: Duration = Duration::from_secs(1);

/// A plan to start with, and perhaps a search for a better one.
pub struct Made {
    pub ranked: RankPlan,
    pub search: Search,
    /// What the advisor may be told, where the program follows one.
    pub advised: Option<Advised>,
}

/// A plan in an advisor's terms.
pub struct Advised {
    pub plan: Arc<Plan>,
    /// The platform's name in the state directory.
    pub platform: Arc<str>,
    /// The node of every rank.
    pub nodes: Arc<[u32]>,
    pub watch: Arc<Watch>,
}

impl Made {
    fn alone(ranked: RankPlan) -> Made {
        Made { ranked, search: Search::Ended, advised: None }
    }
}

/// One communicator's planning, at a rank that broadcasts as root.
pub struct Planning {
    seats: Arc<Encoded<Seats>>,
    hosts: Arc<Hosts>,
    /// By `merged`: on the nodes of the platform, and with those that lie on one host as one.
    placements: [Option<Arc<Placement>>; 2],
    desk: Option<Arc<Desk>>,
    /// Ranks have to see to it that messages do not share their port.
    paced: bool,
}

impl Planning {
    pub fn new(seats: Arc<Encoded<Seats>>, hosts: Arc<Hosts>, paced: bool) -> Planning {
        let desk = seats.settings.advice.as_deref().and_then(Desk::at);
        Planning { seats, hosts, placements: [None, None], desk, paced }
    }

    pub fn desk(&self) -> Option<&Arc<Desk>> {
        self.desk.as_ref()
    }

    pub fn communicator(&self) -> u64 {
        self.seats.communicator
    }

    /// A plan for a broadcast of `bytes` > 0 from `root`. The error is one line for the user.
    pub fn first(&mut self, root: u32, bytes: u64) -> Result<Made, String> {
        if self.seats.settings.plan_dir.is_some() {
            let job = self.job(root, bytes, false)?;
            if let Some(plan) = self.stored(&job)? {
                return Ok(Made::alone(job.ranked(&plan)?));
            }
        }
        let name = self.seats.settings.planner.clone();
        if name == BEST && self.hosts.count() == 1 && self.hosts.shares(0) {
            return Ok(Made::alone(inside_only(self.seats.of_rank.len(), root, bytes)));
        }
        let job = self.job(root, bytes, name == BEST)?;
        if let Some(desk) = self.desk.clone() {
            return self.advised(&desk, job, &name);
        }
        let budget = self.seats.settings.first_budget;
        let effort = if budget >= PATIENT { Effort::Thorough } else { Effort::Quick };
        let plan = job.plan(&name, effort, budget, Threads::Shared)?;
        let ranked = job.ranked(&plan)?;
        let is_sought = name == BEST && effort == Effort::Quick;
        let search = if is_sought { Search::Waiting(Box::new((job, plan))) } else { Search::Ended };
        Ok(Made { ranked, search, advised: None })
    }

    /// With an advisor: its plan if it has prepared one, else our own to start with. The search is the advisor's.
    fn advised(&self, desk: &Desk, job: Job, name: &str) -> Result<Made, String> {
        let platform: Arc<str> = job.platform_key().into();
        let (root, class) = (job.root_node().0, job.bytes.ilog2());
        let file = |communicator| {
            let communicator = advice::name(communicator);
            desk.plan_path(&format!("{platform}-{communicator}-{root}-{class}.json"))
        };
        desk.describe(Arc::clone(&platform), Arc::clone(&job.placement));
        // What is prepared while no program runs belongs to no communicator.
        let given = match advice::read(&file(0), &job) {
            Ok(given) => given,
            Err(_) => {
                let plan =
                    job.plan(name, Effort::Quick, self.seats.settings.first_budget, Threads::Shared)?;
                Given { ranked: job.ranked(&plan)?, plan: Arc::new(plan) }
            }
        };
        let nodes = job.placement.node_of_rank.iter().map(|node| node.0).collect();
        let watch = Arc::new(Watch::new(file(self.seats.communicator), job));
        desk.watch(&watch);
        let advised = Some(Advised { plan: given.plan, platform, nodes, watch });
        Ok(Made { ranked: given.ranked, search: Search::Ended, advised })
    }

    fn job(&mut self, root: u32, bytes: u64, merge: bool) -> Result<Job, String> {
        let merged = merge && one_host_a_node(&self.seats);
        let placement = match &self.placements[usize::from(merged)] {
            Some(placement) => Arc::clone(placement),
            None => Arc::clone(self.placements[usize::from(merged)].insert(Arc::new(self.place(merged)?))),
        };
        let led = merged || one_node_a_host(&self.seats, &self.hosts);
        Ok(Job { placement, hosts: Arc::clone(&self.hosts), led, root, bytes, paced: self.paced })
    }

    fn place(&self, merged: bool) -> Result<Placement, String> {
        let (seats, hosts) = (&self.seats, &self.hosts);
        let mut of_rank = seats.of_rank.clone();
        if merged {
            // Ranks that share memory need no links between them: their host's first node stands for all.
            for host in (0..hosts.count()).filter(|&host| hosts.shares(host)) {
                let first = of_rank[hosts.members(host)[0] as usize];
                hosts.members(host).iter().for_each(|&rank| of_rank[rank as usize] = first);
            }
        }
        let placement = match &seats.settings.platform {
            None => Placement::assumed(&of_rank),
            Some(path) => {
                let platform = load(path)?;
                if platform.digest() != seats.digest {
                    let shown = path.display();
                    return Err(format!(
                        "{shown}: not the platform that rank 0 read; give all ranks the same file"
                    ));
                }
                let nodes: Vec<NodeId> = of_rank.iter().map(|&node| NodeId(node)).collect();
                Placement::on(&platform, &nodes)
            }
        };
        let placement = placement.map_err(|fault| fault.to_string())?;
        if placement.platform.hosts().count() == 1 && placement.node_of_rank.len() > 1 {
            // One node holds all ranks: what there is to plan is the inside.
            let ranks = placement.node_of_rank.len();
            return Placement::assumed(&vec![0; ranks]).map_err(|fault| fault.to_string());
        }
        Ok(placement)
    }

    /// From the plan directory: the plan for this platform and root whose message is nearest in size, at most a
    /// factor of two away. A plan over nodes where no rank runs does not fit.
    fn stored(&self, job: &Job) -> Result<Option<Plan>, String> {
        let Some(directory) = &self.seats.settings.plan_dir else { return Ok(None) };
        let platform = &job.placement.platform;
        let unlisted = |error: std::io::Error| format!("BROADLEAF_PLAN_DIR={}: {error}", directory.display());
        let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
            .map_err(unlisted)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
        let mut nearest: Option<(f64, Plan)> = None;
        for path in paths {
            let plan = Plan::load(&path).map_err(|error| error.to_string())?;
            let distance = (plan.message_bytes as f64 / job.bytes as f64).log2().abs();
            if plan.platform_digest != self.seats.digest || distance > 1.0 {
                continue;
            }
            let Ok(plan) = plan.bind(platform) else { continue };
            // Of the platform file it was made for, `platform` may be a part.
            let plan = Plan { platform_digest: platform.digest().to_string(), ..plan };
            let fits = plan.root == job.root_node() && check::faults(platform, &plan).is_empty();
            if fits && nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
                nearest = Some((distance, plan));
            }
        }
        Ok(nearest.map(|(_, plan)| plan))
    }
}

/// One broadcast to plan for.
#[derive(Clone)]
pub struct Job {
    placement: Arc<Placement>,
    hosts: Arc<Hosts>,
    /// One rank of a host takes part for all of it, where they share memory.
    led: bool,
    root: u32,
    bytes: u64,
    paced: bool,
}

impl Job {
    fn root_node(&self) -> NodeId {
        self.placement.node_of_rank[self.root as usize]
    }

    /// The platform that plans are made for.
    pub fn handled(&self) -> &Platform {
        &self.placement.handled
    }

    pub fn plan(
        &self,
        name: &str,
        effort: Effort,
        budget: Duration,
        threads: Threads,
    ) -> Result<Plan, String> {
        let instance = Instance::new(&self.placement.handled, self.root_node(), self.bytes);
        let deadline = Instant::now() + budget;
        let made = instance.and_then(|instance| {
            let instance = Instance { time_limit: Some(budget.mul_f64(BEFORE_LIMIT)), ..instance };
            on_threads(threads, || {
                // Too few segments for a pipeline: what is planned as a whole is annealed as a whole.
                let is_short = name == BEST && self.bytes < 2 * LEAST_SEGMENT_BYTES;
                let (segment, first_effort) = match is_short {
                    true => (SegmentChoice::Bytes(self.bytes), Effort::Quick),
                    false => (SegmentChoice::Auto, effort),
                };
                let in_turn = Instance { platform: &self.placement.in_turn, ..instance };
                let best = make(&instance, name, segment, first_effort)?;
                let mut plan = without_turns(&instance, &in_turn, best, effort)?;
                if plan.segment_bytes < LEAST_SEGMENT_BYTES.min(self.bytes) {
                    let larger = SegmentChoice::Bytes(LEAST_SEGMENT_BYTES);
                    plan = make(&instance, &plan.planner, larger, effort)?.plan;
                }
                let plan = coarsened(instance.platform, without_period(instance.platform, plan)?)?;
                let is_thorough = name == BEST && effort == Effort::Thorough;
                Ok(if is_thorough { shortened(&instance, plan, self.paced, deadline) } else { plan })
            })
        });
        made.map_err(|error| error.to_string())
    }

    /// What the platform is called in an advisor's state directory.
    fn platform_key(&self) -> String {
        let digest = self.placement.platform.digest();
        digest.trim_start_matches("sha256:").chars().take(KEY_CHARACTERS).collect()
    }

    /// A plan that was made for this platform as it is believed to be, after its faults have been looked for.
    pub fn fitting(&self, plan: Plan) -> Result<Plan, String> {
        let platform = &self.placement.handled;
        let plan = plan.bind(platform).map_err(|error| error.to_string())?;
        let plan = Plan { platform_digest: platform.digest().to_string(), ..plan };
        if plan.root != self.root_node() {
            return Err("the plan has another root".to_string());
        }
        match check::faults(platform, &plan).first() {
            None => Ok(plan),
            Some(fault) => Err(format!("the plan is not valid: {fault}")),
        }
    }

    pub fn ranked(&self, plan: &Plan) -> Result<RankPlan, String> {
        // Windows follow what a message really takes.
        let Placement { handled, ranks, .. } = &*self.placement;
        let inner = |count: usize| inner_tree(count, self.bytes, plan.segment_bytes);
        let served = |rank: u32| self.led && self.hosts.shares(self.hosts.of_rank()[rank as usize] as usize);
        let inside = Inside { tree: &inner, link: &memory_link(), served: &served };
        let mut ranked = expand(plan, handled, ranks, self.root, &inside, self.paced)
            .map_err(|error| error.to_string())?;
        ranked.led = self.led;
        if channels(&ranked.plan) > u64::from(CHANNEL_TAGS) {
            let trees = ranked.plan.trees.len();
            return Err(format!("a plan of {trees} trees needs more message tags than MPI has"));
        }
        Ok(ranked)
    }
}

/// The plan of ranks that all share one host's memory: there is nothing to send.
fn inside_only(ranks: usize, root: u32, bytes: u64) -> RankPlan {
    let plan = Plan {
        platform: String::new(),
        platform_digest: String::new(),
        nodes: Arc::new(vec![String::new(); ranks]),
        collective: Collective::Bcast,
        root: NodeId(root),
        message_bytes: bytes,
        segment_bytes: bytes,
        planner: "shared-memory".to_string(),
        seed: 0,
        trees: vec![TreeBuilder::new(ranks).share(1.0).build()],
        period: None,
        pattern: None,
        combine: false,
        protocol: Protocol::Eager,
        predicted: Predicted::default(),
    };
    RankPlan { plan: Arc::new(plan), edges: Arc::new(vec![vec![Edge::ONE_BY_ONE; ranks]]), led: true }
}
