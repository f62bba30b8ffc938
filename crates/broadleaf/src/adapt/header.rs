//! The header of a call, which the root sends to all ranks ahead of the data.

/// The root's decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Run the plan that all ranks have.
    Run,
    /// Run the plan that comes with this call's headers.
    RunNew,
    /// Run the plan that all ranks have; the next call of its kind runs the plan that travels with this call.
    RunThenSwitch,
    /// No plan: the MPI's own broadcast.
    Native,
}

impl Directive {
    /// In the order of their numbers in messages.
    pub const ALL: [Directive; 4] =
        [Directive::Run, Directive::RunNew, Directive::RunThenSwitch, Directive::Native];
}

/// The header of one call, sent along the plan's edges ahead of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The call's number among the planned broadcasts of its communicator.
    pub call: u64,
    /// The call's root.
    pub root: u32,
    /// The root's packed length.
    pub message_bytes: u64,
    /// The root's decision.
    pub order: Directive,
    /// The plan to run, among those of (root, size class).
    pub version: u32,
    /// Bytes of the plan that travels with this call; 0 for none.
    pub plan_bytes: u64,
    /// Whether the sender of this header sends that plan.
    pub sends_plan: bool,
}

/// A header of another call: ranks call different broadcasts, or Broadleaf has a bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum Stray {
    #[error("rank {sender} is in broadcast {theirs} from root {their_root}, this rank in broadcast {call} from root {root}")]
    OtherCall { sender: u32, theirs: u64, their_root: u32, call: u64, root: u32 },
    #[error("call {call} runs version {wanted} of its plan, and this rank has version {had}")]
    OtherVersion { call: u64, wanted: u32, had: u32 },
    #[error("call {0} runs a plan that never came")]
    NoPlan(u64),
}
