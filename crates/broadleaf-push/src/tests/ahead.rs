//! How far the root may be ahead of the hosts.

use super::threads::{Job, Rank};
use crate::progress::{word, Progress};
use crate::ranks::Ranks;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn the_root_is_at_most_one_window_ahead_of_a_host() {
    const WINDOW: usize = 100;
    let job = Job::default();
    let of = |rank| Rank { job: &job, rank, size: 3, host: String::new() };
    let (root, slow) = (of(0), of(1));
    let (hosts, mut say) = (vec![String::new(); 3], |_| {});
    let mut progress = Progress {
        ranks: &root,
        needed: vec![400; 3],
        received: vec![0; 3],
        sent: vec![0; 3],
        latest: vec![0; 3],
        hosts: &hosts,
        working: 2,
        started: Instant::now(),
        said_s: 0.0,
        say: &mut say,
    };
    // The last rank takes part in no window, and reports nothing.
    let takes_part = |rank| rank == 1;
    progress.admit(WINDOW, takes_part);
    progress.admit(WINDOW, takes_part);
    thread::scope(|scope| {
        scope.spawn(|| {
            slow.tell(word(0, false));
            thread::sleep(Duration::from_millis(100));
            slow.tell(word(WINDOW as u64, false));
        });
        progress.admit(WINDOW, takes_part);
    });
    assert_eq!(progress.received, [200, 100, 0]);
}
