//! The sums that heads of an all-reduce exchange.
//!
//! A head sends its own sum to all others, while those of the others come in any order. So it keeps a copy, and combines all
//! of them at once, when the last one has come.

use super::MessageMemory;
use crate::error::CallError;
use broadleaf::execute::Item;
use broadleaf::plan::InChannel;
use broadleaf::platform::NodeId;
use std::collections::BTreeMap;

/// The sums of a segment that heads exchange.
pub(super) struct Sums {
    /// This head's, once it is complete: it is sent after the memory of the message has taken the others'.
    own: Option<Vec<u8>>,
    /// How often it still has to be sent.
    sends: usize,
    /// Those of the others.
    came: BTreeMap<NodeId, Vec<u8>>,
    /// How many are still to come.
    awaited: usize,
}

impl MessageMemory<'_> {
    /// Another head's sum came.
    pub(super) fn exchange(&mut self, item: &Item, data: Vec<u8>) -> Result<(), CallError> {
        let program = self.part.program();
        let is_child = |input: &InChannel| {
            input.tree == item.tree && input.target == program.node && input.combines && !input.is_exchanged
        };
        let is_combined_here = program.inputs.iter().any(is_child);
        let sums = self.sums_of(item);
        sums.came.insert(item.child, data);
        sums.awaited -= 1;
        if is_combined_here {
            self.combine_sums(item)
        } else {
            self.sum_is_complete(item)
        }
    }

    /// What this head combines itself has come in.
    pub(super) fn sum_is_complete(&mut self, item: &Item) -> Result<(), CallError> {
        if self.part.program().outputs.iter().any(|output| output.is_exchanged && output.tree == item.tree) {
            self.keep_sum(item);
            self.combine_sums(item)?;
        }
        Ok(())
    }

    fn sums_of(&mut self, item: &Item) -> &mut Sums {
        let outputs = self.part.program().outputs.iter();
        let others = outputs.filter(|output| output.is_exchanged && output.tree == item.tree).count();
        self.sums.entry((item.tree, item.segment)).or_insert_with(|| Sums {
            own: None,
            sends: others,
            came: BTreeMap::new(),
            awaited: others,
        })
    }

    /// This head's sum, which the memory of the message holds until it has those of all heads.
    fn keep_sum(&mut self, item: &Item) -> &mut Sums {
        let (at, bytes) = self.place(item.segment);
        let sums = self.sums_of(item);
        sums.own.get_or_insert_with(|| {
            // SAFETY: inside the message, where nothing writes meanwhile.
            unsafe { std::slice::from_raw_parts(at, bytes as usize) }.to_vec()
        });
        sums
    }

    /// Once all sums are there, every head combines them in the order of the heads, so that the bits of the result are the
    /// same.
    fn combine_sums(&mut self, item: &Item) -> Result<(), CallError> {
        let (node, (at, _)) = (self.part.program().node, self.place(item.segment));
        let sums = self.sums_of(item);
        if sums.own.is_none() || sums.awaited > 0 {
            return Ok(());
        }
        let mut heads = std::mem::take(&mut sums.came);
        let own = if sums.sends > 0 { sums.own.clone() } else { sums.own.take() };
        heads.extend(own.map(|own| (node, own)));
        if sums.sends == 0 {
            self.sums.remove(&(item.tree, item.segment));
        }
        let mut heads = heads.into_values();
        let first = heads.next().unwrap_or_default();
        // SAFETY: inside the message, and `first` is a separate allocation.
        unsafe { std::ptr::copy_nonoverlapping(first.as_ptr(), at, first.len()) };
        for data in heads {
            // SAFETY: inside the message.
            unsafe { self.mpi.combine(&data, at)? };
        }
        Ok(())
    }

    /// This head's sum, for another one.
    pub(super) fn sum_sent(&mut self, item: &Item) -> Result<Vec<u8>, CallError> {
        let nothing = || CallError::Internal("a head sends its sum too often".to_string());
        let sums = self.keep_sum(item);
        sums.sends = sums.sends.checked_sub(1).ok_or_else(nothing)?;
        if sums.sends > 0 || sums.awaited > 0 {
            return sums.own.clone().ok_or_else(nothing);
        }
        self.sums.remove(&(item.tree, item.segment)).and_then(|sums| sums.own).ok_or_else(nothing)
    }
}
