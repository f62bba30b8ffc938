//! Predicted times of plans for the calls of an observed program. They are planned in `MPI_Finalize`, so that
//! planning disturbs no call.

use super::row_key::RowKey;
use broadleaf::plan::Collective;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Plans for one communicator.
pub trait Predict: Send + Sync {
    /// The makespan of the plan that a call would run by, s; `bytes` are those of all its blocks, predicted as if equally
    /// long. The error is a reason for the user.
    fn makespan_s(&self, collective: Collective, root: u32, bytes: u64) -> Result<f64, String>;
}

/// After this time no further plan is made, since all ranks wait in `MPI_Finalize`.
const BUDGET: Duration = Duration::from_secs(5);

/// The predictors of this process's rows.
pub struct Predictions(BTreeMap<RowKey, Arc<dyn Predict>>);

static WANTED: Mutex<Predictions> = Mutex::new(Predictions(BTreeMap::new()));

impl Predictions {
    fn wanted() -> MutexGuard<'static, Predictions> {
        WANTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Communicators of equal name and size share the predictor of the first.
    pub fn want(key: RowKey, predictor: &Arc<dyn Predict>) {
        Predictions::wanted().0.entry(key).or_insert_with(|| Arc::clone(predictor));
    }

    /// The predictions of the rows with a predictor, in the order given.
    pub fn make<'a>(keys: impl Iterator<Item = &'a RowKey>) -> BTreeMap<RowKey, Result<f64, String>> {
        let wanted = std::mem::take(&mut Predictions::wanted().0);
        let deadline = Instant::now() + BUDGET;
        let predicted = |key: &'a RowKey| {
            let predictor = wanted.get(key)?;
            let made = if Instant::now() < deadline {
                let collective = Collective::from_name(key.collective).unwrap_or_default();
                predictor.makespan_s(collective, key.root, key.bytes)
            } else {
                Err(format!("planning for all kinds takes over {} s", BUDGET.as_secs()))
            };
            Some((key.clone(), made))
        };
        keys.filter_map(predicted).collect()
    }
}
