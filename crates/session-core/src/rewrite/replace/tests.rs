use std::fs;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;

use crate::base::options::SessionFileOptions;
use crate::index::verify::verify;
use crate::io::fs::faults::{before_call, before_next};
use crate::io::fs::FsCall;
use crate::rewrite::merge::merge;
use crate::rewrite::repair::repair;
use crate::session::{Persistence, Session};

const OLD: &str = "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n\
                   {\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\"}}\n";
const PI: &str = "{\"type\":\"custom\",\"timestamp\":\"t\",\"customType\":\"pi\"}\n";

fn old_file(text: &str) -> (tempfile::TempDir, String) {
    let dir = crate::testing::faults::tests::scratch();
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, text).expect("written");
    (dir, path)
}

fn add(path: &str, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("opened");
    file.write_all(text.as_bytes()).expect("written");
}

fn opened(path: &str) -> Session {
    Session::open(path, Persistence::File, SessionFileOptions::default()).expect("opened")
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .expect("read")
        .map(|entry| entry.expect("read").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

/// Regression: lines that pi wrote during a migration were only in the backup: lines that pi appends between the copy
/// and the rename, or to the old file after it.
#[test]
fn lines_that_pi_writes_during_a_migration_are_in_the_new_file() {
    for moment in [FsCall::Write, FsCall::Link, FsCall::Sync, FsCall::Rename] {
        let (dir, path) = old_file(OLD);
        let other = path.clone();
        before_next(moment, move || add(&other, PI));
        let session = opened(&path);
        assert_eq!(session.tree().len(), 2, "{moment:?}");
        assert_eq!(session.tree().path(1).expect("memory"), [0, 1], "{moment:?}: it is chained like the others");
        assert!(verify(&path).expect("read").ok, "{moment:?}");
        assert_eq!(names(&dir), ["s.jsonl", "s.jsonl.v1.bak"], "{moment:?}");
        assert_eq!(fs::read_to_string(dir.path().join("s.jsonl.v1.bak")).expect("kept"), format!("{OLD}{PI}"));
    }
    let (_dir, path) = old_file(OLD);
    let mut old = fs::OpenOptions::new().append(true).open(&path).expect("opened");
    before_next(FsCall::Rename, move || {
        before_next(FsCall::Stat, move || {
            for _ in 0..3 {
                old.write_all(PI.as_bytes()).expect("written");
            }
        });
    });
    assert_eq!(opened(&path).tree().len(), 4);
    assert!(verify(&path).expect("read").ok);
}

/// Regression: lines that were appended just before the rename were migrated twice, and the parent of the first was in
/// no line.
#[test]
fn lines_that_are_written_at_each_carry_over_are_migrated_once() {
    fn add_at_each_sync(path: String, left: u32) {
        before_next(FsCall::Sync, move || {
            add(&path, PI);
            if left > 1 {
                add_at_each_sync(path, left - 1);
            }
        });
    }
    let (_dir, path) = old_file(OLD);
    let lines = super::CARRY_ROUNDS + 1;
    add_at_each_sync(path.clone(), lines);
    let session = opened(&path);
    assert_eq!(session.tree().path(lines).expect("memory"), (0..=lines).collect::<Vec<_>>());
    assert!(verify(&path).expect("read").ok);
}

/// The case in docs/durability.md: the process ends between the rename and the last check of the old file.
#[test]
fn a_line_written_right_before_the_rename_of_a_process_that_then_ends_is_in_the_backup_of_a_migration_alone() {
    let ends_after_rename = |path: &str, work: &dyn Fn(&str)| {
        let other = path.to_owned();
        before_next(FsCall::Rename, move || {
            add(&other, PI);
            before_call(1, || panic!("the process ends"));
        });
        assert!(std::panic::catch_unwind(AssertUnwindSafe(|| work(path))).is_err(), "it ended");
    };
    let (dir, path) = old_file(OLD);
    ends_after_rename(&path, &|path| drop(opened(path)));
    assert_eq!(opened(&path).tree().len(), 1, "the new file lacks the line");
    assert_eq!(fs::read_to_string(dir.path().join("s.jsonl.v1.bak")).expect("kept"), format!("{OLD}{PI}"));

    let damaged =
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":\"gone\"}\n";
    let (dir, path) = old_file(damaged);
    ends_after_rename(&path, &|path| drop(repair(path, 0.0)));
    assert!(verify(&path).expect("read").ok, "the file is repaired");
    assert!(!fs::read_to_string(&path).expect("read").contains("\"pi\""));
    assert_eq!(fs::read_to_string(dir.path().join("s.jsonl.bak")).expect("kept"), damaged);
}

/// Regression: a last line that was ended during a migration was in the new file twice.
#[test]
fn a_last_line_that_is_ended_during_a_migration_is_in_the_new_file_once() {
    let last = &PI[..PI.len() - 1];
    for (rest, entries) in [("\n", 2), ("\n\n", 2), (PI, 3), ("\r\n", 2)] {
        for moment in [FsCall::Sync, FsCall::Rename] {
            let (_dir, path) = old_file(&format!("{OLD}{last}"));
            let other = path.clone();
            before_next(moment, move || add(&other, rest));
            assert_eq!(opened(&path).tree().len(), entries, "{rest:?}, {moment:?}");
            assert!(verify(&path).expect("read").ok, "{rest:?}, {moment:?}");
        }
    }
}

/// Regression: a file that another process had migrated was migrated again. Each of several processes wrote its own ids
/// over the first one's file, and kept that as a backup.
#[test]
fn a_file_that_another_process_has_migrated_is_not_migrated_again() {
    for moment in [FsCall::Write, FsCall::Link, FsCall::Sync] {
        let (dir, path) = old_file(OLD);
        let other = path.clone();
        let ids = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let theirs = ids.clone();
        before_next(moment, move || {
            // Another process does not wait for a lock of this thread.
            let backup = [".v1.bak", ".v1.bak.1"].map(|suffix| format!("{other}{suffix}"));
            assert!(backup.iter().any(|backup| fs::hard_link(&other, backup).is_ok()));
            fs::write(format!("{other}.new"), OLD).expect("written");
            let session = opened(&format!("{other}.new"));
            fs::rename(format!("{other}.new"), &other).expect("renamed");
            fs::remove_file(format!("{other}.new.v1.bak")).expect("removed");
            *theirs.lock().expect("no panic") = session.tree().id_of(0).to_vec();
        });
        let session = opened(&path);
        assert_eq!(session.tree().id_of(0), *ids.lock().expect("no panic"), "{moment:?}");
        let names = names(&dir);
        assert_eq!(names.len(), 2, "{moment:?}: {names:?}");
        assert_eq!(fs::read_to_string(dir.path().join(&names[1])).expect("kept"), OLD, "{moment:?}");
    }
}

/// pi migrates in place: it truncates the file and writes it again.
#[test]
fn a_file_that_pi_migrated_meanwhile_is_pis() {
    let new = OLD
        .replace("\"id\":\"s\"", "\"version\":3,\"id\":\"s\"")
        .replace("\"message\",", "\"message\",\"id\":\"pi\",\"parentId\":null,");
    for text in [new.clone(), format!("{new}{}", new.lines().nth(1).expect("a line")), String::new()] {
        let (dir, path) = old_file(OLD);
        let (other, after) = (path.clone(), text.clone());
        before_next(FsCall::Sync, move || fs::write(&other, after).expect("written"));
        let found = Session::open(&path, Persistence::File, SessionFileOptions::default());
        assert_eq!(found.is_ok(), !text.is_empty());
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
        assert_eq!(names(&dir), ["s.jsonl"]);
    }
}

/// Regression: eight threads that opened one old file each assigned other ids.
#[test]
fn eight_threads_that_open_one_old_file_give_it_the_same_ids() {
    for _ in 0..10 {
        let (dir, path) = old_file(&(OLD.to_owned() + &PI.repeat(500)));
        let all: Vec<Vec<Vec<u8>>> = std::thread::scope(|scope| {
            let open = || {
                let session = opened(&path);
                (0..session.tree().len() as u32).map(|row| session.tree().id_of(row).to_vec()).collect()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().expect("opened")).collect()
        });
        assert!(all.iter().all(|ids| *ids == all[0] && ids.len() == 501));
        assert_eq!(names(&dir), ["s.jsonl", "s.jsonl.v1.bak"]);
    }
}

/// A process was killed after it had created the link. The next open kept the original a second time, as `.v1.bak.1`.
#[test]
fn the_backup_that_a_killed_migration_had_made_is_the_backup() {
    let (dir, path) = old_file(OLD);
    fs::hard_link(&path, format!("{path}.v1.bak")).expect("linked");
    opened(&path);
    assert_eq!(names(&dir), ["s.jsonl", "s.jsonl.v1.bak"]);
    assert_eq!(fs::read_to_string(format!("{path}.v1.bak")).expect("kept"), OLD);
    assert!(verify(&path).expect("read").ok);
}

/// Regression: if an open file keeps its name (exFAT, SMB), no file could be replaced, because this process had it
/// open.
#[cfg(unix)]
#[test]
fn where_an_open_file_keeps_its_name_it_is_closed_before_it_is_replaced() {
    use crate::io::fs::faults::{on_file_system, with_first, FileSystem, InjectedFault};
    let (dir, path) = old_file(OLD);
    let refusing = FileSystem { refused: &[(FsCall::Rename, libc::EBUSY)], ..FileSystem::PLAIN };
    let error = on_file_system(refusing, || Session::open(&path, Persistence::File, SessionFileOptions::default()));
    let error = error.expect_err("another process has it open").to_string();
    assert!(error.contains("cannot be replaced while it is open elsewhere") && error.ends_with(&path), "{error}");
    assert_eq!((fs::read_to_string(&path).expect("whole"), names(&dir)), (OLD.to_owned(), vec!["s.jsonl".to_owned()]));
    let (session, made) = with_first(FsCall::Rename, InjectedFault::Once(libc::EBUSY), || opened(&path));
    assert!(made.hit);
    assert_eq!(session.tree().len(), 1);
    assert_eq!(names(&dir), ["s.jsonl", "s.jsonl.v1.bak"]);
    assert_eq!(fs::read_to_string(format!("{path}.v1.bak")).expect("kept"), OLD);
    assert!(verify(&path).expect("read").ok);
}

/// Another program appends before the file is closed here: nothing is lost, and the migration starts over.
#[cfg(unix)]
#[test]
fn a_line_that_comes_before_an_open_file_is_closed_is_migrated_too() {
    use crate::io::fs::faults::{with_first, InjectedFault};
    let (dir, path) = old_file(OLD);
    let work = || {
        let file = path.clone();
        before_next(FsCall::Rename, move || add(&file, PI));
        opened(&path)
    };
    let (session, made) = with_first(FsCall::Rename, InjectedFault::Once(libc::EBUSY), work);
    assert!(made.hit);
    assert_eq!(session.tree().len(), 2);
    assert_eq!(names(&dir), ["s.jsonl", "s.jsonl.v1.bak"]);
}

/// Regression: it waited until it no longer tried to get the write lock, because the process itself had locked the new
/// file.
#[cfg(unix)]
#[test]
fn a_late_line_is_added_without_a_wait_for_the_lock_of_the_new_file() {
    use crate::io::fs::faults::{with, InjectedFault};
    let (_dir, path) = old_file(OLD);
    let other = path.clone();
    before_next(FsCall::Rename, move || add(&other, PI));
    let (session, made) = with(usize::MAX, InjectedFault::Short, || opened(&path));
    assert_eq!(session.tree().len(), 2);
    let locks = made.calls.iter().filter(|call| **call == FsCall::Lock).count();
    assert!(locks < 10, "{locks} locks were tried");
}

/// Regression: after a merge or a redaction such a line was in no file, but the error said that it was in the old file.
#[cfg(unix)]
#[test]
fn a_late_line_that_cannot_be_added_to_the_new_file_is_kept_beside_it() {
    let header = OLD.replace("\"id\"", "\"version\":3,\"id\"");
    let header = header.lines().next().expect("a header");
    let (dir, path) = old_file(&format!("{header}\n"));
    let other = path.clone();
    before_next(FsCall::Rename, move || {
        add(&other, PI);
        // Another process replaces the new file before the old one is checked again.
        before_next(FsCall::Write, move || {
            fs::write(format!("{other}.new"), "theirs\n").expect("written");
            fs::rename(format!("{other}.new"), &other).expect("renamed");
        });
    });
    let stored = b"{\"type\":\"custom\",\"id\":\"a\"}\n";
    let error = merge(&path, "s", stored, None).expect_err("the line is not in the new file");
    assert!(error.to_string().contains(&format!("only in {path}.bak")), "{error}");
    assert_eq!(names(&dir), ["s.jsonl", "s.jsonl.bak"]);
    assert_eq!(fs::read_to_string(format!("{path}.bak")).expect("kept"), format!("{PI}\n"), "with the end mark");
    assert_eq!(fs::read_to_string(&path).expect("read"), "theirs\n");
}

/// Regression: the error of a call after the rename did not say that a late line was lost, or the line was not kept.
#[cfg(unix)]
#[test]
fn a_late_line_that_cannot_be_read_at_first_is_kept_and_one_that_cannot_be_kept_is_told_to_be_lost() {
    use crate::io::fs::faults::{with, InjectedFault};
    let header = OLD.replace("\"id\"", "\"version\":3,\"id\"");
    let header = header.lines().next().expect("a header");
    let stored = b"{\"type\":\"custom\",\"id\":\"a\"}\n";
    let run = |at, fault| {
        let (dir, path) = old_file(&format!("{header}\n"));
        let other = path.clone();
        before_next(FsCall::Rename, move || add(&other, PI));
        let (result, made) = with(at, fault, || merge(&path, "s", stored, None));
        (dir, path, result, made)
    };
    let (_dir, path, result, made) = run(usize::MAX, InjectedFault::Short);
    result.expect("merged");
    assert!(fs::read_to_string(&path).expect("read").ends_with(PI));
    let renamed = made.calls.iter().rposition(|call| *call == FsCall::Rename).expect("a rename");
    let first = |call| renamed + made.calls[renamed..].iter().position(|made| *made == call).expect("a call");

    let (_dir, path, result, _) = run(first(FsCall::Read), InjectedFault::Once(libc::EIO));
    let error = result.expect_err("the line is not in the new file").to_string();
    assert!(error.contains(&format!("only in {path}.bak (EIO")), "{error}");
    assert_eq!(fs::read_to_string(format!("{path}.bak")).expect("kept"), format!("{PI}\n"), "with the end mark");

    let (_dir, _path, result, _) = run(first(FsCall::Write), InjectedFault::Always(libc::ENOSPC));
    let error = result.expect_err("the line is lost").to_string();
    assert!(error.contains("are lost") && error.matches("ENOSPC").count() == 2, "{error}");
}

/// Regression: the path of a backup was not below the path that the user had passed: on macOS it began with
/// `/private/var` in place of `/var`.
#[cfg(unix)]
#[test]
fn a_backup_is_named_under_the_path_that_the_user_gave() {
    use crate::rewrite::migrate::Migrator;
    use crate::rewrite::replace::{Backup, RewriteTarget};
    let (dir, _path) = old_file(OLD);
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(".", &link).expect("linked");
    let path = link.join("s.jsonl").to_str().expect("text").to_owned();
    let target = RewriteTarget::hold(&path).expect("held");
    let mut migration = Migrator::new(crate::format::header::Version::V1);
    let replaced = target.replace(Backup::OldVersion, &mut migration).expect("replaced").expect("nothing came between");
    assert_eq!(replaced.backup.to_str(), Some(&*format!("{path}.v1.bak")));
}

/// Regression: a migrated file lost its extended attributes. The test reads the attributes of the new file, and of the
/// backup, which is the old file.
#[cfg(target_os = "linux")]
#[test]
fn a_migrated_file_keeps_its_extended_attributes() {
    use rustix::fs::{getxattr, setxattr, XattrFlags};
    let (dir, path) = old_file(OLD);
    setxattr(&path, c"user.note", b"mine", XattrFlags::empty()).expect("the file system keeps attributes");
    drop(opened(&path));
    for name in ["s.jsonl", "s.jsonl.v1.bak"] {
        let mut value = [0; 16];
        let size = getxattr(dir.path().join(name), c"user.note", &mut value[..]).expect("it is there");
        assert_eq!(value.get(..size), Some(&b"mine"[..]), "{name}");
    }
}

/// Regression: a read-only file was replaced by its migration, which renamed the new file over one that nobody may
/// write. A user who may write everything, such as root, still can.
#[cfg(unix)]
#[test]
fn a_read_only_file_is_not_migrated() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, path) = old_file(OLD);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("changed");
    let may_write = fs::OpenOptions::new().append(true).open(&path).is_ok();
    let result = Session::open(&path, Persistence::File, SessionFileOptions::default());
    assert_eq!(result.is_ok(), may_write);
    if let Err(error) = result {
        assert_eq!(error.as_io().map(|(_, source)| source.kind()), Some(std::io::ErrorKind::PermissionDenied));
        assert_eq!(fs::read_to_string(&path).expect("read"), OLD);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
    }
}

/// Regression: after a repair `pi --continue` continued a session of last year.
#[test]
fn a_rewrite_that_adds_nothing_to_the_conversation_keeps_the_time() {
    use crate::rewrite::redact::{redact, Redaction};
    let last_year = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_700_000_000_123);
    let time_of = |path: &str| fs::metadata(path).expect("there").modified().expect("a time");
    let aged = |text: &str| {
        let (dir, path) = old_file(text);
        let file = fs::OpenOptions::new().append(true).open(&path).expect("opened");
        file.set_modified(last_year).expect("set");
        (dir, path)
    };
    let new = OLD.replace("\"id\"", "\"version\":3,\"id\"").replace("\"message\",", "\"message\",\"id\":\"a\",");
    let (_dir, path) = aged(&format!("{new}torn"));
    assert!(repair(&path, 0.0).expect("repaired").backup.is_some());
    assert_eq!(time_of(&path), last_year, "a repair");
    let (_dir, path) = aged(&format!("{OLD}torn"));
    assert!(repair(&path, 0.0).expect("repaired").before.version == Some(1.0));
    assert_eq!(time_of(&path), last_year, "a repair that migrates");
    let (_dir, path) = aged(&new);
    let redaction = Redaction::text(b"user", None, b"").expect("a text");
    assert_eq!(redact(&path, &redaction, false).expect("redacted").lines.len(), 0);
    let redaction = Redaction::entries(["a".into()].into(), b"x").expect("an entry");
    redact(&path, &redaction, false).expect("redacted");
    assert_eq!(time_of(&path), last_year, "a redaction");
    let (_dir, path) = aged(&format!("{new}torn"));
    let other = path.clone();
    before_next(FsCall::Rename, move || add(&other, &new_line()));
    repair(&path, 0.0).expect("repaired");
    assert!(time_of(&path) > last_year, "what pi appends meanwhile counts");
    let (_dir, path) = aged(OLD);
    drop(opened(&path));
    assert!(time_of(&path) > last_year, "pi continues the session that it opened last");
}

fn new_line() -> String {
    "\n{\"type\":\"custom\",\"id\":\"n\",\"parentId\":null,\"timestamp\":\"t\"}\n".into()
}
