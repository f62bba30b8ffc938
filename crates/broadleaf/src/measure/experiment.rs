//! What a pair of nodes can be asked to do, and what comes back.

use crate::platform::NodeId;

/// One timed experiment between a sender and a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    /// A message there, an empty one back, `repeats` times. Timed at the sender: the round trip and the
    /// send call in it.
    PingPong { bytes: u64, repeats: u32 },
    /// `window` messages there with nothing in between, one empty message back, `repeats` times. Timed at
    /// the sender, until the answer is in.
    Burst { bytes: u64, window: u32, repeats: u32 },
    /// The receiver asks for the message, lets it lie for `pause_s`, then receives it, `repeats` times.
    /// Timed at the receiver: the receive call alone.
    LateReceive { bytes: u64, repeats: u32, pause_s: f64 },
}

impl Trial {
    pub fn repeats(&self) -> u32 {
        match *self {
            Trial::PingPong { repeats, .. }
            | Trial::Burst { repeats, .. }
            | Trial::LateReceive { repeats, .. } => repeats,
        }
    }

    /// The size of a message.
    #[cfg(test)]
    pub fn message_bytes(&self) -> u64 {
        match *self {
            Trial::PingPong { bytes, .. } | Trial::Burst { bytes, .. } | Trial::LateReceive { bytes, .. } => {
                bytes
            }
        }
    }

    /// Message bytes that one repeat moves.
    pub fn bytes_per_repeat(&self) -> u64 {
        match *self {
            Trial::PingPong { bytes, .. } | Trial::LateReceive { bytes, .. } => bytes,
            Trial::Burst { bytes, window, .. } => bytes * u64::from(window),
        }
    }
}

/// Trials of one pair, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub from: NodeId,
    pub to: NodeId,
    pub trials: Vec<Trial>,
}

/// Tasks that run at the same time, no node in two of them; started together where there are several.
pub type Round = Vec<Task>;

/// What a trial measured, in the order of its repeats, seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The round trips, the bursts, or the receive calls.
    pub seconds: Vec<f64>,
    /// The send calls of a [`Trial::PingPong`]; empty otherwise.
    pub send_s: Vec<f64>,
}
