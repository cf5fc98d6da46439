use super::*;
use crate::io::open;
use crate::locks::sweep::sweep;

#[test]
fn a_file_that_was_not_finished_is_gone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    let mut file = NewFile::create(&path).expect("created");
    file.line(b"half").expect("written");
    drop(file);
    assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0);
    assert!(NewFile::create(&path).is_ok());
}

#[test]
fn a_name_that_another_program_takes_meanwhile_stays_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    let mut file = NewFile::create(&path).expect("created");
    file.line(b"ours").expect("written");
    std::fs::write(&path, "theirs").expect("written");
    let error = file.finish(Durability::Os).expect_err("taken");
    assert!(error.to_string().starts_with("EEXIST"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "theirs");
    assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 1);
    let again = NewFile::create(&path).err().expect("taken");
    assert!(again.to_string().starts_with("EEXIST"), "{again}");
}

#[test]
fn a_finished_file_goes_on_under_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    let mut file = NewFile::create(&path).expect("created");
    let long = vec![b'x'; 3 * CHUNK];
    for line in [&b"one"[..], &long, b"two"] {
        file.line(line).expect("written");
    }
    let mut storage = file.finish(Durability::Fsync).expect("kept");
    assert_eq!(storage.append(&mut b"three".to_vec()).expect("appended").offset, 3 * CHUNK as u64 + 9);
    let text = std::fs::read(&path).expect("read");
    assert_eq!(text, [b"one\n", &long[..], b"\ntwo\nthree\n"].concat());
    assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 1);
}

/// Regression: a new file kept the lock from its creation. Another manager's appends waited a quarter of a second each
/// for it, and a repair ten seconds.
#[test]
fn a_new_file_is_unlocked_once_it_has_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("new.jsonl");
    let mut file = NewFile::create(path.to_str().expect("text")).expect("created");
    file.line(b"{}").expect("written");
    let _storage = file.finish(Durability::Os).expect("named");
    let other = open::existing(&path, open::Access::Overwrite).expect("opened");
    assert!(fs::try_lock(&other).expect("asked"), "nobody has it");
}

/// Regression: if the name of a new file could not be synced, the file was removed with the line that another process
/// had appended to it.
#[test]
#[cfg(unix)]
fn a_new_file_whose_name_cannot_be_synced_is_removed_unless_others_wrote_there() {
    use crate::io::fs::faults::{before_nth, with, InjectedFault};
    use crate::io::fs::FsCall;
    use std::io::Write as _;
    let dir = tempfile::tempdir().expect("a directory");
    let finish = |name: &str, meddle: fn(&Path), fault| {
        let path = dir.path().join(name);
        let mut file = NewFile::create(path.to_str().expect("text")).expect("created");
        file.line(b"ours").expect("written");
        let work = || {
            // The first sync is the file's.
            let at = path.clone();
            before_nth(2, FsCall::Sync, move || meddle(&at));
            file.finish(Durability::Fsync).map(drop)
        };
        let (result, made) = with(fault, InjectedFault::Once(libc::EIO), work);
        (result, made.calls, std::fs::read_to_string(&path).ok())
    };
    let (result, calls, text) = finish("made", |_| (), usize::MAX);
    result.expect("made");
    assert_eq!(text.as_deref(), Some("ours\n"));
    let last_sync = calls.iter().rposition(|call| *call == FsCall::Sync).expect("a sync");
    let appends = |path: &Path| {
        let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("opened");
        file.write_all(b"theirs\n").expect("written");
    };
    let replaces = |path: &Path| {
        std::fs::remove_file(path).expect("removed");
        std::fs::write(path, "new!\n").expect("written");
    };
    let text_after = |name, meddle| {
        let (result, _, text) = finish(name, meddle, last_sync);
        assert!(result.expect_err("not synced").to_string().starts_with("EIO"));
        text
    };
    assert_eq!(text_after("alone", |_| ()), None);
    assert_eq!(text_after("grown", appends).as_deref(), Some("ours\ntheirs\n"));
    assert_eq!(text_after("other", replaces).as_deref(), Some("new!\n"));
}

#[test]
fn temporary_files_of_dead_processes_are_removed_and_no_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let [first, second] = ["0", "3"].map(|digit| at(&format!(".pi-session-{}.tmp", digit.repeat(32))));
    for path in [&first, &at("pi-session-1.tmp"), &at(".pi-session-2.jsonl"), &at("other.tmp")] {
        std::fs::write(path, "left").expect("written");
    }
    let alive = Temporary::beside(&at("x")).expect("created");
    std::fs::write(&second, "left").expect("written");
    sweep(dir.path());
    let mut names: Vec<_> = std::fs::read_dir(dir.path())
        .expect("read")
        .map(|entry| entry.expect("read").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 4, "{names:?}");
    drop(alive);
    assert!(!first.exists() && !second.exists());
}
