//! Which calls the statistics count together.

/// What stands in one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    pub communicator: String,
    pub ranks: u32,
    pub root: u32,
    pub bytes: u64,
}
