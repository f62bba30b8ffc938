//! Running a plan: one state machine per node, without I/O, and the transports that carry its messages.
//!
//! The simulator, in-process threads and MPI all drive the same [`NodeExecutor`], so a simulated bug is a
//! real bug.

mod executor;
mod flow;
mod message;
mod send_order;
pub mod threads;
mod transport;
mod wiring;

pub use executor::{NodeExecutor, LEADS_A_TURN};
pub use flow::FlowWindow;
pub use message::{Item, Kind, Message, Receive};
pub use transport::{drive, Completion, Transport};
