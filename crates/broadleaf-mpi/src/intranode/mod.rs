//! Shared memory between the ranks of one host, under the tree of hosts.
//!
//! In every call one rank of a host *leads*: the root on its own host, the lowest rank elsewhere. It announces
//! the call to the others, and what it holds of the message goes through a ring of slots that it writes once
//! and all others copy out of, as it comes in; or, where the system permits it and it has proved quicker, each
//! copies straight out of the leader's memory.

mod choose;
mod cooperative;
mod copy;
mod group;
mod join;
mod layout;
mod signal;
mod times;

pub use choose::CopyMethod;
pub use group::{Delivery, HostGroup};
pub use layout::Announcement;
