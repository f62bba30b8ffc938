//! Paper 4's ten broadcasts and three scatters.

use crate::plan::{Collective, Protocol};
use Algorithm::*;
use Collective::{Bcast, Scatter};
use Protocol::{Eager, Rendezvous};

/// An implementation technique of table 1 or 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the table below describes each")]
pub enum Algorithm {
    Flat,
    FlatRendezvous,
    SegmentedFlat,
    Chain,
    ChainRendezvous,
    SegmentedChain,
    Binary,
    Binomial,
    BinomialRendezvous,
    SegmentedBinomial,
    FlatScatter,
    ChainScatter,
    BinomialScatter,
}

/// A line of the tables: the name, the collective, the planner that makes its plan, the protocol, whether the message
/// is cut into segments, and the printed model.
type Row = (Algorithm, &'static str, Collective, &'static str, Protocol, bool, &'static str);

/// In the order of the tables, which is the order of [`Algorithm`]; of equally fast ones the earlier is chosen.
#[rustfmt::skip]
const TABLE: [Row; 13] = [
    (Flat, "flat", Bcast, "flat", Eager, false, "(P-1) g(m) + L"),
    (FlatRendezvous, "flat-rendezvous", Bcast, "flat", Rendezvous, false, "(P-1) g(m) + 2 g(1) + 3 L"),
    (SegmentedFlat, "segmented-flat", Bcast, "flat", Eager, true, "(P-1) (g(s) k) + L"),
    (Chain, "chain", Bcast, "chain", Eager, false, "(P-1) (g(m) + L)"),
    (ChainRendezvous, "chain-rendezvous", Bcast, "chain", Rendezvous, false, "(P-1) (g(m) + 2 g(1) + 3 L)"),
    (SegmentedChain, "segmented-chain", Bcast, "chain", Eager, true, "(P-1) (g(s) + L) + g(s) (k-1)"),
    (Binary, "binary", Bcast, "binary", Eager, false, "<= ceil(log2 P) (2 g(m) + L)"),
    (Binomial, "binomial", Bcast, "binomial", Eager, false, "floor(log2 P) g(m) + ceil(log2 P) L"),
    (BinomialRendezvous, "binomial-rendezvous", Bcast, "binomial", Rendezvous, false,
     "floor(log2 P) g(m) + ceil(log2 P) (2 g(1) + 3 L)"),
    (SegmentedBinomial, "segmented-binomial", Bcast, "binomial", Eager, true,
     "floor(log2 P) g(s) k + ceil(log2 P) L"),
    (FlatScatter, "flat", Scatter, "flat", Eager, false, "(P-1) g(m) + L"),
    (ChainScatter, "chain", Scatter, "chain", Eager, false, "sum(j=1..P-1) g(j m) + (P-1) L"),
    (BinomialScatter, "binomial", Scatter, "binomial", Eager, false,
     "sum(j=0..ceil(log2 P)-1) g(2^j m) + ceil(log2 P) L"),
];

impl Algorithm {
    /// All thirteen, in the order of the tables.
    pub fn all() -> impl Iterator<Item = Algorithm> + Clone {
        TABLE.iter().map(|row| row.0)
    }

    /// Those of a collective, in the order of its table; none for an all-gather.
    pub fn of(collective: Collective) -> impl Iterator<Item = Algorithm> + Clone {
        Algorithm::all().filter(move |algorithm| algorithm.collective() == collective)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The name, unique within its collective.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The collective.
    pub fn collective(self) -> Collective {
        self.row().2
    }

    /// The planner that makes its plan.
    pub fn planner(self) -> &'static str {
        self.row().3
    }

    /// The protocol that announces a message.
    pub fn protocol(self) -> Protocol {
        self.row().4
    }

    /// Whether the message is cut into segments, whose size is to be chosen.
    pub fn is_segmented(self) -> bool {
        self.row().5
    }

    /// The model as the paper prints it; k = ⌈m/s⌉ where it has ⌊m/s⌋, which loses the rest.
    pub fn formula(self) -> &'static str {
        self.row().6
    }

    /// Whether the printed model is only an upper bound.
    pub fn printed_is_bound(self) -> bool {
        self == Binary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_its_own_row() {
        for (at, algorithm) in Algorithm::all().enumerate() {
            assert_eq!(algorithm as usize, at, "{algorithm:?}");
        }
        assert_eq!(Algorithm::of(Bcast).count(), 10);
        assert_eq!(Algorithm::of(Scatter).count(), 3);
    }
}
