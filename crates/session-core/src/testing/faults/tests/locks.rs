//! Locks and directories on a disk that fails.

use super::files::{in_turn, OLD};
use super::*;
use crate::io::fs::faults::without_faults;
use crate::io::fs::FsCall;

#[test]
fn a_lock_that_fails_is_not_held_and_leaves_nothing() {
    for left in [None, Some("pi-session-native 4711")] {
        let cases = in_turn(
            "lock",
            |dir| {
                let path = at(dir, "s.jsonl");
                if let Some(text) = left {
                    fs::write(format!("{path}.lock"), text).expect("written");
                }
                let lock = crate::locks::lock_file::SessionLockGuard::take(&path)?;
                // If a call returned that it has the lock, it has the lock.
                let me = Some(Some(std::process::id()));
                without_faults(|| assert_eq!(crate::locks::lock_file::held(&path).expect("asked"), me));
                drop(lock);
                Ok(())
            },
            |dir, _, what| {
                let lock = crate::locks::lock_file::SessionLockGuard::take(&at(dir, "s.jsonl"));
                lock.unwrap_or_else(|error| panic!("{what}: the next try failed: {error}"));
            },
        );
        println!("{cases} faults");
        assert!(cases > 50, "{cases}");
    }
}

#[test]
fn an_exclusive_open_that_fails_is_done_by_the_next() {
    let exclusive = SessionFileOptions { lock: Lock::Exclusive, ..FSYNC };
    let cases = in_turn(
        "exclusive open",
        |dir| {
            let path = at(dir, "s.jsonl");
            fs::write(&path, OLD).expect("written");
            append(&mut Session::open(&path, Persistence::File, exclusive)?)
        },
        |dir, result, what| {
            let mut session = opened(&at(dir, "s.jsonl"), exclusive);
            // If the disk also refuses the removal, the lock file stays.
            let gives_up = what.contains("Always") || what.contains("ShortThen");
            let most = 1 + usize::from(result.is_ok() || gives_up);
            assert!((1 + usize::from(result.is_ok())..=most).contains(&session.tree().len()), "{what}");
            append(&mut session).unwrap_or_else(|error| panic!("{what}: {error}"));
        },
    );
    println!("{cases} faults");
    assert!(cases > 200, "{cases}");
}

/// Regression: the parents of new directories were never synced, so the first entry in a new directory could be lost in
/// a power failure.
#[test]
fn new_directories_are_on_disk_with_their_names_or_made_again() {
    let make = |dir: &Path| {
        fs::create_dir_all(dir.join("a")).expect("made");
        crate::io::dirs::make_dir(&at(dir, "a/b/c/d"), Durability::Fsync)
    };
    let syncs = |dir: &Path| {
        let (result, made) = with(usize::MAX, InjectedFault::Short, || make(dir));
        result.expect("made");
        made.calls.iter().filter(|call| **call == FsCall::Sync).count()
    };
    let dir = scratch();
    assert_eq!((syncs(dir.path()), syncs(dir.path())), (3, 0));
    let cases = in_turn("directories", make, |dir, result, what| match result {
        Ok(()) => assert!(dir.join("a/b/c/d").is_dir(), "{what}"),
        Err(_) => assert_eq!(syncs(dir), 3, "{what}: the next try syncs no name"),
    });
    assert!(cases > 50, "{cases}");
}
