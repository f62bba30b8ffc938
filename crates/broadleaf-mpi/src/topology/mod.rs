//! Placement: the hosts of a communicator's ranks, and their nodes of the platform.

pub mod host_layout;
pub mod hosts;
pub mod placement;
pub mod platform_file;
pub mod rank_map;
mod threshold;
