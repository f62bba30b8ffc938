//! A broadcast that follows the network while the program runs: what is decided, and from what.
//!
//! Sans I/O: no clock, thread, file or socket. Time comes in as seconds on any clock that does not run backwards;
//! the simulated experiment, the tests of random timings and the advisor's service drive the same code.
//!
//! [`record`] holds when what was broadcast, [`predict`] says what comes next, [`links`] what is believed of
//! the network now, the [`advisor`] decides which plans to make, when, and which to put into use, [`search`] makes
//! them within a budget, and [`switch`] is how all ranks put a new
//! plan into use at the same call. `broadleaf-experiments` replays a program with all that in simulated time.

mod advice;
pub mod advisor;
mod belief;
mod drift;
mod header;
pub mod links;
pub mod predict;
pub mod record;
pub mod search;
pub mod switch;
