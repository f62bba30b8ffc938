//! The calls that a comparison leaves to the MPI: the same on all ranks, chosen from the calls alone.
//!
//! A call takes the side that calls of its collective, root and length have had less often, so that these come in
//! pairs. At a tie it takes the side that its collective, root and size class have had less often, so that lengths
//! that come once balance among themselves. At a tie of both a new pair begins, and which side goes first follows the
//! Thue–Morse sequence, ABBA BAAB, in which neither a drift nor an even rhythm of the program favours a side.

use broadleaf::plan::Collective;
use std::collections::HashMap;

/// The most lengths that are balanced individually; later ones only by their size class.
const MAX_LENGTHS: usize = 4096;

/// Calls so far on either side.
#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    planned: u64,
    native: u64,
}

impl Balance {
    /// The side that is behind.
    fn is_native(self) -> Option<bool> {
        (self.planned != self.native).then_some(self.native < self.planned)
    }

    fn add(&mut self, is_native: bool) {
        *(if is_native { &mut self.native } else { &mut self.planned }) += 1;
    }
}

/// One communicator's, at each of its ranks.
#[derive(Debug, Default)]
pub struct Turns {
    by_length: HashMap<(Collective, u32, u64), Balance>,
    by_class: HashMap<(Collective, u32, u32), Balance>,
}

impl Turns {
    /// Whether the next call, of `bytes` > 0, is native.
    pub fn next_is_native(&mut self, collective: Collective, root: u32, bytes: u64) -> bool {
        let room = self.by_length.len() < MAX_LENGTHS;
        let length = if room {
            Some(self.by_length.entry((collective, root, bytes)).or_default())
        } else {
            self.by_length.get_mut(&(collective, root, bytes))
        };
        let class = self.by_class.entry((collective, root, bytes.ilog2())).or_default();
        let behind = length.as_ref().and_then(|length| length.is_native()).or(class.is_native());
        let is_native = behind.unwrap_or(class.planned.count_ones() % 2 == 1);
        class.add(is_native);
        if let Some(length) = length {
            length.add(is_native);
        }
        is_native
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(calls: impl IntoIterator<Item = u64>) -> String {
        let mut turns = Turns::default();
        calls
            .into_iter()
            .map(|bytes| if turns.next_is_native(Collective::Bcast, 0, bytes) { 'N' } else { 'P' })
            .collect()
    }

    #[test]
    fn one_length_goes_by_thue_and_morse() {
        assert_eq!(sides([9; 16]), "PNNPNPPNNPPNPNNP");
    }

    #[test]
    fn lengths_in_any_rhythm_are_balanced_each() {
        for period in 1..9 {
            let sides = sides((0..period * 20).map(|call| 1024 + call % period)).into_bytes();
            for length in 0..period as usize {
                let native = sides.iter().skip(length).step_by(period as usize).filter(|&&side| side == b'N');
                assert_eq!(native.count(), 10, "length {length} of {period}");
            }
        }
    }

    #[test]
    fn lengths_that_come_once_are_balanced_in_their_class() {
        let sides = sides((0..100).map(|call| 70_000 + call));
        assert_eq!(sides.matches('N').count(), 50);
    }

    #[test]
    fn so_many_lengths_take_no_more_memory() {
        let mut turns = Turns::default();
        let native =
            (0..40_000).filter(|call| turns.next_is_native(Collective::Bcast, 0, (1 << 20) + call)).count();
        assert_eq!((turns.by_length.len(), native), (MAX_LENGTHS, 20_000));
    }
}
