//! The advisor's plan for one kind of broadcast.

use super::job::Job;
use crate::observe::advice::Look;
use crate::rank_plan::RankPlan;
use crate::report;
use broadleaf::files::regular_text;
use broadleaf::json;
use broadleaf::plan::Plan;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A plan from the advisor.
pub struct Given {
    /// Over the platform's nodes.
    pub plan: Arc<Plan>,
    pub ranked: RankPlan,
}

/// Looks for one file; a new plan in it waits until the root's next call.
pub struct AdviceFile {
    path: PathBuf,
    job: Job,
    /// (inode, seconds, nanoseconds) of the file last read.
    seen: Mutex<Option<(u64, i64, i64)>>,
    given: Mutex<Option<Given>>,
}

impl AdviceFile {
    pub fn new(path: PathBuf, job: Job) -> AdviceFile {
        AdviceFile { path, job, seen: Mutex::default(), given: Mutex::default() }
    }

    /// The plan that has come since the last one was taken.
    pub fn take(&self) -> Option<Given> {
        self.given.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

impl Look for AdviceFile {
    /// Reads the file if it has been replaced.
    fn look(&self) {
        let Ok(found) = fs::metadata(&self.path) else { return };
        let found = (found.ino(), found.mtime(), found.mtime_nsec());
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *seen == Some(found) {
            return;
        }
        *seen = Some(found);
        match read(&self.path, &self.job) {
            Ok(given) => {
                *self.given.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(given);
            }
            Err(line) => report::once(&format!("{}: {line}; the plan in use stays", self.path.display())),
        }
    }
}

/// A plan file of the advisor's, for the ranks of a job. The error is one line for the user.
pub fn read(path: &std::path::Path, job: &Job) -> Result<Given, String> {
    let text = regular_text(path)?;
    let document = json::parse(&text).map_err(|fault| fault.to_string())?;
    let place = json::Place::root(&document);
    place.expect_format("broadleaf-advice", 1).map_err(|fault| fault.to_string())?;
    let plan = document.get("plan").ok_or("$: the required field \"plan\" is missing; add it")?;
    let plan = Plan::from_json(&plan.to_string()).map_err(|fault| fault.to_string())?;
    let plan = job.fitting(plan)?;
    let ranked = job.ranked(&plan)?;
    Ok(Given { plan: Arc::new(plan), ranked })
}
