//! The predicted time of a call's plan.

use super::as_run::predicted_s;
use super::first_plan::first_limit;
use super::threads::on_threads;
use super::{ExchangeJob, Planning};
use crate::observe::predictions::Predict;
use crate::settings::{PlanTime, BEST};
use broadleaf::plan::Collective;
use broadleaf::portfolio::Effort;
use std::sync::{Mutex, PoisonError};

/// One communicator's plans, for prediction only.
pub struct Prediction(Mutex<Planning>);

impl Prediction {
    pub fn of(planning: Planning) -> Prediction {
        Prediction(Mutex::new(planning))
    }
}

impl Predict for Prediction {
    /// The simulated makespan of the plan that the first call of the kind would run by.
    fn makespan_s(&self, collective: Collective, root: u32, bytes: u64) -> Result<f64, String> {
        let mut planning = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = planning.rank_map.settings.clone();
        if collective != Collective::Bcast {
            let placement = planning.rank_map.placement(&planning.rank_map.node_of_rank)?;
            let placement = &*placement.for_collective(collective)?;
            let bytes = bytes.div_ceil(collective.blocks(placement.node_of_rank.len()) as u64);
            let digest = &planning.rank_map.digest;
            let job =
                ExchangeJob { placement, digest, collective, root, bytes, sizes: None, element_bytes: 1 };
            return job.makespan_s(&settings);
        }
        if settings.plan_dir.is_some() {
            let job = planning.job(root, bytes, false)?;
            if let Some(plan) = planning.stored(&job)? {
                return predicted_s(&job.placement.platform, &plan).map_err(|error| error.to_string());
            }
        }
        let name = &settings.planner;
        let job = planning.job(root, bytes, name == BEST)?;
        let limit = first_limit(&settings, PlanTime::Beside);
        let plan = on_threads(|| job.plan(name, Effort::Quick, limit))?;
        predicted_s(job.handled(), &plan).map_err(|error| error.to_string())
    }
}
