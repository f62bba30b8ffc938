//! Platforms drawn at random, as the papers' experiments draw them. Equal parameters and seeds give equal
//! platforms, to the last byte.

mod bandwidth;
mod graph;
mod grid;
mod tiers;

pub use bandwidth::Bandwidth;
pub use graph::{random, RandomGraph};
pub use grid::{grid, GapDraw, Grid, GridDraw};
pub use tiers::{tiers, Tiers};

use super::Platform;

/// A drawn platform, and the number of links added to connect it.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The platform that was drawn.
    pub platform: Platform,
    /// Pairs of nodes that were linked to join the components of a disconnected draw.
    pub joined: usize,
}
