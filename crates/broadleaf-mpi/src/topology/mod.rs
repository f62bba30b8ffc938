//! Who runs where: the hosts of a communicator's ranks, and the platform's nodes that they sit on.

pub mod host_layout;
pub mod hosts;
pub mod placement;
pub mod platform_file;
pub mod rank_map;
mod threshold;
