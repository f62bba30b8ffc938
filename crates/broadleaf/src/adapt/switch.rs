//! The ranks of a communicator change from one plan to the next without extra messages.
//!
//! The root alone decides. Ahead of the data of every call a small [`Header`] runs down the edges of the plan in use,
//! so every rank receives it first. A new plan follows the data of call n down the first tree of the *old* plan, and
//! takes effect with the next call of its root and size class: every rank takes part in call n and cannot leave it
//! without the new plan, so all have it before any of them begins the next call. No rank waits for an extra round, and
//! no call is run with two plans.
//!
//! Nothing here depends on a clock, a thread or a network. The MPI runtime drives this code, and so does the test
//! with thousands of random timings (`tests/switch_over/`).

use std::collections::BTreeSet;

pub use super::current::{Carries, Current};
pub use super::header::{Directive, Header, Stray};

/// A rank's state for the broadcasts of one (root, size class).
#[derive(Debug)]
pub struct Entry<P> {
    used: u64,
    /// The version of the plan in use: 0 for the first, incremented with every switch.
    pub version: u32,
    /// `None` without a plan.
    pub current: Option<Current<P>>,
    next: Option<P>,
    /// At the root: whether no plan has been requested yet.
    is_untried: bool,
}

impl<P: Carries> Entry<P> {
    /// The plan that came with the last call takes effect.
    fn switch(&mut self, rank: u32, bytes: u64) {
        if let Some(next) = self.next.take() {
            self.version += 1;
            self.current = Some(Current::new(next, rank, bytes));
        }
    }

    /// The plan that takes effect with the next call.
    pub fn next(&self) -> Option<&P> {
        self.next.as_ref()
    }
}

/// The kind of a broadcast: messages of one root between two powers of two share a plan.
pub type Kind = (u32, u32);

/// The kind of a message of `bytes` > 0 from `root`.
pub fn kind(root: u32, bytes: u64) -> Kind {
    (root, bytes.ilog2())
}

/// Plans kept per communicator; the least recently used is evicted first. A program with more roots and sizes in
/// rotation plans again.
pub const MAX_PLANS: usize = 64;

/// One rank's cache of a communicator's plans. All ranks look up the same kinds in the same order, so
/// their caches have the same entries with the same versions, evictions included.
#[derive(Debug)]
pub struct PlanVersions<P> {
    entries: Vec<(Kind, Entry<P>)>,
    /// The index of the last entry looked up, which is often the next one as well.
    last: usize,
}

impl<P> Default for PlanVersions<P> {
    fn default() -> Self {
        PlanVersions { entries: Vec::new(), last: 0 }
    }
}

impl<P: Carries> PlanVersions<P> {
    /// Whether there is an entry.
    pub fn knows(&self, kind: Kind) -> bool {
        self.find(kind).is_some()
    }

    fn find(&self, kind: Kind) -> Option<usize> {
        if self.entries.get(self.last).is_some_and(|(found, _)| *found == kind) {
            return Some(self.last);
        }
        self.entries.iter().position(|(found, _)| *found == kind)
    }

    /// The plan, and its version, that a rank called with a message of `bytes` expects to run before the header
    /// arrives: the one in use. `None` while another plan is to replace it.
    pub fn expected(&mut self, root: u32, bytes: u64) -> Option<(&mut Current<P>, u32)> {
        self.last = self.find(kind(root, bytes))?;
        let entry = &mut self.entries[self.last].1;
        let version = entry.version;
        entry.current.as_mut().filter(|_| entry.next.is_none()).map(|current| (current, version))
    }

    /// The entry of a kind, made if it is missing; this may evict the least recently used one.
    pub fn entry(&mut self, kind: Kind, call: u64) -> &mut Entry<P> {
        self.last = self.find(kind).unwrap_or_else(|| {
            if self.entries.len() >= MAX_PLANS {
                let used = |at: &usize| self.entries[*at].1.used;
                let oldest = (0..self.entries.len()).min_by_key(used).unwrap_or(0);
                self.entries.swap_remove(oldest);
            }
            self.entries
                .push((kind, Entry { used: call, version: 0, current: None, next: None, is_untried: false }));
            self.entries.len() - 1
        });
        let entry = &mut self.entries[self.last].1;
        entry.used = call;
        entry
    }

    /// The root's decision about its call: `first` makes the plan of a kind without one, `better` returns one that was
    /// found later. The plan that travels is the current one with [`Directive::RunNew`], the next one with
    /// [`Directive::RunThenSwitch`].
    pub fn lead(
        &mut self,
        call: u64,
        rank: u32,
        bytes: u64,
        first: impl FnOnce() -> Option<P>,
        better: impl FnOnce() -> Option<P>,
    ) -> (Directive, &mut Entry<P>) {
        let kind = kind(rank, bytes);
        let known = self.knows(kind);
        let entry = self.entry(kind, call);
        if !known || std::mem::take(&mut entry.is_untried) {
            entry.current = first().map(|plan| Current::new(plan, rank, bytes));
            let order = if entry.current.is_some() { Directive::RunNew } else { Directive::Native };
            return (order, entry);
        }
        if entry.current.is_none() {
            return (Directive::Native, entry);
        }
        entry.switch(rank, bytes);
        entry.next = better();
        let order = if entry.next.is_some() { Directive::RunThenSwitch } else { Directive::Run };
        (order, entry)
    }

    /// At a root that cannot run any plan in this call: the entry exists on all ranks, and stays unchanged.
    pub fn decline(&mut self, call: u64, rank: u32, bytes: u64) -> &mut Entry<P> {
        let kind = kind(rank, bytes);
        let known = self.knows(kind);
        let entry = self.entry(kind, call);
        entry.is_untried |= !known;
        entry
    }

    /// Another rank's part in a call, whose header it has received; `plan` is the one that came with
    /// [`Directive::RunNew`]. Returns `None` if the call runs without a plan.
    ///
    /// # Errors
    /// A header that belongs to another call, or to a plan that this rank does not have.
    pub fn follow(
        &mut self,
        rank: u32,
        header: &Header,
        plan: Option<P>,
    ) -> Result<Option<&mut Entry<P>>, Stray> {
        let entry = self.entry(kind(header.root, header.message_bytes), header.call);
        if header.order == Directive::Native {
            return Ok(None);
        }
        if header.order == Directive::RunNew {
            let plan = plan.ok_or(Stray::NoPlan(header.call))?;
            entry.current = Some(Current::new(plan, rank, header.message_bytes));
        }
        entry.switch(rank, header.message_bytes);
        if entry.current.is_none() {
            return Err(Stray::NoPlan(header.call));
        }
        if entry.version != header.version {
            return Err(Stray::OtherVersion {
                call: header.call,
                wanted: header.version,
                had: entry.version,
            });
        }
        Ok(Some(entry))
    }

    /// Keeps the plan that came beside the data of a call, for the next one of its kind.
    pub fn keep(&mut self, header: &Header, plan: P) {
        self.entry(kind(header.root, header.message_bytes), header.call).next = Some(plan);
    }
}

/// A rank that waits for the header of a call.
#[derive(Debug)]
pub struct Listening {
    call: u64,
    root: u32,
    told: BTreeSet<u32>,
}

impl Listening {
    /// Waits for the header of a call.
    pub fn new(call: u64, root: u32) -> Listening {
        Listening { call, root, told: BTreeSet::new() }
    }

    /// Takes a header from `sender`. Returns whether to act on it: on the first one, or, with a new plan, on the one
    /// from the plan's sender.
    ///
    /// # Errors
    /// A header that belongs to another call.
    pub fn hear(&mut self, sender: u32, header: &Header) -> Result<bool, Stray> {
        if header.call != self.call || header.root != self.root {
            let (theirs, their_root) = (header.call, header.root);
            return Err(Stray::OtherCall { sender, theirs, their_root, call: self.call, root: self.root });
        }
        self.told.insert(sender);
        Ok(header.order != Directive::RunNew || header.sends_plan)
    }

    /// The senders whose copy of the header has not arrived yet.
    pub fn missing<'a, P>(&'a self, current: &'a Current<P>) -> impl Iterator<Item = u32> + 'a {
        current.before.difference(&self.told).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Collective, Protocol, Transfers, TreeBuilder};
    use crate::platform::NodeId;
    use std::sync::Arc;

    /// From the root to the second, and from there to the third rank.
    fn chain(root: u32, segment_bytes: u64) -> Arc<Transfers> {
        let others: Vec<u32> = (0..3).filter(|&rank| rank != root).collect();
        let mut tree = TreeBuilder::new(3);
        tree.add(NodeId(root), NodeId(others[0]));
        tree.add(NodeId(others[0]), NodeId(others[1]));
        Arc::new(Transfers {
            collective: Collective::Bcast,
            root: NodeId(root),
            message_bytes: 8,
            segment_bytes,
            weights: None,
            element_bytes: 1,
            trees: vec![tree.build()].into(),
            inward: Vec::new().into(),
            period: None,
            combine: false,
            skip_busy: false,
            protocol: Protocol::Eager,
        })
    }

    fn header(call: u64, order: Directive, version: u32) -> Header {
        Header { call, root: 0, message_bytes: 8, order, version, plan_bytes: 0, sends_plan: false }
    }

    #[test]
    fn a_new_plan_takes_effect_one_call_after_it_was_sent() {
        let mut plans = PlanVersions::default();
        let mut decide = |call, better: Option<Arc<Transfers>>| {
            let (order, entry) = plans.lead(call, 0, 8, || Some(chain(0, 8)), || better);
            (order, entry.version, entry.current.as_ref().unwrap().carried.segment_bytes)
        };
        assert_eq!(decide(0, None), (Directive::RunNew, 0, 8));
        assert_eq!(decide(1, None), (Directive::Run, 0, 8));
        assert_eq!(decide(2, Some(chain(0, 4))), (Directive::RunThenSwitch, 0, 8));
        assert_eq!(decide(3, None), (Directive::Run, 1, 4));
    }

    #[test]
    fn two_plans_in_a_row_are_two_versions() {
        let mut plans = PlanVersions::default();
        for (call, wanted) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
            let (_, entry) = plans.lead(call, 0, 8, || Some(chain(0, 8)), || Some(chain(0, 8)));
            assert_eq!(entry.version, wanted, "call {call}");
        }
    }

    #[test]
    fn a_rank_with_another_version_is_an_error_and_no_mixed_plan() {
        let mut plans = PlanVersions::default();
        plans.follow(1, &header(0, Directive::RunNew, 0), Some(chain(0, 8))).unwrap();
        let missed = plans.follow(1, &header(1, Directive::Run, 1), None).unwrap_err();
        assert_eq!(missed, Stray::OtherVersion { call: 1, wanted: 1, had: 0 });
        let never = plans.follow(1, &Header { message_bytes: 64, ..header(2, Directive::Run, 0) }, None);
        assert_eq!(never.unwrap_err(), Stray::NoPlan(2));
    }

    #[test]
    fn a_rank_expects_what_it_ran_last_until_another_plan_comes() {
        let mut plans = PlanVersions::default();
        assert!(plans.expected(0, 8).is_none());
        plans.follow(1, &header(0, Directive::RunNew, 0), Some(chain(0, 8))).unwrap();
        assert_eq!(plans.expected(0, 8).unwrap().1, 0);
        assert!(plans.expected(0, 16).is_none() && plans.expected(1, 8).is_none());
        let last = header(1, Directive::RunThenSwitch, 0);
        plans.follow(1, &last, None).unwrap();
        plans.keep(&last, chain(0, 4));
        assert!(plans.expected(0, 8).is_none(), "the next call runs another plan");
        plans.follow(1, &header(2, Directive::Run, 1), None).unwrap();
        assert_eq!(plans.expected(0, 8).unwrap().1, 1);
    }

    #[test]
    fn a_header_of_another_call_is_named() {
        let mut listening = Listening::new(4, 0);
        let error = listening.hear(2, &header(5, Directive::Run, 0)).unwrap_err().to_string();
        assert_eq!(error, "rank 2 is in broadcast 5 from root 0, this rank in broadcast 4 from root 0");
    }

    #[test]
    fn the_new_plan_goes_down_the_first_tree_only() {
        let current = Current::new(chain(0, 8), 1, 8);
        let sent: Vec<(u32, bool)> = current
            .headers(Header { plan_bytes: 9, ..header(0, Directive::RunThenSwitch, 0) })
            .map(|(rank, header)| (rank, header.sends_plan))
            .collect();
        assert_eq!(sent, [(2, true)]);
        assert_eq!(current.plan_parent, Some(0));
    }

    #[test]
    fn all_caches_forget_the_same_kind() {
        let mut plans = PlanVersions::<Arc<Transfers>>::default();
        (0..MAX_PLANS as u32).for_each(|root| {
            plans.entry((root, 3), u64::from(root));
        });
        plans.entry((0, 3), 100);
        plans.entry((0, 4), 101);
        assert!(plans.knows((0, 3)) && !plans.knows((1, 3)) && plans.knows((2, 3)));
    }
}
