//! The plans of a communicator's broadcasts, over ranks: the books of [`switch`], and how many messages a plan
//! keeps in flight.

use crate::alike::{Alike, Encoded};
use crate::ranks::RankPlan;
use crate::wire::{decode_plan, encode_plan, Malformed};
use broadleaf::adapt::switch::{self, Carries};
use broadleaf::execute::{NodeExecutor, Window};
use broadleaf::plan::{Plan, Programs};
use broadleaf::platform::NodeId;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub type Book = switch::Book<Carried>;
pub type Current = switch::Current<Carried>;

/// A plan over ranks, as all ranks of a process hold it together.
#[derive(Clone, Debug)]
pub struct Carried(Arc<Encoded<Held>>);

#[derive(Debug)]
struct Held {
    ranked: RankPlan,
    /// Of the length that was asked for last, as long as some rank runs them.
    programs: Mutex<Weak<Programs>>,
}

impl Held {
    fn new(ranked: RankPlan) -> Held {
        Held { ranked, programs: Mutex::new(Weak::new()) }
    }
}

static HELD: Alike<Held> = Alike::new();

impl Carried {
    /// At the root that made it.
    pub fn made(ranked: RankPlan) -> Carried {
        Carried(Arc::new(Encoded::new(encode_plan(&ranked), Held::new(ranked))))
    }

    /// Where [`Carried::bytes`] came in a message.
    pub fn received(bytes: Vec<u8>) -> Result<Carried, Malformed> {
        HELD.decoded(bytes, |bytes| decode_plan(bytes).map(Held::new)).map(Carried)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl Deref for Carried {
    type Target = RankPlan;

    fn deref(&self) -> &RankPlan {
        &self.0.ranked
    }
}

impl Carries for Carried {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    fn programs(&self, bytes: u64) -> Arc<Programs> {
        let mut last = self.0.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(programs) = last.upgrade().filter(|programs| programs.plan().message_bytes == bytes) {
            return programs;
        }
        let programs = Arc::new(Programs::for_ranks(Arc::new(self.plan.resized(bytes))));
        *last = Arc::downgrade(&programs);
        programs
    }
}

/// The widest window of any edge between this rank and a peer.
fn window(current: &Current, peer: NodeId) -> Window {
    let out = current.program.outputs.iter().filter(|output| output.to == peer);
    let edges = out.map(|output| current.carried.edges[output.tree as usize][output.target.index()]);
    let (messages, feeds, paced) = edges.fold((1, 1, false), |(messages, feeds, paced), edge| {
        (messages.max(edge.window), feeds.max(edge.feeds), paced || edge.turn_s > 0.0)
    });
    // Where two keep the link busy, one at a time leaves it idle for less than half of the time.
    let last_alone = !current.program.is_root && messages == 2 && !paced;
    Window { messages: messages.into(), shares_port: true, feeds: feeds.into(), last_alone }
}

/// Receives to have posted on a channel: as many as its sender may have in flight, and one more where it makes
/// one ready meanwhile ([`crate::ranks::window`]).
fn ahead(current: &Current) -> u32 {
    let edges = &current.carried.edges;
    let inputs = current.program.inputs.iter();
    let widest =
        inputs.map(|input| edges[input.tree as usize][input.target.index()].window).max().unwrap_or(1);
    u32::from(widest) + u32::from(current.carried.plan.period.is_none())
}

/// This rank's part in one broadcast, ready to post its receives where they are announced.
pub fn executor(current: &Current) -> NodeExecutor {
    let node = current.program.node;
    let mut executor = NodeExecutor::new(&current.programs, node, |peer| window(current, peer));
    executor.post_ahead(ahead(current));
    executor
}
