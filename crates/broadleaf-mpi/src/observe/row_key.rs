//! The calls that share a row of the statistics.

/// The key of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// As in plan files, e.g. `bcast`.
    pub collective: &'static str,
    pub communicator: String,
    pub ranks: u32,
    pub root: u32,
    pub bytes: u64,
}
