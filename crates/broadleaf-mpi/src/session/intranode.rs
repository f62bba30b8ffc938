//! A call inside a host: of all ranks of a communicator that is on one, and of a rank that another one leads.

use super::{announced, Call, Session};
use crate::error::CallError;
use crate::intranode::{Announcement, Delivery};
use crate::mpi::Mpi;
use crate::observe::stats;
use crate::outcome::Outcome;
use crate::planning::Planning;
use crate::settings::{SharedMemory, BEST};
use crate::smpi::Encoded;
use crate::topology::hosts::{one_node_a_host, Hosts};
use crate::topology::rank_map::RankMap;
use broadleaf::adapt::switch::{kind, Directive, Header, Listening};
use std::sync::Arc;

/// The length from which messages go through shared memory, if all ranks of a communicator are on one host and no
/// planner is selected by name. Elsewhere 0.
pub(super) fn from_bytes(mpi: &Mpi, rank_map: &RankMap) -> u64 {
    let settings = &rank_map.settings;
    let is_one_host = rank_map.hosts.of_rank().iter().all(|&host| host == 0);
    if !is_one_host || settings.planner != BEST || !mpi.shares_memory() {
        return 0;
    }
    match settings.shared_memory {
        SharedMemory::Native => u64::MAX,
        SharedMemory::On if !settings.has_min_bytes => mpi.intranode_from(),
        SharedMemory::On | SharedMemory::Off | SharedMemory::Always(_) => 0,
    }
}

impl Session {
    /// Collective, at the first broadcast: a communicator that is never used for one costs no memory.
    pub(super) fn share_memory(&mut self, rank_map: Arc<Encoded<RankMap>>) -> Result<(), CallError> {
        let settings = &rank_map.settings;
        let mut hosts = Hosts::clone(&self.hosts);
        let wish = settings.shared_memory;
        // A plan selected by name moves the data itself where it can.
        let serves = wish != SharedMemory::Off
            && self.mpi.shares_memory()
            && (settings.planner == BEST || one_node_a_host(&rank_map, &hosts));
        self.group = hosts.join(&self.mpi, self.rank, serves, wish.method())?;
        self.hosts = Arc::new(hosts);
        self.planning = Some(Planning::new(rank_map, Arc::clone(&self.hosts), !self.world.without_advisor));
        Ok(())
    }

    /// At a root: whether its message goes without a plan, to ranks that are all on this host.
    pub(super) fn is_intranode(&mut self, bytes: u64) -> bool {
        let is_one_host = self.hosts.count() == 1 && self.group.is_some();
        let rank = self.rank;
        is_one_host && !self.planning.as_mut().is_some_and(|planning| planning.is_stored(rank, bytes))
    }

    pub(super) unsafe fn lead_intranode(&mut self, call: Call) -> Result<Outcome, CallError> {
        let Call { number, packed, bytes, .. } = call;
        // Every rank's cache of plans has the same entries.
        self.plans.entry(kind(self.rank, bytes), number);
        let header = Header {
            call: number,
            root: self.rank,
            message_bytes: bytes,
            order: Directive::Native,
            version: 0,
            plan_bytes: 0,
            sends_plan: false,
        };
        if bytes < self.intranode_from {
            return self.pass_by(header, &Listening::new(number, self.rank));
        }
        let Some(group) = &mut self.group else {
            return Err(CallError::Internal("a host without shared memory leads by it".to_string()));
        };
        let method = group.method(bytes);
        self.ran = stats::Ran { method: Some(method), ..stats::Ran::default() };
        let announcement = announced(header, &self.ran);
        let announcement = Announcement { method: method as u32, address: packed as u64, ..announcement };
        group.announce(&self.mpi, Delivery::SharedMemory, announcement)?;
        group.give(&self.mpi, method, packed, bytes)?;
        group.finish_led(&self.mpi)?;
        Ok(Outcome::Done)
    }

    /// The part of a rank that another one of its host leads.
    pub(super) unsafe fn attend(&mut self, call: Call) -> Result<Outcome, CallError> {
        let Call { number, packed, bytes, root, .. } = call;
        let Some(group) = &mut self.group else {
            return Err(CallError::Internal("a rank without shared memory is served by it".to_string()));
        };
        let announced = group.hear(&self.mpi)?;
        if announced.call != number || announced.root != root {
            return Err(CallError::Internal(format!(
                "this host is in broadcast {} from root {}, rank {} in broadcast {number} from root {root}",
                announced.call, announced.root, self.rank
            )));
        }
        let fits = bytes == announced.bytes;
        match Delivery::of(&announced)? {
            Delivery::Messages => {
                group.finish();
                return self.follow(call);
            }
            Delivery::Native => {
                group.finish();
                self.plans.entry(kind(root, announced.bytes), number);
                return Ok(Outcome::Own);
            }
            Delivery::SharedMemory => {
                group.take(&self.mpi, &announced, if fits { packed } else { std::ptr::null_mut() })?;
                group.finish();
            }
        }
        if self.world.stats || self.tracer.is_some() {
            self.ran = stats::Ran::heard(&announced);
        }
        self.plans.entry(kind(root, announced.bytes), number);
        Ok(if fits { Outcome::Done } else { Outcome::WrongLength })
    }
}
