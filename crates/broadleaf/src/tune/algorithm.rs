//! Paper 4's ten broadcasts and three scatters.

use crate::plan::{Collective, Protocol};

/// An implementation technique of table 1 or 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

use Algorithm::*;

/// All thirteen, in the order of the tables; of equally fast ones the earlier is chosen.
pub const ALGORITHMS: [Algorithm; 13] = [
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
];

impl Algorithm {
    /// Those of a collective, in the order of its table; none for an all-gather.
    pub fn of(collective: Collective) -> impl Iterator<Item = Algorithm> + Clone {
        ALGORITHMS.into_iter().filter(move |algorithm| algorithm.collective() == collective)
    }

    /// The name, unique within its collective.
    pub fn name(self) -> &'static str {
        match self {
            Flat | FlatScatter => "flat",
            FlatRendezvous => "flat-rendezvous",
            SegmentedFlat => "segmented-flat",
            Chain | ChainScatter => "chain",
            ChainRendezvous => "chain-rendezvous",
            SegmentedChain => "segmented-chain",
            Binary => "binary",
            Binomial | BinomialScatter => "binomial",
            BinomialRendezvous => "binomial-rendezvous",
            SegmentedBinomial => "segmented-binomial",
        }
    }

    pub fn collective(self) -> Collective {
        match self {
            FlatScatter | ChainScatter | BinomialScatter => Collective::Scatter,
            _ => Collective::Bcast,
        }
    }

    /// The planner that makes its plan.
    pub fn planner(self) -> &'static str {
        match self {
            Flat | FlatRendezvous | SegmentedFlat | FlatScatter => "flat",
            Chain | ChainRendezvous | SegmentedChain | ChainScatter => "chain",
            Binary => "binary",
            Binomial | BinomialRendezvous | SegmentedBinomial | BinomialScatter => "binomial",
        }
    }

    pub fn protocol(self) -> Protocol {
        match self {
            FlatRendezvous | ChainRendezvous | BinomialRendezvous => Protocol::Rendezvous,
            _ => Protocol::Eager,
        }
    }

    /// Whether the message is cut into segments, whose size is to be chosen.
    pub fn is_segmented(self) -> bool {
        matches!(self, SegmentedFlat | SegmentedChain | SegmentedBinomial)
    }

    /// The model as the paper prints it; k = ⌈m/s⌉ where it has ⌊m/s⌋, which loses the rest.
    pub fn formula(self) -> &'static str {
        match self {
            Flat => "(P-1) g(m) + L",
            FlatRendezvous => "(P-1) g(m) + 2 g(1) + 3 L",
            SegmentedFlat => "(P-1) (g(s) k) + L",
            Chain => "(P-1) (g(m) + L)",
            ChainRendezvous => "(P-1) (g(m) + 2 g(1) + 3 L)",
            SegmentedChain => "(P-1) (g(s) + L) + g(s) (k-1)",
            Binary => "<= ceil(log2 P) (2 g(m) + L)",
            Binomial => "floor(log2 P) g(m) + ceil(log2 P) L",
            BinomialRendezvous => "floor(log2 P) g(m) + ceil(log2 P) (2 g(1) + 3 L)",
            SegmentedBinomial => "floor(log2 P) g(s) k + ceil(log2 P) L",
            FlatScatter => "(P-1) g(m) + L",
            ChainScatter => "sum(j=1..P-1) g(j m) + (P-1) L",
            BinomialScatter => "sum(j=0..ceil(log2 P)-1) g(2^j m) + ceil(log2 P) L",
        }
    }

    /// Whether the printed model is only an upper bound.
    pub fn printed_is_bound(self) -> bool {
        self == Binary
    }
}
