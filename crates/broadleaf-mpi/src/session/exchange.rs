//! A call of another collective than a broadcast.
//!
//! Rank 0 makes the plan for each (collective, root, size class) and sends it to all by the MPI's own broadcast.
//! Later calls of the kind run it without further agreement, and no other plan replaces it.
//!
//! Where blocks differ in length, the size class of each belongs to the kind. A plan for equal blocks moves blocks of
//! any lengths, so after [`MAX_SHAPES`] such kinds the next ones run it.

use super::{watch, Call, Session};
use crate::error::CallError;
use crate::mpi::Mpi;
use crate::outcome::Outcome;
use crate::planning::plan_cache::{part, Current};
use crate::planning::ExchangeJob;
use crate::rank_plan::carried::Carried;
use crate::report;
use crate::settings::WorldSettings;
use crate::settings::{SharedMemory, BEST, DEFAULT_MIN_BYTES};
use crate::topology::placement::Placement;
use crate::topology::rank_map::RankMap;
use crate::transport::{Lack, MpiTransport};
use broadleaf::plan::{Collective, Direction};
use std::collections::HashMap;

/// The most kinds of calls with cached plans; beyond it, the cache is emptied.
const MAX_PLANS: usize = 64;

/// Plans made for unequal blocks on one communicator; then those for equal ones move them too.
const MAX_SHAPES: usize = 16;

/// Calls that share a plan.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    collective: Collective,
    root: u32,
    /// Of the longest block.
    size_class: u32,
    element_bytes: u64,
    /// Every rank's, where they are not all alike; none: no bytes.
    shape: Option<Vec<Option<u32>>>,
}

impl Kind {
    fn of(call: Call<'_>) -> Kind {
        let class = |bytes: &u64| bytes.checked_ilog2();
        Kind {
            collective: call.collective,
            root: call.root,
            size_class: call.bytes.ilog2(),
            element_bytes: call.blocks.element,
            shape: call.blocks.sizes.map(|sizes| sizes.iter().map(class).collect()),
        }
    }
}

/// One communicator's plans for other collectives than broadcasts.
#[derive(Default)]
pub(super) struct Exchanges {
    /// At rank 0, once it has made a plan.
    placement: Option<Placement>,
    /// None: all ranks use the MPI's own.
    plans: HashMap<Kind, Option<Current>>,
    /// Plans that were made for unequal blocks.
    shapes: usize,
}

/// The total bytes from which such calls are planned. Where all ranks are on one host, none is: copies by messages
/// are never faster than the MPI's own collectives there.
pub(super) fn from_bytes(mpi: &Mpi, rank_map: &RankMap, world: &WorldSettings) -> u64 {
    let settings = &rank_map.settings;
    let is_one_host = rank_map.hosts.of_rank().iter().all(|&host| host == 0);
    let is_free = settings.planner == BEST && !settings.has_min_bytes;
    if is_one_host && is_free && mpi.shares_memory() && settings.shared_memory != SharedMemory::Off {
        return u64::MAX;
    }
    // The platform's predicted threshold is for broadcasts.
    if world.follows_platform {
        DEFAULT_MIN_BYTES
    } else {
        world.min_bytes
    }
}

impl Session {
    /// Collective. `call.bytes` are those of a block, or of the vector that is reduced.
    pub(super) unsafe fn exchange_blocks(&mut self, call: Call<'_>) -> Result<Outcome, CallError> {
        let mut kind = Kind::of(call);
        let is_new_shape = kind.shape.is_some() && !self.exchanges.plans.contains_key(&kind);
        if is_new_shape && self.exchanges.shapes >= MAX_SHAPES {
            kind.shape = None;
        }
        if !self.exchanges.plans.contains_key(&kind) {
            if self.exchanges.plans.len() >= MAX_PLANS {
                self.exchanges.plans.clear();
            }
            self.exchanges.shapes += usize::from(kind.shape.is_some());
            let sizes = call.blocks.sizes.filter(|_| kind.shape.is_some());
            let plan = self.agree_on_exchange(call, sizes)?;
            let current = plan.map(|plan| Current::new(plan, self.rank, call.bytes));
            self.exchanges.plans.insert(kind.clone(), current);
        }
        let Some(Some(current)) = self.exchanges.plans.get_mut(&kind) else { return Ok(Outcome::Own) };
        match call.blocks.sizes {
            None => current.resize(call.bytes),
            Some(sizes) => current.weigh(call.bytes, sizes, call.blocks.element),
        }
        self.ran.set(&current.carried, 0);
        let part = part(current);
        let mut executor = part.executor();
        let watch = watch(&self.tracer, call);
        let mut transport = MpiTransport::new(&self.mpi, call.packed, part, call.number, watch);
        let (is_root, direction) = (self.rank == call.root, call.collective.direction());
        let sends = direction != Direction::Outward || is_root || call.collective == Collective::Allgather;
        if call.packed.is_null() && sends {
            transport.send_nothing(call.lack);
        }
        transport.run(&mut executor)?;
        let Some(lack) = transport.lack() else { return Ok(Outcome::Done) };
        let lacking = match lack {
            Lack::Memory => Outcome::NoMemory,
            Lack::Length => Outcome::WrongLength,
        };
        Ok(match direction {
            // All ranks have been informed.
            Direction::Outward => Outcome::Own,
            // Likewise, but their contributions may be overwritten.
            Direction::Both => lacking,
            Direction::Inward if !call.collective.is_rooted() => lacking,
            Direction::Inward if is_root || call.packed.is_null() => lacking,
            Direction::Inward => Outcome::Done,
        })
    }

    /// Rank 0's plan, on all ranks. None: rank 0 has reported why there is none.
    fn agree_on_exchange(
        &mut self,
        call: Call<'_>,
        sizes: Option<&[u64]>,
    ) -> Result<Option<Carried>, CallError> {
        let made = if self.rank == 0 { self.plan_exchange(call, sizes) } else { None };
        let mut bytes = made.as_ref().map_or_else(Vec::new, |plan| plan.bytes().to_vec());
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.mpi.share(&mut length)?;
        bytes.resize(u64::from_le_bytes(length) as usize, 0);
        if bytes.is_empty() {
            return Ok(None);
        }
        self.mpi.share(&mut bytes)?;
        Ok(Some(match made {
            Some(plan) => plan,
            None => Carried::received(bytes)?,
        }))
    }

    fn plan_exchange(&mut self, call: Call<'_>, sizes: Option<&[u64]>) -> Option<Carried> {
        let Call { collective, root, bytes, blocks, .. } = call;
        let element_bytes = blocks.element;
        let rank_map = self.known_ranks()?;
        let planned = (|| {
            let placement = match self.exchanges.placement.take() {
                Some(placement) => placement,
                None => rank_map.placement(&rank_map.node_of_rank)?,
            };
            let placement = &*self.exchanges.placement.insert(placement);
            let placement = &*placement.for_collective(collective)?;
            let digest = &rank_map.digest;
            ExchangeJob { placement, digest, collective, root, bytes, sizes, element_bytes }
                .plan(&rank_map.settings)
        })();
        planned
            .map(Carried::made)
            .map_err(|line| report::once(&format!("{line}; the MPI's own {collective} is used")))
            .ok()
    }
}
