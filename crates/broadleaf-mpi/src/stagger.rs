//! The root's very first segment goes in two messages.
//!
//! With w messages of equal size in flight over a port that they share, all of them begin together, arrive together
//! and are followed together: for a latency nothing is on the wire, in every round, and it stays like that. Where
//! one is shorter, those that follow it begin while the others are under way, and that stays like that as well.
//! Everybody behind the root sends when something comes in, so it is enough that the root begins out of step.

use crate::trace::Side;
use crate::transport::{CallError, MpiTransport, Request};
use broadleaf::execute::Item;
use broadleaf::plan::{Collective, Plan};
use broadleaf::platform::NodeId;

impl MpiTransport<'_> {
    /// The bytes of the first part, where a message is the root's first.
    pub(crate) fn first_half(&self, from: NodeId, to: NodeId, item: &Item) -> Option<u64> {
        first_half(self.plan, from, to, item).filter(|_| self.blocks == 1)
    }

    /// Two messages that count as one.
    pub(crate) fn send_halves(
        &mut self,
        to: NodeId,
        tag: u32,
        (data, length): (*const u8, u64),
        half: u64,
        noted: (u32, u64),
    ) -> Result<(), CallError> {
        let message = self.next_message;
        self.next_message = message.wrapping_add(1);
        self.parts.insert(message, (to, 2));
        for (start, bytes) in [(0, half), (half, length - half)] {
            let number = self.number(Request::PartOut { message, _bytes: Vec::new() });
            // The segment is sent when its second half is.
            if let Some(watch) = self.watch.as_mut().filter(|_| start > 0) {
                watch.begin(Side::Send, number, to.0, noted, 1, length);
            }
            // SAFETY: a part of the segment at `data`.
            self.mpi.isend(unsafe { data.add(start as usize) }, bytes, to.0, tag as i32, number)?;
        }
        Ok(())
    }

    pub(crate) fn receive_half(
        &mut self,
        from: NodeId,
        tag: u32,
        to: *mut u8,
        half: u64,
    ) -> Result<(), CallError> {
        let turn = self.in_turn.entry((from, tag)).or_default().next();
        let number = self.number(Request::HalfIn { from, tag, bytes: half, turn });
        Ok(self.mpi.irecv(to, half, Some(from.0), (tag + self.salt) as i32, number)?)
    }
}

/// Sender and receiver must agree, so only the plan decides.
fn first_half(plan: &Plan, from: NodeId, to: NodeId, item: &Item) -> Option<u64> {
    let is_first = item.segment == 0 && from == plan.root && !item.relayed && item.target == to;
    if !is_first || plan.collective != Collective::Bcast || plan.period.is_some() {
        return None;
    }
    let is_long = plan.segment_count() > 1 && plan.segment_bytes > 1;
    let first_child = plan.trees[item.tree as usize].children(from).first();
    (is_long && first_child == Some(&to)).then_some(plan.segment_bytes / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::planners::{find, plan_with, Instance};
    use broadleaf::platform::Platform;

    /// What goes in two messages: sender, receiver, segment, bytes of the first.
    fn halved(planner: &str, collective: Collective, segment_bytes: u64) -> Vec<(u32, u32, u64, u64)> {
        let text = r#"{"format": "broadleaf-platform/1", "name": "five", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}, {"id": "e"}],
            "meshes": [{"nodes": ["a", "b", "c", "d", "e"], "link": {"bandwidth_bytes_per_s": 1e8}}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let instance = Instance::new(&platform, NodeId(2), 1001).unwrap().segmented(segment_bytes);
        let plan = plan_with(find(planner).unwrap(), &Instance { collective, ..instance }).unwrap();
        let mut found = Vec::new();
        for (tree, from) in
            (0..plan.trees.len()).flat_map(|tree| platform.hosts().map(move |from| (tree, from)))
        {
            for (&to, segment) in plan.trees[tree]
                .children(from)
                .iter()
                .flat_map(|to| (0..plan.segment_count()).map(move |at| (to, at)))
            {
                let item = Item { tag: 0, segment, tree: tree as u32, target: to, relayed: false };
                found.extend(first_half(&plan, from, to, &item).map(|half| (from.0, to.0, segment, half)));
                assert_eq!(first_half(&plan, from, to, &Item { relayed: true, ..item }), None);
            }
        }
        found
    }

    #[test]
    fn only_the_roots_first_message_goes_in_two() {
        // The first child of c: the next one in the chain, the first of all in the flat tree.
        assert_eq!(halved("chain", Collective::Bcast, 301), [(2, 3, 0, 150)]);
        assert_eq!(halved("flat", Collective::Bcast, 500), [(2, 0, 0, 250)]);
        assert_eq!(halved("binomial", Collective::Bcast, 2).len(), 1);
    }

    #[test]
    fn what_cannot_be_cut_or_must_not_goes_whole() {
        for (collective, segment_bytes) in
            [(Collective::Bcast, 1001), (Collective::Bcast, 1), (Collective::Scatter, 301)]
        {
            assert_eq!(halved("chain", collective, segment_bytes), []);
        }
        // A period says who sends what when.
        assert_eq!(halved("round-robin", Collective::Bcast, 100), []);
    }
}
