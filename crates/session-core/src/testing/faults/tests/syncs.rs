//! Waits for the disk and their order, by the calls that were made and the files of the calls.

use super::*;
use crate::index::verify::verify;
use crate::io::fs::faults::{before_next, Made};
use crate::io::fs::{stat_path, FileId, FsCall};
use crate::session::fork::ForkSource;

/// The calls of work that succeeds.
fn calls(work: impl FnOnce() -> Result<()>) -> Made {
    let (result, made) = with(usize::MAX, InjectedFault::Short, work);
    result.expect("nothing fails");
    made
}

/// The file or directory to which a path leads.
fn file_id(path: &Path) -> FileId {
    stat_path(path).expect("it can be asked").expect("it is there").file_id
}

fn syncs(made: &Made) -> usize {
    made.calls.iter().filter(|call| **call == FsCall::Sync).count()
}

/// Checks that the file at `path` was on disk before the call returned: a sync follows the last write to it.
fn waited_for(made: &Made, path: &str, what: &str) {
    let (writes, syncs) =
        (made.of(FsCall::Write, file_id(path.as_ref())), made.of(FsCall::Sync, file_id(path.as_ref())));
    assert!(!writes.is_empty() && writes.last() < syncs.last(), "{what}: written at {writes:?}, synced at {syncs:?}");
}

/// Checks the order: write, sync, rename, sync of the directory. So a power failure at any moment leaves the old file
/// or the new one.
fn is_in_order(made: &Made, path: &str, named: FsCall, what: &str) {
    waited_for(made, path, what);
    let file = file_id(path.as_ref());
    let dir = file_id(Path::new(path).parent().expect("a directory"));
    let last_write = made.of(FsCall::Write, file).last().copied();
    let synced = made.of(FsCall::Sync, file).into_iter().find(|at| Some(*at) > last_write);
    let named = made.calls.iter().rposition(|call| *call == named);
    let dir_synced = made.of(FsCall::Sync, dir).last().copied();
    assert!(synced.is_some() && synced < named, "{what}: named at {named:?} before it was synced at {synced:?}");
    assert!(named < dir_synced, "{what}: the directory was synced at {dir_synced:?}, the file named at {named:?}");
}

fn with_three(options: SessionFileOptions) -> (tempfile::TempDir, String, Session) {
    let dir = scratch();
    let path = at(dir.path(), "s.jsonl");
    fs::write(&path, three()).expect("written");
    let session = opened(&path, options);
    (dir, path, session)
}

#[test]
fn with_fsync_the_disk_has_each_entry_before_its_append_returns() {
    let (_dir, path, mut session) = with_three(FSYNC);
    for n in 0..5 {
        waited_for(&calls(|| append(&mut session)), &path, &format!("append {n}"));
    }
    add(&path, "{\"type\":\"custom\",\"id\":\"theirs\",\"parentId\":\"c\"}\n{\"half");
    waited_for(&calls(|| append(&mut session)), &path, "append after others");
    session.close();
    waited_for(&calls(|| append(&mut session)), &path, "append after close");
}

#[test]
fn with_fsync_the_header_of_an_empty_file_is_waited_for() {
    let dir = scratch();
    let path = at(dir.path(), "s.jsonl");
    fs::write(&path, "").expect("written");
    let mut session =
        Session::new(b"s".to_vec(), Persistence::File, Some(path.clone())).with_options(FSYNC).expect("free");
    waited_for(&calls(|| session.fill_empty_file(b"{\"type\":\"session\",\"id\":\"s\"}").map(drop)), &path, "header");
}

#[test]
fn without_fsync_nothing_that_is_appended_or_new_waits() {
    let (dir, _, mut session) = with_three(OS);
    let appended = calls(|| {
        for _ in 0..5 {
            append(&mut session)?;
        }
        session.reload()
    });
    let forked = calls(|| {
        let source = ForkSource::open(at(dir.path(), "s.jsonl"))?;
        source.write_to(at(dir.path(), "f.jsonl"), &FORK_HEADER, OS).map(drop)
    });
    let branched = calls(|| super::files::branch(dir.path(), OS).map(drop));
    let made = calls(|| new_file(dir.path(), OS));
    for (what, made) in [("append", appended), ("fork", forked), ("branch", branched), ("new file", made)] {
        assert!(made.calls.contains(&FsCall::Write), "{what}: {:?}", made.calls);
        assert_eq!(syncs(&made), 0, "{what}: {:?}", made.calls);
    }
}

fn new_file(dir: &Path, options: SessionFileOptions) -> Result<()> {
    let path = at(dir, "n.jsonl");
    let mut session = Session::new(b"n".to_vec(), Persistence::File, Some(path)).with_options(options)?;
    make_file(&mut session)
}

#[test]
fn flush_waits_for_the_file_and_its_name() {
    for options in [OS, FSYNC] {
        let (dir, path, mut session) = with_three(options);
        let made = calls(|| {
            append(&mut session)?;
            session.flush()
        });
        waited_for(&made, &path, "flush");
        let dir = made.of(FsCall::Sync, file_id(dir.path()));
        assert!(dir.last() > made.of(FsCall::Sync, file_id(path.as_ref())).last(), "flush: the directory at {dir:?}");
    }
}

/// For each file that is written whole: the work, and the call that gives the file its name.
#[test]
fn what_is_written_whole_is_on_disk_before_it_has_its_name_and_then_the_name_is() {
    const OLD: &str = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\"}}\n";
    type Work = fn(&Path, SessionFileOptions) -> Result<()>;
    /// The options, the name of the case, the content of `s.jsonl` before, the work, the file, and the call that names
    /// it.
    type Case = (SessionFileOptions, &'static str, String, Work, &'static str, FsCall);
    let migrates: Work = |dir, options| Session::open(at(dir, "s.jsonl"), Persistence::File, options).map(drop);
    let repairs: Work = |dir, _| crate::rewrite::repair::repair(at(dir, "s.jsonl"), 0.0).map(drop);
    let restores: Work = |dir, options| {
        let mut session = opened(&at(dir, "s.jsonl"), options);
        fs::remove_file(at(dir, "s.jsonl")).expect("removed");
        session.reload()
    };
    let forks: Work = |dir, options| {
        let source = ForkSource::open(at(dir, "s.jsonl"))?;
        source.write_to(at(dir, "f.jsonl"), &FORK_HEADER, options)?;
        Ok(())
    };
    let mut cases: Vec<Case> = Vec::new();
    for options in [OS, FSYNC] {
        // If old content may be lost, the disk is synced whatever the option is.
        cases.push((options, "migration", OLD.into(), migrates, "s.jsonl", FsCall::Rename));
        cases.push((options, "repair", three() + "torn", repairs, "s.jsonl", FsCall::Rename));
        cases.push((options, "deleted file", three(), restores, "s.jsonl", FsCall::Link));
    }
    cases.push((FSYNC, "new file", three(), new_file, "n.jsonl", FsCall::Link));
    cases.push((
        FSYNC,
        "branch",
        three(),
        |dir, options| super::files::branch(dir, options).map(drop),
        "b.jsonl",
        FsCall::Link,
    ));
    cases.push((FSYNC, "fork", three(), forks, "f.jsonl", FsCall::Link));
    cases.push((FSYNC, "fork of an old file", OLD.into(), forks, "f.jsonl", FsCall::Link));
    for (options, what, text, work, name, named) in &cases {
        let dir = scratch();
        fs::write(at(dir.path(), "s.jsonl"), text).expect("written");
        let made = calls(|| work(dir.path(), *options));
        let what = format!("{what}, {:?}", options.durability);
        is_in_order(&made, &at(dir.path(), name), *named, &what);
    }
}

#[test]
fn the_copy_that_a_repair_keeps_is_on_disk_before_the_file_is_replaced() {
    let (dir, path, session) = with_three(OS);
    drop(session);
    add(&path, "torn");
    let made = calls(|| crate::rewrite::repair::repair(&path, 0.0).map(drop));
    let kept = made.of(FsCall::Sync, file_id(at(dir.path(), "s.jsonl.bak").as_ref()));
    let renamed = made.calls.iter().rposition(|call| *call == FsCall::Rename);
    assert!(kept.last().is_some() && kept.last().copied() < renamed, "kept at {kept:?}, renamed at {renamed:?}");
}

/// Some mounts of networks and of user space have no fsync for directories: there a deleted file could never be written
/// again, and a migration threw after it was made.
#[test]
fn where_a_directory_cannot_be_synced_all_is_written_as_ever() {
    const OLD: &str = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\"}}\n";
    type Work = fn(&Path) -> Result<()>;
    let ways: [(&str, &str, Work); 5] = [
        ("migration", OLD, |dir| Session::open(at(dir, "s.jsonl"), Persistence::File, OS).map(drop)),
        ("repair", "torn", |dir| crate::rewrite::repair::repair(at(dir, "s.jsonl"), 0.0).map(drop)),
        ("deleted file", "", |dir| {
            let mut session = opened(&at(dir, "s.jsonl"), OS);
            fs::remove_file(at(dir, "s.jsonl")).expect("removed");
            append(&mut session)
        }),
        ("new file", "", |dir| new_file(dir, FSYNC)),
        ("flush", "", |dir| opened(&at(dir, "s.jsonl"), OS).flush()),
    ];
    for (what, text, work) in ways {
        let run = |at_call, fault| {
            let dir = scratch();
            let text = if text == OLD { OLD.to_owned() } else { three() + text };
            fs::write(at(dir.path(), "s.jsonl"), text).expect("written");
            let (result, made) = with(at_call, fault, || work(dir.path()));
            let of_dir = made.of(FsCall::Sync, file_id(dir.path()));
            (dir, result, of_dir)
        };
        let (_dir, result, of_dir) = run(usize::MAX, InjectedFault::Short);
        result.expect("nothing fails");
        assert!(!of_dir.is_empty(), "{what}: the directory is synced");
        for call in of_dir {
            for code in [libc::EINVAL, libc::ENOTSUP, libc::EBADF] {
                let (dir, result, _) = run(call, InjectedFault::Once(code));
                result.unwrap_or_else(|error| panic!("{what}, {code}: {error}"));
                assert!(verify(at(dir.path(), "s.jsonl")).expect("read").ok, "{what}");
            }
            let (_dir, result, _) = run(call, InjectedFault::Once(libc::EIO));
            result.expect_err("a disk that fails is told");
        }
    }
}

/// Regression: a directory that could not be synced kept lines from the new file.
/// Its error came before what others had written meanwhile was carried over.
#[test]
fn late_lines_are_in_the_new_file_where_its_directory_cannot_be_synced() {
    let (dir, path, session) = with_three(OS);
    drop(session);
    add(&path, "torn\n");
    let line = "{\"type\":\"custom\",\"id\":\"late\",\"parentId\":\"c\"}\n";
    let late = |path: &str| {
        let mut old = fs::OpenOptions::new().append(true).open(path).expect("opened");
        before_next(FsCall::Rename, move || std::io::Write::write_all(&mut old, line.as_bytes()).expect("written"));
    };
    let repair = |path: &str| crate::rewrite::repair::repair(path, 0.0).map(drop);
    let run = |at_call, fault| {
        let (other, path) = (scratch(), fs::read(&path).expect("read"));
        fs::write(at(other.path(), "s.jsonl"), path).expect("written");
        let path = at(other.path(), "s.jsonl");
        late(&path);
        let (result, made) = with(at_call, fault, || repair(&path));
        (other, path, result, made)
    };
    let (other, _, result, made) = run(usize::MAX, InjectedFault::Short);
    result.expect("repaired");
    let call = made.of(FsCall::Sync, file_id(other.path())).last().copied().expect("the directory is synced");
    let (_other, path, result, _) = run(call, InjectedFault::Once(libc::EIO));
    result.expect_err("the disk's failure is told");
    assert!(fs::read_to_string(&path).expect("read").contains(line), "the line is in the new file");
    drop(dir);
}
