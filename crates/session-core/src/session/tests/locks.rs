//! Sessions whose file another session has locked.

use super::*;
use crate::base::error::ErrorCode;
use crate::locks::lock_file::SessionLockGuard;

/// Regression: an append failed while another process repaired the file. The repair has the lock while it replaces the
/// session's file.
#[test]
fn an_append_waits_while_another_process_repairs_the_file() {
    let world = World::with(&["a"]);
    world.add("torn\n");
    let mut session = opened(&world.path);
    let repair = SessionLockGuard::take(&world.path).expect("taken");
    let (path, repaired) = (world.path.clone(), world.dir.path().join("repaired"));
    before_nth(100, FsCall::Lock, move || {
        fs::write(&repaired, HEADER.to_owned() + &entry("a")).expect("written");
        fs::rename(&repaired, &path).expect("renamed");
        drop(repair);
    });
    let mine = append(&mut session);
    assert_eq!(ids(&session), ["a", &mine]);
    expect_whole(&session, &world);
    assert!(!world.text().contains("torn"), "it was written to the file that was replaced: {}", world.text());
}

#[test]
fn an_append_that_waited_for_a_lock_in_vain_changes_nothing() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let repair = SessionLockGuard::take(&world.path).expect("taken");
    let text = world.text();
    let error = append_as(&mut session, None).expect_err("it is locked").to_string();
    assert!(error.contains(&format!("locked by process {}", std::process::id())), "{error}");
    assert_eq!((ids(&session), world.text()), (vec!["a".to_owned()], text));
    drop(repair);
    let mine = append(&mut session);
    assert_eq!(ids(&session), ["a", &mine]);
    expect_whole(&session, &world);
}

/// Regression: a process could not repair a session that it had open with a lock that its sessions share.
#[test]
fn a_repair_shares_the_lock_of_its_process() {
    let world = World::with(&["a"]);
    let shared = SessionFileOptions { lock: Lock::ExclusiveProcess, ..SessionFileOptions::default() };
    let mut session = Session::open(&world.path, Persistence::File, shared).expect("opened");
    world.add("damaged\n");
    crate::rewrite::repair::repair(&world.path, 0.0).expect("repaired");
    let mine = append(&mut session);
    assert_eq!(ids(&session), ["a", &mine]);
    expect_whole(&session, &world);
}

/// Regression: its file stayed, and the retry was refused because of it.
#[test]
#[cfg(unix)]
fn a_fork_that_cannot_be_locked_or_read_leaves_its_name_free() {
    use crate::format::header::NewHeader;
    use crate::io::fs::faults::{with, InjectedFault};
    use crate::session::fork::ForkSource;
    let world = World::with(&["a"]);
    let target = world.dir.path().join("f.jsonl");
    let lock = world.dir.path().join("f.jsonl.lock");
    let exclusive = SessionFileOptions { lock: Lock::Exclusive, ..SessionFileOptions::default() };
    let header = NewHeader { id: "f", cwd: "/c", parent: None, time: 0.0 };
    let source = ForkSource::open(&world.path).expect("opened");
    fs::write(&lock, "another tool's").expect("written");
    let error = source.write_to(&target, &header, exclusive).expect_err("it cannot be locked");
    assert_eq!((error.code(), target.exists()), (ErrorCode::SessionLocked, false));
    fs::remove_file(&lock).expect("removed");
    let mut failed = 0;
    for at in 0.. {
        let fault = InjectedFault::Once(libc::EIO);
        let (fork, made) = with(at, fault, || source.write_to(&target, &header, exclusive).map(drop));
        assert_eq!(target.exists(), fork.is_ok(), "call {at}: {fork:?}");
        if !made.hit {
            break;
        }
        failed += u32::from(fork.is_err());
        let _ = fs::remove_file(&target);
    }
    assert!(failed > 10, "{failed} forks failed");
}
