//! Whole pushes between threads: every rank is a thread, and its target a separate folder.

use crate::index::BLOCK_BYTES;
use crate::push::push;
use serde_json::{json, Value};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{symlink, FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use threads::{Group, Job, Rank};

mod ahead;
mod bad_input;
mod threads;

const BLOCK: usize = BLOCK_BYTES as usize;

/// The result of a push.
struct Pushed {
    is_everywhere: bool,
    events: Vec<Value>,
    moved_bytes: u64,
}

impl Pushed {
    fn hosts(&self) -> &Vec<Value> {
        self.events.last().unwrap()["hosts"].as_array().unwrap()
    }

    fn fault(&self, rank: usize) -> &str {
        self.hosts()[rank]["fault"].as_str().unwrap_or("")
    }
}

/// A temporary folder for a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("broadleaf-push-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        for rank in 0..4 {
            fs::create_dir_all(path.join(rank.to_string())).unwrap();
        }
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents(bytes)).unwrap();
        path
    }

    fn push(&self, size: usize, source: &str) -> Pushed {
        self.push_as(size, source, &json!({}), 0)
    }

    /// Pushes to `{rank}/out` below this folder.
    fn push_as(&self, size: usize, source: &str, more: &Value, damaged: usize) -> Pushed {
        let mut settings = json!({
        "sources": [self.path(source)], "to": self.path("{rank}/out"), "verify": false, "keep_set_id": false,
               });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.push_while(size, &settings, Job { damaged: damaged.into(), ..Job::default() })
    }

    fn push_while(&self, size: usize, settings: &Value, job: Job) -> Pushed {
        let text = settings.to_string();
        job.groups.lock().unwrap().push(Group::new(vec![true; size]));
        let (job, text) = (&job, &text);
        let each = settings["ranks_a_host"].as_u64().unwrap_or(1) as usize;
        let run = move |rank: usize| {
            let ranks = Rank { job, rank, size, host: format!("host{}", rank / each) };
            let mut events = Vec::new();
            let settings = if rank == 0 { text } else { "" };
            (push(&ranks, settings, &mut |event| events.push(event)), events)
        };
        let mut ended: Vec<(bool, Vec<Value>)> = thread::scope(|scope| {
            let started: Vec<_> = (0..size).map(|rank| scope.spawn(move || run(rank))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (is_everywhere, events) = ended.swap_remove(0);
        assert!(ended.iter().all(|(same, silent)| *same == is_everywhere && silent.is_empty()));
        Pushed { is_everywhere, events, moved_bytes: job.moved.load(Ordering::Relaxed) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn contents(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..bytes).map(next).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|each| each.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_of_any_length_is_everywhere() {
    let scratch = Scratch::new("lengths");
    for bytes in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK + 17] {
        let source = scratch.write("source", bytes);
        fs::set_permissions(&source, Permissions::from_mode(0o640)).unwrap();
        for size in [1, 4] {
            let pushed = scratch.push(size, "source");
            assert!(pushed.is_everywhere, "{bytes} bytes: {:?}", pushed.events);
            let digest = blake3::hash(&contents(bytes)).to_hex().to_string();
            for (rank, host) in pushed.hosts().iter().enumerate() {
                let out = scratch.path(&format!("{rank}/out"));
                assert_eq!(fs::read(&out).unwrap(), contents(bytes));
                assert_eq!(host["digest"], digest, "{bytes} bytes");
                let (found, wanted) = (fs::metadata(&out).unwrap(), fs::metadata(&source).unwrap());
                assert_eq!((found.mode(), found.mtime_nsec()), (wanted.mode(), wanted.mtime_nsec()));
                assert_eq!(names(out.parent().unwrap()), ["out"]);
            }
        }
        (0..4).for_each(|rank| fs::remove_file(scratch.path(&format!("{rank}/out"))).unwrap());
    }
}

#[test]
fn a_second_push_moves_digests_only_and_a_changed_block_alone() {
    let scratch = Scratch::new("delta");
    let source = scratch.write("source", 6 * BLOCK + 5);
    assert!(scratch.push(3, "source").moved_bytes >= 2 * 6 * BLOCK_BYTES);
    let again = scratch.push(3, "source");
    assert!(again.is_everywhere);
    assert_eq!(again.moved_bytes, 0);

    let file = File::options().write(true).open(&source).unwrap();
    file.write_all_at(b"changed", 2 * BLOCK_BYTES + 100).unwrap();
    // Rank 2 lacks one block more than rank 1.
    let other = File::options().write(true).open(scratch.path("2/out")).unwrap();
    other.write_all_at(b"damaged", 100).unwrap();
    let changed = scratch.push(3, "source");
    assert!(changed.is_everywhere);
    assert!((3 * BLOCK_BYTES..4 * BLOCK_BYTES).contains(&changed.moved_bytes), "{}", changed.moved_bytes);
    let wanted = fs::read(&source).unwrap();
    (0..3).for_each(|rank| assert_eq!(fs::read(scratch.path(&format!("{rank}/out"))).unwrap(), wanted));
}

#[test]
fn what_an_interrupted_push_left_is_not_sent_again() {
    let scratch = Scratch::new("resume");
    scratch.write("source", 6 * BLOCK);
    // Four of six blocks are there, and the last differs from the source.
    let mut left_over = contents(4 * BLOCK);
    left_over.resize(6 * BLOCK, 7);
    for rank in 0..2 {
        fs::write(scratch.path(&format!("{rank}/.out.broadleaf")), &left_over).unwrap();
    }
    let pushed = scratch.push(2, "source");
    assert!(pushed.is_everywhere);
    assert!((2 * BLOCK_BYTES..3 * BLOCK_BYTES).contains(&pushed.moved_bytes), "{}", pushed.moved_bytes);
    assert_eq!(fs::read(scratch.path("1/out")).unwrap(), contents(6 * BLOCK));
    assert_eq!(names(&scratch.path("1")), ["out"]);
}

#[test]
fn a_block_that_arrives_damaged_is_sent_again() {
    let scratch = Scratch::new("damaged");
    scratch.write("source", 9 * BLOCK);
    let pushed = scratch.push_as(3, "source", &json!({}), 2);
    assert!(pushed.is_everywhere, "{:?}", pushed.events);
    assert_eq!(fs::read(scratch.path("1/out")).unwrap(), contents(9 * BLOCK));

    fs::write(scratch.path("source"), vec![1; BLOCK]).unwrap();
    let pushed = scratch.push_as(2, "source", &json!({}), 9);
    assert!(!pushed.is_everywhere);
    assert!(pushed.fault(1).starts_with("1 blocks arrived damaged"), "{}", pushed.fault(1));
    assert_eq!(pushed.fault(0), "");
    // The older version is still complete.
    assert_eq!(fs::read(scratch.path("1/out")).unwrap(), contents(9 * BLOCK));
}

#[test]
fn a_folder_keeps_modes_times_links_and_empty_folders() {
    let scratch = Scratch::new("folder");
    fs::create_dir_all(scratch.path("source/empty")).unwrap();
    fs::create_dir_all(scratch.path("source/deep/er")).unwrap();
    scratch.write("source/one", 10);
    scratch.write("source/deep/er/two", BLOCK + 3);
    scratch.write("source/deep/nothing", 0);
    fs::hard_link(scratch.path("source/one"), scratch.path("source/deep/same")).unwrap();
    symlink("../one", scratch.path("source/deep/link")).unwrap();
    fs::set_permissions(scratch.path("source/one"), Permissions::from_mode(0o6755)).unwrap();
    fs::set_permissions(scratch.path("source/deep/er"), Permissions::from_mode(0o555)).unwrap();
    for _ in 0..2 {
        let pushed = scratch.push(3, "source");
        assert!(pushed.is_everywhere, "{:?}", pushed.events);
        for rank in 0..3 {
            let out = scratch.path(&format!("{rank}/out"));
            assert_eq!(names(&out), ["deep", "empty", "one"]);
            assert_eq!(names(&out.join("deep")), ["er", "link", "nothing", "same"]);
            assert_eq!(fs::read(out.join("deep/er/two")).unwrap(), contents(BLOCK + 3));
            assert_eq!(fs::read_link(out.join("deep/link")).unwrap(), Path::new("../one"));
            let of = |path: &str| fs::symlink_metadata(out.join(path)).unwrap();
            assert_eq!(of("one").ino(), of("deep/same").ino());
            assert_eq!((of("one").mode() & 0o7777, of("deep/er").mode() & 0o7777), (0o755, 0o555));
            let wanted = fs::symlink_metadata(scratch.path("source/deep")).unwrap();
            assert_eq!((of("deep").mtime(), of("deep").mtime_nsec()), (wanted.mtime(), wanted.mtime_nsec()));
        }
    }
    let kept = scratch.push_as(2, "source", &json!({"keep_set_id": true}), 0);
    assert!(kept.is_everywhere);
    assert_eq!(fs::metadata(scratch.path("1/out/one")).unwrap().mode() & 0o7777, 0o6755);
}

#[test]
fn holes_stay_holes() {
    let scratch = Scratch::new("sparse");
    let bytes = 40 * BLOCK_BYTES;
    let file = File::create(scratch.path("source")).unwrap();
    file.set_len(bytes).unwrap();
    file.write_all_at(b"begin", 5 * BLOCK_BYTES + 100_000).unwrap();
    file.write_all_at(b"end", bytes - 3).unwrap();
    if file.metadata().unwrap().blocks() * 512 >= bytes {
        // This file system has no holes.
        return;
    }
    for _ in 0..2 {
        let pushed = scratch.push(2, "source");
        assert!(pushed.is_everywhere, "{:?}", pushed.events);
        assert!(pushed.moved_bytes < 3 * BLOCK_BYTES);
        let out = fs::metadata(scratch.path("1/out")).unwrap();
        assert_eq!(out.len(), bytes);
        assert!(out.blocks() * 512 < BLOCK_BYTES, "{} bytes on disk", out.blocks() * 512);
        assert!(fs::read(scratch.path("1/out")).unwrap() == fs::read(scratch.path("source")).unwrap());
        // Next, the unfinished copy has data where the source has a hole.
        fs::remove_file(scratch.path("1/out")).unwrap();
        fs::write(scratch.path("1/.out.broadleaf"), contents(BLOCK)).unwrap();
    }
}

#[test]
fn a_host_that_cannot_write_costs_only_itself() {
    let scratch = Scratch::new("faults");
    scratch.write("source", 2 * BLOCK);
    fs::create_dir(scratch.path("1/out")).unwrap();
    fs::remove_dir(scratch.path("2")).unwrap();
    let pushed = scratch.push(4, "source");
    assert!(!pushed.is_everywhere);
    let out = |rank: usize| scratch.path(&format!("{rank}/out")).display().to_string();
    assert_eq!(pushed.fault(1), format!("{}: it is a folder; name a file", out(1)));
    assert_eq!(pushed.fault(2), format!("{}: No such file or directory; make its folder first", out(2)));
    for rank in [0, 3] {
        assert_eq!(pushed.fault(rank), "");
        assert_eq!(fs::read(out(rank)).unwrap(), contents(2 * BLOCK));
    }
    assert_eq!(pushed.hosts()[1]["digest"], Value::Null);
}

#[test]
fn a_link_in_the_target_leads_nowhere() {
    let scratch = Scratch::new("links");
    fs::create_dir_all(scratch.path("source/deep")).unwrap();
    scratch.write("source/deep/file", 10);
    fs::create_dir_all(scratch.path("1/out")).unwrap();
    fs::create_dir(scratch.path("elsewhere")).unwrap();
    symlink(scratch.path("elsewhere"), scratch.path("1/out/deep")).unwrap();
    let pushed = scratch.push(2, "source");
    assert!(pushed.fault(1).contains("1/out/deep: "), "{}", pushed.fault(1));
    assert!(names(&scratch.path("elsewhere")).is_empty());

    // A link in place of a file is replaced, not followed.
    fs::remove_file(scratch.path("1/out/deep")).unwrap();
    fs::create_dir(scratch.path("1/out/deep")).unwrap();
    fs::write(scratch.path("elsewhere/file"), "own").unwrap();
    symlink(scratch.path("elsewhere/file"), scratch.path("1/out/deep/file")).unwrap();
    assert!(scratch.push(2, "source").is_everywhere);
    assert_eq!(fs::read(scratch.path("elsewhere/file")).unwrap(), b"own");
    assert_eq!(fs::read(scratch.path("1/out/deep/file")).unwrap(), contents(10));
}

#[test]
fn verifying_reads_what_was_written() {
    let scratch = Scratch::new("verify");
    scratch.write("source", BLOCK + 1);
    assert!(scratch.push_as(2, "source", &json!({"verify": true}), 0).is_everywhere);
}

#[test]
fn ranks_of_one_host_and_target_write_once() {
    let scratch = Scratch::new("once");
    scratch.write("source", 2 * BLOCK);
    (0..2).for_each(|host| fs::create_dir(scratch.path(&format!("host{host}"))).unwrap());
    let more = json!({"to": scratch.path("{host}").join("out"), "ranks_a_host": 2});
    let pushed = scratch.push_as(4, "source", &more, 0);
    assert!(pushed.is_everywhere, "{:?}", pushed.events);
    assert_eq!(pushed.hosts().iter().map(|host| &host["rank"]).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(fs::read(scratch.path("host1/out")).unwrap(), contents(2 * BLOCK));
}

#[test]
fn the_source_is_not_its_own_target() {
    let scratch = Scratch::new("itself");
    let [one, two] = ["0/one", "0/two"].map(|name| scratch.write(name, BLOCK + 1));
    fs::set_permissions(&one, Permissions::from_mode(0o4755)).unwrap();
    let digest = |pushed: &Pushed| pushed.hosts()[0]["digest"].as_str().unwrap().to_owned();
    for ranks in [1, 2] {
        let alone = scratch.push_as(ranks, "0/one", &json!({"to": scratch.path("{rank}/one")}), 0);
        assert!(alone.is_everywhere, "{:?}", alone.events);
        assert_eq!(digest(&alone), blake3::hash(&contents(BLOCK + 1)).to_hex().to_string());
    }
    let both = json!({"sources": [one, two], "to": scratch.path("{rank}")});
    let together: Vec<Pushed> =
        [1, 2].into_iter().map(|ranks| scratch.push_as(ranks, "", &both, 0)).collect();
    assert_eq!(digest(&together[0]), digest(&together[1]));
    assert_eq!(fs::metadata(one).unwrap().mode() & 0o7777, 0o4755);
    assert_eq!(names(&scratch.path("1")), ["one", "two"]);
}

#[test]
fn several_sources_go_into_one_folder() {
    let scratch = Scratch::new("several");
    fs::create_dir(scratch.path("folder")).unwrap();
    symlink("one", scratch.path("folder/link")).unwrap();
    scratch.write("folder/one", 10);
    scratch.write("file", 3 * BLOCK + 1);
    fs::create_dir(scratch.path("1/out")).unwrap();
    fs::set_permissions(scratch.path("1/out"), Permissions::from_mode(0o711)).unwrap();
    scratch.write("1/out/own", 7);
    let settings = |sources: [&str; 2]| {
        json!({
            "sources": sources.map(|name| scratch.path(name)), "to": scratch.path("{rank}/out"), "verify": true,
            "keep_set_id": false,
        })
    };
    for _ in 0..2 {
        let pushed = scratch.push_while(3, &settings(["folder", "file"]), Job::default());
        assert!(pushed.is_everywhere, "{:?}", pushed.events);
        for rank in 0..3 {
            let out = scratch.path(&format!("{rank}/out"));
            assert_eq!(fs::read(out.join("file")).unwrap(), contents(3 * BLOCK + 1));
            assert_eq!(fs::read(out.join("folder/link")).unwrap(), contents(10));
        }
    }
    // An existing folder keeps its mode and its other entries.
    assert_eq!(names(&scratch.path("1/out")), ["file", "folder", "own"]);
    assert_eq!(fs::metadata(scratch.path("1/out")).unwrap().mode() & 0o7777, 0o711);
    assert_eq!(fs::metadata(scratch.path("2/out")).unwrap().mode() & 0o7777, 0o755);

    scratch.write("1/file", 1);
    let pushed = scratch.push_while(2, &settings(["file", "1/file"]), Job::default());
    let message = pushed.events[0]["message"].as_str().unwrap();
    assert!(message.ends_with("1/file: another source has the same name; rename one of them"), "{message}");
}

#[test]
fn progress_names_the_slowest_host_and_ends_at_all() {
    let scratch = Scratch::new("progress");
    scratch.write("source", 12 * BLOCK);
    let settings = json!({
        "sources": [scratch.path("source")], "to": scratch.path("{rank}/out"), "verify": false, "keep_set_id": false,
        "limit_bytes_per_s": 100e6,
    });
    let pushed = scratch.push_while(3, &settings, Job::default());
    let lines: Vec<&Value> = pushed.events.iter().filter(|event| event["event"] == "progress").collect();
    assert!(lines.len() > 1, "{:?}", pushed.events);
    let done: Vec<u64> = lines.iter().map(|line| line["done_bytes"].as_u64().unwrap()).collect();
    assert!(done.is_sorted() && *done.last().unwrap() <= lines[0]["total_bytes"].as_u64().unwrap());
    assert!(lines.iter().all(|line| line["slowest"].as_str().unwrap().starts_with("host")));
    let damaged = scratch.push_as(2, "source", &json!({}), 1);
    assert_eq!(damaged.hosts()[1]["damaged_blocks"], 0, "nothing was sent");
    fs::remove_file(scratch.path("1/out")).unwrap();
    let damaged = scratch.push_as(2, "source", &json!({}), 1);
    assert!(damaged.is_everywhere);
    assert_eq!(damaged.hosts()[1]["damaged_blocks"], 1);
}
