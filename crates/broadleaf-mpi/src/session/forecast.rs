//! What a rank expects of a call before it hears the header.

use crate::planning::plan_cache::{executor, PlanVersions};
use broadleaf::adapt::switch::{Directive, Header};
use broadleaf::execute::NodeExecutor;
use broadleaf::plan::{NodeProgram, Plan};
use std::sync::Arc;

/// What a rank expects of a broadcast before it hears its header.
pub(crate) struct Forecast {
    pub plan: Arc<Plan>,
    pub program: NodeProgram,
    /// Each rank that sends to this one sends a header.
    pub headers: usize,
    version: u32,
}

impl Forecast {
    /// With this rank's part in it. None where no plan is known, or receives cannot be posted ahead.
    pub(crate) fn of(book: &mut PlanVersions, root: u32, bytes: u64) -> Option<(Forecast, NodeExecutor)> {
        let (current, version) = book.expected(root, bytes)?;
        current.resize(bytes);
        let executor = executor(current);
        if !executor.is_announced() || current.before.is_empty() {
            return None;
        }
        let forecast = Forecast {
            plan: Arc::clone(current.programs.plan()),
            program: current.program.clone(),
            headers: current.before.len(),
            version,
        };
        Some((forecast, executor))
    }

    pub(crate) fn holds(&self, header: &Header) -> bool {
        header.message_bytes == self.plan.message_bytes
            && header.version == self.version
            && matches!(header.order, Directive::Run | Directive::RunThenSwitch)
    }
}
