//! Shared memory between the ranks of one host, under the tree of hosts.
//!
//! In every call one rank of a host *leads*: the root on its own host, the lowest rank elsewhere. It announces the
//! call to the others (`group`), and writes the message part by part into a ring of slots, from which all others copy
//! it (`ring`); or, where all ranks of the communicator are on the host and the system permits it, each copies
//! straight out of the leader's memory (`choose`).

mod choose;
mod copy;
mod cores;
mod direct;
mod group;
mod join;
mod layout;
mod peers;
mod reclaim;
mod ring;
mod signal;
mod wait;

pub use choose::CopyMethod;
pub use group::{Delivery, HostGroup};
pub use layout::Announcement;
