//! The program's side of the broadcast advisor (`broadleaf advise`): the notes it gets, and the plans it gives.
//!
//! Both go through the advisor's state directory, in a separate thread, so that a broadcast never waits for a file or
//! for the advisor. Without the advisor, or with a directory that is full, gone or read-only, the program goes on
//! with the plans it has. The files are described in `docs/howto/adapt.md`.

mod mailbox;
mod notes;
pub mod passive;

pub use mailbox::{Look, Mailbox};
pub use notes::{name, CallNote, InUse};
