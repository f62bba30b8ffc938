//! The plans of a communicator's broadcasts, over ranks: the books of [`switch`], and how many messages a plan
//! keeps in flight.

use crate::ranks::RankPlan;
use broadleaf::adapt::switch::{self, Carries};
use broadleaf::execute::{NodeExecutor, Window};
use broadleaf::plan::Plan;
use broadleaf::platform::NodeId;
use std::sync::Arc;

pub type Book = switch::Book<RankPlan>;
pub type Current = switch::Current<RankPlan>;

impl Carries for RankPlan {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

/// The widest window of any edge between this rank and a peer.
fn window(current: &Current, peer: NodeId) -> Window {
    let widest = |numbers: &[Vec<u16>]| {
        let out = current.program.outputs.iter().filter(|output| output.to == peer);
        u32::from(out.map(|output| numbers[output.tree as usize][output.target.index()]).max().unwrap_or(1))
    };
    let RankPlan { windows, feeds, .. } = &current.carried;
    let messages = widest(windows);
    // Where two keep the link busy, one at a time leaves it idle for less than half of the time.
    let last_alone = !current.program.is_root && messages == 2;
    Window { messages, shares_port: true, feeds: widest(feeds), last_alone }
}

/// Receives to have posted on a channel: as many as its sender may have in flight, and one more where it makes
/// one ready meanwhile ([`crate::ranks::window`]).
fn ahead(current: &Current) -> u32 {
    let windows = &current.carried.windows;
    let inputs = current.program.inputs.iter();
    let widest = inputs.map(|input| windows[input.tree as usize][input.target.index()]).max().unwrap_or(1);
    u32::from(widest) + u32::from(current.carried.plan.period.is_none())
}

/// This rank's part in one broadcast, ready to post its receives where they are announced.
pub fn executor(current: &Current) -> NodeExecutor {
    let node = current.program.node;
    let mut executor = NodeExecutor::new(&current.programs, node, |peer| window(current, peer));
    executor.post_ahead(ahead(current));
    executor
}
