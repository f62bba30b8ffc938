//! Detection of ranks of this host that have ended: a killed rank never sets the signal that others wait for.

use std::fs;

/// A process, identified by its id and its start time, since ids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// In the system's clock ticks since it booted; 0: unknown.
    pub started: u64,
}

impl Process {
    pub fn own() -> Process {
        let pid = std::process::id() as i32;
        Process { pid, started: Status::of(pid).map_or(0, |status| status.started) }
    }

    /// Whether this process can see it, and so can check later whether it is still alive. Processes of other
    /// containers are not visible.
    pub fn is_visible(self) -> bool {
        self.started > 0 && Status::of(self.pid).is_some_and(|status| status.started == self.started)
    }

    /// Whether a process that was visible has ended.
    pub fn has_ended(self) -> bool {
        match Status::of(self.pid) {
            Some(status) => status.started != self.started || status.is_over,
            // Reading may fail, for example if no file descriptor is free.
            // SAFETY: signal 0 is none.
            None => unsafe { libc::kill(self.pid, 0) != 0 && *libc::__errno_location() == libc::ESRCH },
        }
    }
}

/// A process's state in `/proc`.
struct Status {
    started: u64,
    is_over: bool,
}

impl Status {
    fn of(pid: i32) -> Option<Status> {
        // proc(5): after the name in brackets, which may hold anything, fields from the third on.
        const STATE: usize = 0;
        const THREADS: usize = 17;
        const STARTED: usize = 19;
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let threads: u64 = fields.get(THREADS)?.parse().ok()?;
        // A process whose first thread has ended looks like a zombie.
        let is_over = matches!(*fields.get(STATE)?, "Z" | "X") && threads <= 1;
        Some(Status { started: fields.get(STARTED)?.parse().ok()?, is_over })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_lives_until_it_ends() {
        assert!(Process::own().is_visible() && !Process::own().has_ended());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        let process = Process { pid, started: Status::of(pid).unwrap().started };
        assert!(process.is_visible() && !process.has_ended());
        assert!(!Process { started: process.started + 1, pid }.is_visible());
        child.kill().unwrap();
        // It stays a zombie until it is waited for.
        while Status::of(pid).is_some_and(|status| !status.is_over) {
            std::thread::yield_now();
        }
        assert!(process.has_ended());
        child.wait().unwrap();
        assert!(process.has_ended());
    }
}
