//! What the root of a broadcast does when it has no plan for it: look into the plan directory, or plan within
//! the first broadcast's budget, and search on in the background.

use crate::inner::inner_tree;
use crate::placement::{memory_link, Placement};
use crate::ranks::{expand, RankPlan};
use crate::seats::{load, Seats};
use crate::settings::BEST;
use crate::transport::CHANNEL_TAGS;
use broadleaf::plan::{check, Plan};
use broadleaf::planners::{make, Effort, Instance, SegmentChoice};
use broadleaf::platform::NodeId;
use broadleaf::simulate::estimate;
use rayon::ThreadPoolBuilder;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::sync::Arc;
use std::time::Duration;

/// The search beside the running program takes this long at most, on one core.
pub const SEARCH_BUDGET: Duration = Duration::from_secs(2);

/// Smaller segments are mostly headers on the wire, which no platform tells: about 150 bytes each with TCP, IP,
/// Ethernet and the MPI's own.
const LEAST_SEGMENT_BYTES: u64 = 2048;

/// What is under way at a planner's time limit is finished, so the limit is this part of the budget.
const BEFORE_LIMIT: f64 = 0.7;

/// A found plan must promise this much to be worth a switch, relative.
const WORTH_SWITCHING: f64 = 0.02;

/// A plan to start with, and perhaps a search for a better one.
pub struct Made {
    pub ranked: RankPlan,
    pub search: Option<Search>,
}

/// A search in the background.
pub struct Search {
    found: Receiver<RankPlan>,
}

impl Search {
    pub fn progress(&self) -> Progress {
        match self.found.try_recv() {
            Ok(plan) => Progress::Better(plan),
            Err(TryRecvError::Empty) => Progress::Searching,
            Err(TryRecvError::Disconnected) => Progress::Ended,
        }
    }
}

/// What a search has to say.
pub enum Progress {
    Searching,
    Better(RankPlan),
    Ended,
}

/// One communicator's planning, at a rank that broadcasts as root.
pub struct Planning {
    seats: Seats,
    placement: Option<Arc<Placement>>,
}

impl Planning {
    pub fn new(seats: Seats) -> Planning {
        Planning { seats, placement: None }
    }

    /// A plan for a broadcast of `bytes` > 0 from `root`. The error is one line for the user.
    pub fn first(&mut self, root: u32, bytes: u64) -> Result<Made, String> {
        let placement = self.placement()?;
        let job = Job { placement, root, bytes };
        if let Some(plan) = self.stored(&job)? {
            return Ok(Made { ranked: job.ranked(&plan)?, search: None });
        }
        let name = self.seats.settings.planner.clone();
        let plan = job.plan(&name, Effort::Quick, self.seats.settings.first_budget)?;
        let ranked = job.ranked(&plan)?;
        let search = (name == BEST).then(|| job.search(plan)).flatten();
        Ok(Made { ranked, search })
    }

    fn placement(&mut self) -> Result<Arc<Placement>, String> {
        if let Some(placement) = &self.placement {
            return Ok(Arc::clone(placement));
        }
        let seats = &self.seats;
        let placement = match &seats.settings.platform {
            None => Placement::assumed(&seats.of_rank),
            Some(path) => {
                let platform = load(path)?;
                if platform.digest() != seats.digest {
                    let shown = path.display();
                    return Err(format!(
                        "{shown}: not the platform that rank 0 read; give all ranks the same file"
                    ));
                }
                let nodes: Vec<NodeId> = seats.of_rank.iter().map(|&node| NodeId(node)).collect();
                Placement::on(&platform, &nodes)
            }
        };
        let mut placement = placement.map_err(|fault| fault.to_string())?;
        if placement.platform.hosts().count() == 1 && placement.node_of_rank.len() > 1 {
            // One node holds all ranks: what there is to plan is the inside.
            placement = Placement::assumed(&vec![0; placement.node_of_rank.len()])
                .map_err(|fault| fault.to_string())?;
        }
        Ok(Arc::clone(self.placement.insert(Arc::new(placement))))
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
struct Job {
    placement: Arc<Placement>,
    root: u32,
    bytes: u64,
}

impl Job {
    fn root_node(&self) -> NodeId {
        self.placement.node_of_rank[self.root as usize]
    }

    fn plan(&self, name: &str, effort: Effort, budget: Duration) -> Result<Plan, String> {
        let instance = Instance::new(&self.placement.handled, self.root_node(), self.bytes);
        let made = instance.and_then(|instance| {
            let instance = Instance { time_limit: Some(budget.mul_f64(BEFORE_LIMIT)), ..instance };
            on_threads(effort, || {
                let plan = make(&instance, name, SegmentChoice::Auto, effort)?.plan;
                if plan.segment_bytes >= LEAST_SEGMENT_BYTES.min(self.bytes) {
                    return Ok(plan);
                }
                let larger = SegmentChoice::Bytes(LEAST_SEGMENT_BYTES);
                make(&instance, &plan.planner, larger, effort).map(|outcome| outcome.plan)
            })
        });
        made.map_err(|error| error.to_string())
    }

    fn ranked(&self, plan: &Plan) -> Result<RankPlan, String> {
        // Windows follow what a message really takes.
        let Placement { handled, ranks, .. } = &*self.placement;
        let inner = |count: usize| inner_tree(count, self.bytes, plan.segment_bytes);
        let ranked = expand(plan, handled, ranks, self.root, &inner, &memory_link())
            .map_err(|error| error.to_string())?;
        // Channels of one pair of ranks: at most one a tree, and one more for each relayed edge.
        let trees = &ranked.plan.trees;
        let channels = trees.len() + trees.iter().map(|tree| tree.via.len()).sum::<usize>();
        if channels > CHANNEL_TAGS as usize {
            return Err(format!("a plan of {} trees needs more message tags than MPI has", trees.len()));
        }
        Ok(ranked)
    }

    /// Searches on with a larger budget; one search a process at a time, at the lowest priority.
    fn search(self, start: Plan) -> Option<Search> {
        static BUSY: AtomicBool = AtomicBool::new(false);
        if BUSY.swap(true, Ordering::Acquire) {
            return None;
        }
        let (found, receiver) = channel();
        let work = move || {
            let platform = &self.placement.handled;
            let better = self.plan(BEST, Effort::Thorough, SEARCH_BUDGET).ok().filter(|plan| {
                let seconds = |plan: &Plan| estimate(platform, plan).unwrap_or(f64::INFINITY);
                seconds(plan) < seconds(&start) * (1.0 - WORTH_SWITCHING)
            });
            if let Some(ranked) = better.and_then(|plan| self.ranked(&plan).ok()) {
                // The program may have ended meanwhile.
                let _ = found.send(ranked);
            }
            BUSY.store(false, Ordering::Release);
        };
        match std::thread::Builder::new().name("broadleaf-search".to_string()).spawn(work) {
            Ok(_) => Some(Search { found: receiver }),
            Err(_) => {
                BUSY.store(false, Ordering::Release);
                None
            }
        }
    }
}

/// Threads for the plan that all ranks wait for; on a large node most cores are other ranks'.
const QUICK_THREADS: usize = 4;

/// Runs a planner on threads of its own, which end with it: a program should not keep idle threads that it did
/// not ask for. The thorough search has one, of the lowest priority.
fn on_threads<T: Send>(effort: Effort, work: impl FnOnce() -> T + Send) -> T {
    let pool = match effort {
        Effort::Quick => {
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
            ThreadPoolBuilder::new().num_threads(cores.min(QUICK_THREADS))
        }
        Effort::Thorough => ThreadPoolBuilder::new().num_threads(1).start_handler(|_| be_modest()),
    };
    match pool.thread_name(|_| "broadleaf-plan".to_string()).build() {
        Ok(pool) => pool.install(work),
        // No thread to be had: the caller's own must do.
        Err(_) => work(),
    }
}

/// Gives the calling thread the lowest priority: the program comes first.
fn be_modest() {
    extern "C" {
        fn setpriority(
            which: std::ffi::c_int,
            who: std::ffi::c_uint,
            priority: std::ffi::c_int,
        ) -> std::ffi::c_int;
    }
    const PRIO_PROCESS: std::ffi::c_int = 0;
    const LOWEST: std::ffi::c_int = 19;
    // SAFETY: no memory is passed. On Linux, 0 is the calling thread. A refusal changes nothing.
    unsafe { setpriority(PRIO_PROCESS, 0, LOWEST) };
}
