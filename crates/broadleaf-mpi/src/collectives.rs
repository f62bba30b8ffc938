//! One communicator's scatters and all-gathers, called by name (`broadleaf.h`).
//!
//! Rank 0 chooses a planner and a segment size for each (collective, root, size class) and tells all; then every
//! rank makes the same plan itself, since planners depend on nothing but their arguments. Later calls of the
//! kind need no word between ranks.

use crate::error::CallError;
use crate::mpi::Mpi;
use crate::outcome::Outcome;
use crate::planning::on_threads;
use crate::rank_plan::allgather::{allgather_over_ranks, ring_by_node};
use crate::rank_plan::part::Part;
use crate::rank_plan::{expand, RankPlan};
use crate::report;
use crate::settings::BEST;
use crate::smpi::Encoded;
use crate::tags::CHANNEL_TAGS;
use crate::topology::placement::Placement;
use crate::topology::rank_map::{agree_on_rank_map, RankMap};
use crate::transport::MpiTransport;
use crate::wire::{put_u64, Reader};
use broadleaf::budget::Budget;
use broadleaf::plan::{Collective, Programs};
use broadleaf::planners::{find, supports, Instance};
use broadleaf::platform::NodeId;
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use std::collections::HashMap;
use std::sync::Arc;

/// The longest planner name that travels, bytes.
const NAME_BYTES: usize = 64;
/// Kinds of calls that plans are kept for; then all are made anew.
const MAX_PLANS: usize = 64;

/// One communicator.
pub struct Collectives {
    mpi: Mpi,
    rank: u32,
    /// None: rank 0 found the settings unusable, or some rank its platform; all ranks know.
    planning: Option<(Arc<Encoded<RankMap>>, Placement)>,
    plans: HashMap<(Collective, u32, u32), Option<RankPlan>>,
}

/// What rank 0 chose.
struct Choice {
    planner: String,
    segment_bytes: u64,
}

impl Collectives {
    /// Collective. `place`: this rank's host name and its place among the ranks of that host.
    pub fn open(mpi: Mpi, rank: u32, size: u32, place: (String, u32)) -> Result<Collectives, CallError> {
        let mut planning = None;
        if let Some(rank_map) = agree_on_rank_map(&mpi, rank, size, place)? {
            let placed = rank_map.placement(&rank_map.node_of_rank);
            if let Err(line) = &placed {
                report::once(&format!("{line}; the MPI's own collectives are used"));
            }
            // Every rank plans, so every rank must be able to.
            let able = mpi.gather(&[placed.is_ok().into()], size as usize, rank as usize)?;
            let mut all_able = [u8::from(able.iter().all(|&able| able == 1))];
            mpi.share(&mut all_able)?;
            planning = placed.ok().filter(|_| all_able == [1]).map(|placement| (rank_map, placement));
        }
        Ok(Collectives { mpi, rank, planning, plans: HashMap::new() })
    }

    /// Runs a collective on one block of `bytes` > 0 for each rank; collective.
    ///
    /// # Safety
    /// `packed` points to a block for every rank, one behind the other, that nothing else touches meanwhile. It is null at
    /// a rank without memory for them: it serves the others, and if it has blocks to send all ranks use the MPI's own.
    pub unsafe fn run(&mut self, collective: Collective, packed: *mut u8, bytes: u64, root: u32) -> Outcome {
        let done = self.moved(collective, packed, bytes, root);
        done.unwrap_or_else(|error| {
            self.mpi.abandon();
            Outcome::from_error(&error)
        })
    }

    unsafe fn moved(
        &mut self,
        collective: Collective,
        packed: *mut u8,
        bytes: u64,
        root: u32,
    ) -> Result<Outcome, CallError> {
        let Some((rank_map, placement)) = &self.planning else { return Ok(Outcome::Own) };
        let key = (collective, root, bytes.ilog2());
        if !self.plans.contains_key(&key) {
            if self.plans.len() >= MAX_PLANS {
                self.plans.clear();
            }
            let wanted = CollectiveCall { placement, collective, root, bytes };
            let choice = self.mpi_choice(&wanted, &rank_map.settings.planner)?;
            let plan = choice.map(|choice| wanted.over_ranks(&choice)).transpose();
            self.plans.insert(key, plan.map_err(CallError::Internal)?);
        }
        let Some(Some(ranked)) = self.plans.get(&key) else { return Ok(Outcome::Own) };
        let programs = Arc::new(Programs::for_ranks(Arc::new(ranked.transfers.resized(bytes))));
        let program = Arc::new(programs.node(NodeId(self.rank)));
        let part = Part::new(ranked, programs, program);
        let mut executor = part.executor();
        let mut transport = MpiTransport::new(&self.mpi, packed, part, 0, None);
        if packed.is_null() && (collective == Collective::Allgather || self.rank == root) {
            transport.send_nothing();
        }
        transport.run(&mut executor)?;
        Ok(if transport.is_hollow() { Outcome::Own } else { Outcome::Done })
    }

    /// Rank 0's choice, which all learn; `None`: no planner, and rank 0 has said why.
    fn mpi_choice(&self, wanted: &CollectiveCall, planner: &str) -> Result<Option<Choice>, CallError> {
        let mut record = vec![0; 8 + NAME_BYTES];
        if self.rank == 0 {
            match wanted.choose(planner) {
                Ok(Choice { planner, segment_bytes }) => {
                    record.clear();
                    put_u64(&mut record, segment_bytes);
                    record.extend_from_slice(planner.as_bytes());
                    record.resize(8 + NAME_BYTES, 0);
                }
                Err(line) => report::once(&format!("{line}; the MPI's own {} is used", wanted.collective)),
            }
        }
        self.mpi.share(&mut record)?;
        let mut from = Reader { bytes: &record, what: "choice" };
        let segment_bytes = from.u64()?;
        let name = from.bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        let planner = String::from_utf8_lossy(name).into_owned();
        Ok((segment_bytes > 0).then_some(Choice { planner, segment_bytes }))
    }
}

/// One collective to plan for.
struct CollectiveCall<'a> {
    placement: &'a Placement,
    collective: Collective,
    root: u32,
    bytes: u64,
}

impl CollectiveCall<'_> {
    fn instance(&self) -> Result<Instance<'_>, String> {
        let root = self.placement.node_of_rank[self.root as usize];
        let instance = Instance::new(&self.placement.handled, root, self.bytes);
        Ok(Instance { collective: self.collective, ..instance.map_err(|error| error.to_string())? })
    }

    fn shares_nodes(&self) -> bool {
        self.placement.ranks.iter().any(|ranks| ranks.len() > 1)
    }

    /// The planner that was asked for, if it plans this collective, else the best.
    fn choose(&self, asked: &str) -> Result<Choice, String> {
        if self.collective == Collective::Allgather && self.shares_nodes() {
            // It goes around the nodes, and so enters each just once.
            return Ok(Choice { planner: "ring".to_string(), segment_bytes: self.bytes });
        }
        let instance = self.instance()?;
        let plans_it = |name: &&str| find(name).is_ok_and(|planner| supports(planner, &instance).is_ok());
        let name = Some(asked).filter(plans_it).unwrap_or(BEST);
        let made =
            on_threads(|| make(&instance, name, SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED));
        let plan = made.map_err(|error| error.to_string())?.plan;
        if plan.trees.len() > CHANNEL_TAGS as usize {
            return Err(format!("a plan of {} trees needs more message tags than MPI has", plan.trees.len()));
        }
        Ok(Choice { planner: plan.planner, segment_bytes: plan.segment_bytes })
    }

    fn over_ranks(&self, choice: &Choice) -> Result<RankPlan, String> {
        let Placement { handled, ranks, .. } = self.placement;
        let instance = self.instance()?;
        if self.collective == Collective::Allgather && self.shares_nodes() {
            return Ok(ring_by_node(&self.placement.node_of_rank, self.bytes));
        }
        let planner = find(&choice.planner).map_err(|error| error.to_string())?;
        let plan = planner
            .plan(&instance.segmented(choice.segment_bytes), &Budget::UNLIMITED)
            .map_err(|error| error.to_string())?;
        let ranked = expand(&plan, handled, ranks, self.root, &|_| false);
        let ranked = ranked.map_err(|error| error.to_string())?;
        match self.collective {
            Collective::Allgather => Ok(allgather_over_ranks(&plan, ranked, handled, ranks)),
            _ => Ok(ranked),
        }
    }
}
