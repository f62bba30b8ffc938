//! Plans for broadcasts that the root has no plan for: from the plan directory, or made within the first broadcast's
//! budget, with a further search in the background.

mod adjust;
mod advised;
mod as_run;
mod background;
mod choice;
mod exchange;
mod first_plan;
mod job;
pub mod plan_cache;
mod plan_directory;
mod prediction;
mod shared_ports;
mod threads;

use crate::observe::advice::{self, Look, Mailbox};
use crate::rank_plan::RankPlan;
use crate::settings::BEST;
use crate::smpi::Encoded;
use crate::topology::hosts::{one_host_a_node, one_node_a_host, Hosts};
use crate::topology::placement::Placement;
use crate::topology::rank_map::RankMap;
use broadleaf::adapt::switch::{kind, Kind};
use broadleaf::plan::{Collective, Plan};
use job::Job;
use plan_directory::Wanted;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

pub use advised::{AdviceFile, Given};
pub use background::BackgroundSearch;
pub use exchange::ExchangeJob;
pub use prediction::Prediction;

/// A plan to start with, and perhaps a search for a better one.
pub struct Made {
    pub ranked: RankPlan,
    pub search: BackgroundSearch,
    /// The data for notes to the advisor, where the program follows one.
    pub advised: Option<Advised>,
}

/// A plan in an advisor's terms.
pub struct Advised {
    pub plan: Arc<Plan>,
    /// The platform's name in the state directory.
    pub platform: Arc<str>,
    /// The node of every rank.
    pub nodes: Arc<[u32]>,
    pub watch: Arc<AdviceFile>,
}

impl Made {
    fn alone(ranked: RankPlan) -> Made {
        Made { ranked, search: BackgroundSearch::Ended, advised: None }
    }
}

/// One communicator's planning, at a rank that broadcasts as root.
pub struct Planning {
    rank_map: Arc<Encoded<RankMap>>,
    hosts: Arc<Hosts>,
    /// By `merged`: on the nodes of the platform, and with those that lie on one host as one.
    placements: [Option<Arc<Placement>>; 2],
    mailbox: Option<Arc<Mailbox>>,
    /// Whether the plan directory has a plan, by kind.
    stored_kinds: HashMap<Kind, bool>,
}

impl Planning {
    /// `follows`: an advisor, where the settings name one.
    pub fn new(rank_map: Arc<Encoded<RankMap>>, hosts: Arc<Hosts>, follows: bool) -> Planning {
        let advice = rank_map.settings.advice.as_deref().filter(|_| follows);
        let mailbox = advice.and_then(Mailbox::at);
        Planning { rank_map, hosts, placements: [None, None], mailbox, stored_kinds: HashMap::new() }
    }

    pub fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.mailbox.as_ref()
    }

    pub fn rank_map(&self) -> &Arc<Encoded<RankMap>> {
        &self.rank_map
    }

    pub fn communicator(&self) -> u64 {
        self.rank_map.communicator
    }

    /// Whether the plan directory holds a plan, or a faulty file to report, for such broadcasts.
    pub fn is_stored(&mut self, root: u32, bytes: u64) -> bool {
        if self.rank_map.settings.plan_dir.is_none() {
            return false;
        }
        let kind = kind(root, bytes);
        if let Some(&is_stored) = self.stored_kinds.get(&kind) {
            return is_stored;
        }
        let found = self.job(root, bytes, false).and_then(|job| self.stored(&job));
        let is_stored = !matches!(found, Ok(None));
        self.stored_kinds.insert(kind, is_stored);
        is_stored
    }

    /// A plan for a broadcast of `bytes` > 0 from `root`. The error is one line for the user.
    pub fn first(&mut self, root: u32, bytes: u64) -> Result<Made, String> {
        if self.rank_map.settings.plan_dir.is_some() {
            let job = self.job(root, bytes, false)?;
            if let Some(plan) = self.stored(&job)? {
                return Ok(Made::alone(job.ranked(&plan)?));
            }
        }
        let name = self.rank_map.settings.planner.clone();
        let job = self.job(root, bytes, name == BEST)?;
        if let Some(mailbox) = self.mailbox.clone() {
            return self.advised(&mailbox, job);
        }
        let (given, search) = first_plan::start(&job, &self.rank_map.settings)?;
        Ok(Made { ranked: given.ranked, search, advised: None })
    }

    /// With an advisor: its plan if it has prepared one, else a plan made here to start with.
    fn advised(&self, mailbox: &Mailbox, job: Job) -> Result<Made, String> {
        let platform: Arc<str> = job.platform_key().into();
        let (root, class) = (job.root_node().0, job.bytes.ilog2());
        let file = |communicator| {
            let communicator = advice::name(communicator);
            mailbox.plan_path(&format!("{platform}-{communicator}-{root}-{class}.json"))
        };
        mailbox.describe(Arc::clone(&platform), Arc::clone(&job.placement));
        // Plans prepared while no program runs belong to no communicator.
        let (given, mut search) = match advised::read(&file(0), &job) {
            Ok(given) => (given, BackgroundSearch::Ended),
            Err(_) => first_plan::start(&job, &self.rank_map.settings)?,
        };
        if self.rank_map.settings.planner == BEST {
            // The advisor searches further.
            search = BackgroundSearch::Ended;
        }
        let nodes = job.placement.node_of_rank.iter().map(|node| node.0).collect();
        let watch = Arc::new(AdviceFile::new(file(self.rank_map.communicator), job));
        mailbox.watch(Arc::downgrade(&watch) as Weak<dyn Look>);
        let advised = Some(Advised { plan: given.plan, platform, nodes, watch });
        Ok(Made { ranked: given.ranked, search, advised })
    }

    fn job(&mut self, root: u32, bytes: u64, merge: bool) -> Result<Job, String> {
        let merged = merge && one_host_a_node(&self.rank_map);
        let placement = match &self.placements[usize::from(merged)] {
            Some(placement) => Arc::clone(placement),
            None => Arc::clone(self.placements[usize::from(merged)].insert(Arc::new(self.place(merged)?))),
        };
        let led = merged || one_node_a_host(&self.rank_map, &self.hosts);
        Ok(Job { placement, hosts: Arc::clone(&self.hosts), led, root, bytes })
    }

    fn place(&self, merged: bool) -> Result<Placement, String> {
        let (rank_map, hosts) = (&self.rank_map, &self.hosts);
        let mut of_rank = rank_map.node_of_rank.clone();
        if merged {
            // Ranks that share memory need no links between them: their host's first node stands for all.
            for host in (0..hosts.count()).filter(|&host| hosts.shares(host)) {
                let first = of_rank[hosts.members(host)[0] as usize];
                hosts.members(host).iter().for_each(|&rank| of_rank[rank as usize] = first);
            }
        }
        let placement = rank_map.placement(&of_rank)?;
        if placement.platform.hosts().count() == 1 && placement.node_of_rank.len() > 1 {
            // One node holds all ranks, so the ranks become the nodes.
            let ranks = placement.node_of_rank.len();
            return Placement::assumed(&vec![0; ranks]).map_err(|fault| fault.to_string());
        }
        Ok(placement)
    }

    /// The plan directory's plan for the broadcast.
    fn stored(&self, job: &Job) -> Result<Option<Plan>, String> {
        let Some(directory) = &self.rank_map.settings.plan_dir else { return Ok(None) };
        let wanted = Wanted {
            digest: &self.rank_map.digest,
            platform: &job.placement.platform,
            collective: Collective::Bcast,
            root: job.root_node(),
            bytes: job.bytes,
        };
        plan_directory::nearest(directory, wanted)
    }
}
