//! Broadcasts that follow the network while the program runs: the decisions and their inputs.
//!
//! Sans I/O: no clock, thread, file or socket. Times are passed in as seconds on any monotonic clock; the simulated
//! experiment, the tests of random timings and the advisor's service drive the same code.
//!
//! [`record`] keeps the broadcasts called and their times, [`predict`] extrapolates them, and [`links`] estimates the
//! network. The [`advisor`] decides which plans are made, when, and which are put into use; [`search`] makes them
//! within a budget; by [`switch`] all ranks change to a new plan at the same call. `broadleaf-experiments` replays a
//! program with all of these in simulated time.

mod advice;
pub mod advisor;
mod belief;
mod carried;
mod current;
mod drift;
mod header;
mod kept;
pub mod links;
mod pair;
pub mod predict;
pub mod record;
pub mod search;
pub mod switch;
