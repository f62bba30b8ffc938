//! What a rank remembers of a communicator's broadcasts: the plan in use for each (root, size class), and the next.

use crate::ranks::RankPlan;
use crate::search::Search;
use broadleaf::execute::Window;
use broadleaf::plan::{NodeProgram, Programs};
use broadleaf::platform::NodeId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Plans kept per communicator; the one used longest ago goes first. A program that rotates roots and sizes
/// beyond that plans again.
const MAX_PLANS: usize = 64;

/// The entries of one communicator. All ranks look up the same keys in the same order, so all have the same ones.
#[derive(Default)]
pub struct Book(HashMap<(u32, u32), Entry>);

/// What a rank knows of the broadcasts of one (root, size class).
#[derive(Default)]
pub struct Entry {
    used: u64,
    pub version: u32,
    /// None: the MPI's own broadcast is used.
    pub current: Option<Current>,
    pub next: Option<RankPlan>,
    /// At the root only.
    pub search: Search,
}

/// The plan in use, and what this rank does in it.
pub struct Current {
    pub ranked: RankPlan,
    /// For messages of this length; most programs broadcast the same length again and again.
    pub programs: Programs,
    pub program: NodeProgram,
    /// The first tree carries plans.
    pub plan_parent: Option<u32>,
    pub plan_children: Vec<u32>,
    /// Everyone that sends to this rank, and everyone it sends to.
    pub before: BTreeSet<u32>,
    pub after: BTreeSet<u32>,
}

impl Current {
    pub fn new(ranked: RankPlan, rank: u32, bytes: u64) -> Current {
        let plan = Arc::new(ranked.plan.resized(bytes));
        let first = &plan.trees[0];
        let plan_parent = first.parents()[rank as usize].map(|parent| parent.0);
        let plan_children: Vec<u32> = first.children(NodeId(rank)).iter().map(|child| child.0).collect();
        let programs = Programs::for_ranks(plan);
        let program = programs.node(NodeId(rank));
        let before = program.inputs.iter().map(|input| input.from.0).chain(plan_parent).collect();
        let sent_to = program.outputs.iter().map(|output| output.to.0);
        let after = sent_to.chain(plan_children.iter().copied()).collect();
        Current { ranked, programs, program, plan_parent, plan_children, before, after }
    }

    pub fn resize(&mut self, bytes: u64) {
        if self.programs.plan().message_bytes != bytes {
            self.programs = Programs::for_ranks(Arc::new(self.ranked.plan.resized(bytes)));
            self.program = self.programs.node(self.program.node);
        }
    }

    /// Whether this rank has nothing to send or receive.
    pub fn is_idle(&self) -> bool {
        self.program.inputs.is_empty() && self.program.outputs.is_empty()
    }

    /// The widest window of any edge between this rank and a peer.
    pub fn window(&self, peer: NodeId) -> Window {
        let windows = &self.ranked.windows;
        let out = self.program.outputs.iter().filter(|output| output.to == peer);
        let messages =
            out.map(|output| windows[output.tree as usize][output.target.index()]).max().unwrap_or(1);
        Window { messages: u32::from(messages), shares_port: true }
    }

    /// Receives to have posted on a channel: as many as its sender may have in flight, and one more where it
    /// makes one ready meanwhile ([`crate::ranks::window`]).
    pub fn ahead(&self) -> u32 {
        let windows = &self.ranked.windows;
        let inputs = self.program.inputs.iter();
        let widest =
            inputs.map(|input| windows[input.tree as usize][input.target.index()]).max().unwrap_or(1);
        u32::from(widest) + u32::from(self.ranked.plan.period.is_none())
    }
}

impl Entry {
    /// The plan that came with the last call takes effect.
    pub fn switch(&mut self, rank: u32, bytes: u64) {
        if let Some(next) = self.next.take() {
            self.version += 1;
            self.current = Some(Current::new(next, rank, bytes));
        }
    }
}

impl Book {
    pub fn knows(&self, root: u32, bytes: u64) -> bool {
        self.0.contains_key(&(root, bytes.ilog2()))
    }

    /// The entry of a root and size class, made if there is none; then the one used longest ago may have to go.
    pub fn entry(&mut self, root: u32, bytes: u64, call: u64) -> &mut Entry {
        let key = (root, bytes.ilog2());
        if self.0.len() >= MAX_PLANS && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
        let entry = self.0.entry(key).or_default();
        entry.used = call;
        entry
    }
}
