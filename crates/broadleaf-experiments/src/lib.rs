//! Code that only the papers' figures need, on top of the core: random draws, replays and figure runs.
//!
//! [`cluster_draws`] is paper 2's experiment (table 2 and its figures), [`replay`] paper 3's program under loads
//! ([`varying_rates`]), and [`annealing_progress`] its figure 3. No code that plans or runs a user's broadcast depends
//! on this crate.

pub mod annealing_progress;
pub mod cluster_draws;
pub mod replay;
pub mod varying_rates;
