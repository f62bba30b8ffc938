//! The plans that a user has made beforehand.

use broadleaf::plan::{check, Collective, Plan};
use broadleaf::platform::{NodeId, Platform};
use std::path::{Path, PathBuf};

/// A call that a stored plan may fit.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The digest of the platform file.
    pub digest: &'a str,
    /// The nodes where ranks run: the platform file, or a part of it.
    pub platform: &'a Platform,
    pub collective: Collective,
    /// Counts for collectives with a root.
    pub root: NodeId,
    /// As [`Plan::message_bytes`].
    pub bytes: u64,
}

/// Of the directory's plans for this platform, collective and root, the one whose message is nearest in size, at most a factor
/// of two away. A plan over nodes where no rank runs does not fit. The error is one line for the user.
pub fn nearest(directory: &Path, wanted: Wanted) -> Result<Option<Plan>, String> {
    let unlisted = |error: std::io::Error| format!("BROADLEAF_PLAN_DIR={}: {error}", directory.display());
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .map_err(unlisted)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    let mut nearest: Option<(f64, Plan)> = None;
    for path in paths {
        let plan = Plan::load(&path).map_err(|error| error.to_string())?;
        let distance = (plan.message_bytes as f64 / wanted.bytes as f64).log2().abs();
        let is_wanted = plan.collective == wanted.collective && plan.platform_digest == wanted.digest;
        if !is_wanted || distance > 1.0 {
            continue;
        }
        let Ok(plan) = plan.bind(wanted.platform) else { continue };
        let plan = Plan { platform_digest: wanted.platform.digest().to_string(), ..plan };
        let is_from_root = !wanted.collective.is_rooted() || plan.root == wanted.root;
        let fits = is_from_root && check::faults(wanted.platform, &plan).is_empty();
        if fits && nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((distance, plan));
        }
    }
    Ok(nearest.map(|(_, plan)| plan))
}
