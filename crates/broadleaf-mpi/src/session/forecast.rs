//! What a rank expects of a call before its header arrives.

use crate::planning::plan_cache::{part, PlanVersions};
use crate::rank_plan::part::Part;
use broadleaf::adapt::switch::{Directive, Header};
use broadleaf::execute::NodeExecutor;

/// What a rank expects of a broadcast before its header arrives.
pub(crate) struct Forecast {
    pub part: Part,
    /// Each rank that sends to this one sends a header.
    pub headers: usize,
    version: u32,
}

impl Forecast {
    /// With this rank's part in it. None where no plan is known, or receives cannot be posted ahead.
    pub(crate) fn of(plans: &mut PlanVersions, root: u32, bytes: u64) -> Option<(Forecast, NodeExecutor)> {
        let (current, version) = plans.expected(root, bytes)?;
        current.resize(bytes);
        let part = part(current);
        let executor = part.executor();
        if !executor.is_announced() || current.before.is_empty() {
            return None;
        }
        let headers = current.before.len();
        Some((Forecast { part, headers, version }, executor))
    }

    pub(crate) fn holds(&self, header: &Header) -> bool {
        header.message_bytes == self.part.transfers().message_bytes
            && header.version == self.version
            && matches!(header.order, Directive::Run | Directive::RunThenSwitch)
    }
}
