use super::*;

#[test]
fn an_unterminated_line_is_ended_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    std::fs::write(&path, "half").expect("written");
    let mut storage = FileStorage::open(&path).expect("opened");
    storage.set_unterminated(true);
    assert_eq!(storage.append(&mut b"one".to_vec()).expect("appended"), LineSpan { offset: 5, len: 3 });
    assert_eq!(storage.append(&mut b"two".to_vec()).expect("appended"), LineSpan { offset: 9, len: 3 });
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "half\none\ntwo\n");
}

/// On Windows a read moves the file position, which tells where a write has landed.
#[test]
fn a_line_is_where_its_append_says_whatever_is_read_before_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    std::fs::write(&path, "one\n").expect("written");
    let mut storage = FileStorage::open(&path).expect("opened");
    for offset in [4, 8, 12] {
        let span = storage.append(&mut b"two".to_vec()).expect("appended");
        let mut there = [0; 3];
        storage.read_at(span.offset, &mut there).expect("read");
        assert_eq!((span.offset, &there), (offset, b"two"));
        storage.read_at(0, &mut there).expect("read");
    }
}

#[test]
fn a_line_that_is_rolled_back_leaves_what_others_wrote() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    std::fs::write(&path, "one\n").expect("written");
    let mut storage = FileStorage::open(&path).expect("opened");
    let span = storage.append(&mut b"two".to_vec()).expect("appended");
    storage.rollback_append(span, b"two").expect("taken back");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "one\n");
    let span = storage.append(&mut b"two".to_vec()).expect("appended");
    std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(&path).expect("opened"), b"x\n")
        .expect("written");
    storage.rollback_append(span, b"two").expect("taken back");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "one\n   \nx\n");
}

/// Regression: a line whose sync failed was overwritten with the newline that had ended another writer's line before
/// it, so that this one and the next one became one damaged line.
#[test]
#[cfg(unix)]
fn a_line_that_could_not_be_synced_leaves_the_lines_before_and_after_it_apart() {
    use crate::io::fs::faults::{before_next, with_first, InjectedFault};
    use crate::io::fs::FsCall;
    for others_follow in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x").to_str().expect("text").to_owned();
        std::fs::write(&path, "{\"x\":1}").expect("written");
        let mut storage = FileStorage::open(&path).expect("opened").with_durability(Durability::Fsync);
        storage.set_unterminated(true);
        let to = path.clone();
        let work = || {
            before_next(FsCall::Sync, move || {
                let mut other = std::fs::OpenOptions::new().append(true).open(to).expect("opened");
                other.write_all(if others_follow { b"{\"y\":1}\n" } else { b"" }).expect("written");
            });
            storage.append(&mut b"{}".to_vec())
        };
        let (result, _) = with_first(FsCall::Sync, InjectedFault::Once(libc::EIO), work);
        result.expect_err("it is not on disk");
        let expected = if others_follow { "{\"x\":1}\n   {\"y\":1}\n" } else { "{\"x\":1}" };
        assert_eq!(std::fs::read_to_string(&path).expect("read"), expected);
    }
}

/// Regression: the directory of the link was synced, so that the file's name could be lost.
#[test]
#[cfg(unix)]
fn a_flush_waits_for_the_directory_that_a_link_leads_to() {
    use crate::io::fs::faults::{with, InjectedFault};
    use crate::io::fs::{stat_path, FsCall};
    let dir = tempfile::tempdir().expect("a directory");
    let real = dir.path().join("real");
    std::fs::create_dir(&real).expect("made");
    std::fs::write(real.join("x"), "one\n").expect("written");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink("real/x", &link).expect("linked");
    let mut storage = FileStorage::open(link.to_str().expect("text")).expect("opened");
    let (result, made) = with(usize::MAX, InjectedFault::Short, || storage.flush());
    result.expect("flushed");
    let syncs = |path: &Path| {
        let file_id = stat_path(path).expect("asked").expect("there").file_id;
        made.of(FsCall::Sync, file_id).len()
    };
    assert_eq!([syncs(&link), syncs(&real), syncs(dir.path())], [1, 1, 0]);
}

#[test]
#[cfg(unix)]
fn a_file_without_an_end_is_not_a_session_file() {
    for path in ["/dev/zero", "/dev/tty", "/dev/null"] {
        assert!(FileStorage::open(path).is_err(), "{path}");
    }
}

/// Regression: if a file system has no POSIX delete, Windows refuses access to a deleted session's path while the file
/// is open. Appends failed with that error in place of noticing that the file was deleted.
#[test]
#[cfg(unix)]
fn a_deleted_file_is_gone_though_its_path_refuses_access() {
    use crate::io::fs::faults::{with_first, without_link_counts, InjectedFault};
    use crate::io::fs::FsCall;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    std::fs::write(&path, "one\n").expect("written");
    let status = |storage: &FileStorage, code| {
        let (status, made) = with_first(FsCall::Stat, InjectedFault::Once(code), || storage.status(true));
        assert!(made.hit);
        status
    };
    let refused_append = |storage: &mut FileStorage| {
        let fault = InjectedFault::Once(libc::EACCES);
        with_first(FsCall::Open, fault, || storage.append(&mut b"x".to_vec())).0.expect_err("it may not be written")
    };
    let mut reading = FileStorage::open(&path).expect("opened");
    let mut appending = FileStorage::open(&path).expect("opened");
    appending.append(&mut b"two".to_vec()).expect("appended");
    // The file exists, although its handles have no link: access is refused for another reason.
    without_link_counts(|| {
        let error = refused_append(&mut reading);
        assert!(error.to_string().starts_with("EACCES: permission denied, open"), "{error}");
    });
    std::fs::remove_file(&path).expect("removed");
    let gone = FileStatus::Gone { readable: true, deleted: true };
    assert!(refused_append(&mut reading).is_missing());
    for storage in [&reading, &appending] {
        assert_eq!(status(storage, libc::EACCES).expect("asked"), gone);
        let error = status(storage, libc::EIO).expect_err("that says nothing of a name");
        assert!(error.to_string().starts_with("EIO: i/o error, stat"), "{error}");
    }
    let mut there = [0; 4];
    reading.read_at(0, &mut there).expect("read");
    assert_eq!(&there, b"one\n");
}
