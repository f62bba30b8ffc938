//! Fixed patterns for networks whose links are all alike: segments cross several trees or rings in fixed rounds.

mod bine;
mod bruck;
mod circulant;
mod recursive_doubling;
mod ring;
mod round_robin;
pub(super) mod two_colours;
pub(super) mod two_tree;
mod van_de_geijn;

pub use bine::Bine;
pub use bruck::Bruck;
pub use circulant::Circulant;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;
pub use round_robin::RoundRobin;
pub use two_tree::TwoTree;
pub use van_de_geijn::VanDeGeijn;
