//! A rank's part in a plan, run to its end.

use crate::error::CallError;
use crate::intranode::HostGroup;
use crate::planning::plan_cache::Current;
use crate::rank_plan::carried::Carried;
use crate::transport::MpiTransport;
use broadleaf::execute::{drive, NodeExecutor};

/// Runs this rank's part to its end, and passes the message on inside its host where the plan leaves that to
/// it. Gives the plan that came with it.
pub fn run<'a>(
    transport: &mut MpiTransport<'a>,
    executor: &mut NodeExecutor,
    current: &Current,
    group: Option<&'a mut HostGroup>,
) -> Result<Option<Carried>, CallError> {
    if let Some(group) = group.filter(|_| current.carried.led) {
        transport.feed(group);
    }
    if !executor.is_announced() {
        transport.expect_frames(current.programs.segments())?;
    }
    transport.pace(&current.carried.edges);
    drive(executor, transport)?;
    transport.finish()
}
