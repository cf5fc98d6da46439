use super::*;
use crate::io::fs::faults::{before_nth, with, InjectedFault};
use crate::io::fs::FsCall;
use crate::locks::held_lock_files::release_all;
use std::sync::{Arc, Mutex};

/// The content of a process's lock file.
fn says(pid: &str) -> String {
    format!("pi-session-native {pid}")
}

/// Regression: a thread that had joined a lock counted as a holder for as long as other threads had it.
#[test]
fn a_thread_that_joined_a_lock_does_not_keep_it_after_that() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let (_shared, _) = SessionLockGuard::share(&session).expect("taken");
    let join = || drop(SessionLockGuard::join(&session).expect("joined"));
    std::thread::scope(|scope| scope.spawn(join).join().expect("ended"));
    release_all();
    assert_eq!(held(&session).expect("asked"), None);
}

// Regression: a process could not change the file of a session that it had open under
// `PI_SESSION_NATIVE_LOCK=exclusive`.
#[test]
fn who_joins_a_lock_shares_one_that_is_shared_and_else_has_it_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let (shared, _) = SessionLockGuard::share(&session).expect("taken");
    drop(SessionLockGuard::join(&session).expect("joined"));
    assert!(shared.is_in_place().expect("looked"));
    drop(shared);
    let alone = SessionLockGuard::join(&session).expect("taken");
    SessionLockGuard::share(&session).expect_err("it is held");
    SessionLockGuard::join(&session).expect_err("it is held");
    drop(alone);
    assert_eq!(held(&session).expect("asked"), None);
}

#[test]
fn a_lock_file_without_a_holder_means_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    std::fs::write(path_of(&session), says("1")).expect("written");
    drop(SessionLockGuard::take(&session).expect("taken"));
    std::fs::write(path_of(&session), says("1")).expect("written");
    assert_eq!(held(&session).expect("asked"), None);
    assert!(!path_of(&session).exists());
}

#[test]
fn a_lock_file_that_was_a_link_to_a_users_file_is_refused_and_the_file_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let lock = path_of(&session);
    let victim = dir.path().join("victim");
    for text in ["precious", "", "17", &says("17"), &"9".repeat(100)] {
        std::fs::write(&victim, text).expect("written");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&victim, &lock).expect("linked");
        #[cfg(not(unix))]
        std::fs::write(&lock, "precious").expect("written");
        let error = SessionLockGuard::take(&session).expect_err("refused").to_string();
        assert!(error.contains("not a lock file") && error.contains(lock.to_str().expect("text")), "{error}");
        assert_eq!(held(&session).expect("asked"), None);
        let _ = remove_stale(&lock);
        assert!(std::fs::symlink_metadata(&lock).is_ok(), "the link was removed");
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), text);
        std::fs::remove_file(&lock).expect("removed");
    }
}

#[test]
fn whatever_else_has_the_name_of_a_lock_file_stays_and_locks_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let lock = path_of(&session);
    let marked = ["", "x", "1\n", "0x1", "-1", "12 repairs", " repair", "99999999999"].map(says);
    // For some tools the existence of the file is the lock. They leave it empty, or write their process into it.
    let plain =
        ["precious", "", "17", "17 repair", "0x1", "pi-session-native", "PI-SESSION-NATIVE 1"].map(str::to_owned);
    for text in plain.iter().chain(&marked) {
        std::fs::write(&lock, text).expect("written");
        SessionLockGuard::take(&session).expect_err("refused");
        assert!(!wait_until_free(&session).expect("asked"));
        assert_eq!(held(&session).expect("asked"), None, "{text:?}");
        let _ = remove_stale(&lock);
        assert_eq!(std::fs::read_to_string(&lock).expect("read"), *text);
    }
    std::fs::remove_file(&lock).expect("removed");
    std::fs::create_dir(&lock).expect("made");
    SessionLockGuard::take(&session).expect_err("refused");
    assert_eq!(held(&session).expect("asked"), None);
    assert!(lock.is_dir());
    std::fs::remove_dir(&lock).expect("removed");
}

/// Regression: a lock had no effect while its file had a second name. A snapshot that links files creates a second
/// name.
#[test]
fn a_lock_held_while_its_file_has_a_second_name_keeps_others_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let mine = SessionLockGuard::take(&session).expect("taken");
    std::fs::hard_link(path_of(&session), dir.path().join("snapshot")).expect("linked");
    assert_eq!(held(&session).expect("asked"), Some(Some(std::process::id())));
    SessionLockGuard::take(&session).expect_err("it is held");
    drop(mine);
    assert_eq!(held(&session).expect("asked"), None);
    assert!(!path_of(&session).exists() && dir.path().join("snapshot").exists());
}

/// A kill between the two calls that create it left a file that no process ever removed.
#[test]
#[cfg(unix)]
fn a_lock_file_says_whose_it_is_from_the_moment_it_has_its_name() {
    use crate::io::fs::faults::before_next;
    use crate::io::fs::FsCall;
    for moment in [FsCall::Open, FsCall::Write, FsCall::Lock, FsCall::Attributes, FsCall::Link, FsCall::Remove] {
        let dir = crate::testing::faults::tests::scratch();
        let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        std::fs::write(&session, "").expect("written");
        let lock = path_of(&session);
        let seen = Arc::new(Mutex::new(None));
        let (found, path) = (seen.clone(), lock.clone());
        before_next(moment, move || {
            let text = std::fs::read_to_string(&path).ok();
            let other = open::lock_file(&path, true).ok();
            let free = other.is_some_and(|file| fs::try_lock(&file).expect("asked"));
            *found.lock().expect("no panic") = Some((text, free));
        });
        let mine = SessionLockGuard::take(&session).expect("taken");
        let (text, free) = seen.lock().expect("no panic").take().expect("it came");
        let whole = says(&std::process::id().to_string());
        assert!(text.is_none_or(|text| text == whole) && !free, "{moment:?}");
        assert_eq!(std::fs::read_to_string(&lock).expect("read"), whole);
        drop(mine);
    }
}

#[test]
#[cfg(unix)]
fn whoever_may_read_a_session_may_see_that_it_is_locked() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    for (mode, expected) in [(0o600, 0o600), (0o664, 0o664), (0o640, 0o640)] {
        std::fs::write(&session, "").expect("written");
        std::fs::set_permissions(&session, std::fs::Permissions::from_mode(mode)).expect("set");
        let _mine = SessionLockGuard::take(&session).expect("taken");
        let meta = std::fs::metadata(path_of(&session)).expect("there");
        assert_eq!(meta.permissions().mode() & 0o777, expected, "{mode:o}");
    }
}

/// Regression: a lock file that may not be read stopped every append: the exclusive lock of another user, a lock on a
/// disk that is now read-only, or a lock whose name is impossible.
#[test]
#[cfg(unix)]
fn a_lock_file_that_may_not_be_looked_at_stops_no_append() {
    let dir = crate::testing::faults::tests::scratch();
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let lock = path_of(&session);
    std::fs::write(&lock, says("17")).expect("written");
    let (_, made) = with(usize::MAX, InjectedFault::Short, || wait_until_free(&session));
    std::fs::write(&lock, says("17")).expect("written");
    let open = made.calls.iter().position(|call| *call == fs::FsCall::Open).expect("it opens");
    for code in [libc::EACCES, libc::EPERM, libc::EROFS] {
        let (asked, _) = with(open, InjectedFault::Always(code), || wait_until_free(&session));
        assert!(!asked.expect("asked"));
        let (taken, _) = with(open, InjectedFault::Always(code), || SessionLockGuard::take(&session).map(drop));
        taken.expect_err("it cannot be taken");
        let (held, _) = with(open, InjectedFault::Always(code), || held(&session));
        held.expect_err("nobody can tell");
    }
    let long = dir.path().join("a".repeat(300));
    assert!(!wait_until_free(long.to_str().expect("text")).expect("asked"));
}

#[test]
#[cfg(unix)]
fn a_lock_that_could_not_be_written_leaves_no_file() {
    let dir = crate::testing::faults::tests::scratch();
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    // The first lock in a directory sweeps it.
    drop(SessionLockGuard::take(&session).expect("taken"));
    let (result, made) = with(usize::MAX, InjectedFault::Short, || SessionLockGuard::take(&session).map(drop));
    result.expect("taken");
    let write = made.calls.iter().position(|call| *call == fs::FsCall::Write).expect("it writes");
    for fault in [InjectedFault::Once(libc::ENOSPC), InjectedFault::ShortThen(libc::ENOSPC)] {
        let (result, _) = with(write, fault, || SessionLockGuard::take(&session).map(drop));
        assert!(result.expect_err("no space").to_string().contains("ENOSPC"));
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0, "{fault:?}");
    }
}

#[test]
fn locks_of_a_thread_that_ends_are_released() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let lock = SessionLockGuard::take(&session).expect("taken");
    std::thread::spawn(release_all).join().expect("ended");
    assert!(lock.is_in_place().expect("looked"), "another thread's");
    release_all();
    assert!(!lock.is_in_place().expect("looked"));
    assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0);
    let next = SessionLockGuard::take(&session).expect("taken");
    drop(lock);
    assert!(next.is_in_place().expect("looked"));
}

#[test]
fn a_lock_that_is_held_for_a_moment_is_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    assert!(!wait_until_free(&session).expect("asked"));
    let mine = SessionLockGuard::take(&session).expect("taken");
    let error = wait_until_free(&session).expect_err("it is held").to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    before_nth(TRIES / 2, FsCall::Lock, move || drop(mine));
    assert!(wait_until_free(&session).expect("asked"));
    let mine = SessionLockGuard::take(&session).expect("taken");
    before_nth(TRIES / 2, FsCall::Lock, move || drop(mine));
    SessionLockGuard::take(&session).expect("taken after it");
}

#[test]
fn many_threads_never_hold_the_lock_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let holders = std::sync::atomic::AtomicUsize::new(0);
    let taken = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    if let Ok(lock) = SessionLockGuard::take(&session) {
                        assert_eq!(holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        taken.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        drop(lock);
                    }
                    let _ = held(&session);
                }
            });
        }
    });
    assert!(taken.into_inner() > 200);
}
