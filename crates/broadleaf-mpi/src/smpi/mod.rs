//! What only simulated time needs.

pub mod pace;
