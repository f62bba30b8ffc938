//! One process's mailbox: a thread, asleep most of the time, writes notes and reads plans.

use super::notes::{CallNote, Pending, SampleNote};
use crate::report;
use crate::topology::placement::Placement;
use crate::whole_file::replace;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// Between two looks at the plans that the advisor gives, and the longest delay of a note. A note of every broadcast,
/// written at once, keeps the advisor busy, and so the cores that ranks share with it.
const PERIOD: Duration = Duration::from_millis(100);

/// The most files of notes that a process keeps: without an advisor no program reads them.
const MOST_FILES: u64 = 64;

/// Something that the thread checks at intervals.
pub trait Look: Send + Sync {
    fn look(&self);
}

/// Where notes and plans go through.
pub struct Mailbox {
    directory: PathBuf,
    process: String,
    pending: Mutex<Pending>,
    watches: Mutex<Vec<Weak<dyn Look>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Mailbox {
    /// The process's mailbox at a state directory. None without a thread, or if other users may write there: they
    /// could choose the program's plans.
    pub fn at(directory: &Path) -> Option<Arc<Mailbox>> {
        static MAILBOXES: Mutex<Vec<Arc<Mailbox>>> = Mutex::new(Vec::new());
        let mut mailboxes = locked(&MAILBOXES);
        if let Some(mailbox) = mailboxes.iter().find(|mailbox| mailbox.directory == directory) {
            return Some(Arc::clone(mailbox));
        }
        if let Err(line) = Mailbox::may_be_at(directory) {
            report::once(&line);
            return None;
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let mailbox = Arc::new(Mailbox {
            directory: directory.to_path_buf(),
            process: format!("{}-{}", host.trim().replace('/', "_"), std::process::id()),
            pending: Mutex::default(),
            watches: Mutex::default(),
        });
        let worker = Arc::clone(&mailbox);
        std::thread::Builder::new().name("broadleaf-advice".to_string()).spawn(move || worker.work()).ok()?;
        mailboxes.push(Arc::clone(&mailbox));
        Some(mailbox)
    }

    /// Whether a state directory can be used; the error is one line for the user.
    pub fn may_be_at(directory: &Path) -> Result<(), String> {
        let shown = directory.display();
        private(directory).map_err(|reason| format!("{shown}: {reason}; the program runs without an advisor"))
    }

    /// Notes a call; written soon.
    pub fn called(&self, note: CallNote) {
        locked(&self.pending).add_call(note);
    }

    /// Notes the time of a link; written soon.
    pub fn timed(&self, note: SampleNote) {
        locked(&self.pending).add_sample(note);
    }

    /// Looks for plans from now on, until the watch is dropped.
    pub fn watch(&self, watch: Weak<dyn Look>) {
        locked(&self.watches).push(watch);
    }

    /// The file of a plan.
    pub fn plan_path(&self, name: &str) -> PathBuf {
        self.directory.join("plans").join(name)
    }

    /// Writes a platform for the advisor, before the first note that refers to it.
    pub fn describe(&self, key: Arc<str>, placement: Arc<Placement>) {
        locked(&self.pending).platforms.push((key, placement));
    }

    /// Reports a directory that cannot be written, once.
    fn told(&self, done: io::Result<()>) -> bool {
        if let Err(error) = &done {
            report::once(&format!(
                "{}: the advisor cannot be told ({error}); plans stay as they are",
                self.directory.display()
            ));
        }
        done.is_ok()
    }

    fn work(&self) {
        let mut number: u64 = 0;
        loop {
            std::thread::sleep(PERIOD);
            let pending = std::mem::take(&mut *locked(&self.pending));
            if !pending.is_empty() {
                self.write(&pending, &mut number);
            }
            locked(&self.watches).retain(|watch| {
                let watch = watch.upgrade();
                watch.inspect(|watch| watch.look()).is_some()
            });
        }
    }

    fn write(&self, pending: &Pending, number: &mut u64) {
        for (key, placement) in &pending.platforms {
            let path = self.directory.join("platforms").join(format!("{key}.json"));
            if !path.exists() {
                self.told(replace(&path, placement.handled.to_json().to_string().as_bytes()));
            }
        }
        if pending.calls.is_empty() && pending.samples.is_empty() {
            return;
        }
        let inbox = self.directory.join("inbox");
        let path = |number: u64| inbox.join(format!("{}-{number:08}.json", self.process));
        let text = pending.document(&self.process).to_string();
        if self.told(replace(&path(*number), text.as_bytes())) {
            *number += 1;
            // The advisor removes files that it has read, so this one exists only while no advisor runs.
            if let Some(old) = number.checked_sub(MOST_FILES) {
                let _ = fs::remove_file(path(old));
            }
        }
    }
}

/// Whether only this user may write a state directory. The error is the fact and the remedy.
fn private(directory: &Path) -> Result<(), String> {
    let found = fs::symlink_metadata(directory).map_err(|error| error.to_string())?;
    // SAFETY: the call cannot fail.
    let user = unsafe { libc::geteuid() };
    if !found.is_dir() {
        return Err("no directory; give BROADLEAF_ADVICE the directory itself".to_string());
    }
    if found.uid() != user {
        return Err(format!("it belongs to user {}; give BROADLEAF_ADVICE one of your own", found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(format!("others may use it (mode {:04o}); chmod 700 it", found.mode() & 0o7777));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    #[test]
    fn only_a_directory_of_ones_own_is_private() {
        let base = std::env::temp_dir().join(format!("broadleaf-mailbox-{}", std::process::id()));
        let own = base.join("own");
        fs::create_dir_all(&own).unwrap();
        let set = |mode| fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert_eq!(private(&own), Ok(()));
        for mode in [0o755, 0o770, 0o701] {
            set(mode);
            assert!(private(&own).unwrap_err().contains("chmod 700"), "{mode:o}");
        }
        set(0o700);
        symlink(&own, base.join("link")).unwrap();
        assert!(private(&base.join("link")).unwrap_err().contains("no directory"));
        assert!(private(&base.join("none")).is_err());
        let (victim, path) = (base.join("victim"), own.join("note.json"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &path).unwrap();
        replace(&path, b"{}").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        fs::remove_dir_all(&base).unwrap();
    }

    /// Planning takes longer than the mailbox sleeps, so a platform may come long before the first call.
    #[test]
    fn a_platform_is_written_before_any_call() {
        use std::time::Instant;
        let base = std::env::temp_dir().join(format!("broadleaf-described-{}", std::process::id()));
        for folder in ["platforms", "inbox"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::set_permissions(&base, fs::Permissions::from_mode(0o700)).unwrap();
        let mailbox = Mailbox::at(&base).unwrap();
        mailbox.describe("0123456789abcdef".into(), Arc::new(Placement::assumed(&[0, 1]).unwrap()));
        let path = base.join("platforms/0123456789abcdef.json");
        let began = Instant::now();
        while !path.exists() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(PERIOD);
        }
        assert!(path.exists());
        assert_eq!(fs::read_dir(base.join("inbox")).unwrap().count(), 0);
        fs::remove_dir_all(&base).unwrap();
    }
}
