//! Errors of platforms.

use crate::json::Fault;

/// A platform that cannot be used, in one line: place, fact, remedy.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum PlatformError {
    #[error("{0}")]
    Document(#[from] Fault),
    #[error("cannot read {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{path}: {fault}")]
    File { path: String, fault: Fault },
    #[error("node \"{node}\" cannot be reached from the root \"{root}\"; add a link on the way to it")]
    Unreachable { root: String, node: String },
    #[error("the root \"{0}\" is a switch; name a host")]
    RootIsSwitch(String),
    #[error("no node is called {0:?} in platform {1:?}; see the ids of its \"nodes\"")]
    UnknownNode(String, String),
}
