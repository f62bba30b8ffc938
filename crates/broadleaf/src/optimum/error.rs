//! Reasons why an optimum cannot be computed.

use crate::plan::Collective;

/// A request that has no optimum, in one line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum OptimumError {
    #[error("the gap {0} is not positive; give a relative gap above 0, e.g. 1e-4")]
    Gap(f64),
    #[error("a segment of 0 bytes moves nothing; give a segment size of at least 1 byte")]
    EmptySegment,
    #[error("the root \"{0}\" is a switch; name a host")]
    RootIsSwitch(String),
    #[error(
        "{links} links are too many for the optimum, which takes {most} at most; join nodes into clusters"
    )]
    TooManyLinks { links: usize, most: usize },
    #[error(
        "node \"{node}\" cannot be reached from the root \"{root}\": no link leads from {{{inside}}} to \
         {{{outside}}}; add a link across that cut"
    )]
    Unreachable { node: String, root: String, inside: String, outside: String },
    #[error(
        "{0} has no throughput optimum of its own: it is a reduction, then a broadcast; ask for the optimum of reduce \
         and of bcast, or for a bound on its makespan"
    )]
    NoProgram(Collective),
}
