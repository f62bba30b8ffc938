//! Shared memory between the ranks of one host, under the tree of hosts.
//!
//! In every call one rank of a host *leads*: the root on its own host, the lowest rank elsewhere. It announces
//! the call to the others, and what it holds of the message goes through a ring of slots that it writes once
//! and all others copy out of, as it comes in; or, where the system permits it and it has proved quicker, each
//! copies straight out of the leader's memory.

mod area;
mod copy;
mod group;
mod meeting;
mod signal;
mod times;
mod together;
mod way;

pub use area::Announcement;
pub use group::{Group, Inside};
pub use way::Way;
