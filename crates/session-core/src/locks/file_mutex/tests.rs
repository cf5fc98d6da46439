use std::io::ErrorKind;

use super::*;
use crate::io::fs::faults::{with, InjectedFault};

fn path_in(dir: &tempfile::TempDir) -> String {
    dir.path().join("lock").to_str().expect("text").to_owned()
}

#[cfg(unix)]
#[test]
fn a_lock_ends_though_a_duplicate_of_its_file_is_open() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = path_in(&dir);
    let lock = FileMutex::try_lock(&path).expect("made").expect("free");
    let duplicate = lock.0.try_clone().expect("duplicated");
    drop(lock);
    assert!(FileMutex::try_lock(&path).expect("asked").is_some());
    drop(duplicate);
}

/// Threads that lock and remove the file in turns: the holder of the lock has locked the file at the path.
#[cfg(unix)]
#[test]
fn a_file_that_was_removed_before_it_was_locked_is_not_the_one_that_is_locked() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = path_in(&dir);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let Some(lock) = FileMutex::try_lock(&path).expect("asked") else { continue };
                    assert!(fs::is_at(Path::new(&path), &lock.0).expect("asked"));
                    std::fs::remove_file(&path).expect("only the holder removes it");
                }
            });
        }
    });
}

#[cfg(unix)]
#[test]
fn what_the_system_refuses_is_an_error_and_no_lock() {
    for code in [libc::ENOLCK, libc::EOPNOTSUPP] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = path_in(&dir);
        let (locked, made) = with(1, InjectedFault::Once(code), || FileMutex::try_lock(&path));
        let error = locked.expect_err("it cannot be locked");
        assert!(made.hit);
        let (syscall, source) = error.as_io().expect("the system's");
        assert_eq!((syscall, source.raw_os_error(), error.path()), ("lock", Some(code), Some(path.as_str())));
    }
}

#[cfg(unix)]
#[test]
fn what_is_not_a_regular_file_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let named = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
    assert!(std::process::Command::new("mkfifo").arg(named("pipe")).status().expect("run").success());
    std::os::unix::fs::symlink(named("nowhere"), named("link")).expect("linked");
    let _socket = std::os::unix::net::UnixListener::bind(named("socket")).expect("bound");
    for name in ["pipe", "link", "socket", "."] {
        assert!(FileMutex::try_lock(&named(name)).is_err(), "{name}");
    }
    assert!(!dir.path().join("nowhere").exists());
    let missing = FileMutex::try_lock(&named("no/such/directory")).expect_err("no directory");
    assert_eq!(missing.as_io().expect("the system's").1.kind(), ErrorKind::NotFound);
}
