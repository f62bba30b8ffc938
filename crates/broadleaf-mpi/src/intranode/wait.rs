//! Waiting for another rank of the host. Meanwhile a rank drives the MPI's progress, since the other rank may depend
//! on a message of this rank, and checks at intervals that no rank of the host has ended.

use super::layout::Area;
use super::peers::Process;
use super::signal::{Patience, Signal};
use crate::error::CallError;
use crate::mpi::Mpi;
use std::sync::atomic::Ordering;

/// Sleeps between two checks of the other processes, about 0.1 s: reading `/proc` takes 20 µs a process.
const NAPS_PER_LOOK: u32 = 400;

/// The waits of one rank in one call.
pub struct Waiter<'a> {
    pub mpi: &'a Mpi,
    pub area: &'a Area,
    /// The other processes that this one can see.
    pub peers: &'a [Process],
    pub patience: Patience,
}

impl Waiter<'_> {
    /// Waits until the signal has reached `target`. Fails as the MPI does if a rank of this host has ended.
    pub fn wait(&self, signal: &Signal, target: u32) -> Result<(), CallError> {
        signal.wait(target, self.patience, |naps| {
            self.mpi.progress()?;
            self.look(naps)
        })
    }

    /// Waits until this rank has the ring to itself.
    pub fn claim_ring(&self) -> Result<(), CallError> {
        let mut turns = 0u32;
        while !self.area.claim_ring() {
            std::thread::yield_now();
            turns = turns.wrapping_add(1);
            self.look(turns)?;
        }
        Ok(())
    }

    /// Fails if a rank of this host has ended during the call.
    pub fn look(&self, naps: u32) -> Result<(), CallError> {
        let has_lost_rank = &self.area.common().has_lost_rank;
        if naps > 0 && naps.is_multiple_of(NAPS_PER_LOOK) && self.peers.iter().any(|peer| peer.has_ended()) {
            has_lost_rank.store(1, Ordering::Relaxed);
        }
        match has_lost_rank.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(CallError::Mpi(self.mpi.process_failed())),
        }
    }
}
