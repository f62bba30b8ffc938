//! The registry: every algorithm is a function from (platform, root, size) to a plan.
//!
//! Adding a planner is one new file with a [`Card`] and one line in [`PLANNERS`]; the command line,
//! Python, the MPI runtime, the documentation and the conformance test all iterate that slice.

pub mod annealing;
mod best;
mod binary;
mod binomial;
mod chain;
mod circulant;
mod flat;
pub mod grid;
mod groups;
mod magpie;
mod make;
mod mateescu;
mod mpich_g2;
mod optimal;
mod pairs;
mod recursive_doubling;
mod ring;
mod round_robin;
mod segment_search;
pub mod throughput;
mod two_tree;
mod van_de_geijn;

use crate::optimum::link_count;
use crate::plan::{Collective, Pattern, Plan, PlanError, Protocol, Regular, TreeBuilder};
use crate::platform::{NodeId, Platform, PlatformError};
use std::time::Duration;

pub(crate) use segment_search::{HANDLING_S, LARGE_NODES, MOST_SEGMENTS};

pub use make::{make, Effort, Outcome, PassedOver, SegmentChoice, Tried};
pub use mateescu::tree as mateescu_tree;
pub use pairs::Pairs;
pub use round_robin::RoundRobin;
pub use two_tree::TwoTree;

/// What a planner is, for people. No defaults: an undocumented planner does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// As on the command line.
    pub name: &'static str,
    /// What it builds, in one sentence.
    pub summary: &'static str,
    /// The paper and section it comes from.
    pub reference: &'static str,
    /// What it tries to make good: makespan or throughput, of what.
    pub objective: &'static str,
    /// What is proved about its plans, or "none".
    pub guarantee: &'static str,
    /// Planning time, n = nodes, k = segments.
    pub complexity: &'static str,
}

/// One broadcast to be planned.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    pub platform: &'a Platform,
    pub collective: Collective,
    pub root: NodeId,
    /// > 0.
    pub message_bytes: u64,
    /// The segment size to plan for, 1 ..= `message_bytes`; planners whose plan fixes its own say so.
    pub segment_bytes: u64,
    /// How the plan's transfers start, whatever the planner ([`plan_with`]).
    pub protocol: Protocol,
    pub seed: u64,
    /// How long a search may take; `None`: the planner's own default.
    pub time_limit: Option<Duration>,
}

impl<'a> Instance<'a> {
    /// An unsegmented broadcast; refuses a root that is a switch, an empty message, and unreachable hosts.
    pub fn new(platform: &'a Platform, root: NodeId, message_bytes: u64) -> Result<Self, PlanError> {
        if !platform.node(root).is_host() {
            return Err(PlatformError::RootIsSwitch(platform.node(root).id.clone()).into());
        }
        if message_bytes == 0 {
            return Err(PlanError::BadRequest(
                "a message of 0 bytes needs no plan; give a size of at least 1 byte".to_string(),
            ));
        }
        if let Some(&node) = platform.unreachable_from(root).first() {
            let (root, node) = (platform.node(root).id.clone(), platform.node(node).id.clone());
            return Err(PlatformError::Unreachable { root, node }.into());
        }
        Ok(Instance {
            platform,
            collective: Collective::Bcast,
            root,
            message_bytes,
            segment_bytes: message_bytes,
            protocol: Protocol::Eager,
            seed: 0,
            time_limit: None,
        })
    }

    /// The same broadcast in segments of that size, at most the whole message.
    pub fn segmented(self, segment_bytes: u64) -> Self {
        Instance { segment_bytes: segment_bytes.clamp(1, self.message_bytes), ..self }
    }

    /// The hosts besides the root, by id.
    pub fn receivers(&self) -> impl Iterator<Item = NodeId> + Clone + 'a {
        let root = self.root;
        self.platform.hosts().filter(move |&host| host != root)
    }

    /// The root, then the other hosts by id.
    pub fn root_and_receivers(&self) -> Vec<NodeId> {
        std::iter::once(self.root).chain(self.receivers()).collect()
    }

    /// All hosts by index relative to the root, wrapping: place r holds host (r + root) mod n, as in MPI.
    pub fn hosts_from_root(&self) -> Vec<NodeId> {
        let mut hosts: Vec<NodeId> = self.platform.hosts().collect();
        let at = hosts.partition_point(|&host| host < self.root);
        hosts.rotate_left(at);
        hosts
    }
}

impl Instance<'_> {
    /// The plan of one tree for this instance.
    pub fn tree_plan(&self, planner: &str, tree: TreeBuilder) -> Plan {
        let plan = Plan::bcast(
            self.platform,
            planner,
            self.root,
            self.message_bytes,
            self.segment_bytes,
            vec![tree.build()],
        );
        // A scatter's blocks that go the same way travel together; the trees know no other way to save.
        let combine = self.collective == Collective::Scatter;
        Plan { seed: self.seed, collective: self.collective, combine, ..plan }
    }

    /// The regular plan over `hosts` in their order, in segments of this instance's size.
    pub fn regular_plan(&self, planner: &str, regular: Regular, hosts: Vec<NodeId>) -> Plan {
        let pattern = Pattern { regular, hosts };
        let (message_bytes, segment_bytes) = (self.message_bytes, self.segment_bytes);
        let plan = Plan::regular(self.platform, planner, pattern, message_bytes, segment_bytes);
        Plan { seed: self.seed, root: self.root, ..plan }
    }
}

/// Why a planner does not take an instance; not an error of the instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// An algorithm that plans broadcasts.
pub trait Planner: Sync {
    fn card(&self) -> &'static Card;

    /// Whether [`Planner::plan`] takes the instance; never panics.
    fn supports(&self, instance: &Instance) -> Result<(), Unsupported>;

    /// The collectives it plans.
    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast]
    }

    /// A valid plan; the same instance and seed give the same bytes.
    fn plan(&self, instance: &Instance) -> Result<Plan, PlanError>;

    /// What a plan becomes that was asked for by name, once its segment size is settled.
    fn finished(&self, _instance: &Instance, plan: Plan) -> Plan {
        plan
    }

    /// Whether the segment size is free to be tuned for this planner's plans.
    fn is_segmentable(&self) -> bool {
        true
    }

    /// The nearest number of segments that a plan of this planner has no unfinished cycle with.
    fn whole_count(&self, _instance: &Instance, count: u64) -> u64 {
        count
    }

    /// The number of segments, at most `most`, that a model of the planner's own asks for: where plans are too
    /// large to be simulated at many sizes.
    fn modelled_count(&self, _instance: &Instance, _most: u64) -> Option<u64> {
        None
    }

    /// Whether a plan takes no more than about a millisecond, so that it may be made inside a program's
    /// first broadcast; the others wait until there is time.
    fn is_quick(&self, _instance: &Instance) -> bool {
        true
    }

    /// Whether its plans are likely to be the fastest there, so that it must have had its turn when time runs out.
    fn goes_first(&self, _instance: &Instance) -> bool {
        false
    }

    /// Whether a plan takes so long or so much memory that only who asks for it by name should wait for it.
    fn is_lengthy(&self, _instance: &Instance) -> bool {
        false
    }
}

/// Links beyond which a planner that solves the optimum takes many seconds and gigabytes.
const MANY_LINKS: usize = 100_000;

/// [`Planner::is_lengthy`] of the planners that solve the optimum.
fn has_many_links(instance: &Instance) -> bool {
    link_count(instance.platform) > MANY_LINKS
}

/// Whether `planner` takes the instance, its collective included.
pub fn supports(planner: &dyn Planner, instance: &Instance) -> Result<(), Unsupported> {
    if !planner.collectives().contains(&instance.collective) {
        let known: Vec<&str> = planner.collectives().iter().map(|collective| collective.name()).collect();
        return Err(Unsupported(format!(
            "no plans for {}, only for {}",
            instance.collective,
            known.join(", ")
        )));
    }
    planner.supports(instance)
}

/// The planner's plan for the instance, with the protocol that the instance asks for.
pub fn plan_with(planner: &dyn Planner, instance: &Instance) -> Result<Plan, PlanError> {
    Ok(Plan { protocol: instance.protocol, ..planner.plan(instance)? })
}

/// All planners, in the order they are shown; of equally fast plans the earlier planner's is kept.
pub static PLANNERS: &[&dyn Planner] = &[
    &flat::Flat,
    &chain::Chain,
    &binary::Binary,
    &binomial::Binomial,
    &van_de_geijn::VanDeGeijn,
    &RoundRobin,
    &TwoTree,
    &circulant::Circulant,
    &ring::Ring,
    &recursive_doubling::RecursiveDoubling,
    &magpie::Magpie,
    &mpich_g2::MpichG2,
    &throughput::PruneSimple,
    &throughput::PruneRefined,
    &throughput::Grow,
    &throughput::LpPrune,
    &throughput::LpGrow,
    &throughput::GrowMultiport,
    &throughput::PruneRefinedMultiport,
    &throughput::SingleTree,
    &optimal::Optimal,
    &grid::FEF,
    &grid::FEF_GAP,
    &grid::FNF,
    &grid::ECEF,
    &grid::ECEF_LA,
    &grid::ECEF_LA_AVERAGE,
    &grid::ECEF_LA_SENDERS,
    &grid::ECEF_LAT_MIN,
    &grid::ECEF_LAT_MAX,
    &grid::BOTTOM_UP,
    &grid::MIXED,
    &mateescu::Mateescu,
    &annealing::Annealing,
    &grid::EcefPipelined,
    &grid::Makespan,
    &grid::Exact,
];

/// The planner of that name.
pub fn find(name: &str) -> Result<&'static dyn Planner, PlanError> {
    PLANNERS.iter().copied().find(|planner| planner.card().name == name).ok_or_else(|| {
        let known: Vec<&str> = PLANNERS.iter().map(|planner| planner.card().name).chain(["best"]).collect();
        PlanError::UnknownPlanner { name: name.to_string(), known: known.join(", ") }
    })
}
