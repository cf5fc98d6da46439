use std::fs;

use super::*;
use crate::io::fs::faults::{before_next, with, InjectedFault};
use crate::io::fs::FsCall;

/// Regression: without hard links, a file that was created during a rename was replaced.
#[test]
fn a_file_that_is_made_while_another_is_renamed_without_hard_links_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let target = dir.path().join("s.jsonl");
    let mut temporary = Temporary::beside(&target).expect("made");
    let theirs = target.clone();
    let work = || {
        before_next(FsCall::Rename, move || fs::write(theirs, "theirs").expect("written"));
        temporary.name(&target)
    };
    // The first call is the hard link.
    let (result, made) = with(0, InjectedFault::Once(libc::EPERM), work);
    assert_eq!((made.calls.first(), made.hit), (Some(&FsCall::Link), true));
    assert_eq!(result.expect_err("the name is taken").kind(), io::ErrorKind::AlreadyExists);
    drop(temporary);
    assert_eq!(fs::read_to_string(&target).expect("read"), "theirs");
    assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1, "the temporary file is gone");
}

#[test]
fn without_hard_links_a_file_gets_only_a_free_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let target = dir.path().join("s.jsonl");
    let appear = || {
        let mut temporary = Temporary::beside(&target).expect("made");
        with(0, InjectedFault::Once(libc::EPERM), || temporary.name(&target)).0
    };
    appear().expect("the name is free");
    assert_eq!(appear().expect_err("the name is taken").kind(), io::ErrorKind::AlreadyExists);
}
