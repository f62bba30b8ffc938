//! Impossible sources, targets and owners: one line each, and no partial file with the name.

use super::threads::Job;
use super::{contents, names, Scratch, BLOCK};
use crate::folder::NO_FILE;
use crate::index::BLOCK_BYTES;
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::fs::{symlink, FileExt, MetadataExt};
use std::process::Command;
use std::sync::Mutex;

#[test]
fn a_bad_source_is_one_line_and_nothing_is_sent() {
    let scratch = Scratch::new("sources");
    fs::create_dir(scratch.path("source")).unwrap();
    symlink("../../away", scratch.path("source/link")).unwrap();
    for (source, wanted) in [("none", "no such file or folder; name one"), ("source", "the link leads out")] {
        let pushed = scratch.push(2, source);
        assert!(!pushed.is_everywhere);
        let message = pushed.events[0]["message"].as_str().unwrap();
        assert!(message.contains(wanted), "{message}");
        assert!(names(&scratch.path("1")).is_empty());
    }
}

#[test]
fn unfinished_copies_in_the_source_are_refused() {
    let scratch = Scratch::new("drafts");
    fs::create_dir(scratch.path("source")).unwrap();
    scratch.write("source/x", 10);
    // Without the refusal it would become the contents of x.
    scratch.write("source/.x.broadleaf", BLOCK + 1);
    let settings = json!({
        "sources": [scratch.path("source/x"), scratch.path("source/.x.broadleaf")], "to": scratch.path("{rank}/out"),
        "verify": false, "keep_set_id": false,
    });
    for pushed in [scratch.push(2, "source"), scratch.push_while(2, &settings, Job::default())] {
        let message = pushed.events[0]["message"].as_str().unwrap();
        assert!(message.contains("source/.x.broadleaf: an unfinished copy of a push"), "{message}");
    }
    // By itself it may be sent under another name.
    assert!(scratch.push(2, "source/.x.broadleaf").is_everywhere);
}

#[test]
fn devices_pipes_and_links_to_folders_are_not_replaced() {
    let scratch = Scratch::new("devices");
    scratch.write("source", 10);
    symlink("/dev/null", scratch.path("0/out")).unwrap();
    symlink("..", scratch.path("1/out")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(scratch.path("2/out")).unwrap();
    symlink("nowhere", scratch.path("3/out")).unwrap();
    let pushed = scratch.push(4, "source");
    for (rank, fault) in [(0, NO_FILE), (1, "it is a folder; name a file"), (2, NO_FILE)] {
        assert!(pushed.fault(rank).ends_with(fault), "{}", pushed.fault(rank));
        let found = fs::symlink_metadata(scratch.path(&format!("{rank}/out"))).unwrap();
        assert!(!found.is_file());
    }
    assert_eq!(pushed.fault(3), "");
    assert_eq!(fs::read(scratch.path("3/out")).unwrap(), contents(10));

    fs::create_dir(scratch.path("folder")).unwrap();
    scratch.write("folder/pipe", 10);
    fs::remove_file(scratch.path("0/out")).unwrap();
    fs::create_dir(scratch.path("0/out")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(scratch.path("0/out/pipe")).unwrap();
    fs::remove_file(scratch.path("1/out")).unwrap();
    fs::create_dir(scratch.path("1/out")).unwrap();
    assert!(Command::new("mkfifo").arg(scratch.path("1/out/pipe")).status().unwrap().success());
    let pushed = scratch.push(2, "folder");
    for rank in [0, 1] {
        assert!(pushed.fault(rank).ends_with(NO_FILE), "{}", pushed.fault(rank));
    }
}

#[test]
fn an_unfinished_copy_that_is_removed_meanwhile_is_not_replaced_by_zeros() {
    let scratch = Scratch::new("removed");
    fs::create_dir(scratch.path("source")).unwrap();
    scratch.write("source/a", BLOCK + 1);
    scratch.write("source/b", BLOCK + 1);
    fs::create_dir(scratch.path("1/out")).unwrap();
    let copy = scratch.write("1/out/.a.broadleaf", BLOCK + 1);
    let settings = json!({
        "sources": [scratch.path("source")], "to": scratch.path("{rank}/out"), "verify": false, "keep_set_id": false,
    });
    let remove = move || fs::remove_file(copy).unwrap();
    let job = Job { meanwhile: Mutex::new(Some(Box::new(remove))), ..Job::default() };
    let pushed = scratch.push_while(2, &settings, job);
    assert!(
        pushed.fault(1).ends_with("a: its unfinished copy was removed; push again"),
        "{}",
        pushed.fault(1)
    );
    assert_eq!(names(&scratch.path("1/out")), ["b"]);
    assert!(scratch.push(2, "source").is_everywhere);

    let single = json!({
        "sources": [scratch.path("source/a")], "to": scratch.path("{rank}/single"), "verify": false,
        "keep_set_id": false,
    });
    let copy = scratch.path("1/.single.broadleaf");
    let remove = move || fs::remove_file(copy).unwrap();
    let job = Job { meanwhile: Mutex::new(Some(Box::new(remove))), ..Job::default() };
    let pushed = scratch.push_while(2, &single, job);
    assert!(pushed.fault(1).ends_with("its unfinished copy was removed; push again"), "{}", pushed.fault(1));
    assert!(names(&scratch.path("1")).iter().all(|name| name == "out"));
}

#[test]
fn a_second_push_to_the_same_place_waits_for_nobody() {
    let scratch = Scratch::new("twice");
    scratch.write("source", 10);
    let other = File::create(scratch.path("1/.out.broadleaf")).unwrap();
    assert!(crate::folder::lock(std::os::fd::AsRawFd::as_raw_fd(&other)));
    let pushed = scratch.push(2, "source");
    assert!(pushed.fault(1).ends_with("another push writes there; wait for it"), "{}", pushed.fault(1));
    assert!(!scratch.path("1/out").exists());
}

#[test]
fn a_source_that_shrinks_or_changes_on_the_way_does_not_appear() {
    let scratch = Scratch::new("changing");
    fs::create_dir(scratch.path("source")).unwrap();
    let settings = json!({
        "sources": [scratch.path("source")], "to": scratch.path("{rank}/out"), "verify": false, "keep_set_id": false,
    });
    for (shrinks, wanted) in [(true, "source/b: it changed"), (false, "source/b: it changed")] {
        scratch.write("source/a", 10);
        let file = scratch.write("source/b", 9 * BLOCK);
        scratch.write("source/c", 10);
        let change = move || {
            let file = File::options().write(true).open(file).unwrap();
            if shrinks {
                file.set_len(8 * BLOCK_BYTES + 1).unwrap();
            } else {
                file.write_all_at(b"other", 8 * BLOCK_BYTES).unwrap();
            }
        };
        let job = Job { meanwhile: Mutex::new(Some(Box::new(change))), ..Job::default() };
        let pushed = scratch.push_while(2, &settings, job);
        for rank in 0..2 {
            assert!(pushed.fault(rank).contains(wanted), "{}", pushed.fault(rank));
            assert_eq!(names(&scratch.path(&format!("{rank}/out"))), ["a", "c"]);
        }
    }
}

#[test]
fn owners_are_given_or_refused() {
    let scratch = Scratch::new("owners");
    scratch.write("source", 10);
    let mine = fs::metadata(scratch.path("source")).unwrap().uid();
    let pushed = scratch.push_as(2, "source", &json!({"user": mine + 4321, "group": 54321}), 0);
    if mine == 0 {
        assert!(pushed.is_everywhere, "{:?}", pushed.events);
        let found = fs::metadata(scratch.path("1/out")).unwrap();
        assert_eq!((found.uid(), found.gid()), (4321, 54321));
    } else {
        assert!(pushed.fault(1).ends_with("push as a user who may write there"), "{}", pushed.fault(1));
        assert!(!scratch.path("1/out").exists());
    }
}

#[test]
fn a_place_where_nobody_may_write_is_a_fault_of_that_host() {
    let scratch = Scratch::new("refused");
    scratch.write("source", 10);
    fs::remove_dir(scratch.path("1")).unwrap();
    // The kernel makes no files there, even for root.
    symlink("/sys/kernel", scratch.path("1")).unwrap();
    let pushed = scratch.push(3, "source");
    let refused = ["push as a user who may write there", "name another place"];
    assert!(refused.iter().any(|remedy| pushed.fault(1).ends_with(remedy)), "{}", pushed.fault(1));
    assert_eq!([pushed.fault(0), pushed.fault(2)], ["", ""]);
    assert_eq!(fs::read(scratch.path("2/out")).unwrap(), contents(10));
}
