//! A reason why the source, or one host, cannot continue.

use std::fmt;

/// One line: fact, offending value, place, remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl Fault {
    /// A system error at a path of the source.
    pub fn source(path: impl fmt::Display, error: &std::io::Error) -> Fault {
        let remedy = match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => "; push as a user who may read it",
            Some(libc::ENOENT) => "; push again when nothing changes there",
            _ => "",
        };
        Fault::with_remedy(path, error, remedy)
    }

    /// A system error at a path of the target, with a remedy if the error implies one.
    pub fn target(path: impl fmt::Display, error: &std::io::Error) -> Fault {
        let remedy = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => "; free space there, and push again",
            Some(libc::EACCES | libc::EPERM) => "; push as a user who may write there",
            Some(libc::EROFS) => "; name another place",
            Some(libc::ENOENT) => "; make its folder first",
            Some(libc::EISDIR) => "; remove the folder, or name a file",
            Some(libc::ENOTDIR | libc::ELOOP) => "; remove what is no folder there",
            _ => "",
        };
        Fault::with_remedy(path, error, remedy)
    }

    fn with_remedy(path: impl fmt::Display, error: &std::io::Error, remedy: &str) -> Fault {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or(&text);
        Fault(format!("{path}: {reason}{remedy}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
