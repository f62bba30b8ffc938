//! Pushes a file or a folder to every host of a job.
//!
//! 1. The root walks the source into an `index`: names, modes, times, links, and where files have data.
//! 2. Every host takes `stock`: it finds, by their digests, the blocks that it holds already, in an unfinished copy of
//!    an earlier push or in an older version of the file.
//! 3. The root groups the missing blocks by the hosts that lack them (`schedule`), and a
//!    `stream` of windows goes to each group: reading, broadcasting and writing overlap.
//! 4. A host renames its files when they are whole (`place`), and reports (`push`).
//!
//! This crate does not use MPI: ranks communicate through [`Ranks`]. Broadcasts are planned if the runtime is
//! preloaded.
//!
//! Modules below, from the bottom up; each uses those before it only.

mod wire;

mod fault;

mod ranks;

mod index;

mod digest;

mod folder;

mod sparse;

mod unfinished;

mod source;

mod place;

mod asked;

mod pace;

mod progress;

mod stock;

mod schedule;

mod stream;

mod row;

mod writers;

mod push;

pub use push::push;
pub use ranks::Ranks;

#[cfg(test)]
mod tests;
