//! A plan in use by the ranks, for messages or blocks of the current call's lengths.

use super::header::Header;
use crate::plan::{NodeProgram, Programs, Transfers};
use crate::platform::NodeId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A holder of a plan's transfers between ranks.
pub trait Carries {
    /// For the message that the plan was made for.
    fn transfers(&self) -> &Transfers;

    /// All ranks' programs for messages of `bytes`. A holder of one plan for several ranks may return the same value
    /// to all.
    fn programs(&self, bytes: u64) -> Arc<Programs> {
        Arc::new(Programs::for_ranks(Arc::new(self.transfers().resized(bytes))))
    }
}

impl Carries for Arc<Transfers> {
    fn transfers(&self) -> &Transfers {
        self
    }
}

/// A plan in use, and one rank's part in it.
#[derive(Debug)]
pub struct Current<P> {
    /// The holder of the plan.
    pub carried: P,
    /// For messages of one length, since most programs repeat the same length.
    pub programs: Arc<Programs>,
    /// This rank's program of [`Self::programs`].
    pub program: Arc<NodeProgram>,
    /// The rank that sends new plans to this one, along the first tree.
    pub plan_parent: Option<u32>,
    /// Ranks that get a new plan from this one.
    pub plan_children: Vec<u32>,
    /// All ranks that send to this rank.
    pub before: BTreeSet<u32>,
    /// All ranks that this rank sends to.
    pub after: BTreeSet<u32>,
}

impl<P: Carries> Current<P> {
    /// The part of `rank` in broadcasts of `bytes`.
    pub fn new(carried: P, rank: u32, bytes: u64) -> Current<P> {
        let programs = carried.programs(bytes);
        let first = &carried.transfers().trees[0];
        let plan_parent = first.parents()[rank as usize].map(|parent| parent.0);
        let plan_children: Vec<u32> = first.children(NodeId(rank)).iter().map(|child| child.0).collect();
        let program = Arc::new(programs.node(NodeId(rank)));
        let before = program.inputs.iter().map(|input| input.from.0).chain(plan_parent).collect();
        let sent_to = program.outputs.iter().map(|output| output.to.0);
        let after = sent_to.chain(plan_children.iter().copied()).collect();
        Current { carried, programs, program, plan_parent, plan_children, before, after }
    }

    /// Prepares for messages of another length.
    pub fn resize(&mut self, bytes: u64) {
        let now = self.programs.transfers();
        if now.message_bytes != bytes || now.weights != self.carried.transfers().weights {
            self.programs = self.carried.programs(bytes);
            self.program = Arc::new(self.programs.node(self.program.node));
        }
    }

    /// Prepares for blocks of these lengths, by rank, of which the longest has `bytes`; segments end between elements
    /// of `element_bytes` bytes.
    pub fn weigh(&mut self, bytes: u64, sizes: &[u64], element_bytes: u64) {
        let weights: Vec<f64> = sizes.iter().map(|&size| size as f64 / bytes as f64).collect();
        let now = self.programs.transfers();
        if now.message_bytes == bytes && now.weights.as_deref() == Some(&weights[..]) {
            return;
        }
        let transfers = self.carried.transfers().resized(bytes);
        let weights = Some(weights.into());
        let transfers = Transfers { weights, element_bytes, ..transfers };
        self.programs = Arc::new(Programs::for_ranks(Arc::new(transfers)));
        self.program = Arc::new(self.programs.node(self.program.node));
    }

    /// The header for every rank that this one sends to; the plan follows it where the header announces one.
    pub fn headers(&self, header: Header) -> impl Iterator<Item = (u32, Header)> + '_ {
        self.after.iter().map(move |&rank| {
            let sends_plan = header.plan_bytes > 0 && self.plan_children.contains(&rank);
            (rank, Header { sends_plan, ..header })
        })
    }
}
