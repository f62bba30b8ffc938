//! Predicted times of plans for an observed communicator.

use super::Session;
use crate::observe::predictions::Predict;
use crate::planning::{Planning, Prediction};
use crate::settings::{SharedMemory, BEST};
use crate::topology::hosts::one_node_a_host;
use broadleaf::plan::Collective;
use std::sync::Arc;

/// Nothing can be predicted.
struct Unknown(&'static str);

impl Predict for Unknown {
    fn makespan_s(&self, _: Collective, _root: u32, _bytes: u64) -> Result<f64, String> {
        Err(self.0.to_string())
    }
}

impl Session {
    /// Before the first broadcast of this session. Nothing is collective, and nothing planned yet.
    pub fn predictor(&self) -> Arc<dyn Predict> {
        let Some(rank_map) = &self.rank_map else {
            return Arc::new(Unknown("the settings cannot be used"));
        };
        let settings = &rank_map.settings;
        let mut hosts = (*self.hosts).clone();
        // As when the session is to share memory at its first broadcast.
        if settings.shared_memory != SharedMemory::Off
            && self.mpi.shares_memory()
            && (settings.planner == BEST || one_node_a_host(rank_map, &hosts))
        {
            if hosts.count() == 1 && settings.plan_dir.is_none() {
                return Arc::new(Unknown("ranks of one host share its memory, which no plan predicts"));
            }
            hosts.assume_shared();
        }
        Arc::new(Prediction::of(Planning::new(Arc::clone(rank_map), Arc::new(hosts), false)))
    }
}
